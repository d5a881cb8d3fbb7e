package recall

import (
	"context"
	"slices"
	"strings"

	"ash/agent"
)

// answer reads the items that were found and makes recollections of them, without doubles, within the budget.
func (e *Engine) answer(ctx context.Context, s *search, list []scored, query Query, limit int) ([]agent.Recollection, error) {
	seqs := make([]int64, len(list))
	for i, one := range list {
		seqs[i] = s.o.lines[one.item].Seq
	}
	items, err := e.index.Items(ctx, seqs)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]Found, len(items))
	for _, it := range items {
		found[it.Seq] = it
	}
	var (
		out    []agent.Recollection
		spent  int
		bodies = map[string]bool{}
	)
	for _, one := range list {
		l := &s.o.lines[one.item]
		it, ok := found[l.Seq]
		if !ok || it.Text == "" || !query.admits(it) {
			continue
		}
		double := it.Body != "" && bodies[it.Speaker+"\x00"+it.Body]
		if double {
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
		bodies[it.Speaker+"\x00"+it.Body] = true
		if out = append(out, r); len(out) == limit {
			break
		}
	}
	return out, nil
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
	return agent.Recollection{
		Kind: it.Kind, Ref: it.Ref, External: it.External, Archive: it.Archive, Thread: it.Thread, Text: agent.Clip(it.Text, maxShown),
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
		if it.Speaker == "" {
			it.Speaker = "you"
		}
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
	for t, term := range s.q.terms {
		r := s.own(one.item)
		if r != nil && r.own[t] > 0 {
			word := term.word
			if v := term.variants[r.by[t]]; v.why != "" {
				word = v.stem + " for " + term.word
			}
			own = append(own, word)
			continue
		}
		for at := one.item - reach; at <= one.item+reach; at++ {
			if n := s.own(at); n != nil && n.own[t] > 0 && s.o.beside(at, one.item) {
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
	l := &s.o.lines[one.item]
	if s.q.speakers[l.Speaker] {
		why = append(why, "said by "+l.Speaker)
	}
	for _, span := range s.q.spans {
		if !l.Time.IsZero() && span.Holds(l.Time, 36*3600*1e9) {
			why = append(why, "from the time asked for")
			break
		}
	}
	return why
}
