package openai

import "unicode/utf8"

// str reads a JSON string with the short escapes. A \u escape or broken UTF-8 is left to encoding/json.
func (s *scanner) str() ([]byte, bool) {
	if !s.lit('"') {
		return nil, false
	}
	start, ascii := s.pos, true
	for i := start; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			out := s.data[start:i]
			return out, ascii || utf8.Valid(out)
		case c == '\\':
			return s.escaped(start, i)
		case c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// escaped goes on with str at the first backslash, copying.
func (s *scanner) escaped(start, i int) ([]byte, bool) {
	out := append(s.buf[:0], s.data[start:i]...)
	for ; i < len(s.data); i++ {
		c := s.data[i]
		switch {
		case c == '"':
			s.pos, s.buf = i+1, out
			return out, utf8.Valid(out)
		case c < ' ':
			return nil, false
		case c == '\\':
			i++
			if i == len(s.data) {
				return nil, false
			}
			plain, ok := unescape(s.data[i])
			if !ok {
				return nil, false
			}
			out = append(out, plain)
		default:
			out = append(out, c)
		}
	}
	return nil, false
}

func unescape(c byte) (byte, bool) {
	switch c {
	case '"', '\\', '/':
		return c, true
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	}
	return 0, false
}
