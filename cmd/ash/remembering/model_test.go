//go:build linux

package remembering

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// model is a model server that knows the person's life. It answers as a model would: in a conversation, when it is asked what to keep, to
// summarise, to name a conversation, and to tidy memory. The bytes of every request are kept.
type model struct {
	t    *testing.T
	url  string
	life []*fact

	mu     sync.Mutex
	bodies []string
	kinds  map[string]int
	heard  map[string]bool // what stood in calls that learn, as the person said it
	vain   []string        // what tools answered that did not do what they were called for
}

func newModel(t *testing.T, life []*fact) *model {
	t.Helper()
	m := &model{t: t, life: life, kinds: map[string]int{}, heard: map[string]bool{}}
	s := httptest.NewServer(m)
	m.url = s.URL
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return m
}

// asked returns how many requests there were.
func (m *model) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.bodies)
}

// since returns the requests from the nth on.
func (m *model) since(n int) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.bodies[n:])
}

// learnedFrom reports whether a text has been in a call that learns.
func (m *model) learnedFrom(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard[text]
}

// request is what is read of one.
type request struct {
	Messages []struct {
		Role      string `json:"role"`
		Content   any    `json:"content"`
		ToolCalls []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	} `json:"messages"`
}

// text is the text of a message's content.
func text(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var b strings.Builder
		for _, part := range c {
			if p, ok := part.(map[string]any); ok {
				s, _ := p["text"].(string)
				b.WriteString(s)
			}
		}
		return b.String()
	}
	return ""
}

// said is an answer: words or a call.
type said struct {
	text string
	tool string
	with map[string]any
}

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
	var q request
	if err := json.Unmarshal(body, &q); err != nil || len(q.Messages) == 0 {
		m.t.Errorf("a request that is none: %v\n%s", err, body)
		return
	}
	m.mu.Lock()
	m.bodies = append(m.bodies, string(body))
	m.mu.Unlock()
	m.write(w, m.answer(q))
}

func (m *model) count(kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kinds[kind]++
}

func (m *model) write(w http.ResponseWriter, a said) {
	chunk := func(delta map[string]any, finish any) {
		raw, err := json.Marshal(map[string]any{"id": "c1", "object": "chat.completion.chunk", "created": 1760000000, "model": "test",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		if err != nil {
			panic(err) // strings always encode
		}
		fmt.Fprintf(w, "data: %s\n\n", raw)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if a.tool == "" {
		chunk(map[string]any{"role": "assistant", "content": a.text}, nil)
		chunk(map[string]any{}, "stop")
	} else {
		raw, err := json.Marshal(a.with)
		if err != nil {
			panic(err)
		}
		chunk(map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprintf("call_%d", m.asked()), "type": "function",
			"function": map[string]any{"name": a.tool, "arguments": string(raw)}}}}, nil)
		chunk(map[string]any{}, "tool_calls")
	}
	fmt.Fprint(w, `data: {"id":"c1","object":"chat.completion.chunk","model":"test","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`+"\n\ndata: [DONE]\n\n")
}

func (m *model) answer(q request) said {
	system, last := text(q.Messages[0].Content), q.Messages[len(q.Messages)-1]
	words := text(last.Content)
	switch {
	case strings.Contains(system, "You name conversations"):
		m.count("title")
		return said{text: m.title(words)}
	case strings.Contains(system, "You summarise the older part"):
		m.count("summary")
		return said{text: m.summary(words)}
	case strings.Contains(system, "You read a piece of a conversation"):
		m.count("learn")
		return said{text: m.learn(words)}
	case strings.Contains(system, "You read pairs of remembered facts"):
		m.count("tidy")
		return said{text: m.tidy(words)}
	}
	m.count("chat")
	if last.Role == "tool" {
		return m.afterTool(q, words)
	}
	return m.chat(words)
}

// says reports whether a text has a statement, at the beginning of a sentence or not.
func says(text, statement string) bool {
	return statement != "" && (strings.Contains(text, statement) || strings.Contains(text, upper(statement)))
}

// title names a conversation, every third time by what ought not to be known for ever.
func (m *model) title(words string) string {
	for _, f := range m.life {
		if f.n%3 == 0 && says(words, f.told) {
			return "A talk about " + f.value
		}
	}
	return "A talk"
}

// summary carries over what was said: sometimes word for word, sometimes no more than the value.
func (m *model) summary(words string) string {
	var b strings.Builder
	b.WriteString("They spoke about everyday things.")
	for _, f := range m.life {
		for _, v := range []struct{ said, text, value string }{{f.told, f.text, f.value}, {f.retold, f.newText, f.newer}} {
			switch {
			case v.said == "" || !strings.Contains(words, v.value):
			case f.n%3 == 0:
				b.WriteString(" Noted: " + v.value + ".")
			default:
				b.WriteString(" The person said: " + v.text + ".")
			}
		}
	}
	return b.String()
}

// line is a line of JSON in a call that learns.
type line struct{ ID, Who, Text string }

// blocks returns the lines of each fenced block.
func blocks(words string) [][]line {
	var out [][]line
	inside := false
	for row := range strings.Lines(words) {
		row = strings.TrimSpace(row)
		switch {
		case strings.HasPrefix(row, "<data-"):
			out, inside = append(out, nil), true
		case strings.HasPrefix(row, "</data-"):
			inside = false
		case inside:
			var l line
			if json.Unmarshal([]byte(row), &l) == nil {
				out[len(out)-1] = append(out[len(out)-1], l)
			}
		}
	}
	return out
}

// learn answers what to keep: what the person says in passing, and corrections of what it is shown as known. What the person asked for in
// so many words it leaves to whoever listens for that.
func (m *model) learn(words string) string {
	all := blocks(words)
	known, talk := all[0], all[len(all)-1]
	keep, mentioned := []map[string]any{}, []string{}
	for _, l := range talk {
		if l.Who != "person" {
			continue
		}
		m.mu.Lock()
		m.heard[l.Text] = true
		m.mu.Unlock()
		for _, f := range m.life {
			if says(l.Text, f.told) {
				mentioned = append(mentioned, f.told)
				if f.way == learning {
					keep = append(keep, item(l, f.told, f.text, f, nil))
				}
			}
			if f.fixed == learning && says(l.Text, f.retold) {
				mentioned = append(mentioned, f.retold)
				replaces := []string{}
				for _, k := range known {
					if strings.Contains(k.Text, f.value) {
						replaces = append(replaces, k.ID)
					}
				}
				keep = append(keep, item(l, f.retold, f.newText, f, replaces))
			}
		}
	}
	episode := "The person spoke about everyday things"
	for i, s := range mentioned {
		if i%2 == 0 {
			episode += ", that " + s
		}
	}
	return encode(map[string]any{"keep": keep, "expire": []any{}, "episode": map[string]any{"text": episode + ".", "entities": []any{}}})
}

func item(l line, quote, wording string, f *fact, replaces []string) map[string]any {
	about, subject := []any{}, ""
	if f.n%2 == 0 && len(f.about) > 0 { // not every model says whom it is about
		subject = f.about[0]
	}
	for _, name := range f.about {
		about = append(about, map[string]any{"name": name, "kind": "person"})
	}
	return map[string]any{
		"text": wording, "quote": quote, "message": l.ID, "core": false, "about": about, "subject": subject, "replaces": replaces,
		"confidence": 0.9, "importance": 0.5,
	}
}

// tidy says of pairs that look alike that they are the same: what may be merged by itself is not for it to decide.
func (m *model) tidy(words string) string {
	same := []string{}
	for i := range blocks(words)[0] {
		same = append(same, fmt.Sprintf("p%d", i+1))
	}
	return encode(map[string]any{"same": same, "outdated": []any{}, "patterns": []any{}})
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// chat answers the person: with a call where one is asked for, to a question with all that it was given, else with what was said, now and then.
func (m *model) chat(words string) said {
	own, _, _ := strings.Cut(words, "[sent ")
	for _, f := range m.life {
		switch {
		case f.way == tool && says(own, f.told):
			return said{tool: "remember", with: map[string]any{"text": f.text}}
		case f.fixed == tool && says(own, f.retold), f.gone == tool && strings.Contains(own, forgetPlease(f)):
			return said{tool: "recall", with: map[string]any{"query": f.question, "limit": 20}}
		case f.n%2 == 0 && says(own, f.told):
			return said{text: "I see: " + f.told + "."}
		}
	}
	return said{text: m.knows(own, words)}
}

// knows answers a question with what the model was given, if that answers it.
func (m *model) knows(own, words string) string {
	for _, f := range m.life {
		if strings.TrimSpace(own) != f.question {
			continue
		}
		for _, v := range []struct{ value, text string }{{f.newer, f.newText}, {f.value, f.text}} {
			if strings.Contains(words, v.value) {
				return "As far as I know: " + v.text + "."
			}
		}
		return "I do not know that."
	}
	return "Good to know."
}

// forgetPlease is how the person asks for it: without saying what it is.
func forgetPlease(f *fact) string { return "Please forget the answer to this for good: " + f.question }

// tries is how often a model recalls and corrects again when somebody changed the fact in between, as it is told then.
const tries = 3

// afterTool goes on with a result: what was recalled is corrected or forgotten.
func (m *model) afterTool(q request, result string) said {
	own, calls := "", 0
	for _, x := range q.Messages {
		switch {
		case x.Role == "user":
			own, _, _ = strings.Cut(text(x.Content), "[sent ")
			calls = 0
		case len(x.ToolCalls) > 0:
			calls++
		}
	}
	called := ""
	if before := q.Messages[len(q.Messages)-2]; len(before.ToolCalls) > 0 {
		called = before.ToolCalls[0].Function.Name
	}
	for _, f := range m.life {
		switch {
		case f.fixed == tool && says(own, f.retold) && called == "correct" && !strings.Contains(result, "Corrected."):
			m.inVain(called, result)
			if calls < 2*tries {
				return said{tool: "recall", with: map[string]any{"query": f.question, "limit": 20}}
			}
		case called != "recall":
		case f.fixed == tool && says(own, f.retold):
			if id := factWith(result, f.value); id != "" {
				return said{tool: "correct", with: map[string]any{"id": id, "text": f.newText}}
			}
			m.inVain(called, result)
			return said{text: "I did not find what to correct."}
		case f.gone == tool && strings.Contains(own, forgetPlease(f)):
			if id := factWith(result, f.current()); id != "" {
				return said{tool: "forget", with: map[string]any{"id": id}}
			}
			return said{text: "I did not find what to forget."}
		}
	}
	return said{text: "Done."}
}

func (m *model) inVain(called, result string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.vain = append(m.vain, called+": "+result)
}

// factWith finds the fact with a value in what the tool recall answered.
func factWith(result, value string) string {
	for _, piece := range strings.Split(result, "[fact ")[1:] {
		id, rest, _ := strings.Cut(piece, " ")
		if rest, _, _ = strings.Cut(rest, "\n\n"); strings.Contains(rest, value) {
			return id
		}
	}
	return ""
}
