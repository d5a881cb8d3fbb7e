package guard

import (
	"strings"
	"unicode/utf8"
)

// cues are what one quick pass over a text found that a detector may want to look at.
type cues struct {
	runs    []run    // long words with digits: keys of vendors look so
	said    []cueHit // words such as "password"
	signs   []int    // offsets of '=' and ':' that may assign a value
	pem     bool
	atSign  bool // "://" and "@": a URL may hold a password
	mail    bool // "@" and a slash or bar
	curl    bool
	farEast bool // characters of scripts that are written without spaces
}

func (c cues) none() bool {
	return len(c.runs) == 0 && len(c.said) == 0 && len(c.signs) == 0 && !c.pem && !c.atSign && !c.curl && !c.farEast && !c.mail
}

// run is text[start:end] without spaces and punctuation that keys do not have.
type run struct{ start, end int }

// cueHit is a word that announces a secret.
type cueHit struct {
	start, end int
	cue        cue
}

const (
	minRun  = 14 // bytes; the shortest key of a vendor has more
	maxWord = 24 // bytes of the longest cue word
)

// Classes of bytes.
const (
	isLetter = 1 << iota
	isDigit
	isJoin // punctuation within keys
	isHigh // a byte of a character beyond ASCII
)

// classes are the classes of all bytes; never written to.
var classes = func() (t [256]byte) {
	for i := range t {
		b := byte(i)
		switch {
		case 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z':
			t[i] = isLetter
		case '0' <= b && b <= '9':
			t[i] = isDigit
		case b == '_' || b == '-' || b == '.' || b == '+' || b == '/' || b == '~':
			t[i] = isJoin
		case b >= utf8.RuneSelf:
			t[i] = isHigh
		}
	}
	return t
}()

// classOf tells the class of a byte.
func classOf(b byte) byte { return classes[b] }

// look makes the pass. It reads each byte a constant number of times.
func look(text string) cues {
	var c cues
	runStart, wordStart := -1, -1
	digits, letters := 0, 0
	endRun := func(i int) {
		if runStart >= 0 && i-runStart >= minRun && letters > 0 && (digits > 0 || i-runStart >= 20) {
			c.runs = append(c.runs, run{runStart, i})
		}
		runStart, digits, letters = -1, 0, 0
	}
	endWord := func(i int) {
		if wordStart >= 0 && i-wordStart >= 2 && i-wordStart <= maxWord {
			if k, ok := cueOf(text[wordStart:i]); ok {
				c.said = append(c.said, cueHit{wordStart, i, k})
			}
		}
		wordStart = -1
	}
	for i := range len(text) {
		b := text[i]
		class := classOf(b)
		if class&(isLetter|isHigh) == 0 {
			endWord(i)
		} else if wordStart < 0 {
			wordStart = i
		}
		switch class {
		case isLetter:
			letters++
		case isDigit:
			digits++
		case isHigh, 0:
			endRun(i)
		}
		if class&(isLetter|isDigit|isJoin) != 0 && runStart < 0 {
			runStart = i
		}
		switch {
		case b == '=' || b == ':':
			c.signs = append(c.signs, i)
			if b == ':' && strings.HasPrefix(text[i:], "://") {
				c.atSign = true
			}
		case b == '-' && !c.pem && strings.HasPrefix(text[i:], "-----BEGIN"):
			c.pem = true
		case b >= 0xe1 && b <= 0xed:
			c.farEast = true
		}
	}
	endWord(len(text))
	endRun(len(text))
	at := strings.IndexByte(text, '@') >= 0
	c.atSign = c.atSign && at
	c.mail = at && strings.ContainsAny(text, "/|")
	c.curl = strings.Contains(text, "curl ")
	return c
}
