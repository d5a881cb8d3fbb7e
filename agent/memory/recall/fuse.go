package recall

import (
	"context"
	"slices"
)

const (
	// denseItems is how many items a ranker is asked for.
	denseItems = 50
	// agreeDense and agreeWords are the lists whose overlap says whether the ranker knows what the question is about.
	agreeDense, agreeWords = 10, 30
	// agreeMargin is how much overlap beyond chance still counts as none, agreeFull how much more is full trust.
	agreeMargin, agreeFull = 0.2, 0.4
	// denseAlone is what the ranker's own best is worth, in terms of the best by words, where trust is full.
	denseAlone = 0.7
)

// fuse lets a ranker by meaning have its say. Words stay the measure: the ranker is trusted as far as the two
// lists agree beyond chance, so that one that knows nothing changes nothing. Where the question has no words that are
// found at all, it stands alone.
func (e *Engine) fuse(ctx context.Context, s *search, query string, list []scored, limit int) ([]scored, error) {
	if e.ranker == nil || query == "" {
		return list, nil
	}
	near, err := e.ranker.Nearest(ctx, query, denseItems)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return list, nil // meaning is a help: without it, words do
	}
	ranks := make(map[int]int, len(near))
	for _, c := range near {
		if item, ok := s.o.index(c.Item); ok {
			if _, twice := ranks[int(item)]; !twice {
				ranks[int(item)] = len(ranks)
			}
		}
	}
	trust, top := s.trust(list, ranks), 1.0
	if len(list) > 0 {
		top = list[0].score
	}
	if trust <= 0 {
		return list, nil
	}
	list = slices.Clone(list)
	for i := range list {
		if rank, ok := ranks[list[i].item]; ok {
			list[i].score *= 1 + e.weights.dense*trust*closeness(rank)
			delete(ranks, list[i].item)
		}
	}
	for item, rank := range ranks {
		list = append(list, scored{item: item, score: denseAlone * trust * top * closeness(rank) * s.factor(&s.o.lines[item])})
	}
	return s.sorted(list, limit), nil
}

// closeness falls with the rank: 1 for the nearest, half for the tenth.
func closeness(rank int) float64 { return 1 / (1 + float64(rank)/9) }

// trust is how far the ranker can be believed on this question, 0–1.
func (s *search) trust(list []scored, ranks map[int]int) float64 {
	if len(ranks) == 0 {
		return 0
	}
	if len(list) == 0 {
		return 1
	}
	words := list[:min(agreeWords, len(list))]
	both := 0
	for _, one := range words {
		if rank, ok := ranks[one.item]; ok && rank < agreeDense {
			both++
		}
	}
	of := min(agreeDense, len(ranks))
	chance := float64(len(words)) / float64(len(s.o.lines))
	return min(1, max(0, (float64(both)/float64(of)-chance-agreeMargin)/agreeFull))
}
