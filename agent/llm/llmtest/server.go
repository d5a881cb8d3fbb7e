package llmtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Endpoint is what a request asks for.
type Endpoint int

// The endpoints a Format tells apart.
const (
	EndpointNone   Endpoint = iota // 404
	EndpointChat                   // answered from the script
	EndpointModels                 // the list of models
	EndpointEmbed                  // embeddings
	EndpointOther                  // something only this format has; Format.Other answers
)

// Format is a vendor's wire format.
type Format interface {
	// Endpoint says what a request asks for, by method and path.
	Endpoint(r *http.Request) Endpoint
	// Chat answers a chat request with reply, streamed or whole as the request asks. Streams are written event by event with w.Event.
	Chat(w *Writer, req Request, reply Reply)
	// Error returns the body of an error. stream says that it goes into a running stream (a complete event) rather than into a response.
	Error(kind ErrorKind, stream bool) []byte
	// Other answers the remaining endpoints.
	Other(w http.ResponseWriter, e Endpoint, req Request, s *Server)
}

// Request is a request as it came in.
type Request struct {
	Method string
	Path   string
	Query  string
	Header http.Header
	Body   []byte // the exact bytes
	At     time.Time
}

// Server is a scripted model server. Its methods may be called while it serves.
type Server struct {
	URL        string   // where it listens, without a path; "" when only the Handler is used
	ModelNames []string // what it lists as its models
	Dimensions int      // of its embeddings; 0 is 8
	Forget     bool     // keep no requests, for long runs

	format Format
	mu     sync.Mutex
	script []Reply
	seen   []Request
	done   chan struct{} // closed by Close: ends stalls and delays
	once   sync.Once
}

// New makes a server that is not listening yet.
func New(format Format, script ...Reply) *Server {
	return &Server{format: format, script: script, ModelNames: []string{"test-model"}, done: make(chan struct{})}
}

// Start makes a server on a loopback port that ends with the test.
func Start(t testing.TB, format Format, script ...Reply) *Server {
	t.Helper()
	s := New(format, script...)
	h := httptest.NewServer(s.Handler())
	s.URL = h.URL
	t.Cleanup(func() {
		s.Close()
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

// Serve runs any handler on a loopback port until the test ends and returns its address.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// Close ends replies that stall or wait.
func (s *Server) Close() { s.once.Do(func() { close(s.done) }) }

// Push adds replies to the script.
func (s *Server) Push(r ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, r...)
}

// Requests returns the requests seen so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// Chats returns the chat requests seen so far.
func (s *Server) Chats() []Request {
	var out []Request
	for _, r := range s.Requests() {
		if s.format.Endpoint(&http.Request{Method: r.Method, URL: urlOf(r.Path)}) == EndpointChat {
			out = append(out, r)
		}
	}
	return out
}

// Handler serves the format.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	req := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body, At: time.Now()}
	if !s.Forget {
		s.mu.Lock()
		s.seen = append(s.seen, req)
		s.mu.Unlock()
	}
	switch e := s.format.Endpoint(r); e {
	case EndpointNone:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "404 page not found\n")
	case EndpointChat:
		s.chat(w, r, req)
	default:
		s.format.Other(w, e, req, s)
	}
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request, req Request) {
	reply, ok := s.next()
	if !ok {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "llmtest: the script is used up")
		return
	}
	f := reply.Fault
	if !s.sleep(r, f.Delay) {
		return
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f.Raw != "" {
		w.Header().Set("Content-Type", f.Media)
		w.WriteHeader(max(f.Status, 200))
		_, _ = io.WriteString(w, f.Raw)
		return
	}
	if f.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Status)
		_, _ = w.Write(s.format.Error(f.kind(), false))
		return
	}
	out := newWriter(s, w, r, reply)
	s.format.Chat(out, req, reply)
	out.finish()
}

func (s *Server) next() (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script) == 0 {
		return Reply{}, false
	}
	r := s.script[0]
	if len(s.script) > 1 || !r.Repeat {
		s.script = s.script[1:]
	}
	return r, true
}

// sleep waits d; it reports false when the client or the server went away first.
func (s *Server) sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

func (f Fault) kind() ErrorKind {
	switch {
	case f.Kind != "":
		return f.Kind
	case f.Status == 401:
		return ErrorAuth
	case f.Status == 429:
		return ErrorRate
	case f.Status == 529 || f.Status == 503:
		return ErrorOverloaded
	case f.Status == 404:
		return ErrorNotFound
	case f.Status >= 500:
		return ErrorServer
	}
	return ErrorRequest
}
