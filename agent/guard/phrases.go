package guard

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// newLexicon reads the files. They are part of the program and held by a test: a mistake in them is left out, not fatal.
func newLexicon() *lexicon {
	l := &lexicon{fold: newFolding(), exact: map[string]uint32{}, stems: map[string]uint32{}, nodes: make([]node, 1)}
	for b := range 256 {
		l.ascii[b] = 1
		if f := l.fold.ascii(byte(b)); f[0] > 0 {
			l.ascii[b] = byte(f[0])
		}
	}
	files, err := lexiconFiles.ReadDir("lexicon")
	if err != nil {
		return l
	}
	names := map[string]concept{}
	for i, n := range conceptNames[1:] {
		names[n] = concept(i + 1)
	}
	for _, f := range files {
		data, err := lexiconFiles.ReadFile("lexicon/" + f.Name())
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			name, phrases, ok := strings.Cut(line, ":")
			if c := names[name]; ok && c != 0 && !strings.HasPrefix(line, "#") {
				l.addAll(c, phrases)
			}
		}
	}
	l.addWords()
	l.finish()
	return l
}

// addWords adds what is derived rather than written down.
func (l *lexicon) addWords() {
	for _, w := range [...]string{"ignore", "instructions", "previous", "system", "prompt", "disregard", "password", "forward", "assistant", "credentials", "reveal", "secret", "execute", "forget", "override", "instruction"} {
		l.add(cRotten, rot13(w))
		l.add(cBackway, backward(w))
	}
	l.addAll(cToken, "im start, im end, im sep, start header id, end header id, eot id, endoftext, begin of text, end of text, inst, sys, start of turn, end of turn, fim prefix, begin of sentence, end of sentence, end of turn id, endofprompt, function calls, function results, function result, tool result, tool results, tool response, tool output, tool call, antml, invoke, system reminder, system message, assistant reply, developer message, user message, human turn, channel, start, return")
	l.addAll(cLabel, "system, system message, system prompt, assistant, user, human, developer, admin, administrator, tool, ai, instruction, instructions, response, sys, root, function, operator, система, système, sistema, 系统, 系統, システム, 시스템, النظام, sistem, systeem, systemu, nutzer, benutzer, 用户, 助手, ユーザー, アシスタント, 사용자, utilisateur, usuario, пользователь, ассистент, assistent, asistente, assistente")
}

// addAll adds the phrases of one line.
func (l *lexicon) addAll(c concept, phrases string) {
	depth, start := 0, 0
	for i := range len(phrases) + 1 {
		if i < len(phrases) {
			switch phrases[i] {
			case '{':
				depth++
			case '}':
				depth--
			}
			if phrases[i] != ',' || depth > 0 {
				continue
			}
		}
		l.add(c, strings.TrimSpace(phrases[start:i]))
		start = i + 1
	}
}

// slot is a place in a phrase and what may stand there; alternatives do not nest.
type slot []string

// slots takes a phrase with alternatives {a|b} apart.
func slots(p string) []slot {
	var out []slot
	for p != "" {
		open := strings.IndexByte(p, '{')
		if open < 0 {
			return append(out, slot{p})
		}
		if open > 0 {
			out = append(out, slot{p[:open]})
		}
		end := strings.IndexByte(p[open:], '}')
		if end < 0 {
			return nil
		}
		out = append(out, strings.Split(p[open+1:open+end], "|"))
		p = p[open+end+1:]
	}
	return out
}

// piece is a word of a phrase, folded.
type piece struct {
	word string
	stem bool
}

// pieces folds a phrase the way texts are folded.
func (l *lexicon) pieces(phrase string) []piece {
	var out []piece
	for _, w := range strings.Fields(phrase) {
		stem := strings.HasSuffix(w, "*")
		var word []rune
		flush := func(stem bool) {
			if len(word) > 0 {
				folded := []byte(string(word))
				if stem {
					folded = bytes.ReplaceAll(folded, []byte("i"), []byte("l")) // the words that begin with it are long
				}
				alike(folded)
				out = append(out, piece{string(folded), stem})
				word = word[:0]
			}
		}
		for _, c := range strings.TrimSuffix(w, "*") {
			var f [2]rune
			if c < utf8.RuneSelf {
				f = l.fold.ascii(byte(c))
			} else {
				f = l.fold.rune(c)
			}
			switch {
			case f[0] == drop:
			case f[0] == space:
				flush(false)
			case unspaced(c):
				flush(false)
				out = append(out, piece{string(f[0]), false})
			default:
				for _, x := range f {
					if x > 0 {
						word = append(word, x)
					}
				}
			}
		}
		flush(stem)
	}
	return out
}

// add enters one phrase: a chain of slots, whose alternatives meet again in one node.
func (l *lexicon) add(c concept, phrase string) {
	ends := []uint32{0}
	for _, s := range l.glue(slots(phrase)) {
		meet := uint32(0)
		empty := false
		for _, alt := range s {
			pieces := l.pieces(alt)
			if len(pieces) == 0 {
				empty = true
				continue
			}
			if meet == 0 {
				meet = l.node()
			}
			from := ends
			for i, p := range pieces {
				to := meet
				if i < len(pieces)-1 {
					to = l.node()
				}
				for _, n := range from {
					l.nodes[n].edges = append(l.nodes[n].edges, edge{l.number(p), to})
				}
				from = []uint32{to}
			}
		}
		switch {
		case meet != 0 && empty:
			ends = append(slices.Clip(ends), meet)
		case meet != 0:
			ends = []uint32{meet}
		}
	}
	for _, n := range ends {
		if n != 0 {
			l.nodes[n].mean = c
		}
	}
}

// glue joins slots that meet within a word, such as polic{y|ies}.
func (l *lexicon) glue(in []slot) []slot {
	var out []slot
	for _, s := range in {
		n := len(out)
		if n > 0 && inWord(out[n-1], s) {
			var both slot
			for _, a := range out[n-1] {
				for _, b := range s {
					both = append(both, a+b)
				}
			}
			out[n-1] = both
			continue
		}
		out = append(out, s)
	}
	return out
}

// inWord reports whether some alternatives of two slots would run together to one word.
func inWord(a, b slot) bool {
	for _, x := range a {
		for _, y := range b {
			if x == "" || y == "" {
				continue
			}
			last, _ := utf8.DecodeLastRuneInString(x)
			first, _ := utf8.DecodeRuneInString(y)
			if last != ' ' && first != ' ' && !unspaced(last) && !unspaced(first) {
				return true
			}
		}
	}
	return false
}

func (l *lexicon) node() uint32 {
	l.nodes = append(l.nodes, node{})
	return uint32(len(l.nodes) - 1)
}

// number returns the number of a word, a new one if need be.
func (l *lexicon) number(p piece) uint32 {
	words := l.exact
	if p.stem {
		words = l.stems
	}
	id, ok := words[p.word]
	if !ok {
		id = uint32(len(l.exact) + len(l.stems) + 1)
		words[p.word] = id
	}
	return id
}

// finish makes the tables that rule most words out.
func (l *lexicon) finish() {
	for w := range l.exact {
		setBit(&l.filter, hashOf(w))
	}
	for w := range l.stems {
		setBit(&l.stemmed, hashOf(w))
		l.lengths |= 1 << min(len(w), maxFolded)
	}
	l.roots = make([][]uint32, len(l.exact)+len(l.stems)+1)
	for _, e := range l.nodes[0].edges {
		l.roots[e.word] = append(l.roots[e.word], e.to)
	}
	for _, n := range l.nodes[1:] {
		slices.SortFunc(n.edges, func(a, b edge) int { return cmp.Compare(a.word, b.word) })
	}
}
