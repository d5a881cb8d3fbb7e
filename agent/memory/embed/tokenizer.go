package embed

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"ash/agent"
)

// maxTokenizer bounds tokenizer.json, in bytes.
const maxTokenizer = 128 << 20

// maxPiece bounds what the Unigram search looks at in one piece, in bytes.
const maxPiece = 4 << 10

// tokenizer turns a text into tokens as the one did that a model was made with. It does not look for special tokens: what
// a text calls [SEP] is text.
type tokenizer struct {
	steps     []step
	splitters []splitter
	vocab     *vocabulary
	unknown   int32 // id of the unknown token, which is left out; -1 for none
	tokens    int   // the highest id and one
	split     func(t *tokenizer, piece []byte, to []int32) []int32

	prefix   string // WordPiece: of a piece within a word
	maxChars int    // WordPiece: longer words are unknown
	lowest   float64
	bytes    []int32 // Unigram: the ids of <0x00> to <0xFF>, empty for none
}

type tokenizerJSON struct {
	Normalizer   json.RawMessage `json:"normalizer"`
	Pretokenizer json.RawMessage `json:"pre_tokenizer"`
	Model        struct {
		Type         string          `json:"type"`
		UnknownToken *string         `json:"unk_token"`
		UnknownID    *int64          `json:"unk_id"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		MaxChars     *int            `json:"max_input_chars_per_word"`
		ByteFallback bool            `json:"byte_fallback"`
		Vocabulary   json.RawMessage `json:"vocab"`
	} `json:"model"`
}

// parseTokenizer reads a tokenizer.json (https://huggingface.co/docs/tokenizers) of the kinds WordPiece and Unigram. CodeInvalid for others.
func parseTokenizer(text []byte) (*tokenizer, error) {
	var j tokenizerJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, badTokenizer(err)
	}
	t := &tokenizer{unknown: -1}
	var err error
	if t.steps, err = normalizer(j.Normalizer, 0); err != nil {
		return nil, badTokenizer(err)
	}
	if t.splitters, err = pretokenizer(j.Pretokenizer, 0); err != nil {
		return nil, badTokenizer(err)
	}
	kind := j.Model.Type
	if kind == "" && j.Model.UnknownID != nil { // older files do not say
		kind = "Unigram"
	}
	switch kind {
	case "WordPiece":
		err = t.wordPiece(j)
	case "Unigram":
		err = t.unigram(j)
	default:
		return nil, agent.Errorf(agent.CodeInvalid, "The embedding model's tokenizer is of the kind %q, which Ash cannot read. Choose a Model2Vec model with WordPiece or Unigram.", agent.Clip(kind, 40))
	}
	if err != nil {
		return nil, badTokenizer(err)
	}
	for _, id := range t.vocab.ids {
		t.tokens = max(t.tokens, int(id)+1)
	}
	if t.tokens == 0 {
		return nil, badTokenizer(errors.New("no tokens"))
	}
	return t, nil
}

func (t *tokenizer) wordPiece(j tokenizerJSON) error {
	entries, err := wordPieceVocabulary(j.Model.Vocabulary)
	if err != nil {
		return err
	}
	t.vocab = newVocabulary(entries, false)
	t.prefix, t.maxChars, t.split = "##", 100, (*tokenizer).pieces
	if j.Model.Prefix != nil {
		t.prefix = *j.Model.Prefix
	}
	if j.Model.MaxChars != nil && *j.Model.MaxChars > 0 {
		t.maxChars = min(*j.Model.MaxChars, 1000)
	}
	if j.Model.UnknownToken != nil {
		if at := t.vocab.find([]byte(*j.Model.UnknownToken)); at >= 0 {
			t.unknown = t.vocab.ids[at]
		}
	}
	return nil
}

func (t *tokenizer) unigram(j tokenizerJSON) error {
	entries, err := unigramVocabulary(j.Model.Vocabulary)
	if err != nil {
		return err
	}
	t.split = (*tokenizer).likeliest
	if j.Model.UnknownID != nil {
		if *j.Model.UnknownID < 0 || *j.Model.UnknownID > maxTokens {
			return fmt.Errorf("the unknown token is %d", *j.Model.UnknownID)
		}
		t.unknown = int32(*j.Model.UnknownID) //nolint:gosec // bounded
	}
	t.lowest = math.Inf(1)
	for _, e := range entries {
		t.lowest = min(t.lowest, float64(e.score))
	}
	t.vocab = newVocabulary(entries, true)
	if j.Model.ByteFallback {
		t.bytes = t.byteTokens()
	}
	return nil
}

func (t *tokenizer) byteTokens() []int32 {
	ids := make([]int32, 256)
	for b := range ids {
		at := t.vocab.find(fmt.Appendf(nil, "<0x%02X>", b))
		if at < 0 {
			return nil
		}
		ids[b] = t.vocab.ids[at]
	}
	return ids
}

// encode returns the tokens of a text, without unknown ones; at most limit.
func (t *tokenizer) encode(text string, limit int) []int32 {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for _, step := range t.steps {
		text = agent.Clip(step(text), maxExpansion*maxText)
	}
	pieces := []string{text}
	for _, split := range t.splitters {
		pieces = split(pieces)
	}
	var ids []int32
	for _, p := range pieces {
		if p == "" {
			continue
		}
		if ids = t.split(t, []byte(p), ids); len(ids) >= limit {
			return ids[:limit]
		}
	}
	return ids
}

// pieces splits a word by WordPiece: the longest token first, and the whole word unknown when it cannot be
// covered (https://arxiv.org/abs/1609.08144).
func (t *tokenizer) pieces(word []byte, to []int32) []int32 {
	if utf8.RuneCount(word) > t.maxChars {
		return to
	}
	had := len(to)
	buffer := make([]byte, 0, len(t.prefix)+len(word))
	for begin := 0; begin < len(word); {
		buffer = buffer[:0]
		if begin > 0 {
			buffer = append(buffer, t.prefix...)
		}
		head := len(buffer)
		buffer = append(buffer, word[begin:]...)
		buffer = buffer[:min(len(buffer), t.vocab.longest)]
		at := -1
		for len(buffer) > head {
			if at = t.vocab.find(buffer); at >= 0 {
				break
			}
			_, n := utf8.DecodeLastRune(buffer)
			buffer = buffer[:len(buffer)-n]
		}
		if at < 0 {
			return to[:had]
		}
		begin += len(buffer) - head
		if id := t.vocab.ids[at]; id != t.unknown {
			to = append(to, id)
		}
	}
	return to
}

// unknownPenalty is how much less likely than the least likely token an unknown character is, as in SentencePiece.
const unknownPenalty = 10

// likeliest splits a piece by Unigram: the tokens whose scores have the largest sum
// (Viterbi, https://arxiv.org/abs/1804.10959). Work is bounded by its length times that of the longest token.
func (t *tokenizer) likeliest(piece []byte, to []int32) []int32 {
	for len(piece) > maxPiece {
		cut := maxPiece
		for cut > 0 && !utf8.RuneStart(piece[cut]) {
			cut--
		}
		if cut == 0 {
			return to
		}
		to = t.likeliest(piece[:cut], to)
		piece = piece[cut:]
	}
	type best struct {
		score float64
		from  int
		place int // in the vocabulary; -1 for an unknown character
		there bool
	}
	path := make([]best, len(piece)+1)
	path[0].there = true
	reach := func(at, from, place int, score float64) {
		if b := &path[at]; !b.there || score > b.score {
			*b = best{score: score, from: from, place: place, there: true}
		}
	}
	for i := 0; i < len(piece); i++ {
		if !path[i].there {
			continue // within a character
		}
		_, size := utf8.DecodeRune(piece[i:])
		whole := false
		t.vocab.prefixes(piece[i:], func(place, n int) {
			reach(i+n, i, place, path[i].score+float64(t.vocab.scores[place]))
			whole = whole || n == size
		})
		if !whole {
			reach(i+size, i, -1, path[i].score+t.lowest-unknownPenalty)
		}
	}
	had := len(to)
	for at := len(piece); at > 0; at = path[at].from {
		switch b := path[at]; {
		case b.place >= 0:
			if id := t.vocab.ids[b.place]; id != t.unknown {
				to = append(to, id)
			}
		case len(t.bytes) == 256:
			for i := at - 1; i >= b.from; i-- {
				to = append(to, t.bytes[piece[i]])
			}
		}
	}
	reverse(to[had:])
	return to
}

func reverse(ids []int32) {
	for i, j := 0, len(ids)-1; i < j; i, j = i+1, j-1 {
		ids[i], ids[j] = ids[j], ids[i]
	}
}

func badTokenizer(err error) error {
	return agent.Wrap(agent.CodeInvalid, err, "The embedding model's tokenizer.json cannot be read: it is damaged, or of a kind Ash does not know.")
}
