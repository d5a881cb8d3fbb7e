package policy

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// What a payload says is compared with what is private: the readings of the payload are folded, every place in them is
// indexed by the six bytes that follow, and each private text is walked once, word by word. The index is small and short-lived; private
// texts are large and are kept folded.

const (
	keyLen   = 6
	keyMask  = 1<<(8*keyLen) - 1
	maxChain = 48 // places of one key that are looked at
	// Thresholds are in quarters of an ordinary word: what must be repeated in one piece.
	enough     = 16 // of results and files
	enoughCore = 12 // of SOUL.md, USER.md and memory, which are short and all about the person
	sureBytes  = 8  // of a secret, for a piece of it to count
)

// index finds places in the folded readings of a payload.
type index struct {
	text     []byte  // all readings, each ended by a zero byte, then pad
	from, to []int32 // where in the payload each byte comes from
	present  [1 << 16 / 64]uint64
	places   map[uint64][]int32
}

func newIndex(all []layer) *index {
	x := &index{places: map[uint64][]int32{}}
	for _, l := range all {
		x.addLayer(l)
	}
	size := len(x.text)
	x.text = append(x.text, make([]byte, pad)...)
	for at := 0; at+keyLen <= size; at++ {
		key := keyAt(x.text, at)
		if key == 0 || hasZero(x.text[at:at+keyLen]) {
			continue
		}
		b := bucket(key)
		x.present[b/64] |= 1 << (b % 64)
		if list := x.places[key]; len(list) < maxChain {
			x.places[key] = append(list, int32(at)) //nolint:gosec // readings are bounded by maxReading
		}
	}
	return x
}

func (x *index) addLayer(l layer) {
	var scratch []byte
	for i, r := range string(l.text) {
		n := 1
		if r >= 0x80 {
			n = len(string(r))
			if n > l.len()-i {
				n = l.len() - i
			}
		}
		scratch = foldRune(scratch[:0], r)
		from, to := l.span(i, i+n)
		for _, b := range scratch {
			x.text, x.from, x.to = append(x.text, b), append(x.from, from), append(x.to, to)
		}
	}
	x.text, x.from, x.to = append(x.text, 0), append(x.from, -1), append(x.to, -1)
}

func keyAt(text []byte, at int) uint64 { return binary.LittleEndian.Uint64(text[at:]) & keyMask }

func bucket(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> 48 }

func hasZero(b []byte) bool { return bytes.IndexByte(b, 0) >= 0 }

// hit is a passage of a private text that a payload repeats.
type hit struct {
	start, end int // in index.text
	words      int // of the private text
	plain      bool
	cut        [2]int // bytes at both ends that belong to no word that counts
}

// find returns the passages of f that weigh enough and stand in the payload.
func (x *index) find(f *folded, threshold int) []hit {
	var hits []hit
	s := search{x: x, f: f, threshold: threshold, diagonal: map[int]int{}}
	for i, w := range f.words {
		if h, ok := s.at(int(w.at), i); ok {
			hits = append(hits, h...)
		}
	}
	s.diagonal = map[int]int{} // a second walk from the beginning
	for _, at := range f.inner {
		i, found := slices.BinarySearchFunc(f.words, at, func(w word, at uint32) int { return int(w.at) - int(at) })
		if !found {
			i--
		}
		if h, ok := s.at(int(at), i); ok {
			hits = append(hits, h...)
		}
	}
	return hits
}

// search is one walk through a private text.
type search struct {
	x         *index
	f         *folded
	threshold int
	diagonal  map[int]int // how far the text was compared, by its distance from the place in the payload
}

// at compares the payload with what begins at a place of the private text, within word i.
func (s *search) at(at, i int) ([]hit, bool) {
	key := keyAt(s.f.text, at)
	b := bucket(key)
	if s.x.present[b/64]&(1<<(b%64)) == 0 {
		return nil, false
	}
	var hits []hit
	for _, place := range s.x.places[key] {
		p := int(place)
		if s.diagonal[at-p] > at {
			continue
		}
		end := at + keyLen
		for end < s.f.size && s.x.text[p+end-at] == s.f.text[end] {
			end++
		}
		start := at
		for start > 0 && p-(at-start) > 0 && s.x.text[p-(at-start)-1] == s.f.text[start-1] {
			start--
		}
		s.diagonal[at-p] = end
		if h, ok := s.weigh(start, end, i); ok {
			h.start, h.end = p-(at-start)+h.cut[0], p+end-at-h.cut[1]
			hits = append(hits, h)
		}
	}
	return hits, len(hits) > 0
}

// weigh adds up the words of the private text from start to end; i is a word among them.
func (s *search) weigh(start, end, i int) (hit, bool) {
	words := s.f.words
	for i > 0 && int(words[i].at) > start {
		i--
	}
	h, sum := hit{plain: true}, 0
	for ; i < len(words) && int(words[i].at) < end; i++ {
		from, to := int(words[i].at), s.f.size
		if i+1 < len(words) {
			to = int(words[i+1].at)
		}
		whole := from >= start && to <= end
		piece := words[i].weight >= weightSecret && min(to, end)-max(from, start) >= sureBytes
		if !whole && !piece {
			continue
		}
		if h.words == 0 {
			h.cut[0] = max(from, start) - start
		}
		h.cut[1] = end - min(to, end)
		h.words++
		h.plain = h.plain && words[i].weight <= weightName
		sum += int(words[i].weight)
	}
	return h, sum >= s.threshold
}
