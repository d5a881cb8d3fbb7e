package policy

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Bounds on how a payload is read.
const (
	maxDepth   = 4         // encodings within encodings
	maxReading = 512 << 10 // bytes of all readings together; what needs more cannot be read
	minToken   = 8         // of what may be encoded, in characters
	sureToken  = 16        // from here on, what decodes to text is no accident
)

// readings are the ways a payload can be read.
type readings struct {
	all     []layer
	plain   []string // the payload as a person sees it, percent-encoding undone
	seen    map[string]bool
	size    int
	encoded bool // some of it is text only after it was decoded
	partial bool // there is more than the bounds allow
}

// read returns the readings of a payload. History is what earlier calls sent to the same place, to be read as one with it.
func read(payload string, history layer) *readings {
	r := &readings{seen: map[string]bool{}}
	raw := rawLayer(payload)
	pieces, joined, isURL := raw.parts()
	if !isURL {
		pieces = []layer{raw}
	}
	for _, p := range pieces {
		r.plain = append(r.plain, r.undone(p))
	}
	if history.len() > 0 {
		history.append(raw.chosen())
		joined = append(joined, history)
	}
	for _, p := range slices.Concat(pieces, joined) {
		r.add(p, 0)
		r.add(p.squeezed("+/"), 1)
		r.add(p.squeezed(""), 1)
	}
	return r
}

// undone returns a piece of the payload without percent-encoding, as the person reads it.
func (r *readings) undone(l layer) string {
	for range maxDepth {
		plain := percent(l)
		if plain.len() == l.len() {
			return string(plain.text)
		}
		l = plain
	}
	r.partial = true
	return string(l.text)
}

// add takes a reading and everything it decodes to.
func (r *readings) add(l layer, depth int) {
	if l.len() < 4 || r.seen[string(l.text)] {
		return
	}
	if r.size+l.len() > maxReading {
		r.partial = true
		return
	}
	r.seen[string(l.text)] = true
	r.size += l.len()
	r.all = append(r.all, l)
	if depth >= maxDepth {
		if percent(l).len() != l.len() {
			r.partial = true
		}
		return
	}
	for _, decode := range [...]func(layer) layer{percent, escapes, reversed, rotated, codes, punycode} {
		r.add(decode(l), depth+1)
	}
	r.tokens(l, depth)
}

// percent decodes percent-encoding and "+". It returns l itself where there is none.
func percent(l layer) layer {
	if !bytes.ContainsAny(l.text, "%+") {
		return l
	}
	var out layer
	for i := 0; i < l.len(); i++ {
		c := l.text[i]
		if c == '%' && i+2 < l.len() {
			if b, err := hex.DecodeString(string(l.text[i+1 : i+3])); err == nil {
				out.push(l, i, i+3, b[0])
				i += 2
				continue
			}
		}
		if c == '+' {
			c = ' '
		}
		out.push(l, i, i+1, c)
	}
	return out
}

// escapes decodes HTML's and JSON's ways to write a character.
func escapes(l layer) layer {
	if !bytes.ContainsAny(l.text, `&\`) {
		return l
	}
	var out layer
	for i := 0; i < l.len(); i++ {
		if n, text := escape(string(l.text[i:min(i+12, l.len())])); n > 0 {
			out.push(l, i, i+n, []byte(text)...)
			i += n - 1
			continue
		}
		out.push(l, i, i+1, l.text[i])
	}
	return out
}

// escape returns how many bytes the escape that text begins with takes, and what it stands for; 0 for none.
func escape(text string) (int, string) {
	switch {
	case strings.HasPrefix(text, "&"):
		if i := strings.IndexByte(text, ';'); i > 0 {
			if plain := html.UnescapeString(text[:i+1]); plain != text[:i+1] {
				return i + 1, plain
			}
		}
	case strings.HasPrefix(text, `\u`) && len(text) >= 6:
		if n, err := strconv.ParseUint(text[2:6], 16, 32); err == nil {
			return 6, string(rune(n)) //nolint:gosec // 16 bits
		}
	case strings.HasPrefix(text, `\x`) && len(text) >= 4:
		if b, err := hex.DecodeString(text[2:4]); err == nil {
			return 4, string(b)
		}
	}
	return 0, ""
}

func reversed(l layer) layer {
	var out layer
	for end := l.len(); end > 0; {
		_, n := utf8.DecodeLastRune(l.text[:end])
		out.append(l.slice(end-n, end))
		end -= n
	}
	return out
}

// rotated undoes ROT13.
func rotated(l layer) layer {
	out := layer{text: slices.Clone(l.text), from: l.from, to: l.to}
	for i, c := range out.text {
		switch {
		case c >= 'a' && c <= 'z':
			out.text[i] = 'a' + (c-'a'+13)%26
		case c >= 'A' && c <= 'Z':
			out.text[i] = 'A' + (c-'A'+13)%26
		}
	}
	return out
}

// codes reads a list of character codes: "72, 101, 108".
func codes(l layer) layer {
	var out layer
	for i := 0; i < l.len(); {
		n, value := i, 0
		for n < l.len() && n-i < 4 && l.text[n] >= '0' && l.text[n] <= '9' {
			value = value*10 + int(l.text[n]-'0')
			n++
		}
		if n > i && n-i <= 3 && value >= 32 && value < 127 {
			out.push(l, i, n, byte(value))
		}
		i = max(n, i+1)
	}
	if out.len() < 4 {
		return l
	}
	return out
}

// punycode decodes the names of hosts that are written in it.
func punycode(l layer) layer {
	lower := bytes.ToLower(l.text)
	if !bytes.Contains(lower, []byte("xn--")) {
		return l
	}
	var out layer
	for i := 0; i < l.len(); {
		j := i
		for j < l.len() && (isAlnum(l.text[j]) || l.text[j] == '-') {
			j++
		}
		if name, err := idna.Punycode.ToUnicode(string(lower[i:j])); err == nil && j > i && bytes.HasPrefix(lower[i:j], []byte("xn--")) {
			out.push(l, i, j, []byte(name)...)
		} else {
			out.append(l.slice(i, j))
		}
		if j < l.len() {
			out.append(l.slice(j, j+1))
		}
		i = j + 1
	}
	return out
}

// tokens decodes every run of characters that may be base64, base32 or hex. The signs of base64 also separate words: each run is tried
// with and without them, and from each of its first characters, for what stands before may not belong to it.
func (r *readings) tokens(l layer, depth int) {
	for _, signs := range [...]string{"+/-_", "+-_", ""} {
		for i := 0; i < l.len(); {
			j := i
			for j < l.len() && (isAlnum(l.text[j]) || strings.IndexByte(signs, l.text[j]) >= 0) {
				j++
			}
			if j-i >= minToken {
				r.token(l, i, j, depth)
			}
			i = j + 1
		}
	}
}

func (r *readings) token(l layer, i, j, depth int) {
	text := string(l.text[i:j])
	try := func(alphabet string, groups int, decode func(string) ([]byte, error)) {
		for skip := range groups {
			if len(text)-skip < minToken {
				return
			}
			plain, err := decode(text[skip:])
			if err != nil {
				continue
			}
			plain = inflated(plain)
			if len(plain) < 4 || !textLike(plain) {
				continue
			}
			if len(text)-skip >= sureToken && (alphabet != "hex" || !digits(text) || len(text) >= 2*sureToken) {
				r.encoded = true
			}
			var out layer
			out.push(l, i+skip, j, plain...)
			r.add(out, depth+1)
		}
	}
	try("hex", 2, func(s string) ([]byte, error) { return hex.DecodeString(s[:len(s)&^1]) })
	try("base32", 8, func(s string) ([]byte, error) {
		return base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(whole(strings.ToUpper(s), 8, 1, 3, 6))
	})
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(text)
	text = plain
	try("base64", 4, func(s string) ([]byte, error) { return base64.RawStdEncoding.DecodeString(whole(s, 4, 1)) })
}

// whole cuts the end of an encoded text whose last group has one of the impossible lengths.
func whole(s string, group int, impossible ...int) string {
	for slices.Contains(impossible, len(s)%group) {
		s = s[:len(s)-1]
	}
	return s
}

// maxInflated bounds what a compressed payload becomes, in bytes.
const maxInflated = 64 << 10

// inflated decompresses data that says it is gzip or zlib.
func inflated(data []byte) []byte {
	var from io.Reader
	var err error
	switch {
	case len(data) > 10 && data[0] == 0x1f && data[1] == 0x8b:
		from, err = gzip.NewReader(bytes.NewReader(data))
	case len(data) > 6 && data[0] == 0x78 && (int(data[0])<<8|int(data[1]))%31 == 0:
		from, err = zlib.NewReader(bytes.NewReader(data))
	}
	if from == nil || err != nil {
		return data
	}
	plain, err := io.ReadAll(io.LimitReader(from, maxInflated))
	if err != nil && len(plain) == 0 {
		return data
	}
	return plain
}

// textLike reports whether decoded bytes are text rather than an accident.
func textLike(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	odd, all := 0, 0
	for _, c := range string(b) {
		all++
		if !unicode.IsPrint(c) && !unicode.IsSpace(c) {
			odd++
		}
	}
	return odd*20 <= all
}
