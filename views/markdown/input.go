package markdown

import (
	"strings"
	"unicode/utf8"
)

// input cleans text on its way in, whatever the pieces it arrives in: line ends become \n, broken UTF-8 and NUL become
// U+FFFD, and other control characters become spaces, which is what they look like.
type input struct {
	rest    string // the bytes of a character that is not complete yet
	afterCR bool   // the last byte was \r, already written as \n
}

// push appends what can be told of text so far to dst.
func (in *input) push(dst []byte, text string) []byte {
	if in.rest != "" {
		text = in.rest + text
		in.rest = ""
	}
	for len(text) > 0 {
		if n := plainPrefix(text); n > 0 {
			in.afterCR = false
			dst = append(dst, text[:n]...)
			text = text[n:]
			continue
		}
		if text[0] >= utf8.RuneSelf {
			if !utf8.FullRuneInString(text) {
				in.rest = strings.Clone(text)
				return dst
			}
			r, n := utf8.DecodeRuneInString(text)
			in.afterCR = false
			dst = utf8.AppendRune(dst, r)
			text = text[n:]
			continue
		}
		dst = in.control(dst, text[0])
		text = text[1:]
	}
	return dst
}

// flush gives up on a character that never became complete.
func (in *input) flush(dst []byte) []byte {
	for range len(in.rest) {
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	in.rest = ""
	return dst
}

func (in *input) control(dst []byte, c byte) []byte {
	wasCR := in.afterCR
	in.afterCR = c == '\r'
	switch c {
	case '\r':
		return append(dst, '\n')
	case '\n':
		if wasCR {
			return dst
		}
		return append(dst, '\n')
	case 0:
		return utf8.AppendRune(dst, utf8.RuneError)
	default:
		return append(dst, ' ')
	}
}

// plainPrefix is the length of the run of printable ASCII and tabs that text begins with.
func plainPrefix(text string) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c >= 0x7f {
			return i
		}
	}
	return len(text)
}
