package guard

import (
	"cmp"
	"embed"
	"slices"
	"strings"
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
