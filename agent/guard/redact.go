package guard

import (
	"cmp"
	"slices"
	"strings"
)

// span is a suspected secret. Where spans touch, the lowest rank names the union.
type span struct {
	start, end int
	rule       string
	rank       int
}

// Ranks of the detectors.
const (
	rankExact = iota
	rankVendor
	rankPlace // PEM blocks, credentials in URLs
	rankLeaks
	rankAssigned
	rankSaid
	rankGeneric // gitleaks' catch-all rule
)

// maxPasses bounds how often a text is searched again with what was found taken out. Each pass finds something, so
// it is a bound on crafted texts only.
const maxPasses = 8

// Redact returns text with a mark such as [secret: openai-key] in the place of every secret. It is
// deterministic, and idempotent: Redact(Redact(x)) == Redact(x).
func (g *Guard) Redact(text string) string {
	redacted, _ := g.redact(text)
	return redacted
}

// Mask returns text with a mark in the place of each of the vault's values, and nothing else changed: for what must arrive as it is otherwise.
func (g *Guard) Mask(text string) string {
	values := g.values()
	if values == nil {
		return text
	}
	var found []Secret
	for _, s := range settle(values.find(nil, text), nil) {
		found = append(found, Secret{Rule: s.rule, Start: s.start, End: s.end})
	}
	return apply(text, found)
}

// FindSecrets returns what Redact would replace, in order, without overlap.
func (g *Guard) FindSecrets(text string) []Secret {
	_, found := g.redact(text)
	return found
}

// redact searches a text unless it is known to hold nothing.
func (g *Guard) redact(text string) (string, []Secret) {
	values := g.values()
	if g.cleared.has(text, values) {
		return text, nil
	}
	redacted, found := g.scour(text, values)
	if len(found) == 0 {
		g.cleared.add(text, values)
	}
	return redacted, found
}

// scour searches until nothing is left to find, since a mark may bring a name and a value together that were apart.
func (g *Guard) scour(text string, values *exactValues) (string, []Secret) {
	redacted := text
	var found []Secret // spans in text
	for range maxPasses {
		fresh := settle(g.search(redacted, values), marks(redacted))
		if len(fresh) == 0 {
			break
		}
		found = merge(text, found, fresh)
		redacted = apply(text, found)
	}
	return redacted, found
}

// search runs every detector that the text has a cue for, once.
func (g *Guard) search(text string, values *exactValues) []span {
	spans := values.find(nil, text)
	c := look(text)
	if c.none() {
		return spans
	}
	spans = findVendors(spans, text, c.runs)
	spans = findPlaces(spans, text, c)
	spans = findAssigned(spans, text, c)
	spans = findSaid(spans, text, c)
	return g.leaks.find(spans, text, c, g.log)
}

// settle sorts spans, drops those that touch a mark and joins those that overlap.
func settle(spans []span, masked []Secret) []span {
	if len(spans) == 0 {
		return nil
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(a.start-b.start, b.end-a.end, a.rank-b.rank, strings.Compare(a.rule, b.rule))
	})
	out := spans[:0]
	m := 0
	for _, s := range spans {
		for m < len(masked) && masked[m].End <= s.start {
			m++
		}
		if m < len(masked) && masked[m].Start < s.end {
			continue
		}
		if last := len(out) - 1; last >= 0 && s.start < out[last].end {
			joined := out[last]
			if s.rank < joined.rank {
				joined.rule, joined.rank = s.rule, s.rank
			}
			joined.end = max(joined.end, s.end)
			out[last] = joined
			continue
		}
		out = append(out, s)
	}
	return out
}

// merge adds fresh, whose offsets are those of text with found replaced, to found.
func merge(text string, found []Secret, fresh []span) []Secret {
	out := make([]Secret, 0, len(found)+len(fresh))
	shift, f := 0, 0 // offset in text = offset in the redacted text + shift
	for _, s := range fresh {
		for f < len(found) && found[f].Start < s.start+shift {
			shift += found[f].End - found[f].Start - len(mark(found[f].Rule))
			out = append(out, found[f])
			f++
		}
		out = append(out, Secret{Rule: s.rule, Start: s.start + shift, End: min(s.end+shift, len(text))})
	}
	return append(out, found[f:]...)
}

// apply replaces each of found, which are in order, by its mark.
func apply(text string, found []Secret) string {
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, s := range found {
		b.WriteString(text[at:s.Start])
		b.WriteString(mark(s.Rule))
		at = s.End
	}
	b.WriteString(text[at:])
	return b.String()
}

const (
	markOpen  = "[secret: "
	markClose = "]"
)

func mark(rule string) string { return markOpen + rule + markClose }

// marks returns where text holds marks that this package wrote. Anything else that looks like one is plain text: a
// secret cannot hide in it.
func marks(text string) []Secret {
	var out []Secret
	for at := 0; ; {
		i := strings.Index(text[at:], markOpen)
		if i < 0 {
			return out
		}
		start := at + i
		name := start + len(markOpen)
		j := strings.Index(text[name:min(len(text), name+maxRuleName+1)], markClose)
		if j < 0 {
			at = name
			continue
		}
		if knownRule(text[name : name+j]) {
			out = append(out, Secret{Rule: text[name : name+j], Start: start, End: name + j + len(markClose)})
		}
		at = name
	}
}
