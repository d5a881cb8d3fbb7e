package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent/llm/llmtest"
)

// model is a model server. It answers the questions of a conversation from a script, at a
// pace and with pauses the test decides on, and names conversations beside.
type model struct {
	t       *testing.T
	url     string
	format  llmtest.Format
	title   string   // what it calls every conversation
	names   []string // of the models it lists
	calm    bool     // answers what the script does not foresee
	learned string   // what it finds worth remembering, as learning asks for it; "" is nothing

	mu     sync.Mutex
	taken  string // the only key it takes; "" is any
	script []*reply
	asked  []string // bodies of the questions, without those for a title
	done   chan struct{}
}

// reply is one answer of the script.
type reply struct {
	llmtest.Reply
	every  time.Duration // between two pieces
	pauses []int         // numbers of pieces after which it waits for release

	reached chan struct{} // a token for each pause begun
	open    chan struct{} // a token for each that may end
}

// wait blocks until the reply has sent what comes before its next pause.
func (r *reply) wait(t *testing.T) {
	t.Helper()
	select {
	case <-r.reached:
	case <-time.After(patience):
		t.Fatal("the model was not asked")
	}
}

// release lets the reply go on to its next pause or its end.
func (r *reply) release() { r.open <- struct{}{} }

// newModel starts a server that speaks OpenAI's format.
func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{t: t, format: llmtest.OpenAIFormat{}, title: "A talk about nothing", names: []string{"quill-7b", "quill-70b"}, done: make(chan struct{})}
	s := httptest.NewServer(m)
	m.url = s.URL
	t.Cleanup(func() {
		close(m.done)
		s.CloseClientConnections()
		s.Close()
	})
	return m
}

// says adds an answer that comes at once, in these pieces.
func (m *model) says(pieces ...string) { m.push(&reply{Reply: llmtest.Text(pieces...)}) }

// streams adds an answer whose pieces come one after the other, every so often.
func (m *model) streams(every time.Duration, pieces ...string) {
	m.push(&reply{Reply: llmtest.Text(pieces...), every: every})
}

// pauses adds an answer that waits to be released after this many of its pieces.
func (m *model) pauses(after int, pieces ...string) *reply {
	return m.push(&reply{Reply: llmtest.Text(pieces...), pauses: []int{after}})
}

func (m *model) push(r *reply) *reply {
	r.reached, r.open = make(chan struct{}, len(r.pauses)), make(chan struct{}, len(r.pauses))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = append(m.script, r)
	return r
}

// takes has the model refuse every key but this one.
func (m *model) takes(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken = key
}

// questions are the bodies of what was asked so far.
func (m *model) questions() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.asked...)
}

// prompt is a question as the vendor documents it.
type prompt struct {
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// question returns the last question, read.
func (m *model) question() prompt {
	m.t.Helper()
	all := m.questions()
	if len(all) == 0 {
		m.t.Fatal("the model was asked nothing")
	}
	var p prompt
	if err := json.Unmarshal([]byte(all[len(all)-1]), &p); err != nil {
		m.t.Fatal(err)
	}
	return p
}

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // ash went away
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	reply := m.next(r, string(body))
	one := llmtest.New(m.format, reply.Reply)
	one.ModelNames = m.names
	one.Handler().ServeHTTP(&paced{ResponseWriter: w, model: m, reply: reply, request: r}, r)
}

// next picks the reply for a request.
func (m *model) next(r *http.Request, body string) *reply {
	if m.format.Endpoint(r) != llmtest.EndpointChat {
		return &reply{}
	}
	if m.refuses(r) {
		return &reply{Reply: llmtest.Unauthorized()}
	}
	if strings.Contains(body, "You name conversations") {
		return &reply{Reply: llmtest.Text(m.title)}
	}
	if strings.Contains(body, "You keep the long-term memory of Ash") {
		return &reply{Reply: llmtest.Text(cmp.Or(m.learned, `{"keep":[],"expire":[]}`))}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, body)
	if len(m.script) == 0 && m.calm {
		return &reply{Reply: llmtest.Text("Fine.")}
	}
	if len(m.script) == 0 {
		m.t.Errorf("the model was asked more than the test expected: %s", body)
		return &reply{Reply: llmtest.ServerError()}
	}
	first := m.script[0]
	m.script = m.script[1:]
	return first
}

// refuses reports whether a request bears another key than the one that is taken.
func (m *model) refuses(r *http.Request) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken != "" && r.Header.Get("Authorization") != "Bearer "+m.taken
}

// paced writes the pieces of a reply as the reply says. The server flushes once per piece, after one of its own.
type paced struct {
	http.ResponseWriter
	model   *model
	reply   *reply
	request *http.Request
	sent    int
}

// Flush implements http.Flusher.
func (p *paced) Flush() {
	if f, ok := p.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	p.sent++
	var tick <-chan time.Time
	switch {
	case slices.Contains(p.reply.pauses, p.sent-1):
		p.reply.reached <- struct{}{}
	case p.reply.every > 0:
		tick = time.After(p.reply.every)
	default:
		return
	}
	select {
	case <-tick:
	case <-p.reply.open:
	case <-p.request.Context().Done():
	case <-p.model.done:
	}
}

// words are n numbered words, each a piece, in paragraphs of ten.
func words(mark string, n int) []string {
	out := make([]string, n)
	for i := range out {
		end := " "
		if i%10 == 9 && i < n-1 {
			end = "\n\n"
		}
		out[i] = fmt.Sprintf("%s%03d%s", mark, i, end)
	}
	return out
}

// plain is a text as a page shows it: one space between words.
func plain(pieces ...string) string {
	return strings.Join(strings.Fields(strings.Join(pieces, "")), " ")
}
