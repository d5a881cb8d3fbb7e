package recall

import (
	"context"
	"slices"
	"strings"
	"time"

	"ash/agent"
)

// answer reads the items that were found and makes recollections of them, without doubles, within the budget. It reads a few
// more than are wanted, and goes on only where those do not do.
func (e *Engine) answer(ctx context.Context, s *search, list []scored, query Query, limit int) ([]agent.Recollection, error) {
	var (
		out    []agent.Recollection
		spent  int
		bodies = map[string]bool{}
	)
	for part := range slices.Chunk(list, limit+limit/4+2) {
		found, err := e.read(ctx, s, part)
		if err != nil {
			return nil, err
		}
		for _, one := range part {
			it, ok := found[int64(s.o.lines[one.item].seq)]
			if !ok || it.Text == "" || !query.admits(it) {
				continue
			}
			body := it.Speaker + "\x00" + it.Body
			if it.Body != "" && bodies[body] {
				continue
			}
			r := recollection(it, one, s.why(one))
			if query.Tokens > 0 {
				cost := Cost(e.tokens, r)
				if spent+cost > query.Tokens {
					continue
				}
				spent += cost
			}
			bodies[body] = true
			if out = append(out, r); len(out) == limit {
				return out, nil
			}
		}
	}
	return out, nil
}

// read returns items by number.
func (e *Engine) read(ctx context.Context, s *search, list []scored) (map[int64]Found, error) {
	seqs := make([]int64, len(list))
	for i, one := range list {
		seqs[i] = int64(s.o.lines[one.item].seq)
	}
	items, err := e.index.Items(ctx, seqs)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]Found, len(items))
	for _, it := range items {
		found[it.Seq] = it
	}
	return found, nil
}

// Cost is how much of a bound in tokens a recollection takes.
func Cost(tokens func(string) int, r agent.Recollection) int {
	return tokens(r.Source) + tokens(r.Text) + 4
}

// admits reports whether an item may be an answer.
func (q Query) admits(it Found) bool {
	switch {
	case q.Kinds != nil && !slices.Contains(q.Kinds, it.Kind), q.Own && it.Labels.Untrusted():
		return false
	}
	return q.Leave == nil || !q.Leave(it)
}

func recollection(it Found, one scored, why []string) agent.Recollection {
	if it.Kind == agent.MemoryMessage && it.Speaker == "" {
		it.Speaker = "you"
	}
	return agent.Recollection{
		Kind: it.Kind, Ref: it.Ref, External: it.External, Archive: it.Archive, Thread: it.Thread, Speaker: it.Speaker, Text: agent.Clip(it.Text, maxShown),
		Source: source(it), Why: why, Score: one.score, Time: it.Time, Said: it.Said, Labels: it.Labels,
	}
}

// source says for people where an item is from.
func source(it Found) string {
	var parts []string
	switch it.Kind {
	case agent.MemoryNote:
		return it.Ref
	case agent.MemoryFact:
		parts = append(parts, "a fact")
	case agent.MemoryEpisode:
		parts = append(parts, "a conversation")
	case agent.MemoryMessage:
		parts = append(parts, it.Speaker)
	}
	switch {
	case !it.Time.IsZero():
		parts = append(parts, it.Time.Format("2 January 2006"))
	case it.Said != "":
		parts = append(parts, it.Said)
	}
	return strings.Join(parts, ", ")
}

// why says in a few words what led to an item.
func (s *search) why(one scored) []string {
	var own, around []string
	terms, l := len(s.q.terms), &s.o.lines[one.item]
	for t, term := range s.q.terms {
		if row := s.row(one.item); row >= 0 && s.masks[row]&(1<<t) != 0 {
			word := term.word
			if v := term.variants[s.by[row*terms+t]]; v.why != "" {
				word = v.stem + " for " + term.word
			}
			own = append(own, word)
			continue
		}
		for at := one.item - before; at <= one.item+after; at++ {
			if row := s.row(at); row >= 0 && s.masks[row]&(1<<t) != 0 && s.o.beside(at, one.item) {
				around = append(around, term.word)
				break
			}
		}
	}
	var why []string
	if len(own) > 0 {
		why = append(why, "words: "+strings.Join(own, ", "))
	}
	if len(around) > 0 {
		why = append(why, "said around it: "+strings.Join(around, ", "))
	}
	if l.speaker != 0 && slices.Contains(s.q.speakers, l.speaker) {
		why = append(why, "said by "+s.o.names[l.speaker])
	}
	for _, span := range s.q.spans {
		if l.minute != unknown && span.Holds(l.time(), 36*time.Hour) {
			why = append(why, "from the time asked for")
			break
		}
	}
	return why
}
