package guard

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// exactValues finds known values and their encodings in one pass: a bitmap over the first bytes rules out nearly every offset.
type exactValues struct {
	values []string
	starts map[string]bool     // beginnings of forms, shorter than head
	most   int                 // bytes of the longest form
	short  []string            // of fewer bytes than head: found as whole words
	forms  map[uint32][]string // by their first bytes, longest first
	bloom  [1 << 10]uint64
}

const (
	head       = 4 // bytes
	minEncoded = 5 // bytes of a value whose encodings are looked for; shorter ones would hit by chance
)

// values returns what finds the vault's values as they are now.
func (g *Guard) values() *exactValues {
	if g.secrets == nil {
		return nil
	}
	now := g.secrets.Values()
	g.exact.Lock()
	defer g.exact.Unlock()
	if g.exact.now == nil || !slices.Equal(g.exact.now.values, now) {
		g.exact.now = newExactValues(now)
	}
	return g.exact.now
}

func newExactValues(values []string) *exactValues {
	e := &exactValues{values: slices.Clone(values), starts: map[string]bool{}, forms: map[uint32][]string{}}
	seen := map[string]bool{}
	for _, v := range values {
		for _, form := range formsOf(v) {
			if seen[form] || strings.TrimSpace(form) == "" {
				continue
			}
			seen[form] = true
			if len(form) < head {
				e.short = append(e.short, form)
				continue
			}
			for n := 1; n < head; n++ {
				e.starts[form[:n]] = true
			}
			e.most = max(e.most, len(form))
			k := headOf(form, 0)
			e.forms[k] = append(e.forms[k], form)
			e.bloom[hashHead(k)>>6] |= 1 << (hashHead(k) & 63)
		}
	}
	for k := range e.forms {
		slices.SortFunc(e.forms[k], func(a, b string) int { return len(b) - len(a) })
	}
	return e
}

func headOf(s string, at int) uint32 {
	return uint32(s[at]) | uint32(s[at+1])<<8 | uint32(s[at+2])<<16 | uint32(s[at+3])<<24
}

func hashHead(k uint32) uint32 { return k * 2654435761 >> 16 }

// formsOf returns how a value may be written: as it is, with other line ends, in JSON as one encoder or another writes it, in HTML, in a URL, in hexadecimal, and in
// base64 at each of the three offsets it may have within a longer text, less the characters that also depend on its neighbours. The long lines of a value of several lines
// are forms too: a file that is shown is often indented or numbered.
func formsOf(v string) []string {
	forms := []string{v}
	if t := strings.TrimSpace(v); t != v {
		forms = append(forms, t)
		v = t
	}
	if len(v) < minEncoded {
		return forms
	}
	spellings := []string{v}
	if strings.Contains(v, "\n") {
		forms = append(forms, longLines(v)...)
		unix := strings.ReplaceAll(v, "\r\n", "\n")
		spellings = append(spellings, unix, strings.ReplaceAll(unix, "\n", "\r\n"))
	}
	for _, v := range spellings {
		forms = append(forms, v, html.EscapeString(v), strings.ReplaceAll(html.EscapeString(v), "&#34;", "&quot;"), hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))))
		forms = append(forms, inJSON(v)...)
		forms = append(forms, url.QueryEscape(v), url.PathEscape(v), percentEncoded(v, "0123456789ABCDEF", false), percentEncoded(v, "0123456789abcdef", false),
			percentEncoded(v, "0123456789ABCDEF", true), percentEncoded(v, "0123456789abcdef", true))
		for _, enc := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, inBase64(enc, v)...)
		}
	}
	return forms
}

// inBase64 writes v at each of three offsets.
func inBase64(enc *base64.Encoding, v string) (forms []string) {
	for pad := range 3 {
		s := enc.EncodeToString([]byte(strings.Repeat("\x00", pad) + v))
		if pad > 0 {
			s = s[pad+1:]
		}
		if (pad+len(v))%3 != 0 {
			s = s[:len(s)-1]
		}
		forms = append(forms, s)
	}
	return forms
}

// inJSON writes v as the encoders of Go, of JavaScript and of others do: they differ in <>&, in "/" and in what is not ASCII.
func inJSON(v string) []string {
	var plain strings.Builder
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	quoted, err := json.Marshal(v)
	if err != nil || e.Encode(v) != nil {
		return nil
	}
	usual := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(plain.String()), `"`), `"`)
	var ascii strings.Builder
	for _, r := range usual {
		switch {
		case r < 0x80:
			ascii.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, hi, lo)
		}
	}
	slashed := strings.NewReplacer("/", `\/`)
	return []string{string(quoted[1 : len(quoted)-1]), usual, ascii.String(), slashed.Replace(usual), slashed.Replace(ascii.String())}
}

// minLine is how long a line of a value has to be, in bytes, to be a secret by itself.
const minLine = 16

func longLines(v string) (lines []string) {
	for line := range strings.Lines(v) {
		if line = strings.TrimSpace(line); len(line) >= minLine && !strings.HasPrefix(line, "-----") { // that is the frame of a PEM block
			lines = append(lines, line)
		}
	}
	return lines
}

// percentEncoded writes v as a strict (all) or a usual URL encoder would.
func percentEncoded(v, digits string, all bool) string {
	var b strings.Builder
	for i := range len(v) {
		if c := v[i]; !all && (classOf(c)&(isLetter|isDigit) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// find adds where text holds a value. A nil receiver finds nothing.
func (e *exactValues) find(spans []span, text string) []span {
	if e == nil {
		return spans
	}
	spans = e.long(spans, text)
	return e.whole(spans, text)
}

// long finds the forms that are long enough to be told from other text wherever they stand.
func (e *exactValues) long(spans []span, text string) []span {
	for i := 0; len(e.forms) > 0 && i+head <= len(text); i++ {
		k := headOf(text, i)
		if h := hashHead(k); e.bloom[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, form := range e.forms[k] {
			if strings.HasPrefix(text[i:], form) {
				spans = append(spans, span{i, i + len(form) + padding(text, i+len(form), form), ruleExact, rankExact})
				break
			}
		}
	}
	return spans
}

// whole finds the short ones where they are words.
func (e *exactValues) whole(spans []span, text string) []span {
	for _, s := range e.short {
		for at := 0; ; {
			i := strings.Index(text[at:], s)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(s)
			if (start == 0 || classOf(text[start-1])&(isLetter|isDigit) == 0) && (end == len(text) || classOf(text[end])&(isLetter|isDigit) == 0) {
				spans = append(spans, span{start, end, ruleExact, rankExact})
			}
			at = end
		}
	}
	return spans
}

// padding counts the '=' after a form that may be base64.
func padding(text string, at int, form string) int {
	n := 0
	for n < 2 && len(form) > 6 && at+n < len(text) && text[at+n] == '=' {
		n++
	}
	if n > 0 && at+n < len(text) && classOf(text[at+n])&(isLetter|isDigit) != 0 {
		return 0
	}
	return n
}
