package llm

import (
	"bytes"
	"errors"
	"io"
)

// MaxEvent bounds one line of NDJSON or one server-sent event, in bytes. The
// largest honest ones hold a whole tool call or a list of embeddings.
const MaxEvent = 4 << 20

// ErrTooLong says that a line or event is longer than the reader's bound.
var ErrTooLong = errors.New("line longer than allowed")

// LineReader reads lines of bounded length without copying them. It serves NDJSON
// directly and EventReader underneath.
type LineReader struct {
	r          io.Reader
	buf        []byte
	start, end int
	limit      int
	err        error
	partial    bool
}

// NewLineReader reads lines of at most limit bytes (0 is MaxEvent) from r.
func NewLineReader(r io.Reader, limit int) *LineReader {
	if limit <= 0 {
		limit = MaxEvent
	}
	return &LineReader{r: r, limit: limit, buf: make([]byte, min(16<<10, limit+2))}
}

// Next returns the next line without its LF or CRLF. The slice is valid until the next
// call. At the end it returns io.EOF; a last line without an end is returned first, and Partial
// then says so. Any other error is the reader's own or ErrTooLong, and stays.
func (l *LineReader) Next() ([]byte, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+scanned+i]
			l.start += scanned + i + 1
			return l.checked(dropCR(line))
		}
		scanned = l.end - l.start
		if scanned > l.limit+1 {
			l.start, l.end, l.err = 0, 0, ErrTooLong
			return nil, l.err
		}
		if l.err != nil {
			return l.rest()
		}
		l.fill()
	}
}

func (l *LineReader) checked(line []byte) ([]byte, error) {
	if len(line) > l.limit {
		l.start, l.end, l.err = 0, 0, ErrTooLong
		return nil, l.err
	}
	return line, nil
}

// rest hands out what is left once the reader has failed or ended.
func (l *LineReader) rest() ([]byte, error) {
	if !errors.Is(l.err, io.EOF) || l.start == l.end {
		return nil, l.err
	}
	line := l.buf[l.start:l.end]
	l.start, l.end, l.partial = 0, 0, true
	return l.checked(dropCR(line))
}

// Partial reports whether the last line ended with the input instead of a line end, as it does
// when a connection is cut.
func (l *LineReader) Partial() bool { return l.partial }

func (l *LineReader) fill() {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.limit+64))
		if len(grown) <= l.end {
			grown = make([]byte, l.end+64)
		}
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	// A reader may return nothing a few times; one that never gets on is broken.
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

func dropCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// EventReader reads server-sent events (WHATWG HTML, section 9.2) of bounded size. Lines may
// end in LF or CRLF; a lone CR, which no model server uses, does not end a line.
type EventReader struct {
	lines *LineReader
	limit int
	name  []byte
	data  []byte
}

// NewEventReader reads events of at most limit bytes (0 is MaxEvent) from r.
func NewEventReader(r io.Reader, limit int) *EventReader {
	if limit <= 0 {
		limit = MaxEvent
	}
	return &EventReader{lines: NewLineReader(r, limit+64), limit: limit}
}

// Next returns the name ("" when the event has none) and data of the next event that has
// data; comments and other fields are passed over. Both slices are valid until the next call. io.EOF ends the
// events; an event without its blank line is returned before that, because some servers leave out the last one:
// when it does not decode and Partial says so, the connection was cut.
func (e *EventReader) Next() (name, data []byte, err error) {
	e.name, e.data = e.name[:0], e.data[:0]
	some := false
	for {
		line, err := e.lines.Next()
		if err != nil {
			if errors.Is(err, io.EOF) && some {
				return e.name, e.data, nil
			}
			return nil, nil, err
		}
		if len(line) == 0 {
			if some {
				return e.name, e.data, nil
			}
			e.name = e.name[:0]
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) {
		case "data":
			if some {
				e.data = append(e.data, '\n')
			}
			some = true
			e.data = append(e.data, value...)
			if len(e.data) > e.limit {
				return nil, nil, ErrTooLong
			}
		case "event":
			e.name = append(e.name[:0], value...)
		}
	}
}

// Partial reports whether the last event ended with the input inside a line.
func (e *EventReader) Partial() bool { return e.lines.Partial() }
