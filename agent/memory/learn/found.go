package learn

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ash/agent"
)

// kept is a statement somebody found worth keeping, not yet checked.
type kept struct {
	text       string
	quote      string
	message    agent.ID // where quote is said to stand; "" when not known
	time       time.Time
	kind       agent.FactKind
	subject    string
	about      []agent.Entity
	from       time.Time
	until      time.Time
	expires    time.Time
	confidence float64
	importance float64
	replaces   []agent.ID // facts it takes the place of
	attribute  string     // what it says something of, as phrases see it; "" when they do not
	corrects   bool       // it was said to correct something
	explicit   bool       // the person asked to remember it
	swap       *swap      // not X but Y: the statement is a current fact with Y in the place of X
}

// swap is "not X but Y".
type swap struct{ old, new string }

// expired is a fact somebody found to hold no longer.
type expired struct {
	fact    agent.ID // "" when it is named by what it says
	like    string   // what it says
	quote   string
	message agent.ID
	time    time.Time
	why     string
	ask     bool // never without the person
}

// draft is an episode as it was found.
type draft struct {
	text     string
	entities []agent.Entity
	model    agent.ModelRef
	usage    agent.Usage
}

// found is what one look at the material gave.
type found struct {
	keep    []kept
	expire  []expired
	episode *draft
}

// covers reports whether one of the statements rests on the passage k does.
func (f found) covers(k kept) bool {
	for _, other := range f.keep {
		if other.quote == "" {
			continue
		}
		if _, ok := locate(k.quote, other.quote); ok {
			return true
		}
		if _, ok := locate(other.quote, k.quote); ok {
			return true
		}
	}
	return false
}

// locate finds a passage in a text, whatever the case, the white space and the kind of quotation marks, and returns it as
// it stands there.
func locate(text, passage string) (string, bool) {
	p, _ := flat(passage)
	p = strings.Trim(p, " ")
	if p == "" || len(p) > len(text)*4+16 {
		return "", false
	}
	t, at := flat(text)
	for from := 0; ; {
		i := strings.Index(t[from:], p)
		if i < 0 {
			return "", false
		}
		i += from
		end := i + len(p)
		if edge(t, i) && edge(t, end) {
			stop := len(text)
			if end < len(at) {
				stop = at[end]
			}
			return strings.TrimSpace(text[at[i]:stop]), true
		}
		from = i + 1
	}
}

// edge reports whether no word is cut at byte i of s.
func edge(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	word := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return !word(before) || !word(after) || spaceless(before) || spaceless(after)
}

func spaceless(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// flat returns a text in lower case, each run of white space as one space, with plain quotation marks; at says where in
// text each of its bytes comes from.
func flat(text string) (string, []int) {
	var b strings.Builder
	at := make([]int, 0, len(text))
	space := false
	for i, r := range text {
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
				at = append(at, i)
			}
			space = true
			continue
		}
		space = false
		switch r {
		case '’', '‘', '‚', '`', '´':
			r = '\''
		case '“', '”', '„', '«', '»':
			r = '"'
		}
		n := b.Len()
		b.WriteRune(unicode.ToLower(r))
		for range b.Len() - n {
			at = append(at, i)
		}
	}
	return b.String(), at
}
