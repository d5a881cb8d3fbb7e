package recall

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"ash/agent"
	"ash/agent/memory/lexis"
)

const (
	// before and after are how far around an item its context goes, in turns.
	before, after = 5, 2
	// maxSittings is how many sittings are looked at whole.
	maxSittings = 5
)

// scored is an item on its way to the answer.
type scored struct {
	item  int
	score float64
}

// find scores every item that the question's words, or those around it, touch: best first, at most limit. Of query, it looks at what kinds are
// wanted and how many facts come first.
func (e *Engine) find(ctx context.Context, o *outline, q question, w weights, limit int, query Query) ([]scored, *search, error) {
	s := newSearch(o, q, w)
	if query.Kinds != nil { // before the rest is cut off, or what is more frequent would take the place of what is wanted
		s.wanted = make([]bool, len(o.kinds))
		for i, kind := range o.kinds {
			s.wanted[i] = slices.Contains(query.Kinds, kind)
		}
	}
	if err := s.collect(ctx, e.index); err != nil {
		return nil, nil, err
	}
	all := s.score()
	if query.Facts > 0 {
		for _, one := range all {
			if o.kind(&o.lines[one.item]) == agent.MemoryFact {
				s.facts = append(s.facts, one)
			}
		}
		s.facts = s.sorted(s.facts, 2*query.Facts)
	}
	return s.sorted(all, limit), s, nil
}

// sorted returns the best of a list, at most limit, the best first.
func (s *search) sorted(list []scored, limit int) []scored {
	list = best(list, limit)
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(s.o.lines[a.item].seq, s.o.lines[b.item].seq))
	})
	return list[:min(limit, len(list))]
}

// factsFirst puts the best facts before all else, at most n: those of the list, then those that did not come into it.
func (s *search) factsFirst(list []scored, n int) []scored {
	var front []scored
	taken := map[int]bool{}
	for _, of := range [][]scored{list, s.facts} {
		for _, one := range of {
			if len(front) < n && !taken[one.item] && s.o.kind(&s.o.lines[one.item]) == agent.MemoryFact {
				front, taken[one.item] = append(front, one), true
			}
		}
	}
	return append(front, slices.DeleteFunc(list, func(one scored) bool { return taken[one.item] })...)
}

// best keeps what scores at least as much as the limit-th, without sorting the rest: hundreds of thousands are rated, a few
// dozen matter.
func best(list []scored, limit int) []scored {
	if len(list) <= 8*limit {
		return list
	}
	// The limit-th best of a part is no better than that of the whole: what is below it can go.
	part := slices.Clone(list[:4*limit])
	for range 2 {
		slices.SortFunc(part, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
		floor := part[limit-1].score
		kept := list[:0]
		for _, one := range list {
			if one.score >= floor {
				kept = append(kept, one)
			}
		}
		list = kept
		if len(list) <= 8*limit {
			break
		}
		part = slices.Clone(list[:4*limit])
	}
	return list
}

// score rates every item that a word touches, and those around them.
func (s *search) score() []scored {
	done := make([]bool, len(s.o.lines))
	list := make([]scored, 0, 4*len(s.items))
	for _, at := range s.foremost() {
		for item := int(s.o.sittings[at]); item < len(s.o.lines) && s.o.lines[item].sitting == at; item++ {
			done[item] = true
			list = s.append(list, item)
		}
	}
	for _, i := range s.items {
		item := int(i)
		for at := item - after; at <= item+before; at++ {
			if at < 0 || at >= len(done) || done[at] || (at != item && !s.o.beside(at, item)) {
				continue
			}
			done[at] = true
			list = s.append(list, at)
		}
	}
	return list
}

// append adds an item, if it is of a kind that is asked for.
func (s *search) append(list []scored, item int) []scored {
	if s.wanted != nil && !s.wanted[s.o.lines[item].kind] {
		return list
	}
	return append(list, s.rate(item))
}

// foremost returns the sittings that speak most of the question.
func (s *search) foremost() []int32 {
	var list []int32
	for at, sum := range s.sums {
		if sum == 0 || (len(list) == maxSittings && sum <= s.sums[list[maxSittings-1]]) {
			continue
		}
		i, _ := slices.BinarySearchFunc(list, sum, func(a int32, sum float32) int {
			if s.sums[a] >= sum {
				return -1
			}
			return 1
		})
		list = slices.Insert(list, i, int32(at)) //nolint:gosec // fewer than items
		list = list[:min(len(list), maxSittings)]
	}
	return list
}

// rate scores one item: its words, those around it, then what kind of item it is.
func (s *search) rate(item int) scored {
	l := &s.o.lines[item]
	var (
		weights [before + 1 + after]float64
		rows    [before + 1 + after]int
		mask    uint16
		terms   = len(s.q.terms)
	)
	s.around(item, l, &weights)
	for i := range rows {
		rows[i] = -1
		if weights[i] > 0 {
			if rows[i] = s.row(item + i - before); rows[i] >= 0 {
				mask |= s.masks[rows[i]]
			}
		}
	}
	match := 0.0
	for ; mask != 0; mask &= mask - 1 {
		t := bits.TrailingZeros16(mask)
		best, sum := 0.0, 0.0
		for i, row := range rows {
			if row >= 0 {
				value := weights[i] * float64(s.own[row*terms+t])
				best, sum = max(best, value), sum+value
			}
		}
		match += best + s.w.rest*(sum-best)
	}
	match += s.w.section * float64(s.sums[l.sitting])
	return scored{item: item, score: match * s.factor(l)}
}

// around weighs the turns around an item, and itself.
func (s *search) around(item int, l *line, weights *[before + 1 + after]float64) {
	refers := 1.0
	if l.marks&uint16(lexis.Refers) != 0 {
		refers += s.w.refers
	}
	for i, w := range [...]float64{
		s.w.before5 * refers, s.w.before4 * refers, s.w.before3 * refers, s.w.before2 * refers, s.w.before1 * refers, 0, s.w.after1, s.w.after2,
	} {
		if i != before && w > 0 && s.o.beside(item, item+i-before) {
			weights[i] = w
		}
	}
	weights[before] = 1
	if l.words > 0 {
		weights[before] = 1 / (1 - s.w.length + s.w.length*max(0.5, float64(l.words)/s.o.average))
	}
	if weights[before-1] > 0 {
		if b := &s.o.lines[item-1]; b.marks&uint16(lexis.Asks) != 0 && b.speaker != l.speaker {
			weights[before-1] = s.w.answers
		}
	}
}

// factor is what an item is worth whatever its words.
func (s *search) factor(l *line) float64 {
	f := s.voice(l)
	if l.marks&uint16(lexis.OnlyAsk) != 0 {
		f *= 1 - s.w.asks
	}
	f *= s.info[min(int(l.words), len(s.info)-1)]
	if l.words < 3 {
		f *= 1 - s.w.short
	}
	for _, k := range [...]struct {
		want  wants
		marks lexis.Marks
		by    float64
	}{
		{wantsTime, lexis.HasTime, s.w.when}, {wantsNumber, lexis.HasNumber, s.w.number}, {wantsPlace, lexis.HasPlace, s.w.where},
	} {
		if s.q.wants&k.want != 0 && l.marks&uint16(k.marks) != 0 {
			f *= 1 + k.by
		}
	}
	if l.minute != unknown {
		if len(s.q.spans) > 0 {
			at := l.time()
			for _, span := range s.q.spans {
				if span.Holds(at, 36*3600*1e9) {
					f *= 1 + s.w.span
					break
				}
			}
		}
		// Half of it a year before the newest.
		age := float64(s.o.newest-l.minute) / (365 * 1440)
		f *= 1 + s.w.recent/(1+max(0, age))
	}
	if s.o.kind(l) == agent.MemoryFact {
		f *= 1 + s.w.kinds
	}
	return f * (1 + s.w.weight*float64(l.weight))
}

// voice is what it is worth who says an item, and to whom.
func (s *search) voice(l *line) float64 {
	if len(s.q.speakers) == 0 || l.sitting == 0 {
		return 1
	}
	f := 1.0
	if slices.Contains(s.q.speakers, l.speaker) {
		f += s.w.speaker
		if l.marks&uint16(lexis.First) != 0 {
			f *= 1 + s.w.first
		}
	}
	for _, v := range s.o.threads[l.thread].voices {
		if slices.Contains(s.q.speakers, v) {
			return f * (1 + s.w.thread)
		}
	}
	return f
}
