//go:build linux

package canaries

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// model is a model server that knows the secrets, as one would that was told while the vault was locked, or that keeps what it should not; and that repeats them.
type model struct {
	t    *testing.T
	url  string
	all  []*canary
	key  string // what it is asked with
	mu   sync.Mutex
	seen []string // bodies, and headers but the one that has to bear the key
}

func newModel(t *testing.T, all []*canary) *model {
	t.Helper()
	m := &model{t: t, all: all}
	s := httptest.NewServer(m)
	m.url = s.URL
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return m
}

// asked returns all requests there were.
func (m *model) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.seen...)
}

// order is what the person's message asks the server to do, and the how manieth order it is: "do say 17 3 at 40".
var order = regexp.MustCompile(`do (\w+) (\d+) (\d+)(?: at (\d+))?`)

// newest is the order that was given last: messages that are recalled bear others.
func newest(orders [][]string) (last []string) {
	most := -1
	for _, o := range orders {
		if n, _ := strconv.Atoi(o[4]); n >= most {
			last, most = o, n
		}
	}
	return last
}

type request struct {
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	} `json:"messages"`
}

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // ash went away
	}
	h := r.Header.Clone()
	m.mu.Lock()
	if m.key == "" {
		m.key = strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	}
	h.Del("Authorization")
	m.seen = append(m.seen, fmt.Sprintf("%s %v\n%s", r.URL, h, body))
	m.mu.Unlock()
	if r.URL.Path == "/search" {
		m.search(w, r)
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil || len(q.Messages) == 0 {
		m.t.Errorf("a request that is none: %v\n%s", err, body)
		return
	}
	system, last := fmt.Sprint(q.Messages[0].Content), q.Messages[len(q.Messages)-1]
	words := fmt.Sprint(last.Content)
	orders := order.FindAllStringSubmatch(words, -1)
	if len(orders) == 0 || last.Role == "tool" || strings.Contains(system, "You read") {
		m.stream(w, "content", "Done.")
		return
	}
	o := newest(orders)
	n, _ := strconv.Atoi(o[2])
	way, _ := strconv.Atoi(o[3])
	if strings.Contains(system, "You name conversations") {
		m.stream(w, "content", "About "+m.all[n].value)
		return
	}
	m.act(w, r, o[1], m.all[n], way)
}

// act does what it was ordered.
func (m *model) act(w http.ResponseWriter, r *http.Request, what string, c *canary, way int) {
	text := "It is " + c.written(way) + " as you know."
	switch what {
	case "say":
		m.stream(w, "content", pieces(text, way)...)
	case "think":
		m.stream(w, "reasoning_content", pieces(text, way)...)
	case "bytes":
		m.stream(w, "content", strings.Split(text, "")...)
	case "cut":
		m.head(w)
		m.delta(w, map[string]any{"content": "It is " + c.value[:max(8, len(c.value)*2/3)]})
		panic(http.ErrAbortHandler)
	case "call":
		m.call(w, "file_read", fmt.Sprintf(`{"path":"f%d.txt"}`, c.n))
	case "run":
		m.call(w, "shell", fmt.Sprintf(`{"command":"echo ran$((1+1))here; cat f%[1]d.txt; base64 -w0 f%[1]d.txt; od -An -tx1 f%[1]d.txt | tr -d ' \\n'; cat f%[1]d.txt >&2"}`, c.n))
	case "find":
		m.call(w, "web_search", fmt.Sprintf(`{"query":"what is known of number %d and %d"}`, c.n, way))
	case "argue":
		m.call(w, "file_read", `{"path":"`+escaped(c.value, way)+`.txt"}`)
	case "refuse":
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Echo", c.forms[5].text)
		w.Header().Set("WWW-Authenticate", `Bearer error="`+r.Header.Get("Authorization")+`"`)
		w.WriteHeader([]int{400, 401, 403, 404, 413, 422}[way%6])
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "no: " + r.Header.Get("Authorization") + " and " + c.written(way), "type": c.value, "code": "x"}})
	case "break":
		m.head(w)
		m.delta(w, map[string]any{"content": "So "})
		raw, _ := json.Marshal(map[string]any{"error": map[string]any{"message": "broke at " + c.written(way) + " " + r.Header.Get("Authorization"), "code": 500}})
		fmt.Fprintf(w, "data: %s\n\n", raw)
	case "page":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "<html><title>%s</title><body>%s %s</body></html>", c.value, r.Header.Get("Authorization"), c.written(way))
	default:
		m.t.Errorf("what is %q?", what)
	}
}

// pieces cuts a text in two or three, at another place for each way.
func pieces(text string, way int) []string {
	i := way % len(text)
	j := i + (len(text)-i)/2
	out := []string{}
	for _, p := range []string{text[:i], text[i:j], text[j:]} {
		if p != "" {
			out = append(out, p)
		}
	}
	return whole(out)
}

// whole moves the bytes of a character that was cut to the next piece: JSON holds whole ones.
func whole(in []string) []string {
	for i := 0; i+1 < len(in); i++ {
		for len(in[i]) > 0 && !utf8.ValidString(in[i]) {
			in[i], in[i+1] = in[i][:len(in[i])-1], in[i][len(in[i])-1:]+in[i+1]
		}
	}
	return in
}

// escaped is v within a string of JSON, as one of several encoders writes it.
func escaped(v string, way int) string {
	raw, err := json.Marshal(strings.ReplaceAll(v, "/", "_"))
	if err != nil {
		panic(err) // strings always encode
	}
	plain := string(raw[1 : len(raw)-1])
	if way%2 == 0 {
		return plain
	}
	var b strings.Builder
	for _, r := range strings.ReplaceAll(v, "/", "_") {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

func (m *model) head(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }

func (m *model) delta(w http.ResponseWriter, delta map[string]any) {
	m.chunk(w, delta, nil)
}

func (m *model) chunk(w http.ResponseWriter, delta map[string]any, finish any) {
	raw, err := json.Marshal(map[string]any{"id": "c1", "object": "chat.completion.chunk", "created": 1760000000, "model": "test",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
	if err != nil {
		panic(err) // strings always encode
	}
	fmt.Fprintf(w, "data: %s\n\n", raw)
	_ = http.NewResponseController(w).Flush()
}

func (m *model) end(w http.ResponseWriter, reason string) {
	m.chunk(w, map[string]any{}, reason)
	fmt.Fprint(w, `data: {"id":"c1","object":"chat.completion.chunk","model":"test","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`+"\n\ndata: [DONE]\n\n")
}

func (m *model) stream(w http.ResponseWriter, field string, pieces ...string) {
	m.head(w)
	for _, p := range pieces {
		m.delta(w, map[string]any{field: p})
	}
	if field != "content" {
		m.delta(w, map[string]any{"content": "That was my thought."})
	}
	m.end(w, "stop")
}

func (m *model) call(w http.ResponseWriter, tool, arguments string) {
	m.head(w)
	m.delta(w, map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"index": 0, "id": "call_1", "type": "function",
		"function": map[string]any{"name": tool, "arguments": arguments}}}})
	m.end(w, "tool_calls")
}

// asks is a query of the search, which bears whom it is about and in which way.
var asks = regexp.MustCompile(`number (\d+) and (\d+)`)

// search is a search engine that found pages on which somebody pasted the secret: in titles, words and addresses.
func (m *model) search(w http.ResponseWriter, r *http.Request) {
	q := asks.FindStringSubmatch(r.URL.Query().Get("q"))
	if q == nil {
		m.t.Errorf("searched for %q", r.URL.Query().Get("q"))
		http.NotFound(w, r)
		return
	}
	n, _ := strconv.Atoi(q[1])
	c := m.all[n]
	var results []any
	for way := range 6 {
		results = append(results, map[string]any{
			"url": fmt.Sprintf("https://paste.example.net/%d?key=%s", way, url.QueryEscape(c.written(way))), "title": "Pasted: " + c.written(way), "content": "Somebody pasted " + c.written(way) + " here.",
		})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"query": "x", "results": results})
}
