package handlers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm/llmtest"
	"ash/handlers"
	"ash/web"
)

// socket is the command line's way to a house.
type socket struct {
	t    testing.TB
	http *http.Client
}

// control opens the house's socket.
func (h *house) control() *socket { return h.controlWith(func(*handlers.Control) {}) }

// controlWith opens the house's socket with a changed API.
func (h *house) controlWith(change func(*handlers.Control)) *socket {
	h.t.Helper()
	owner, err := h.store.Owner(context.Background())
	h.must(err)
	frame := &handlers.Frame{Settings: func() config.Config { return h.config.Current().Config() }}
	api := handlers.Control{
		Engine: h.engine, Threads: h.store, Feed: h.engine.Publisher.(agent.Feed), Owner: owner.ID, Version: "1.2.3", Address: h.base,
	}
	change(&api)
	server, err := web.New(web.Config{
		Home: h.home, Log: slog.New(slog.DiscardHandler),
		Routes: web.Routes{Problem: frame.Problem, Control: api.Register},
	})
	h.must(err)
	path := filepath.Join(h.home, "ash.sock")
	l, err := net.Listen("unix", path)
	h.must(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	h.t.Cleanup(func() {
		stop()
		client.CloseIdleConnections()
		h.must(<-done)
	})
	return &socket{h.t, client}
}

// call makes a request and decodes the answer into out, if any.
func (s *socket) call(want int, method, path, body string, out any) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://ash/control"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	res, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		s.t.Fatalf("%s %s: %s, want %d: %s %v", method, path, res.Status, want, got, err)
	}
	if out != nil {
		if err := json.Unmarshal(got, out); err != nil {
			s.t.Fatalf("%s: %v", got, err)
		}
	}
	return string(got)
}

// follow opens the stream of a thread; next reads its next event.
func (s *socket) follow(thread agent.ID, since string) (next func() handlers.ControlEvent) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://ash/control/threads/"+string(thread)+"/events?since="+since, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cancel(); _ = res.Body.Close() })
	r := bufio.NewReader(res.Body)
	return func() (ev handlers.ControlEvent) {
		s.t.Helper()
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				s.t.Fatal(err)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				if err := json.Unmarshal([]byte(data), &ev); err != nil {
					s.t.Fatalf("%s: %v", data, err)
				}
				return ev
			}
		}
	}
}

func TestControl(t *testing.T) {
	h := open(t, llmtest.Reply{Thinking: []string{"hm"}, Text: []string{"Good ", "morning."}}, llmtest.Broken(llmtest.StreamStall, 2, "for ever"), llmtest.Text(" and done"))
	s := h.control()
	var status handlers.ControlStatus
	if s.call(200, "GET", "/status", "", &status); status.Version != "1.2.3" || status.Address != h.base {
		t.Errorf("status %+v", status)
	}
	var made handlers.ControlThread
	s.call(201, "POST", "/threads", "{}", &made)
	path := "/threads/" + string(made.ID)
	next := s.follow(made.ID, "")
	var posted, again handlers.ControlPosted
	body := `{"text":"  hello\r\nthere\u0000 ","form":"f-1","model":"test/test-model"}`
	s.call(200, "POST", path+"/messages", body, &posted)
	s.call(200, "POST", path+"/messages", body, &again)
	if posted.Message == "" || posted.Turn == "" || posted.State != agent.MessageComplete || again.Message != posted.Message {
		t.Errorf("posted %+v, then %+v", posted, again)
	}
	var text strings.Builder
	for {
		ev := next()
		if ev.Kind == "user" && ev.Text != "hello\nthere" {
			t.Errorf("the question is %q", ev.Text)
		}
		if ev.Kind == "assistant_delta" && !ev.Thinking {
			text.WriteString(ev.Text)
		}
		if ev.Kind == "assistant" && ev.State == "complete" {
			if !strings.HasPrefix(ev.Text, text.String()) || ev.Text != "Good morning." || ev.Usage == nil || ev.Usage.Output == 0 {
				t.Errorf("the answer is %+v after %q", ev, text.String())
			}
		}
		if ev.Kind == "turn" && ev.Turn == posted.Turn && ev.State == "done" {
			break
		}
	}
	if got := h.thread(made.ID); got.Model != "test/test-model" || got.Origin.Channel != "cli" {
		t.Errorf("stored %+v", got)
	}
	var list []handlers.ControlThread
	if s.call(200, "GET", "/threads", "", &list); len(list) != 1 || list[0].ID != made.ID || list[0].Title == "" {
		t.Errorf("listed %+v", list)
	}

	s.call(200, "POST", path+"/messages", `{"text":"go on"}`, &posted)
	for ev := next(); ev.Kind != "assistant_delta"; ev = next() {
	}
	s.call(204, "POST", path+"/stop", "{}", nil)
	for ev := next(); ev.Kind != "turn" || ev.State != "stopped"; ev = next() {
	}
	var resumed handlers.ControlPosted
	if s.call(200, "POST", path+"/continue", "{}", &resumed); resumed.Turn == "" || resumed.Turn == posted.Turn {
		t.Errorf("continued as %+v", resumed)
	}
	for ev := next(); ev.Kind != "turn" || ev.State != "done"; ev = next() {
	}
	if ev := s.follow(made.ID, "elsewhere-1")(); ev.Kind != "resync" || !ev.Resync {
		t.Errorf("a reader of another boot is told %+v", ev)
	}
}

func TestControlRefuses(t *testing.T) {
	h := open(t)
	s := h.control()
	id := h.empty()
	deleted, yes := h.empty(), true
	_, err := h.engine.PatchThread(context.Background(), deleted, agent.ThreadPatch{Deleted: &yes})
	h.must(err)
	path := "/threads/" + string(id)
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		code                     agent.Code
	}{
		{"no JSON", "POST", path + "/messages", "hello", 422, agent.CodeInvalid},
		{"JSON of another shape", "POST", path + "/messages", `{"text":7}`, 422, agent.CodeInvalid},
		{"nothing", "POST", path + "/messages", "", 422, agent.CodeInvalid},
		{"no text", "POST", path + "/messages", `{"text":" \n"}`, 422, agent.CodeInvalid},
		{"too long", "POST", path + "/messages", `{"text":"` + strings.Repeat("a", 1<<20+1) + `"}`, 422, agent.CodeInvalid},
		{"a form too long", "POST", path + "/messages", `{"text":"x","form":"` + strings.Repeat("f", 65) + `"}`, 422, agent.CodeInvalid},
		{"a model too long", "POST", path + "/messages", `{"text":"x","model":"` + strings.Repeat("m", 201) + `"}`, 422, agent.CodeInvalid},
		{"far too long", "POST", path + "/messages", strings.Repeat("a", 30<<20), 413, agent.CodeInvalid},
		{"to no thread", "POST", "/threads/" + string(agent.NewID()) + "/messages", `{"text":"x"}`, 404, agent.CodeNotFound},
		{"to a deleted one", "POST", "/threads/" + string(deleted) + "/messages", `{"text":"x"}`, 409, agent.CodeConflict},
		{"to no id", "POST", "/threads/x/messages", `{"text":"x"}`, 404, agent.CodeNotFound},
		{"events of no thread", "GET", "/threads/" + string(agent.NewID()) + "/events", "", 404, agent.CodeNotFound},
		{"nothing to continue", "POST", path + "/continue", "{}", 422, agent.CodeInvalid},
		{"nowhere", "GET", "/nowhere", "", 404, agent.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &socket{t, s.http}
			var failure handlers.ControlError
			if s.call(tt.status, tt.method, tt.path, tt.body, &failure); failure.Code != tt.code || failure.Error == "" {
				t.Errorf("told %+v", failure)
			}
		})
	}
	if n := len(h.model.Chats()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Whatever comes in at the socket is refused as JSON or stored as it was meant; nothing breaks the server.
func FuzzControlMessage(f *testing.F) {
	h := open(f, llmtest.Reply{Text: []string{"fine"}, Repeat: true})
	s := h.control()
	for _, seed := range []string{`{"text":"hello"}`, `{"text":""}`, `{"text":"\u0000\ud800"}`, `{"text":null,"form":[]}`, `[`, `{"text":"x","model":"/"}`, `{"text":"x","form":"\u0000"}`, `{"TEXT":"x","text":"y"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		h := *h
		h.t = t
		id := h.empty()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://ash/control/threads/"+string(id)+"/messages", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "application/json")
		res, err := s.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		var answer struct {
			handlers.ControlPosted
			handlers.ControlError
		}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			t.Fatalf("%q is answered with no JSON: %v", body, err)
		}
		if res.StatusCode != http.StatusOK {
			if answer.Code != agent.CodeInvalid || answer.Error == "" {
				t.Fatalf("%q: %s %+v", body, res.Status, answer)
			}
			return
		}
		var meant handlers.ControlMessage
		if err := json.NewDecoder(bytes.NewReader(body)).Decode(&meant); err != nil {
			t.Fatalf("%q was taken: %v", body, err)
		}
		m, err := h.store.Message(t.Context(), answer.Message)
		if err != nil || strings.TrimSpace(m.Text()) == "" || !utf8.ValidString(m.Text()) {
			t.Errorf("%q is stored as %q, %v", body, m.Text(), err)
		}
		h.rest(id)
	})
}
