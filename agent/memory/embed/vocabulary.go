package embed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Bounds of a vocabulary: ten times the largest there are.
const (
	maxTokens = 4_000_000
	maxToken  = 1024 // bytes; longer ones are left out
)

// vocabulary is the tokens of a model in one run of bytes, sorted: half a million take some 15 MB,
// where a map of strings would take three times that.
type vocabulary struct {
	text    []byte
	ends    []uint32 // of each token in text
	ids     []int32
	scores  []float32 // of a Unigram model
	longest int       // bytes
}

// vocabularyEntry is one token while a vocabulary is built.
type vocabularyEntry struct {
	token string
	id    int32
	score float32
}

func newVocabulary(entries []vocabularyEntry, scored bool) *vocabulary {
	slices.SortStableFunc(entries, func(a, b vocabularyEntry) int { return cmpString(a.token, b.token) })
	v := &vocabulary{ends: make([]uint32, 0, len(entries)), ids: make([]int32, 0, len(entries))}
	n := 0
	for _, e := range entries {
		n += len(e.token)
	}
	v.text = make([]byte, 0, n)
	for i, e := range entries {
		if i > 0 && entries[i-1].token == e.token {
			continue // the first one counts
		}
		v.text = append(v.text, e.token...)
		v.ends = append(v.ends, uint32(len(v.text))) //nolint:gosec // the file is bounded
		v.ids = append(v.ids, e.id)
		if scored {
			v.scores = append(v.scores, e.score)
		}
		v.longest = max(v.longest, len(e.token))
	}
	return v
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (v *vocabulary) token(i int) []byte {
	begin := uint32(0)
	if i > 0 {
		begin = v.ends[i-1]
	}
	return v.text[begin:v.ends[i]]
}

// find returns the place of a token, -1 when there is none.
func (v *vocabulary) find(token []byte) int {
	at, ok := sort.Find(len(v.ends), func(i int) int { return bytes.Compare(token, v.token(i)) })
	if !ok {
		return -1
	}
	return at
}

// prefixes calls yield with the place and length of each token that text begins with, shortest first.
func (v *vocabulary) prefixes(text []byte, yield func(place, length int)) {
	low, high := 0, len(v.ends)
	for n := 1; n <= min(len(text), v.longest) && low < high; n++ {
		c := text[n-1]
		// Within low:high all tokens begin with text[:n-1]; those of that very length come first.
		low += sort.Search(high-low, func(i int) bool { t := v.token(low + i); return len(t) >= n && t[n-1] >= c })
		high = low + sort.Search(high-low, func(i int) bool { t := v.token(low + i); return t[n-1] > c })
		if low < high && len(v.token(low)) == n {
			yield(low, n)
		}
	}
}

// wordPieceVocabulary reads {"token": id}.
func wordPieceVocabulary(raw json.RawMessage) ([]vocabularyEntry, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("the vocabulary is no object"), err)
	}
	var out []vocabularyEntry
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var id int64
		if err := d.Decode(&id); err != nil {
			return nil, err
		}
		if out, err = appendEntry(out, key.(string), id, 0); err != nil { // a key is a string
			return nil, err
		}
	}
	return out, nil
}

// unigramVocabulary reads [["token", score], …]; the id is the place.
func unigramVocabulary(raw json.RawMessage) ([]vocabularyEntry, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.Join(errors.New("the vocabulary is no list"), err)
	}
	var out []vocabularyEntry
	for id := int64(0); d.More(); id++ {
		var pair []json.RawMessage
		if err := d.Decode(&pair); err != nil {
			return nil, err
		}
		var token string
		var score float64
		if len(pair) != 2 {
			return nil, fmt.Errorf("entry %d of the vocabulary is no pair", id)
		}
		err := errors.Join(json.Unmarshal(pair[0], &token), json.Unmarshal(pair[1], &score))
		if err != nil {
			return nil, err
		}
		if math.Abs(score) > 1e6 {
			return nil, fmt.Errorf("entry %d of the vocabulary has the score %g", id, score)
		}
		if out, err = appendEntry(out, token, id, float32(score)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func appendEntry(to []vocabularyEntry, token string, id int64, score float32) ([]vocabularyEntry, error) {
	if id < 0 || id > maxTokens || len(to) >= maxTokens {
		return nil, fmt.Errorf("token %d is out of bounds", id)
	}
	if token == "" || len(token) > maxToken {
		return to, nil
	}
	return append(to, vocabularyEntry{token: token, id: int32(id), score: score}), nil
}
