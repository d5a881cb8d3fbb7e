package llmtest

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"
)

// Writer writes one reply. Event puts the reply's pace and faults in.
type Writer struct {
	http.ResponseWriter
	server *Server
	req    *http.Request
	reply  Reply
	buf    *bufio.Writer
	events int
	broken bool // nothing more is sent
	fast   bool // flush when the buffer is full instead of after each event
}

func newWriter(s *Server, w http.ResponseWriter, r *http.Request, reply Reply) *Writer {
	return &Writer{ResponseWriter: w, server: s, req: r, reply: reply, buf: bufio.NewWriterSize(w, 32<<10)}
}

// Event sends one complete event (its line ends included) and reports whether more may follow.
func (w *Writer) Event(event []byte) bool {
	if w.broken {
		return false
	}
	f := w.reply.Fault
	if f.Stream != "" && w.events == f.After {
		return w.fail(event)
	}
	w.events++
	if _, err := w.buf.Write(event); err != nil {
		w.broken = true
		return false
	}
	if !w.fast {
		w.flush()
	}
	return !w.broken
}

// LoadPieces calls piece for each generated token of the reply, at its pace, until piece reports false.
func (w *Writer) LoadPieces(piece func(token string) bool) {
	l := w.reply.Load
	if l.Token == "" {
		l.Token = "word "
	}
	w.fast = l.Rate == 0
	start := time.Now()
	for i := range l.Tokens {
		if l.Rate > 0 {
			at := start.Add(time.Duration(float64(i) / l.Rate * float64(time.Second)))
			if !w.server.sleep(w.req, time.Until(at)) {
				w.broken = true
				return
			}
		}
		if !piece(l.Token) {
			return
		}
		if i == 0 {
			w.flush()
		}
	}
	w.fast = false
}

// fail does what the reply's stream fault says, in place of event.
func (w *Writer) fail(event []byte) bool {
	w.broken = true
	switch f := w.reply.Fault; f.Stream {
	case StreamStall:
		w.flush()
		select {
		case <-w.req.Context().Done():
		case <-w.server.done:
		}
	case StreamCut:
		w.abort(event[:len(event)/2])
	case StreamCutRune:
		w.abort(event[:middleOfRune(event)])
	case StreamEnd:
		w.flush()
	case StreamMalformed:
		w.raw(bytes.Replace(event, []byte("{"), []byte(`{"broken": tru,`), 1))
	case StreamGiant:
		size := f.Size
		if size == 0 {
			size = 16 << 20
		}
		at := max(bytes.IndexByte(event, '{'), 0) + 1
		giant := append([]byte(nil), event[:at]...)
		giant = append(giant, `"pad":"`...)
		giant = append(giant, bytes.Repeat([]byte("x"), size)...)
		giant = append(giant, `",`...)
		w.raw(append(giant, event[at:]...))
	case StreamError:
		w.raw(w.server.format.Error(f.kind(), true))
	}
	return false
}

// abort sends head and breaks the connection without ending the body.
func (w *Writer) abort(head []byte) {
	w.raw(head)
	panic(http.ErrAbortHandler) // net/http's way to break a connection
}

func (w *Writer) raw(b []byte) {
	_, _ = w.buf.Write(b) // the client may have gone, which is as good
	w.flush()
}

func (w *Writer) flush() {
	if w.buf.Flush() != nil {
		w.broken = true
		return
	}
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

func (w *Writer) finish() {
	if !w.broken {
		w.flush()
	}
}

// middleOfRune finds a place inside the first multi-byte character of b, or the middle of b.
func middleOfRune(b []byte) int {
	for i := range b {
		if b[i] >= utf8.RuneSelf {
			return i + 1
		}
	}
	return len(b) / 2
}

func urlOf(path string) *url.URL { return &url.URL{Path: path} }
