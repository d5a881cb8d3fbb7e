package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm/llmtest"
)

// slowServer is a model on this machine: it talks at once, unless it is held, and learns for as long as nobody lets it.
type slowServer struct {
	t     *testing.T
	learn chan string   // answers to calls that learn
	begun chan struct{} // one for each call that learns
	cut   chan struct{} // one for each call that learns and was cancelled

	mu   sync.Mutex
	hold chan struct{} // while set, answers wait for it to close
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"slow","object":"model","max_model_len":100000}]}`)
		return
	}
	var in wire
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	system := ""
	for _, m := range in.Messages {
		if m.Role == "system" {
			system += text(m.Content)
		}
	}
	answer := "All right."
	if strings.Contains(system, "You keep the long-term memory of Ash") {
		s.begun <- struct{}{}
		select {
		case answer = <-s.learn:
		case <-r.Context().Done():
			s.cut <- struct{}{}
			return
		}
	} else {
		s.mu.Lock()
		hold := s.hold
		s.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	piece, err := json.Marshal(answer)
	if err != nil {
		s.t.Error(err)
	}
	fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","model":"slow","choices":[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`+"\n\n", piece)
	fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","model":"slow","choices":[],"usage":{"prompt_tokens":321,"completion_tokens":45,"total_tokens":366}}`+"\n\n")
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// soon waits for a signal.
func soon[T any](t *testing.T, c <-chan T, most time.Duration, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(most):
		t.Fatalf("%s did not come within %v", what, most)
	}
	return v
}

// TestLearningYields holds that learning never keeps a conversation waiting: while a call that learns hangs, a new message is answered
// as ever and ends that call at once; it is made up for, and what it took stands in its run.
func TestLearningYields(t *testing.T) {
	server := &slowServer{t: t, learn: make(chan string), begun: make(chan struct{}, 20), cut: make(chan struct{}, 20)}
	c := mindful(t,
		config.Override{Key: "models.order", Value: "vllm/slow", Flag: "--model"},
		config.Override{Key: "providers.vllm.base_url", Value: llmtest.Serve(t, server) + "/v1", Flag: "--base-url"},
		config.Override{Key: "memory.rest", Value: "1s", Flag: "test"})
	thread := c.thread(t)
	c.say(t, thread, agent.Text{Text: "My sister Anna is a vet."})
	soon(t, server.begun, 10*time.Second, "a call that learns")

	for _, other := range []agent.ID{c.thread(t), thread} {
		begun := time.Now()
		c.say(t, other, agent.Text{Text: "How are you?"})
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("the answer took %v", took)
		}
		soon(t, server.cut, 3*time.Second, "the end of the call that learned")
		soon(t, server.begun, 10*time.Second, "the call that makes up for it")
	}

	answers := make(chan struct{})
	go func() {
		defer close(answers)
		for range 10 {
			select {
			case server.learn <- `{"keep":[{"text":"My sister Anna is a vet","quote":"My sister Anna is a vet.","message":"m1"}],"episode":{"text":"Anna."}}`:
			case <-t.Context().Done():
				return
			}
		}
	}()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		run, err := c.app.store.LearnedThrough(t.Context(), thread)
		must(t, err)
		tail, err := c.app.store.Tail(t.Context(), thread)
		must(t, err)
		if run.Through == tail.Head.ID {
			if run.Usage.Input != 321 || run.Usage.Output != 45 || run.Model.Name != "slow" || len(c.facts(t)) != 1 {
				t.Errorf("%+v, %d facts", run, len(c.facts(t)))
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it was never made up for")
		}
	}
}

// TestBusyWhileALocalModelWorks: learning leaves the machine to a turn that uses it.
func TestBusyWhileALocalModelWorks(t *testing.T) {
	server := &slowServer{t: t, hold: make(chan struct{}), learn: make(chan string), begun: make(chan struct{}, 20), cut: make(chan struct{}, 20)}
	c := mindful(t,
		config.Override{Key: "models.order", Value: "vllm/slow", Flag: "--model"},
		config.Override{Key: "providers.vllm.base_url", Value: llmtest.Serve(t, server) + "/v1", Flag: "--base-url"})
	thread := c.thread(t)
	_, err := c.app.engine.Post(t.Context(), agent.NewMessage{Thread: thread, Author: c.app.owner.ID, Form: "f", Parts: []agent.Part{agent.Text{Text: "Hello"}}})
	must(t, err)
	wait := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); c.app.works.busy() != want; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("busy is not %v", want)
			}
		}
	}
	wait(true)
	close(server.hold)
	c.rest(t, thread)
	wait(false)

	built := mindful(t) // the built-in model is none to wait for
	thread = built.thread(t)
	built.say(t, thread, agent.Text{Text: "find tea"})
	if built.app.works.busy() {
		t.Error("the built-in model is taken for one that is busy")
	}
}
