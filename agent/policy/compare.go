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
	longMatch  = 64 // a match from here on is compared once, not again from each of its words
)

// index finds places in the folded readings of a payload.
type index struct {
	text     []byte  // all readings, each ended by a zero byte, then pad
	from, to []int32 // where in the payload each byte comes from
	present  [1 << bucketBits / 64]uint64
	first    []int32 // by slot: 1 + the last place of a key
	next     []int32 // by place: 1 + the place before it of the same key
}

const bucketBits = 18

func newIndex(all []layer) *index {
	x := &index{}
	for _, l := range all {
		x.addLayer(l)
	}
	size := len(x.text)
	x.text = append(x.text, make([]byte, pad)...)
	slots := 1
	for slots < 2*size {
		slots *= 2
	}
	x.first, x.next = make([]int32, slots), make([]int32, size)
	for at := size - keyLen; at >= 0; at-- {
		key := keyAt(x.text, at)
		if hasZero(x.text[at : at+keyLen]) {
			continue
		}
		b := bucket(key)
		x.present[b/64] |= 1 << (b % 64)
		slot := x.slot(key)
		x.next[at] = x.first[slot]
		x.first[slot] = int32(at) + 1 //nolint:gosec // readings are bounded by maxReading
	}
	return x
}

// slot returns where the places of a key are, or would be.
func (x *index) slot(key uint64) int {
	mask := len(x.first) - 1
	for i := int(key*0x9E3779B97F4A7C15>>32) & mask; ; i = (i + 1) & mask {
		if x.first[i] == 0 || keyAt(x.text, int(x.first[i])-1) == key {
			return i
		}
	}
}

// holds reports whether the payload may hold a key: most are turned away here.
func (x *index) holds(key uint64) bool {
	b := bucket(key)
	return x.present[b/64]&(1<<(b%64)) != 0
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

func bucket(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> (64 - bucketBits) }

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
		if !x.holds(keyAt(f.text, int(w.at))) {
			continue
		}
		if h, ok := s.at(int(w.at), i); ok {
			hits = append(hits, h...)
		}
	}
	s.diagonal = map[int]int{} // a second walk from the beginning
	for _, at := range f.inner {
		if !x.holds(keyAt(f.text, int(at))) {
			continue
		}
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
	var hits []hit
	place := s.x.first[s.x.slot(keyAt(s.f.text, at))]
	for n := 0; place > 0 && n < maxChain; n++ {
		p := int(place) - 1
		place = s.x.next[p]
		if len(s.diagonal) > 0 && s.diagonal[at-p] > at {
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
		if end-at >= longMatch {
			s.diagonal[at-p] = end
		}
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
