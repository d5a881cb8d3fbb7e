package embed

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// splitter takes pieces of a text further apart, of a tokenizer's pre-tokenizer.
type splitter func([]string) []string

type pretokenizerJSON struct {
	Type          string            `json:"type"`
	Pretokenizers []json.RawMessage `json:"pretokenizers"`
	Replacement   string            `json:"replacement"`
	PrependScheme string            `json:"prepend_scheme"`
	AddPrefix     *bool             `json:"add_prefix_space"`
	Split         *bool             `json:"split"`
	Individual    bool              `json:"individual_digits"`
	Behavior      string            `json:"behavior"`
}

// pretokenizer reads the steps of a pre-tokenizer; kinds that are not known are refused.
func pretokenizer(raw json.RawMessage, depth int) ([]splitter, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var p pretokenizerJSON
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	switch p.Type {
	case "Sequence":
		return sequence(p.Pretokenizers, depth, pretokenizer)
	case "BertPreTokenizer":
		return []splitter{onSpace, each(func(s string) []string { return isolate(s, punctuation) })}, nil
	case "WhitespaceSplit":
		return []splitter{onSpace}, nil
	case "Whitespace": // \w+|[^\w\s]+
		return []splitter{onSpace, each(wordsApart)}, nil
	case "Punctuation":
		if p.Behavior != "" && p.Behavior != "Isolated" {
			return nil, fmt.Errorf("punctuation that is %.40q is not known", p.Behavior)
		}
		return []splitter{each(func(s string) []string { return isolate(s, punctuation) })}, nil
	case "Digits":
		if p.Individual {
			return []splitter{each(func(s string) []string { return isolate(s, unicode.IsNumber) })}, nil
		}
		return []splitter{each(func(s string) []string { return runs(s, unicode.IsNumber) })}, nil
	case "Metaspace":
		return metaspace(p), nil
	}
	return nil, fmt.Errorf("pre-tokenizer %.40q is not known", p.Type)
}

func each(split func(string) []string) splitter {
	return func(pieces []string) []string {
		out := make([]string, 0, len(pieces))
		for _, p := range pieces {
			out = append(out, split(p)...)
		}
		return out
	}
}

func onSpace(pieces []string) []string {
	out := make([]string, 0, len(pieces))
	for _, p := range pieces {
		out = append(out, strings.Fields(p)...)
	}
	return out
}

// isolate makes a piece of its own of every rune that is apart.
func isolate(s string, apart func(rune) bool) []string {
	var out []string
	begin := 0
	for i, r := range s {
		if !apart(r) {
			continue
		}
		if i > begin {
			out = append(out, s[begin:i])
		}
		begin = i + len(string(r))
		out = append(out, s[i:begin])
	}
	if begin < len(s) {
		out = append(out, s[begin:])
	}
	return out
}

// runs splits where in changes.
func runs(s string, in func(rune) bool) []string {
	var out []string
	begin, was := 0, false
	for i, r := range s {
		if now := in(r); now != was {
			if i > begin {
				out = append(out, s[begin:i])
			}
			begin, was = i, now
		}
	}
	if begin < len(s) {
		out = append(out, s[begin:])
	}
	return out
}

func wordsApart(s string) []string {
	return runs(s, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r) || unicode.Is(unicode.Pc, r)
	})
}

// punctuation is what BERT takes apart: what Unicode calls punctuation, and the signs of ASCII.
func punctuation(r rune) bool {
	return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~' || unicode.IsPunct(r)
}

// metaspace makes spaces visible and begins a piece at each.
func metaspace(p pretokenizerJSON) []splitter {
	mark := p.Replacement
	if mark == "" {
		mark = "▁"
	}
	prepend := p.PrependScheme == "always" || p.PrependScheme == "first" || p.PrependScheme == "" && (p.AddPrefix == nil || *p.AddPrefix)
	first := p.PrependScheme == "first"
	return []splitter{func(pieces []string) []string {
		out := make([]string, 0, len(pieces))
		for i, s := range pieces {
			s = strings.ReplaceAll(s, " ", mark)
			if prepend && s != "" && !strings.HasPrefix(s, mark) && (!first || i == 0) {
				s = mark + s
			}
			if p.Split != nil && !*p.Split {
				out = append(out, s)
				continue
			}
			for s != "" {
				next := strings.Index(s[min(1, len(s)):], mark) // where the next piece begins, less one
				if next < 0 {
					out = append(out, s)
					break
				}
				out = append(out, s[:next+1])
				s = s[next+1:]
			}
		}
		return out
	}}
}
