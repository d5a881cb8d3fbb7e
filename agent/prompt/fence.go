package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ash/agent"
)

// fence marks data in a prompt. Its boundary comes from the thread's id (74 random bits): a stranger
// who writes a page or a file cannot know it, and it is the same on every turn, so that caches hit.
type fence struct {
	boundary string
}

func newFence(thread agent.ID) fence {
	sum := sha256.Sum256([]byte("ash prompt fence\x00" + string(thread)))
	return fence{boundary: hex.EncodeToString(sum[:6])}
}

// lookalike matches what could be taken for the beginning or the end of a fence.
var lookalike = regexp.MustCompile(`(?i)<\s*(/?)\s*data-`)

// wrap returns text between the marks of the fence.
func (f fence) wrap(source string, labels agent.Labels, text string) string {
	trust := ""
	if labels.Untrusted() {
		trust = ` trust="none"`
	}
	return fmt.Sprintf("<data-%s from=\"%s\"%s>\n%s\n</data-%s>", f.boundary, clean(source), trust, f.defuse(text), f.boundary)
}

// defuse takes away what could end the fence early. A boundary that leaked into
// data is no use there.
func (f fence) defuse(text string) string {
	text = strings.ReplaceAll(text, f.boundary, "…")
	return lookalike.ReplaceAllString(strings.TrimRight(text, "\n"), "‹${1}data-")
}

// clean makes a source fit for an attribute: one line, no marks, at most 200 bytes.
func clean(source string) string {
	source = strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '<' || r == '>':
			return '\''
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError:
			return ' '
		}
		return r
	}, source)
	return agent.Clip(source, 200)
}

// sources names where labelled content comes from, at most three of them.
func sources(labels agent.Labels, otherwise string) string {
	var names []string
	for _, l := range labels {
		if l.Source != "" && (l.Kind == agent.LabelUntrusted || !labels.Untrusted()) && !slices.Contains(names, l.Source) {
			names = append(names, l.Source)
		}
	}
	if len(names) == 0 {
		return otherwise
	}
	more := ""
	if len(names) > 3 {
		names, more = names[:3], " and others"
	}
	return strings.Join(names, ", ") + more
}

// clipMarked is clip that says so.
func clipMarked(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return agent.Clip(s, n) + "\n[… cut here to fit the model's window]"
}
