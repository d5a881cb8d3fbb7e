package guard

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// decoded is a text that was hidden in another.
type decoded struct {
	blob
	text string
}

const (
	minBlob  = 16   // characters of base64 or hex
	maxBlobs = 400  // per text
	maxTried = 8192 // characters decoded to see whether a blob holds text
)

// blobs decodes what a text may hide: base64, hexadecimal, rot13, reversed and spaced out words, tag characters.
func (p *page) blobs(depth int) []decoded {
	var out []decoded
	out = append(out, p.encodedRuns()...)
	for _, t := range p.tags {
		if s := clean(t.text); s != "" {
			out = append(out, decoded{blob{start: t.start, end: t.end, rule: "invisible-text", why: "It is spelt in characters that are not drawn."}, s})
		}
	}
	if depth == 0 {
		out = append(out, p.turned(cRotten, "rot13", rot13)...)
		out = append(out, p.turned(cBackway, "reversed", backward)...)
	}
	return append(out, p.spacedOut()...)
}

// encodedRuns finds base64 and hex that decodes to text.
func (p *page) encodedRuns() []decoded {
	var out []decoded
	text := p.text
	for i := 0; i < len(text) && len(out) < maxBlobs; {
		if !slashed.has(text[i]) || text[i] == '=' {
			i++
			continue
		}
		start := i
		for i < len(text) && slashed.has(text[i]) {
			i++
		}
		end := i
		// Lines of equal length, as mail wraps base64, are one blob.
		for width := end - start; width >= 40 && i < len(text); {
			j := i
			for j < len(text) && (text[j] == '\r' || text[j] == '\n' || text[j] == ' ') && j-i < 4 {
				j++
			}
			if strings.HasPrefix(text[i:], "\\n") {
				j = i + 2
			} else if strings.IndexByte(text[i:j], '\n') < 0 {
				break
			}
			k := j
			for k < len(text) && slashed.has(text[k]) {
				k++
			}
			if j == i || k == j || k-j > width {
				break
			}
			i, end = k, k
			if k-j < width {
				break
			}
		}
		if end-start < minBlob {
			continue
		}
		if s, rule := decodeRun(text[start:end]); s != "" {
			out = append(out, decoded{blob{start: start, end: end, rule: rule, why: "It is encoded, so that a reader does not see what it says."}, s})
		}
	}
	return append(out, p.hexBytes()...)
}

// decodeRun decodes one run, "" when it holds no text.
func decodeRun(s string) (text, rule string) {
	s = strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' || r == ' ' || r == '\\' {
			return -1
		}
		return r
	}, s)
	if t := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X"); len(t)%2 == 0 && allHex(t) {
		if raw, err := hex.DecodeString(t); err == nil {
			if c := clean(raw); c != "" {
				return c, "hex"
			}
		}
		return "", ""
	}
	s = strings.TrimRight(s, "=")
	for _, lead := range leads(s) {
		body := s[lead:]
		if len(body) < minBlob {
			continue
		}
		if len(body)%4 == 1 {
			body = body[:len(body)-1]
		}
		enc := base64.RawStdEncoding
		if strings.ContainsAny(body, "-_") {
			enc = base64.RawURLEncoding
		}
		probe := body[:min(len(body), 24)/4*4]
		if raw, err := enc.DecodeString(probe); err != nil || !texty(raw) {
			continue
		}
		raw, err := enc.DecodeString(body)
		if err != nil {
			continue
		}
		if c := clean(raw); c != "" {
			return c, "base64"
		}
	}
	return "", ""
}

// leads returns where in a run base64 may begin: at its start, after name= and after a path's slash.
func leads(s string) []int {
	out := []int{0}
	for i := 0; i < len(s)-minBlob && len(out) < 4; i++ {
		if s[i] == '=' || s[i] == '/' || s[i] == '-' || s[i] == '_' {
			out = append(out, i+1)
		}
	}
	return out
}

func allHex(s string) bool {
	if len(s) < minBlob {
		return false
	}
	for i := range len(s) {
		if !hexed.has(s[i]) {
			return false
		}
	}
	return true
}

// texty reports whether bytes look like the beginning of text; a character may be cut at the end.
func texty(b []byte) bool {
	good, n := 0, 0
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && len(b) < utf8.UTFMax {
			break
		}
		n++
		if r != utf8.RuneError && (unicode.IsLetter(r) || r == ' ' || r == '\n' || unicode.IsPunct(r) || unicode.IsDigit(r) || invisible(r) || unicode.IsMark(r)) || r == '<' || r == '|' {
			good++
		}
		b = b[size:]
	}
	return n > 0 && good*10 >= n*9
}

// clean returns decoded bytes as text, "" when they are none.
func clean(b []byte) string {
	if len(b) < 6 || !texty(b[:min(len(b), maxTried)]) {
		return ""
	}
	return strings.ToValidUTF8(string(b), " ")
}

// hexBytes decodes bytes written apart: 49 67 6e, \x49\x67 is read by the reader.
func (p *page) hexBytes() []decoded {
	var out []decoded
	text := p.text
	for i := 0; i+2 < len(text) && len(out) < maxBlobs; {
		start := i
		var raw []byte
		for i+1 < len(text) && hexed.has(text[i]) && hexed.has(text[i+1]) && (i+2 == len(text) || classOf(text[i+2])&(isLetter|isDigit) == 0) {
			b, err := hex.DecodeString(text[i : i+2])
			if err != nil {
				break
			}
			raw = append(raw, b...)
			i += 2
			for k := 0; k < 4 && i < len(text) && strings.IndexByte(" ,:\\x0", text[i]) >= 0 && (text[i] != '0' || i+1 < len(text) && text[i+1] == 'x'); k++ {
				i++
			}
		}
		if len(raw) >= minBlob/2 {
			if s := clean(raw); s != "" {
				out = append(out, decoded{blob{start: start, end: i, rule: "hex", why: "It is encoded, so that a reader does not see what it says."}, s})
			}
		}
		if i == start {
			i++
			for i < len(text) && classOf(text[i-1])&(isLetter|isDigit) != 0 { // to the start of the next word
				i++
			}
		}
	}
	return out
}

// turned undoes an encoding of letters around words that are typical for it.
func (p *page) turned(c concept, rule string, undo func(string) string) []decoded {
	hits := p.at[c]
	if len(hits) < 2 {
		return nil
	}
	var out []decoded
	last := -1
	for i := 0; i+1 < len(hits); i++ {
		if hits[i+1].from-hits[i].from > 20 {
			continue
		}
		at := int(p.tokens[hits[i].from].start)
		if at < last {
			continue
		}
		start := max(0, at-400)
		end := min(len(p.text), at+800)
		for start < end && !utf8.RuneStart(p.text[start]) {
			start++
		}
		for end < len(p.text) && !utf8.RuneStart(p.text[end]) {
			end++
		}
		last = end
		out = append(out, decoded{blob{start: start, end: end, rule: rule, why: "It is written in a cipher, so that a reader does not see what it says."}, undo(p.text[start:end])})
	}
	return out
}

// spacedOut joins words written letter by letter. What stands between most letters joins them, anything else separates words.
func (p *page) spacedOut() []decoded {
	var out []decoded
	for i := 0; i < len(p.tokens); {
		start := i
		gaps := map[string]int{}
		for i < len(p.tokens) && p.single(i) && (i == start || p.tokens[i].start-p.tokens[i-1].end <= 4) {
			if i > start {
				gaps[p.text[p.tokens[i-1].end:p.tokens[i].start]]++
			}
			i++
		}
		if i-start < 8 {
			i = max(i, start+1)
			continue
		}
		usual, n := "", 0
		for gap, k := range gaps {
			if k > n || k == n && gap < usual {
				usual, n = gap, k
			}
		}
		var b strings.Builder
		for k := start; k < i; k++ {
			if k > start && p.text[p.tokens[k-1].end:p.tokens[k].start] != usual {
				b.WriteByte(' ')
			}
			b.WriteString(p.text[p.tokens[k].start:p.tokens[k].end])
		}
		s := b.String()
		if !strings.Contains(s, " ") {
			s = respace(s)
		}
		out = append(out, decoded{blob{start: int(p.tokens[start].start), end: int(p.tokens[i-1].end), rule: "spaced-out", why: "Its words are broken into letters."}, s})
	}
	return out
}

// single reports whether token i is one letter.
func (p *page) single(i int) bool {
	t := p.tokens[i]
	n := int(t.end - t.start)
	return n == 1 && classOf(p.text[t.start])&(isLetter|isDigit) != 0 || n > 1 && n <= 4 && utf8.RuneCountInString(p.text[t.start:t.end]) == 1 && !unspacedAt(p.text, int(t.start))
}

// respace puts the spaces back into classic words that were run together.
func respace(s string) string {
	lower := strings.ToLower(s)
	for _, w := range [...]string{"ignore", "disregard", "forget", "all", "previous", "prior", "above", "instructions", "instruction", "system", "prompt", "reveal", "your", "you", "are", "now", "and", "the", "user", "password", "send", "tell", "do", "not", "rules", "print", "execute", "run"} {
		lower = strings.ReplaceAll(lower, w, " "+w+" ")
	}
	return lower
}
