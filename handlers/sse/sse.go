// Package sse writes server-sent events (WHATWG HTML, section 9.2) to one
// response: frames with id, event and data, heartbeats, and a flush after each.
// It knows nothing of what the frames say.
package sse

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Heartbeat is how often an idle stream should send a comment, so that dead
// connections are noticed and proxies do not close live ones.
const Heartbeat = 15 * time.Second

// writeTimeout bounds one frame: a reader that takes nothing for so long is gone.
const writeTimeout = 20 * time.Second

// Writer writes one stream. It is not safe for concurrent use.
type Writer struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
}

// NewWriter sends the headers of a stream. The server's own write deadline is
// replaced by one per frame. It fails when the response cannot be flushed.
func NewWriter(w http.ResponseWriter) (*Writer, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s := &Writer{w: w, rc: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	return s, s.flush()
}

// Send writes one frame. Event and id may be empty; both must be free of line
// breaks, which every caller's are by construction. Line breaks in data become
// several data lines, as the format asks.
func (s *Writer) Send(id, event string, data []byte) error {
	s.buf.Reset()
	if id != "" {
		fmt.Fprintf(&s.buf, "id: %s\n", oneLine(id))
	}
	if event != "" {
		fmt.Fprintf(&s.buf, "event: %s\n", oneLine(event))
	}
	for {
		i := bytes.IndexAny(data, "\r\n")
		s.buf.WriteString("data: ")
		if i < 0 {
			s.buf.Write(data)
			break
		}
		s.buf.Write(data[:i])
		s.buf.WriteByte('\n')
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
	s.buf.WriteString("\n\n")
	return s.write()
}

// Mark moves the reader's last event id without any data.
func (s *Writer) Mark(id string) error {
	s.buf.Reset()
	fmt.Fprintf(&s.buf, "id: %s\n\n", oneLine(id))
	return s.write()
}

// Beat writes a comment, which readers ignore.
func (s *Writer) Beat() error {
	s.buf.Reset()
	s.buf.WriteString(":\n\n")
	return s.write()
}

func (s *Writer) write() error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("sse: deadline: %w", err)
	}
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return fmt.Errorf("sse: write: %w", err)
	}
	return s.flush()
}

func (s *Writer) flush() error {
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("sse: flush: %w", err)
	}
	return nil
}

// oneLine takes out what would end a field. Every frame has one, and next to none has anything to take out.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(s)
}
