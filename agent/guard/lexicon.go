package guard

import (
	"bytes"
	"cmp"
	"embed"
	"slices"
	"strings"
	"unicode/utf8"
)

// lexiconFiles are the phrases: a line is a concept, a colon and phrases separated by commas; the first lines of en.txt explain the rest.
//
//go:embed lexicon/*.txt
var lexiconFiles embed.FS

// concept is what a phrase means to the rules.
type concept uint8

// The concepts, named as in the files.
const (
	cIgn concept = iota + 1
	cPrev
	cInst
	cOverride
	cIgnAbove
	cNewInst
	cYouAre
	cPersona
	cAssist
	cVocative
	cMust
	cSysPrompt
	cReveal
	cSend
	cSens
	cUser
	cHide
	cHideFull
	cNoAsk
	cRun
	cCmd
	cDanger
	cMemVerb
	cMemory
	cForever
	cAuthority
	cUrgent
	cTask
	cSteer
	cSide
	cObject
	cFence
	cSecVocab
	cMention
	cNeg
	cIndirect
	cOwn
	cBenign
	cTo
	cModal
	cToken   // a token of a chat template
	cLabel   // a word that may label a role
	cRotten  // a classic word in rot13
	cBackway // a classic word reversed
	cIgnWeak
	cInstWeak
	cSecWeak
	cAnnounce // words that announce instructions before a colon
	cDisarm
	cNotSens // looks like a word for secrets and is none
	cThis
	cYour
	cHideTell
	cAINoun
	cReads   // reads this page
	cOut     // in your answer
	cGiven   // the task that was given
	cTopic   // a word between instructions and what they are about
	cDest    // an address on the network
	cSwitch  // change to a mode or a role
	concepts // how many
)

// conceptNames are in the order of the constants.
var conceptNames = [...]string{"", "ign", "prev", "inst", "override", "ignabove", "newinst", "youare", "persona", "assist", "vocative", "must", "sysprompt", "reveal", "send", "sens", "user", "hide", "hidefull", "noask",
	"run", "cmd", "danger", "memverb", "memory", "forever", "authority", "urgent", "task", "steer", "side", "object", "fence", "secvocab", "mention", "neg", "indirect", "own", "benign", "to", "modal", "token", "label", "rotten", "backway", "ignweak", "instweak", "secweak", "announce", "disarm", "notsens", "this", "your", "hidetell", "ainoun", "reads", "out", "given", "topic", "dest", "switchto"}

// lexicon finds phrases in words. It is built once and read only.
type lexicon struct {
	fold    *folding
	ascii   [256]byte // ASCII letters and digits folded; 1 for none
	exact   map[string]uint32
	stems   map[string]uint32
	filter  [1 << 11]uint64 // hashes of words: rules nearly every other word out
	stemmed [1 << 11]uint64 // hashes of stems
	lengths uint64          // bit n: there are stems of n bytes
	nodes   []node          // node 0 is where phrases begin
	roots   [][]uint32      // by word: where phrases that begin with it go on
}

// node is a place within a phrase.
type node struct {
	mean  concept // of the phrase that ends here, 0 for none
	edges []edge  // sorted by word
}

// edge leads from a node to another by a word. Phrases that begin alike go their own ways, so a word may stand twice.
type edge struct{ word, to uint32 }

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

const hashSeed, hashStep = uint32(2166136261), uint32(16777619) // FNV-1a

func hashOf(w string) uint32 {
	h := hashSeed
	for i := range len(w) {
		h = (h ^ uint32(w[i])) * hashStep
	}
	return h
}

func setBit(bits *[1 << 11]uint64, h uint32) { bits[h>>6&(1<<11-1)] |= 1 << (h & 63) }

func marked(bits *[1 << 11]uint64, h uint32) bool {
	return bits[h>>6&(1<<11-1)]&(1<<(h&63)) != 0
}

// lookup returns the numbers of a folded word: as a word, and as one that begins with the longest stem.
func (l *lexicon) lookup(w []byte) (id, stem uint32) {
	h := hashSeed
	for n, b := range w {
		h = (h ^ uint32(b)) * hashStep
		if l.lengths&(1<<(n+1)) != 0 && marked(&l.stemmed, h) {
			if s, ok := l.stems[string(w[:n+1])]; ok {
				stem = s
			}
		}
	}
	if marked(&l.filter, h) {
		id = l.exact[string(w)]
	}
	return id, stem
}

// hit is a concept found at tokens[from:to].
type hit struct {
	concept  concept
	from, to int32
}

// maxPhrase bounds a phrase, in words.
const maxPhrase = 14

// find returns the phrases in tokens, in order of where they begin.
func (l *lexicon) find(tokens []token) []hit {
	out := make([]hit, 0, len(tokens)/4)
	for i := range tokens {
		t := &tokens[i]
		if t.id != 0 {
			for _, n := range l.roots[t.id] {
				out = l.walk(out, tokens, i, i+1, n)
			}
		}
		if t.stem != 0 {
			for _, n := range l.roots[t.stem] {
				out = l.walk(out, tokens, i, i+1, n)
			}
		}
	}
	return out
}

// walk follows the phrases on from node n, which tokens[from:at] led to. A phrase does not reach over the end of a paragraph.
func (l *lexicon) walk(out []hit, tokens []token, from, at int, n uint32) []hit {
	place := &l.nodes[n]
	if place.mean != 0 {
		out = append(out, hit{place.mean, int32(from), int32(at)})
	}
	if len(place.edges) == 0 || at >= len(tokens) || at-from >= maxPhrase || tokens[at].brk == brkPara {
		return out
	}
	for _, id := range [2]uint32{tokens[at].id, tokens[at].stem} {
		if id == 0 {
			continue
		}
		i, ok := 0, len(place.edges) <= 6
		if !ok {
			i, ok = slices.BinarySearchFunc(place.edges, id, func(e edge, id uint32) int { return cmp.Compare(e.word, id) })
		}
		for ; ok && i < len(place.edges) && place.edges[i].word <= id; i++ {
			if place.edges[i].word == id {
				out = l.walk(out, tokens, from, at+1, place.edges[i].to)
			}
		}
	}
	return out
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func backward(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}
