package guard

import "strings"

// Sieve takes the vault's values out of a text that arrives in pieces, wherever it is cut. What may be the beginning of a value, or of one of its encodings, waits for
// the next piece, and nothing else does. Only exact values are looked for: what merely looks like a secret needs its surroundings, and Redact sees them when the
// text has ended. A Sieve is for one text and one goroutine.
type Sieve struct {
	guard  *Guard
	values *exactValues // as they were when held began: what a vault that was locked meanwhile knew
	held   string
}

// Sieve returns one for a text that begins now.
func (g *Guard) Sieve() *Sieve { return &Sieve{guard: g} }

// Pass takes the next piece and returns what can be told by now: of what was held back and of the piece, with marks in the place of values.
func (s *Sieve) Pass(piece string) string {
	now := s.guard.values()
	if (now == nil || len(now.forms) == 0) && s.held != "" {
		now = s.values
	}
	if now == nil || len(now.forms) == 0 {
		return piece
	}
	text := s.held + piece
	var b strings.Builder
	at, open := 0, now.open(text, 0)
	for _, f := range settle(now.long(nil, text), nil) {
		if f.start >= open {
			break
		}
		b.WriteString(text[at:f.start])
		b.WriteString(mark(f.rule))
		at = f.end
		if open < at {
			open = now.open(text, at)
		}
	}
	b.WriteString(text[at:open])
	s.values, s.held = now, text[open:]
	return b.String()
}

// minPart is how much of a value that breaks off, in bytes, is still taken for one.
const minPart = 8

// Rest returns what is held back, at the end of the text. What is most of a value, or a good part of one without spaces, is marked.
func (s *Sieve) Rest() string {
	held := s.held
	s.held = ""
	if len(held) < minPart || s.values == nil {
		return held
	}
	for _, form := range s.values.forms[headOf(held, 0)] {
		if strings.HasPrefix(form, held) && (2*len(held) >= len(form) || !strings.ContainsAny(held, " \t\n")) {
			return mark(ruleExact)
		}
	}
	return held
}

// open returns where the longest end of text[from:] begins that a form goes on from; len(text) when there is none.
func (e *exactValues) open(text string, from int) int {
	for i := max(from, len(text)-e.most+1); i < len(text); i++ {
		if len(text)-i < head {
			if e.starts[text[i:]] {
				return i
			}
			continue
		}
		k := headOf(text, i)
		if h := hashHead(k); e.bloom[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, form := range e.forms[k] {
			if len(form) > len(text)-i && strings.HasPrefix(form, text[i:]) {
				return i
			}
		}
	}
	return len(text)
}
