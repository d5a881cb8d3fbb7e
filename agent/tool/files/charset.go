package files

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// charset is how text is written as bytes.
type charset string

// The charsets that are read and kept.
const (
	utf8Text    charset = "UTF-8"
	utf16LE     charset = "UTF-16 (little endian)"
	utf16BE     charset = "UTF-16 (big endian)"
	windows1252 charset = "Windows-1252" // and with it Latin-1
)

// Byte order marks.
const (
	bomUTF8    = "\xef\xbb\xbf"
	bomUTF16LE = "\xff\xfe"
	bomUTF16BE = "\xfe\xff"
)

// form is how a text lies in its file, kept when the file changes.
type form struct {
	charset charset
	bom     bool
	crlf    bool // all lines end in CR LF; the text has LF in their place
}

// decode reads a file as text: UTF-8 without byte order mark, lines ended by LF unless they are mixed. ok is
// false for what is not text, or would not become the same bytes again.
func decode(raw []byte) (text string, fm form, ok bool) {
	switch {
	case bytes.HasPrefix(raw, []byte(bomUTF8)):
		fm = form{charset: utf8Text, bom: true}
		raw = raw[len(bomUTF8):]
		text, ok = string(raw), utf8.Valid(raw) && readable(raw)
	case bytes.HasPrefix(raw, []byte(bomUTF16LE)):
		fm = form{charset: utf16LE, bom: true}
		text, ok = fromUTF16(raw[2:], false)
	case bytes.HasPrefix(raw, []byte(bomUTF16BE)):
		fm = form{charset: utf16BE, bom: true}
		text, ok = fromUTF16(raw[2:], true)
	case bytes.IndexByte(raw, 0) >= 0:
		if fm.charset = utf16Without(raw); fm.charset != "" {
			text, ok = fromUTF16(raw, fm.charset == utf16BE)
		}
	case utf8.Valid(raw):
		fm = form{charset: utf8Text}
		text, ok = string(raw), readable(raw)
	default:
		fm = form{charset: windows1252}
		text, ok = from1252(raw)
	}
	if !ok {
		return "", form{}, false
	}
	if n := strings.Count(text, "\n"); n > 0 && n == strings.Count(text, "\r\n") && n == strings.Count(text, "\r") {
		fm.crlf = true
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text, fm, true
}

// encode is the way back. The error names the first character that the charset lacks.
func (fm form) encode(text string) ([]byte, error) {
	if fm.crlf {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	switch fm.charset {
	case utf16LE, utf16BE:
		return toUTF16(text, fm), nil
	case windows1252:
		return to1252(text)
	}
	if fm.bom {
		text = bomUTF8 + text
	}
	return []byte(text), nil
}

// String says what is unusual about a form, "" for plain UTF-8 with LF.
func (fm form) String() string {
	var all []string
	if fm.charset != utf8Text && fm.charset != "" {
		all = append(all, string(fm.charset))
	}
	if fm.bom {
		all = append(all, "with byte order mark")
	}
	if fm.crlf {
		all = append(all, "lines end in CR LF")
	}
	return strings.Join(all, ", ")
}

// readable reports whether UTF-8 looks like text: few control characters but those of terminals.
func readable(p []byte) bool {
	controls := 0
	for _, b := range p {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != 0x1b && b != '\b' || b == 0x7f {
			controls++
		}
	}
	return controls <= len(p)/20
}

// utf16Without recognises UTF-16 that has no byte order mark: text in which most characters are ASCII.
func utf16Without(raw []byte) charset {
	if len(raw)%2 != 0 {
		return ""
	}
	var nul [2]int
	for i, b := range raw {
		if b == 0 {
			nul[i&1]++
		}
	}
	switch {
	case nul[0] == 0 && nul[1] > len(raw)/4:
		return utf16LE
	case nul[1] == 0 && nul[0] > len(raw)/4:
		return utf16BE
	}
	return ""
}

func fromUTF16(raw []byte, big bool) (string, bool) {
	if len(raw)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
		if big {
			units[i] = units[i]<<8 | units[i]>>8
		}
	}
	for i := 0; i < len(units); i++ { // a lone surrogate would not come back
		if !utf16.IsSurrogate(rune(units[i])) {
			continue
		}
		if i+1 == len(units) || utf16.DecodeRune(rune(units[i]), rune(units[i+1])) == utf8.RuneError {
			return "", false
		}
		i++
	}
	text := string(utf16.Decode(units))
	return text, strings.IndexByte(text, 0) < 0 && readable([]byte(text))
}

func toUTF16(text string, fm form) []byte {
	units := utf16.Encode([]rune(text))
	out := make([]byte, 0, 2*len(units)+2)
	if fm.bom {
		units = append([]uint16{0xfeff}, units...)
	}
	for _, u := range units {
		if fm.charset == utf16BE {
			u = u<<8 | u>>8
		}
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

// from1252 reads bytes that all mean something in Windows-1252, most of them ASCII.
func from1252(raw []byte) (string, bool) {
	var b strings.Builder
	high := 0
	for _, c := range raw {
		switch {
		case c == 0x81, c == 0x8d, c == 0x8f, c == 0x90, c == 0x9d: // not assigned
			return "", false
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f', c == 0x7f:
			return "", false
		case c >= 0x80:
			high++
		}
		b.WriteRune(charmap.Windows1252.DecodeByte(c))
	}
	return b.String(), high <= len(raw)/3
}

func to1252(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		c, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			return nil, fmt.Errorf("the character U+%04X", r)
		}
		out = append(out, c)
	}
	if utf8.Valid(out) && len(out) != len(text) {
		return nil, errors.New("this text, which would be read as UTF-8")
	}
	return out, nil
}

// bytes is encode, checked: what it gives is read as the same text again.
func (fm form) bytes(text string) ([]byte, error) {
	raw, err := fm.encode(text)
	if err != nil {
		return nil, err
	}
	if again, _, ok := decode(raw); !ok || lf(again) != lf(text) {
		return nil, errors.New("a way to write this text")
	}
	return raw, nil
}

func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
