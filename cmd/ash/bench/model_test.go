//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// model is a model server that speaks OpenAI's format and does nothing but that: llmtest's servers, which
// fail in every way there is, take more of the processor per token than what is measured here.
type model struct {
	url    string
	hangUp func() // closes all connections

	mu     sync.Mutex
	answer answer
	last   string // the body of the last question, titles aside
	asked  int    // requests in all
}

// answer is what a model says.
type answer struct {
	tokens []string
	every  time.Duration // between two tokens; 0 is full speed
	eager  bool          // at full speed, too, send each token on its own
	stamp  bool          // say the time of sending instead of tokens
}

// newModel starts a model server; every question gets a.
func newModel(t testing.TB, a answer) *model {
	t.Helper()
	m := &model{answer: a}
	s := httptest.NewServer(m)
	m.url, m.hangUp = s.URL, s.CloseClientConnections
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return m
}

// says changes the answer to every further question.
func (m *model) says(a answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = a
}

// requested counts the requests so far.
func (m *model) requested() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// question returns the body of the last question.
func (m *model) question() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

const (
	chunkHead = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"test","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":`
	chunkTail = `},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	chunkEnd  = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"test","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"test","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":%d,"total_tokens":%d}}` + "\n\n" +
		"data: [DONE]\n\n"
)

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // ash went away
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	a := m.next(string(body))
	w.Header().Set("Content-Type", "text/event-stream")
	out := bufio.NewWriterSize(w, 32<<10)
	if a.stream(r, out, w.(http.Flusher)) {
		fmt.Fprintf(out, chunkEnd, len(a.tokens), 10+len(a.tokens))
		_ = out.Flush() // whoever asked may have gone
	}
}

func (m *model) next(body string) answer {
	title := strings.Contains(body, "You name conversations")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if title {
		return answer{tokens: []string{"A measured talk"}}
	}
	m.last = body
	return m.answer
}

// stream sends the tokens; it reports false when the reader went away. At full speed the first
// goes out at once and the rest as the buffer fills, unless the answer is eager.
func (a answer) stream(r *http.Request, out *bufio.Writer, w http.Flusher) bool {
	start := time.Now()
	for i, token := range a.tokens {
		if a.every > 0 && !pause(r, time.Until(start.Add(time.Duration(i)*a.every))) {
			return false
		}
		if a.stamp {
			token = stampNow()
		}
		quoted, err := json.Marshal(token)
		if err != nil {
			panic(err) // a string always encodes
		}
		_, _ = out.WriteString(chunkHead)
		_, _ = out.Write(quoted)
		if _, err := out.WriteString(chunkTail); err != nil {
			return false
		}
		if i == 0 || a.eager || a.every > 0 {
			if out.Flush() != nil {
				return false
			}
			w.Flush()
		}
	}
	return true
}

func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// ask puts a question to a model server, as Ash does, and returns when the first token and the last byte came.
func ask(t testing.TB, client *http.Client, url string) (first, whole time.Duration) {
	t.Helper()
	began := time.Now()
	resp, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"test","stream":true,"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if first == 0 && n > 0 {
			first = time.Since(began)
		}
		if err == io.EOF {
			return first, time.Since(began)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// words are n tokens that no page holds by itself, in paragraphs of eighty.
func words(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "zebra "
		if i%80 == 79 && i < n-1 {
			out[i] = "zebra.\n\n"
		}
	}
	return out
}

// bootTime is what stamps count from.
var bootTime = time.Now()

// stampNow is a token that says when it was sent: a "q", microseconds, and a space.
func stampNow() string { return fmt.Sprintf("q%010d ", time.Since(bootTime).Microseconds()) }
