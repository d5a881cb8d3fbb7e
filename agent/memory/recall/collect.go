package recall

import (
	"context"
	"math"
	"math/bits"
)

const (
	// maxPostings bounds how many items a word brings, maxLarge in an index of more than large items: the newest. What only
	// stands in for a word brings a part of that.
	maxPostings, maxLarge = 8000, 3000
	large                 = 20_000
	standIn               = 4
)

// search is one recall at work.
type search struct {
	o      *outline
	q      question
	w      weights
	wanted []bool   // by kind as the outline numbers them; nil is all
	facts  []scored // the best of them, when they are to come first

	slot  []int32 // item → its row + 1
	items []int32 // of each row, the item
	masks []uint16
	own   []float32 // of each row, what each term is worth there
	by    []uint8   // … and by which variant
	sums  []float32 // of each sitting, how much of the question it speaks of
	info  []float64 // what an item is worth by its number of words; the last is for more
}

// newSearch makes room for a search.
func newSearch(o *outline, q question, w weights) *search {
	s := &search{o: o, q: q, w: w, slot: make([]int32, len(o.lines)), sums: make([]float32, len(o.sittings))}
	for words := 0; float64(words) < 2*o.average+1; words++ {
		s.info = append(s.info, math.Pow(min(2, max(0.35, float64(words)/o.average)), w.info))
	}
	return s
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
		if len(list) == 0 {
			continue
		}
		says := s.idf(list, limits[i])
		for _, p := range places[i] {
			term := s.q.terms[p.term]
			value := says * term.weight * term.variants[p.variant].weight
			s.note(list, p.term, p.variant, float32(value))
		}
	}
	s.sum()
	return nil
}

// note keeps what a word is worth to the items that hold it.
func (s *search) note(list []int64, term, variant int, value float32) {
	terms := len(s.q.terms)
	for _, seq := range list {
		item, ok := s.o.index(seq)
		if !ok {
			continue
		}
		row := int(s.slot[item]) - 1
		if row < 0 {
			row = len(s.items)
			s.items, s.masks = append(s.items, item), append(s.masks, 0)
			for range terms {
				s.own, s.by = append(s.own, 0), append(s.by, 0)
			}
			s.slot[item] = int32(row + 1) //nolint:gosec // fewer than items
		}
		if at := row*terms + term; value > s.own[at] {
			s.own[at], s.by[at] = value, uint8(variant) //nolint:gosec // at most maxVariants
			s.masks[row] |= 1 << term
		}
	}
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

// sum says how much of the question each sitting speaks of.
func (s *search) sum() {
	terms := len(s.q.terms)
	best := make(map[int32][]float32)
	for row, item := range s.items {
		at := s.o.lines[item].sitting
		if at == 0 {
			continue
		}
		b := best[at]
		if b == nil {
			b = make([]float32, terms)
			best[at] = b
		}
		for m := s.masks[row]; m != 0; m &= m - 1 {
			t := bits.TrailingZeros16(m)
			if v := s.own[row*terms+t]; v > b[t] {
				s.sums[at] += v - b[t]
				b[t] = v
			}
		}
	}
}

// row returns which row an item has, -1 for none.
func (s *search) row(item int) int {
	if item < 0 || item >= len(s.slot) {
		return -1
	}
	return int(s.slot[item]) - 1
}
