package recall

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"ash/agent"
	"ash/agent/memory/lexis"
)

const (
	// maxPostings bounds how many items a word brings, maxLarge in an index of more than large items: the newest. What only
	// stands in for a word brings a part of that.
	maxPostings, maxLarge = 8000, 1600
	large                 = 20_000
	standIn               = 4
	// reach is how far around an item its context goes, in turns.
	reach = 2
)

// row is what the words of a question found in one item.
type row struct {
	own  [maxTerms]float32
	by   [maxTerms]uint8 // the variant
	item int32
}

// scored is an item on its way to the answer.
type scored struct {
	item  int
	score float64
	match float64 // of the words alone
}

// search is one recall at work.
type search struct {
	o    *outline
	q    question
	w    weights
	rows []row
	slot []int32 // item → index in rows + 1
	full []float64
}

// find scores every item that the question's words, or those around it, touch: best first, at most limit.
func (e *Engine) find(ctx context.Context, o *outline, q question, w weights, limit int) ([]scored, *search, error) {
	s := &search{o: o, q: q, w: w, slot: make([]int32, len(o.lines)), full: make([]float64, len(q.terms))}
	if err := s.collect(ctx, e.index); err != nil {
		return nil, nil, err
	}
	list := best(s.score(), limit)
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(o.lines[a.item].Seq, o.lines[b.item].Seq))
	})
	return list[:min(limit, len(list))], s, nil
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

// collect asks the index for every word and notes where it stands.
func (s *search) collect(ctx context.Context, index Index) error {
	type place struct{ term, variant int }
	var (
		stems  []string
		places [][]place
		limits []int
		most   = maxPostings
		known  = map[string]int{}
	)
	if len(s.o.lines) > large {
		most = maxLarge
	}
	for t, term := range s.q.terms {
		for v, variant := range term.variants {
			limit := most
			if v > 0 {
				limit /= standIn
			}
			i, ok := known[variant.stem]
			if !ok {
				i = len(stems)
				known[variant.stem] = i
				stems, places, limits = append(stems, variant.stem), append(places, nil), append(limits, limit)
			}
			places[i] = append(places[i], place{t, v})
			limits[i] = max(limits[i], limit)
		}
	}
	lists, err := index.Postings(ctx, stems, limits)
	if err != nil {
		return err
	}
	for i, list := range lists {
		idf := s.idf(list, limits[i])
		for _, p := range places[i] {
			term := s.q.terms[p.term]
			value := idf * term.weight * term.variants[p.variant].weight
			if p.variant == 0 || value > s.full[p.term] {
				s.full[p.term] = max(s.full[p.term], value)
			}
			for _, seq := range list {
				if item, ok := s.o.index(seq); ok {
					r := s.row(item)
					if float32(value) > r.own[p.term] {
						r.own[p.term], r.by[p.term] = float32(value), uint8(p.variant)
					}
				}
			}
		}
	}
	return nil
}

// idf is how much a word says. Of one that stands in more items than were asked for, how many they are is taken
// from how far back those go.
func (s *search) idf(list []int64, limit int) float64 {
	n, items := float64(len(s.o.lines)), float64(len(list))
	if len(list) == limit {
		back := float64(s.o.extent.Last - list[limit-1] + 1)
		items = min(n, max(items, items*float64(s.o.extent.Last)/back))
	}
	return math.Log(1 + (n-items+0.5)/(items+0.5))
}

func (s *search) row(item int32) *row {
	if s.slot[item] == 0 {
		s.rows = append(s.rows, row{item: item})
		s.slot[item] = int32(len(s.rows))
	}
	return &s.rows[s.slot[item]-1]
}

// own returns what the words found in an item, nil for nothing.
func (s *search) own(item int) *row {
	if item < 0 || item >= len(s.slot) || s.slot[item] == 0 {
		return nil
	}
	return &s.rows[s.slot[item]-1]
}

// score rates every item that a word touches, and those around them.
func (s *search) score() []scored {
	sections := s.sections()
	done := make([]bool, len(s.o.lines))
	var list []scored
	for _, at := range s.firstOf(sections) {
		for item := at; item == at || s.o.beside(item, at); item++ {
			done[item] = true
			list = append(list, s.rate(item, sections))
		}
	}
	for i := range s.rows {
		item := int(s.rows[i].item)
		for at := item - reach; at <= item+reach; at++ {
			if at < 0 || at >= len(done) || done[at] || (at != item && !s.o.beside(at, item)) {
				continue
			}
			done[at] = true
			list = append(list, s.rate(at, sections))
		}
	}
	return list
}

// sitting names a section of a thread.
type sitting struct {
	thread  agent.ID
	section int64
}

// sections says how much of the question each sitting speaks of.
func (s *search) sections() map[sitting]float64 {
	best := map[sitting]*[maxTerms]float32{}
	for i := range s.rows {
		r := &s.rows[i]
		l := &s.o.lines[r.item]
		if l.Section == 0 {
			continue
		}
		key := sitting{l.Thread, l.Section}
		b := best[key]
		if b == nil {
			b = new([maxTerms]float32)
			best[key] = b
		}
		for t := range s.q.terms {
			b[t] = max(b[t], r.own[t])
		}
	}
	sums := make(map[sitting]float64, len(best))
	for key, b := range best {
		for t := range s.q.terms {
			sums[key] += float64(b[t])
		}
	}
	return sums
}

// maxSections is how many sittings are looked at whole.
const maxSections = 5

// firstOf returns where the sittings that speak most of the question begin.
func (s *search) firstOf(sections map[sitting]float64) []int {
	keys := slices.SortedFunc(maps.Keys(sections), func(a, b sitting) int {
		return cmp.Or(cmp.Compare(sections[b], sections[a]), cmp.Compare(a.thread, b.thread), cmp.Compare(a.section, b.section))
	})
	var first []int
	for _, key := range keys[:min(maxSections, len(keys))] {
		at, ok := slices.BinarySearchFunc(s.o.lines, key, func(l Line, k sitting) int {
			return cmp.Or(cmp.Compare(l.Thread, k.thread), cmp.Compare(l.Place, k.section))
		})
		if ok && s.o.lines[at].Section == key.section {
			first = append(first, at)
		}
	}
	return first
}

// rate scores one item: its words, those around it, then what kind of item it is.
func (s *search) rate(item int, sections map[sitting]float64) scored {
	l := &s.o.lines[item]
	length := 1.0
	if l.Words > 0 {
		length = 1 / (1 - s.w.length + s.w.length*max(0.5, float64(l.Words)/s.o.average))
	}
	var around [2*reach + 1]float64
	around[reach] = length
	for i, weight := range [...]float64{s.w.before2, s.w.before1, 0, s.w.after1, s.w.after2} {
		if i != reach && s.o.beside(item, item+i-reach) {
			around[i] = weight
		}
	}
	if around[reach-1] > 0 {
		if b := &s.o.lines[item-1]; b.Marks&lexis.Asks != 0 && b.Speaker != l.Speaker {
			around[reach-1] = s.w.answers
		}
	}
	match := 0.0
	for t := range s.q.terms {
		best, sum := 0.0, 0.0
		for i, weight := range around {
			if weight == 0 {
				continue
			}
			if r := s.own(item + i - reach); r != nil && r.own[t] > 0 {
				value := weight * float64(r.own[t])
				best, sum = max(best, value), sum+value
			}
		}
		match += best + s.w.rest*(sum-best)
	}
	if s.w.far > 0 {
		match += s.w.far * s.before(item)
	}
	if l.Section != 0 {
		match += s.w.section * sections[sitting{l.Thread, l.Section}]
	}
	return scored{item: item, match: match, score: match * s.factor(l)}
}

// before is the most that one of the turns three to five before an item says.
func (s *search) before(item int) float64 {
	best := 0.0
	for at := item - 3; at >= item-5 && s.o.beside(at, item); at-- {
		r := s.own(at)
		if r == nil {
			continue
		}
		sum := 0.0
		for t := range s.q.terms {
			sum += float64(r.own[t])
		}
		best = max(best, sum)
	}
	return best
}

// factor is what an item is worth whatever its words.
func (s *search) factor(l *Line) float64 {
	f := 1.0
	if len(s.q.speakers) > 0 && l.Kind == agent.MemoryMessage {
		if s.q.speakers[l.Speaker] {
			f *= 1 + s.w.speaker
		}
		for name := range s.q.speakers {
			if s.o.threads[l.Thread][name] {
				f *= 1 + s.w.thread
				break
			}
		}
	}
	if l.Marks&lexis.OnlyAsk != 0 {
		f *= 1 - s.w.asks
	}
	f *= math.Pow(min(2, max(0.35, float64(l.Words)/s.o.average)), s.w.info)
	if l.Words < 3 {
		f *= 1 - s.w.short
	}
	if s.q.wants&wantsTime != 0 && l.Marks&lexis.HasTime != 0 {
		f *= 1 + s.w.when
	}
	if s.q.wants&wantsNumber != 0 && l.Marks&lexis.HasNumber != 0 {
		f *= 1 + s.w.number
	}
	if !l.Time.IsZero() {
		for _, span := range s.q.spans {
			if span.Holds(l.Time, 36*3600*1e9) {
				f *= 1 + s.w.span
				break
			}
		}
		// Half of it a year before the newest.
		age := float64(s.o.newest-l.Time.Unix()) / (365 * 86400)
		f *= 1 + s.w.recent/(1+max(0, age))
	}
	if l.Kind == agent.MemoryFact {
		f *= 1 + s.w.kinds
	}
	return f * (1 + s.w.weight*l.Weight)
}
