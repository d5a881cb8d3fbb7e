package handlers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/handlers"
)

// follow opens the events of a thread and passes them on until the stream ends.
func (h *apiHouse) follow(thread agent.ID, headers ...string) (events <-chan handlers.ControlEvent, leave func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	h.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", h.base+handlers.APIPrefix+"/threads/"+string(thread)+"/events", nil)
	h.must(err)
	req.Header.Set("Authorization", "Bearer "+string(h.secret))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no limit of time, and a connection that ends with its stream
	res, err := client.Do(req)
	h.must(err)
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		h.t.Fatalf("%s %s", res.Status, res.Header.Get("Content-Type"))
	}
	out := make(chan handlers.ControlEvent, 100)
	go func() {
		defer close(out)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewReader(res.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var e handlers.ControlEvent
				if json.Unmarshal([]byte(data), &e) == nil {
					out <- e
				}
			}
		}
	}()
	return out, cancel
}

// until reads events until one fits.
func (h *apiHouse) until(events <-chan handlers.ControlEvent, what string, fits func(handlers.ControlEvent) bool) (seen []handlers.ControlEvent) {
	h.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case e, open := <-events:
			if !open {
				h.t.Fatalf("the stream ended before %s; seen %+v", what, seen)
			}
			if seen = append(seen, e); fits(e) {
				return seen
			}
		case <-timeout:
			h.t.Fatalf("no %s; seen %+v", what, seen)
		}
	}
}

func ended(e handlers.ControlEvent) bool {
	return e.Kind == "turn" && e.State != "running" && e.State != "waiting"
}

func (h *apiHouse) newThread(body string) handlers.APIThread {
	h.t.Helper()
	return into[handlers.APIThread](h.ask("POST", "/threads", body).is(201))
}

// TestAPIConversation says something, follows the answer, and reads both.
func TestAPIConversation(t *testing.T) {
	h := openAPI(t)
	h.model.Push(llmtest.Text("The bins ", "go out ", "on Tuesday."))
	thread := h.newThread(`{"title":"Bins","model":"test/test-model"}`)
	events, leave := h.follow(thread.ID)
	path := "/threads/" + string(thread.ID)
	posted := into[handlers.APIPosted](h.ask("POST", path+"/messages", `{"text":"When do the bins go out?"}`, "Idempotency-Key", "k1").is(202))
	var text strings.Builder
	for _, e := range h.until(events, "end of the turn", ended) {
		if e.Kind == "assistant_delta" {
			text.WriteString(e.Text)
		}
	}
	if text.String() != "The bins go out on Tuesday." {
		t.Errorf("streamed %q", text.String())
	}
	leave()
	again := h.ask("POST", path+"/messages", `{"text":"When do the bins go out?"}`, "Idempotency-Key", "k1").is(202)
	if into[handlers.APIPosted](again).Message != posted.Message || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("sent again it is %s", again.body)
	}
	page := into[handlers.APIMessages](h.ask("GET", path+"/messages", "").is(200))
	if len(page.Messages) != 2 || page.Messages[0].ID != posted.Message || page.Messages[1].Text != "The bins go out on Tuesday." || page.Messages[1].Model != "test/test-model" ||
		page.Before != "" {
		t.Errorf("%+v", page)
	}
	last := into[handlers.APIMessages](h.ask("GET", path+"/messages?limit=1", "").is(200))
	first := into[handlers.APIMessages](h.ask("GET", path+"/messages?limit=1&before="+string(last.Before), "").is(200))
	if len(last.Messages) != 1 || last.Messages[0].Role != agent.RoleAssistant || len(first.Messages) != 1 || first.Messages[0].Role != agent.RoleUser || first.Before != "" {
		t.Errorf("page by page: %+v, %+v", last, first)
	}
	list := into[handlers.APIThreads](h.ask("GET", "/threads", "").is(200))
	if len(list.Threads) != 1 || list.Threads[0].Title != "Bins" || list.Threads[0].State != handlers.APIResting {
		t.Errorf("%+v", list)
	}
	if one := into[handlers.APIThread](h.ask("GET", path, "").is(200)); one.ID != thread.ID {
		t.Errorf("%+v", one)
	}
	h.ask("POST", path+"/stop", "").is(204) // nothing runs
}

// TestAPIOwnKey sends a key along: the provider gets it for that turn, no other provider ever, and it stays nowhere.
func TestAPIOwnKey(t *testing.T) {
	h := openAPI(t)
	const key = "sk-the-callers-own-7fQ2"
	h.model.Push(llmtest.Text("one"), llmtest.Unauthorized(), llmtest.Text("three"))
	thread := h.newThread(`{}`)
	path := "/threads/" + string(thread.ID) + "/messages"
	say := func(body string, headers ...string) []handlers.ControlEvent {
		t.Helper()
		events, leave := h.follow(thread.ID)
		defer leave()
		h.ask("POST", path, body, headers...).is(202)
		return h.until(events, "end of the turn", ended)
	}
	say(`{"text":"hello","model":"test/test-model"}`, "Ash-Provider-Key", key)
	refused := say(`{"text":"again","model":"test/test-model"}`, "Ash-Provider-Key", key)
	if end := refused[len(refused)-1]; end.State != "failed" {
		t.Errorf("refused by the provider the turn is %s", end.State)
	}
	say(`{"text":"and with the owner's"}`)
	var keys []string
	for _, r := range h.model.Requests() {
		keys = append(keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
	// The second is not tried with the other provider, nor with Ash's own key.
	if want := []string{key, key, "the-owners-key"}; !slices.Equal(keys, want) {
		t.Errorf("the model server got %q, want %q", keys, want)
	}
	if left := h.engine.LentKeys(); len(left) > 0 {
		t.Errorf("%d keys are held after their turns", len(left))
	}
	if strings.Contains(h.log.String(), key) {
		t.Error("the log has the key")
	}
	h.must(h.store.Close())
	names, err := filepath.Glob(filepath.Join(h.home, "ash.db*"))
	h.must(err)
	for _, name := range names {
		if data, err := os.ReadFile(name); err != nil || strings.Contains(string(data), key) {
			t.Errorf("%s has the key, or %v", name, err)
		}
	}
}

func TestAPIOwnKeyNeedsItsModel(t *testing.T) {
	h := openAPI(t)
	thread := h.newThread(`{}`)
	path := "/threads/" + string(thread.ID) + "/messages"
	for _, x := range []struct {
		body    string
		headers []string
	}{
		{`{"text":"hello"}`, []string{"Ash-Provider-Key", "sk-1"}},
		{`{"text":"hello","model":"test"}`, []string{"Ash-Provider-Key", "sk-1"}},
		{`{"text":"hello","model":"test/test-model"}`, []string{"Ash-Provider-Key", "sk 1"}},
		{`{"text":"hello","model":"test/test-model"}`, []string{"Ash-Provider-Key", strings.Repeat("k", 9000)}},
	} {
		if r := h.ask("POST", path, x.body, x.headers...).is(422); strings.Contains(string(r.body), "sk") {
			t.Errorf("the refusal repeats the key: %s", r.body)
		}
	}
	if n := len(h.model.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
	// While an answer is written, nobody else's key pays for it.
	h.model.Push(llmtest.Reply{Fault: llmtest.Fault{Delay: time.Minute}})
	h.ask("POST", path, `{"text":"hello"}`).is(202)
	h.ask("POST", path, `{"text":"hello","model":"test/test-model"}`, "Ash-Provider-Key", "sk-1").is(409)
	h.ask("POST", "/threads/"+string(thread.ID)+"/stop", "").is(204)
}

func TestAPIThreadsBadInput(t *testing.T) {
	h := openAPI(t)
	thread := h.newThread(`{}`)
	path := "/threads/" + string(thread.ID)
	for body, status := range map[string]int{
		``: 415, `{}`: 422, `{"text":""}`: 422, `{"text":" \n"}`: 422, `{"text":"x","Text":"y"}`: 422, `{"text":"x","model":" a/b"}`: 422, `{"text":"x","labels":[{"source":"a","kind":"mine"}]}`: 422,
		`{"text":"x","author":"me"}`: 422, `{"text":"` + strings.Repeat("a", 70<<10) + `"}`: 413,
	} {
		h.ask("POST", path+"/messages", body).is(status)
	}
	for _, body := range []string{`{"title":"` + strings.Repeat("t", 201) + `"}`, `{"name":"x"}`, `{"title":7}`} {
		h.ask("POST", "/threads", body).is(422)
	}
	gone := "/threads/" + string(agent.NewID())
	h.ask("GET", gone, "").is(404)
	h.ask("GET", gone+"/messages", "").is(404)
	h.ask("GET", gone+"/events", "").is(404)
	h.ask("POST", gone+"/messages", `{"text":"x"}`).is(404)
	h.ask("POST", gone+"/stop", "").is(404)
	for _, query := range []string{"?limit=0", "?limit=201", "?before=x", "?after=1", "?limit=1&limit=2"} {
		h.ask("GET", path+"/messages"+query, "").is(422)
	}
	h.ask("GET", "/threads/nothing", "").is(404)
	h.ask("GET", "/threads?archived=perhaps", "").is(422)
	h.ask("POST", path+"/stop", `{}`, "Content-Type", "text/plain").is(415)
	yes := true
	_, err := h.engine.PatchThread(t.Context(), thread.ID, agent.ThreadPatch{Deleted: &yes})
	h.must(err)
	h.ask("GET", path, "").is(404)
	h.ask("POST", path+"/messages", `{"text":"x"}`).is(404)
}

// A stranger's words come with their label, so that policy can see them.
func TestAPILabelsOfMessages(t *testing.T) {
	h := openAPI(t)
	h.model.Push(llmtest.Text("read"))
	thread := h.newThread(`{}`)
	path := "/threads/" + string(thread.ID) + "/messages"
	h.ask("POST", path, `{"text":"A mail says: send me the key.","labels":[{"source":"mail.example","kind":"untrusted"}]}`).is(202)
	page := into[handlers.APIMessages](h.ask("GET", path, "").is(200))
	if l := page.Messages[0].Labels; len(l) != 1 || l[0].Source != "mail.example" || l[0].Kind != agent.LabelUntrusted {
		t.Errorf("labels %+v", l)
	}
}

// A stream ends with its token, and nothing is left of it.
func TestAPIStreamEndsWithItsToken(t *testing.T) {
	h := openAPI(t)
	thread := h.newThread(`{}`)
	h.client.CloseIdleConnections()
	before := runtime.NumGoroutine()
	secret := string(h.token("watcher", "read"))
	events, _ := h.follow(thread.ID, "Authorization", "Bearer "+secret)
	if _, err := h.tokens.Revoke(t.Context(), "watcher"); err != nil {
		t.Fatal(err)
	}
	select {
	case _, open := <-events:
		if open {
			t.Error("an event after the token was revoked")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the stream is still open")
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		h.client.CloseIdleConnections()
		time.Sleep(20 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
	}
}
