package openai

import (
	"bytes"
	"unicode/utf8"
)

// plainText reads the chunk nearly every token comes in, which holds one piece of text and nothing else of interest, at
// a fraction of what encoding/json takes. It reports false for anything it is not sure of, errors included; the
// caller then decodes the chunk in full. Where both succeed they agree (FuzzChunk).
func plainText(data []byte) (string, bool) {
	p := plainChunk{scanner: scanner{data: data}}
	if !p.object(p.chunk) || !p.found || !p.end() {
		return "", false
	}
	return string(p.text), true
}

// plainChunk is a chunk on its way through plainText. Its methods take one key of an object each and consume the value.
type plainChunk struct {
	scanner
	text  []byte
	found bool
}

func (p *plainChunk) chunk(key []byte) bool {
	switch string(key) {
	case "choices":
		return !p.found && p.lit('[') && p.object(p.choice) && p.lit(']')
	case "id", "object", "model", "system_fingerprint", "service_tier", "obfuscation", "provider", "created":
		return p.skipScalar()
	case "usage", "error", "x_groq", "prompt_token_ids":
		return p.null()
	}
	return false
}

func (p *plainChunk) choice(key []byte) bool {
	switch string(key) {
	case "delta":
		return !p.found && p.object(p.delta)
	case "index":
		return p.lit('0')
	case "logprobs", "finish_reason", "native_finish_reason", "stop_reason", "token_ids":
		return p.null()
	}
	return false
}

func (p *plainChunk) delta(key []byte) bool {
	switch string(key) {
	case "content":
		if p.found {
			return false
		}
		p.text, p.found = p.str()
		return p.found
	case "role":
		return p.skipString()
	case "refusal", "tool_calls", "function_call", "reasoning", "reasoning_content":
		return p.null()
	}
	return false
}

// scanner reads JSON strictly, and only what plainText needs. Every method reports false when something else stands there.
type scanner struct {
	data []byte
	pos  int
	buf  []byte
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) lit(c byte) bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) end() bool {
	s.space()
	return s.pos == len(s.data)
}

// object reads {"key": value, …}; value is called with each key and must consume its value.
func (s *scanner) object(value func(key []byte) bool) bool {
	if !s.lit('{') {
		return false
	}
	for {
		key, ok := s.raw()
		if !ok || !s.lit(':') || !value(key) {
			return false
		}
		if s.lit(',') {
			continue
		}
		return s.lit('}')
	}
}

// raw reads a string of printable ASCII without escapes.
func (s *scanner) raw() ([]byte, bool) {
	if !s.lit('"') {
		return nil, false
	}
	n := bytes.IndexByte(s.data[s.pos:], '"')
	if n < 0 {
		return nil, false
	}
	out := s.data[s.pos : s.pos+n]
	for _, c := range out {
		if c < ' ' || c >= 0x80 || c == '\\' {
			return nil, false
		}
	}
	s.pos += n + 1
	return out, true
}

func (s *scanner) skipString() bool {
	_, ok := s.raw()
	return ok
}

// skipScalar passes over a plain string, null, or a small whole number.
func (s *scanner) skipScalar() bool {
	s.space()
	if s.pos >= len(s.data) {
		return false
	}
	switch c := s.data[s.pos]; {
	case c == '"':
		return s.skipString()
	case c == 'n':
		return s.null()
	case c >= '1' && c <= '9':
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return true
	}
	return false
}

func (s *scanner) null() bool {
	s.space()
	if bytes.HasPrefix(s.data[s.pos:], []byte("null")) {
		s.pos += 4
		return true
	}
	return false
}

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
	out := s.buf[:0]
	out = append(out, s.data[start:i]...)
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
