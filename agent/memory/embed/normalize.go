package embed

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// step is one transformation of a text, of a tokenizer's normalizer.
type step func(string) string

// maxSteps bounds how many a tokenizer may have, and maxNesting how deep they lie in each other.
const (
	maxSteps   = 256
	maxNesting = 8
)

// maxExpansion bounds what normalizing may make of a text, as a multiple of its bound.
const maxExpansion = 16

type normalizerJSON struct {
	Type         string            `json:"type"`
	Normalizers  []json.RawMessage `json:"normalizers"`
	CleanText    *bool             `json:"clean_text"`
	Chinese      *bool             `json:"handle_chinese_chars"`
	StripAccents *bool             `json:"strip_accents"`
	Lowercase    *bool             `json:"lowercase"`
	Left         bool              `json:"strip_left"`
	Right        bool              `json:"strip_right"`
	Prepend      string            `json:"prepend"`
	Content      string            `json:"content"`
	Pattern      patternJSON       `json:"pattern"`
}

type patternJSON struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// normalizer reads the steps of a normalizer. One of a kind that is not known is refused: what it
// would have done decides which tokens are found.
func normalizer(raw json.RawMessage, depth int) ([]step, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var n normalizerJSON
	if err := json.Unmarshal(raw, &n); err != nil {
		return nil, err
	}
	switch n.Type {
	case "Sequence":
		return sequence(n.Normalizers, depth, normalizer)
	case "BertNormalizer":
		return bertNormalizer(n), nil
	case "Lowercase":
		return []step{strings.ToLower}, nil
	case "NFC":
		return []step{norm.NFC.String}, nil
	case "NFD":
		return []step{norm.NFD.String}, nil
	case "NFKC":
		return []step{norm.NFKC.String}, nil
	case "NFKD":
		return []step{norm.NFKD.String}, nil
	case "StripAccents":
		return []step{dropMarks}, nil
	case "Nmt":
		return []step{cleanText}, nil
	case "Precompiled":
		// SentencePiece's table is NFKC with white space made one kind; the table itself is not read.
		return []step{cleanText, norm.NFKC.String}, nil
	case "Strip":
		return []step{strip(n.Left, n.Right)}, nil
	case "Prepend":
		return []step{func(s string) string {
			if s == "" {
				return s
			}
			return n.Prepend + s
		}}, nil
	case "Replace":
		return replace(n)
	}
	return nil, fmt.Errorf("normalizer %.40q is not known", n.Type)
}

// sequence reads the members of a sequence with read.
func sequence[T any](raw []json.RawMessage, depth int, read func(json.RawMessage, int) ([]T, error)) ([]T, error) {
	if depth >= maxNesting || len(raw) > maxSteps {
		return nil, fmt.Errorf("%d steps at depth %d", len(raw), depth)
	}
	var out []T
	for _, r := range raw {
		steps, err := read(r, depth+1)
		if err != nil {
			return nil, err
		}
		if out = append(out, steps...); len(out) > maxSteps {
			return nil, fmt.Errorf("more than %d steps", maxSteps)
		}
	}
	return out, nil
}

func bertNormalizer(n normalizerJSON) []step {
	on := func(b *bool) bool { return b == nil || *b }
	var out []step
	if on(n.CleanText) {
		out = append(out, cleanText)
	}
	if on(n.Chinese) {
		out = append(out, spaceChinese)
	}
	lower := on(n.Lowercase)
	accents := lower
	if n.StripAccents != nil {
		accents = *n.StripAccents
	}
	if accents {
		out = append(out, func(s string) string { return dropMarks(norm.NFD.String(s)) })
	}
	if lower {
		out = append(out, strings.ToLower)
	}
	return out
}

func replace(n normalizerJSON) ([]step, error) {
	switch {
	case n.Pattern.String != nil && *n.Pattern.String != "":
		old := *n.Pattern.String
		return []step{func(s string) string { return strings.ReplaceAll(s, old, n.Content) }}, nil
	case n.Pattern.Regex != nil && len(*n.Pattern.Regex) <= 1000:
		pattern, err := regexp.Compile(*n.Pattern.Regex)
		if err != nil {
			return nil, err
		}
		return []step{func(s string) string { return pattern.ReplaceAllLiteralString(s, n.Content) }}, nil
	}
	return nil, fmt.Errorf("a Replace normalizer without a pattern")
}

// cleanText takes control characters out and makes white space one kind.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r):
			return ' '
		case r == 0 || r == unicode.ReplacementChar || unicode.Is(unicode.C, r):
			return -1
		}
		return r
	}, s)
}

// spaceChinese sets each Chinese character apart.
func spaceChinese(s string) string {
	if !strings.ContainsFunc(s, chinese) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if chinese(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// chinese is BERT's list of blocks (CJK Unified Ideographs and their extensions).
func chinese(r rune) bool {
	return r >= 0x3400 && (r <= 0x4DBF || r >= 0x4E00 && r <= 0x9FFF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F)
}

func dropMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
}

func strip(left, right bool) step {
	return func(s string) string {
		if left {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		if right {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		return s
	}
}
