package attachment

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"ash/agent"
)

// encodings in which text is written.
type encoding int

const (
	notText encoding = iota
	utf8Text
	utf16LE
	utf16BE
	windows1252 // and with it Latin-1, of which it is a superset where text is concerned
)

// readText returns the beginning of a text as UTF-8, or refuses what is no text. All of the
// file is looked at, so that a picture behind a line of text is not taken for text.
func readText(ctx context.Context, r io.ReadSeeker) (text string, truncated bool, err error) {
	enc, err := detect(ctx, r)
	if err != nil {
		return "", false, err
	}
	if enc == notText {
		return "", false, refuse(nil, "This kind of file cannot be used: it is not text.")
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return "", false, diskError(err)
	}
	// Two bytes of UTF-16 may make three of UTF-8, and one of Windows-1252 too; so this much of any is enough.
	raw, err := io.ReadAll(io.LimitReader(r, 2*MaxExtract+4))
	if err != nil {
		return "", false, diskError(err)
	}
	more := len(raw) == 2*MaxExtract+4
	text = decode(enc, raw)
	if len(text) <= MaxExtract && !more {
		return text, false, nil
	}
	return cut(text), true, nil
}

// cut shortens a text to MaxExtract, at the end of a line where one is near.
func cut(text string) string {
	text = agent.Clip(text, MaxExtract)
	if i := strings.LastIndexByte(text, '\n'); i > len(text)-2048 {
		text = text[:i+1]
	}
	return text
}

// decode makes UTF-8 without byte order mark and without NUL.
func decode(enc encoding, raw []byte) string {
	var s string
	switch enc {
	case utf16LE, utf16BE:
		units := make([]uint16, 0, len(raw)/2)
		for i := 0; i+1 < len(raw); i += 2 {
			u := uint16(raw[i]) | uint16(raw[i+1])<<8
			if enc == utf16BE {
				u = u<<8 | u>>8
			}
			units = append(units, u)
		}
		s = string(utf16.Decode(units))
	case windows1252:
		var b strings.Builder
		for _, c := range raw {
			b.WriteRune(charmap.Windows1252.DecodeByte(c))
		}
		s = b.String()
	default:
		s = string(raw)
	}
	s = strings.TrimPrefix(strings.ToValidUTF8(s, "\uFFFD"), "\uFEFF")
	return strings.ReplaceAll(s, "\x00", "")
}

// census counts what tells encodings apart.
type census struct {
	total    int64
	nul      [2]int64 // at even and at odd places
	controls int64    // other than tab, line ends, form feed and escape
	high     int64    // bytes from 0x80 on
	odd      int64    // bytes that Windows-1252 does not assign, or that are C1 controls in Latin-1
	broken   bool     // not UTF-8
	tail     []byte   // the beginning of a character that goes on in the next piece
}

// detect reads everything and says how it is written. A byte order mark decides; else valid UTF-8 is that;
// else many NULs at every other place are UTF-16, and bytes that all mean something in Windows-1252 are that.
func detect(ctx context.Context, r io.Reader) (encoding, error) {
	var c census
	var head []byte
	buf := make([]byte, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return notText, err
		}
		n, err := io.ReadFull(r, buf)
		if head == nil {
			head = bytes.Clone(buf[:min(n, 4)])
		}
		c.count(buf[:n])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return notText, diskError(err)
		}
	}
	c.broken = c.broken || len(c.tail) > 0
	return c.verdict(head), nil
}

func (c *census) verdict(head []byte) encoding {
	nuls := c.nul[0] + c.nul[1]
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")) || bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return notText // UTF-32: nobody writes it
	case c.total%2 == 0 && bytes.HasPrefix(head, []byte("\xff\xfe")) && c.rare(c.controls):
		return utf16LE
	case c.total%2 == 0 && bytes.HasPrefix(head, []byte("\xfe\xff")) && c.rare(c.controls):
		return utf16BE
	case nuls == 0 && !c.broken && c.rare(c.controls):
		return utf8Text
	case nuls > 0 && c.total%2 == 0 && c.controls == 0 && c.nul[1] > c.total/4 && c.nul[0] == 0:
		return utf16LE
	case nuls > 0 && c.total%2 == 0 && c.controls == 0 && c.nul[0] > c.total/4 && c.nul[1] == 0:
		return utf16BE
	case nuls == 0 && c.broken && c.controls == 0 && c.odd == 0 && c.high < c.total/3:
		return windows1252
	}
	return notText
}

// rare allows a stray control character, as logs of terminals have them.
func (c *census) rare(n int64) bool { return n <= c.total/50 }

func (c *census) count(p []byte) {
	for _, b := range p {
		switch {
		case b == 0:
			c.nul[c.total&1]++
		case b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != 0x1b && b != '\b', b == 0x7f:
			c.controls++
		case b >= 0x80:
			c.high++
			if b == 0x81 || b == 0x8d || b == 0x8f || b == 0x90 || b == 0x9d {
				c.odd++
			}
		}
		c.total++
	}
	if c.broken {
		return
	}
	p = append(c.tail, p...)
	keep := 0 // of an incomplete character at the end
	for k := 1; k < utf8.UTFMax && k <= len(p); k++ {
		if utf8.RuneStart(p[len(p)-k]) {
			if !utf8.FullRune(p[len(p)-k:]) {
				keep = k
			}
			break
		}
	}
	c.broken = !utf8.Valid(p[:len(p)-keep])
	c.tail = bytes.Clone(p[len(p)-keep:])
}
