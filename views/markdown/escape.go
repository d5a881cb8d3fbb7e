package markdown

import (
	"html"
	"net/url"
	"strings"
	"unicode/utf8"
)

// appendEscaped appends s as the text of an element.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	from := 0
	for i := range len(s) {
		var e string
		switch s[i] {
		case '<':
			e = "&lt;"
		case '>':
			e = "&gt;"
		case '&':
			e = "&amp;"
		default:
			continue
		}
		dst = append(dst, s[from:i]...)
		dst = append(dst, e...)
		from = i + 1
	}
	return append(dst, s[from:]...)
}

// appendAttr appends s as the value of a quoted attribute.
func appendAttr(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '"':
			dst = append(dst, "&#34;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '&':
			dst = append(dst, "&amp;"...)
		case '\n', '\t':
			dst = append(dst, ' ')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendText appends Markdown text: backslash escapes and entities are resolved, everything else is escaped.
func appendText(dst, s []byte) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && isPunct(s[i+1]) {
				dst = appendEscaped(dst, s[from:i])
				from = i + 1
				i++
			}
		case '&':
			value, n := entity(s[i:])
			if n > 0 {
				dst = appendEscaped(dst, s[from:i])
				dst = appendEscaped(dst, value)
				i += n - 1
				from = i + 1
			}
		}
	}
	return appendEscaped(dst, s[from:])
}

// resolveText is appendText without escaping.
func resolveText(s []byte) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && isPunct(s[i+1]) {
				i++
			}
		case '&':
			if value, n := entity(s[i:]); n > 0 {
				out.WriteString(value)
				i += n - 1
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// maxEntity bounds an entity with & and ;, in bytes; the longest name HTML has is 33 long.
const maxEntity = 40

// entity resolves the entity s begins with and returns its length, 0 if there is none. What would not survive in HTML becomes U+FFFD.
func entity(s []byte) (string, int) {
	s = s[:min(len(s), maxEntity)]
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == ';':
			name := string(s[:i+1])
			value := html.UnescapeString(name)
			if value == name || strings.HasSuffix(value, ";") && i > 4 && value[0] != ';' {
				return "", 0 // unknown, or only a prefix of it was known
			}
			return cleanRunes(value), i + 1
		case !isAlnum(c) && (c != '#' || i != 1):
			return "", 0
		}
	}
	return "", 0
}

func cleanRunes(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, s)
}

func isPunct(c byte) bool {
	return c > ' ' && c < 0x7f && !isAlnum(c)
}

// resolveAddress resolves the escapes of a link's address and makes it fit for an attribute.
func resolveAddress(s []byte) string {
	return encodeAddress(resolveText(s))
}

// encodeAddress percent-encodes what an address may not hold, and leaves what is encoded already.
func encodeAddress(s string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			out.WriteByte('%')
			out.WriteByte(hex[c>>4])
			out.WriteByte(hex[c&15])
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// safeAddress says whether a link may lead there: to the web, to mail, to a telephone, and within Ash.
func safeAddress(s string) bool {
	i := strings.IndexAny(s, ":/?#")
	if i < 0 || s[i] != ':' {
		return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "#")
	}
	switch strings.ToLower(s[:i]) {
	case "http", "https", "mailto", "tel":
		return true
	}
	return false
}

// remoteHost is the host of a web address, "" for any other.
func remoteHost(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.Host
}
