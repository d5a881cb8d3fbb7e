package embed

import (
	"encoding/binary"
	"math"
	"slices"
)

// segment is how many codes are allocated at once: growing never copies what is there.
const segment = 4096

// codes are the binary codes of one space in memory: 8 bytes for the item and one bit per dimension, about 104 bytes for
// 768 dimensions. There is no map from items to places: looking through all items takes
// 30 µs at 100,000, and is only done for changes.
type codes struct {
	words    int // of one code
	dims     int
	segments []codeSegment
}

type codeSegment struct {
	items []int64
	words []uint64
}

func newCodes(dims int) *codes { return &codes{words: codeWords(dims), dims: dims} }

func (c *codes) len() int {
	n := 0
	for _, s := range c.segments {
		n += len(s.items)
	}
	return n
}

// resident is how many bytes the codes take.
func (c *codes) resident() int {
	n := 0
	for _, s := range c.segments {
		n += 8*cap(s.items) + 8*cap(s.words)
	}
	return n
}

// put adds vectors or replaces those of the same items. Codes of another length are left out.
func (c *codes) put(vectors []Vector) {
	fresh := make(map[int64]int, len(vectors)) // item → place in vectors
	for i, v := range vectors {
		if len(v.Code) == 8*c.words {
			fresh[v.Item] = i
		}
	}
	for _, s := range c.segments {
		for at, item := range s.items {
			if i, ok := fresh[item]; ok {
				c.write(s.words[at*c.words:], vectors[i].Code)
				delete(fresh, item)
			}
		}
	}
	for i, v := range vectors {
		if at, ok := fresh[v.Item]; ok && at == i {
			c.add(v)
		}
	}
}

func (c *codes) write(to []uint64, code []byte) {
	for i := range c.words {
		to[i] = binary.LittleEndian.Uint64(code[8*i:])
	}
}

// add appends a vector whose item is not there.
func (c *codes) add(v Vector) {
	last := len(c.segments) - 1
	if last < 0 || len(c.segments[last].items) == segment {
		c.segments = append(c.segments, codeSegment{items: make([]int64, 0, segment), words: make([]uint64, 0, segment*c.words)})
		last++
	}
	s := &c.segments[last]
	s.items = append(s.items, v.Item)
	n := len(s.words)
	s.words = s.words[:n+c.words]
	c.write(s.words[n:], v.Code)
}

// drop takes items away: the last code takes the place of each.
func (c *codes) drop(gone map[int64]bool) {
	for i := range c.segments {
		s := &c.segments[i]
		for at := 0; at < len(s.items); {
			if !gone[s.items[at]] {
				at++
				continue
			}
			last := &c.segments[len(c.segments)-1]
			n := len(last.items) - 1
			s.items[at] = last.items[n]
			copy(s.words[at*c.words:(at+1)*c.words], last.words[n*c.words:])
			last.items, last.words = last.items[:n], last.words[:n*c.words]
			if n == 0 {
				c.segments = c.segments[:len(c.segments)-1]
				if i == len(c.segments) {
					return
				}
			}
		}
	}
}

// candidate is an item with the bits in which its code differs from the question's.
type candidate struct {
	item     int64
	distance int
}

// nearest returns the n items whose codes differ least from that of query, and those as far as the last of them;
// never more than twice n. Work is one pass over the codes and one over their distances.
func (c *codes) nearest(query []float32, n int) []candidate {
	code := make([]uint64, c.words)
	c.write(code, codeOf(query))
	distances := make([]uint16, 0, c.len())
	counts := make([]int, 64*c.words+1)
	for _, s := range c.segments {
		for at := range s.items {
			d := hamming(code, s.words[at*c.words:])
			distances = append(distances, uint16(min(d, math.MaxUint16))) //nolint:gosec // bounded
			counts[d]++
		}
	}
	limit, total := 0, 0
	for d, k := range counts {
		total += k
		limit = d
		if total >= n {
			break
		}
	}
	found := make([]candidate, 0, min(total, 2*n))
	i := 0
	for _, s := range c.segments {
		for _, item := range s.items {
			if d := int(distances[i]); d <= limit {
				found = append(found, candidate{item: item, distance: d})
			}
			i++
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	return found[:min(len(found), 2*n)]
}
