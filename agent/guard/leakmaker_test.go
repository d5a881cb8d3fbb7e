package guard

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// maker makes texts that expressions match.
type maker struct{ draw *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, seed))} }

func (m maker) Intn(n int) int { return m.draw.IntN(n) }

func (m maker) pick(from []string) string { return from[m.Intn(len(from))] }

// word makes a text that a rule's expression matches, where what stands around it does not matter.
func (m maker) word(r *openRule) string {
	parsed, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	m.write(&b, parsed)
	return b.String()
}

func (m maker) write(b *strings.Builder, e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		b.WriteRune(m.rune(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("abcXYZ019 -_="[m.Intn(13)])
	case syntax.OpCapture, syntax.OpConcat:
		for _, s := range e.Sub {
			m.write(b, s)
		}
	case syntax.OpAlternate:
		m.write(b, e.Sub[m.Intn(len(e.Sub))])
	case syntax.OpStar:
		m.times(b, e, 0, 3)
	case syntax.OpPlus:
		m.times(b, e, 1, 4)
	case syntax.OpQuest:
		m.times(b, e, 0, 1)
	case syntax.OpRepeat:
		most := e.Max
		if most < 0 {
			most = e.Min + 3
		}
		m.times(b, e, e.Min, min(most, e.Min+20))
	}
}

func (m maker) times(b *strings.Builder, e *syntax.Regexp, least, most int) {
	for range least + m.Intn(most-least+1) {
		m.write(b, e.Sub[0])
	}
}

// rune draws from a class, of ASCII where it has any.
func (m maker) rune(pairs []rune) rune {
	var ascii []rune
	for i := 0; i < len(pairs); i += 2 {
		for c := pairs[i]; c <= min(pairs[i+1], '~'); c++ {
			ascii = append(ascii, c)
		}
	}
	if len(ascii) > 0 {
		return ascii[m.Intn(len(ascii))]
	}
	return pairs[0]
}
