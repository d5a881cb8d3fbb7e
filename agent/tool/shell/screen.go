package shell

import (
	"bytes"
	"unicode/utf8"
)

// screen makes plain text of what a program prints to a terminal: control sequences are dropped, a line that is
// written over (a progress bar) is kept as it was last, and bytes that are no UTF-8 become U+FFFD. Pieces may end anywhere. Memory
// grows with the text that stays.
type screen struct {
	state  state
	broken []byte // beginning of a character
	lines  []byte // finished lines
	line   []byte // the open one
	over   bool   // the cursor went back: what comes next replaces the line
}

// state is where in a control sequence the stream is.
type state uint8

const (
	plain      state = iota
	escaped          // after ESC
	sequence         // in a control sequence, until a byte from @ to ~
	passage          // in a text for the terminal (title, link), until BEL or ESC \
	passageEsc       // after ESC in such a text
	charset          // one more byte to drop
)

// maxLineBytes is how long a line may be and still be written over.
const maxLineBytes = 1 << 20

func (s *screen) write(p []byte) {
	if len(s.broken) > 0 {
		p = append(s.broken, p...)
		s.broken = nil
	}
	for len(p) > 0 {
		if s.state == plain {
			if n := printable(p); n > 0 { // the usual case, all at once
				s.put(p[:n])
				p = p[n:]
				continue
			}
		}
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 && !utf8.FullRune(p) {
			s.broken = bytes.Clone(p)
			return
		}
		s.take(r)
		p = p[size:]
	}
}

// printable returns how many bytes at the beginning of p are printable ASCII.
func printable(p []byte) int {
	for i, b := range p {
		if (b < ' ' && b != '\t') || b > '~' {
			return i
		}
	}
	return len(p)
}

func (s *screen) take(r rune) {
	switch s.state {
	case escaped:
		s.escape(r)
		return
	case sequence:
		switch {
		case r < ' ': // it never ended
			s.state = plain
			s.control(r)
		case r >= '@' && r <= '~':
			s.state = plain
		}
		return
	case passage:
		switch r {
		case '\n': // it never ended
			s.state = plain
			s.end()
		case 0x07, 0x9c:
			s.state = plain
		case 0x1b:
			s.state = passageEsc
		}
		return
	case passageEsc, charset:
		s.state = plain
		return
	}
	s.control(r)
}

// escape decides what kind of sequence began.
func (s *screen) escape(r rune) {
	switch r {
	case '[':
		s.state = sequence
	case ']', 'P', 'X', '^', '_':
		s.state = passage
	case '(', ')', '*', '+', '#', '%', ' ':
		s.state = charset
	case 0x1b:
	default:
		s.state = plain
	}
}

// control takes a character outside of sequences.
func (s *screen) control(r rune) {
	switch {
	case r == '\n':
		s.end()
	case r == '\r':
		s.over = true
	case r == '\b':
		if _, n := utf8.DecodeLastRune(s.line); len(s.line) > 0 {
			s.line = s.line[:len(s.line)-n]
		}
	case r == 0x1b:
		s.state = escaped
	case r == 0x9b:
		s.state = sequence
	case r == 0x9d || r == 0x90:
		s.state = passage
	case r < ' ' || r >= 0x7f && r < 0xa0:
	default:
		s.put(utf8.AppendRune(nil, r))
	}
}

func (s *screen) put(b []byte) {
	if s.over {
		s.line, s.over = s.line[:0], false
	}
	s.line = append(s.line, b...)
	if len(s.line) > maxLineBytes {
		s.lines = append(s.lines, s.line...)
		s.line = s.line[:0]
	}
}

func (s *screen) end() {
	s.lines = append(append(s.lines, s.line...), '\n')
	s.line, s.over = s.line[:0], false
}

// text ends the stream and returns all that stands on the screen.
func (s *screen) text() string {
	if len(s.broken) > 0 {
		s.broken = nil
		s.put([]byte("\uFFFD"))
	}
	return string(s.lines) + string(s.line)
}
