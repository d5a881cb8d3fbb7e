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

// embedServer serves vectors, or what is wrong with it.
type embedServer struct {
	mu    sync.Mutex
	dims  int
	wrong string // "", "dead", "NaN"
	slow  time.Duration
	asked int
}

func (s *embedServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *embedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	dims, wrong, slow := s.dims, s.wrong, s.slow
	s.asked++
	s.mu.Unlock()
	var in struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !strings.HasSuffix(r.URL.Path, "/embeddings") {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(slow):
	case <-r.Context().Done():
		return
	}
	switch wrong {
	case "dead":
		http.Error(w, "the model has crashed", http.StatusInternalServerError)
		return
	case "NaN":
		fmt.Fprintf(w, `{"object":"list","data":[{"index":0,"embedding":[NaN%s]}]}`, strings.Repeat(",NaN", dims-1))
		return
	}
	type datum struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	out := make([]datum, len(in.Input))
	for i, text := range in.Input {
		out[i] = datum{i, llmtest.Vector(text, dims)}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": out}) // who left does not read
}

// setting changes one setting as the page does.
func (c *claim) setting(t *testing.T, key, value string) {
	t.Helper()
	now := c.app.config.Current()
	_, err := c.app.config.Edit(t.Context(), now.Version(), []config.Change{{Key: key, Value: value, Remove: value == ""}})
	must(t, err)
}

// TestTheEmbedderChangesWithoutARestart changes, breaks and mends the embedder under a running house. Recall answers all the time, soon, and
// by words at least; the page says what is the matter.
func TestTheEmbedderChangesWithoutARestart(t *testing.T) {
	first, second := &embedServer{dims: 32}, &embedServer{dims: 64}
	c := mindful(t,
		config.Override{Key: "providers.vllm.base_url", Value: llmtest.Serve(t, first) + "/v1", Flag: "test"},
		config.Override{Key: "providers.lmstudio.base_url", Value: llmtest.Serve(t, second) + "/v1", Flag: "test"})
	for i := range 30 {
		_, err := c.app.mind.book.Remember(t.Context(), agent.Fact{Text: fmt.Sprintf("The %s is kept in the %s", thingOf(i), placeOf(i)), Owner: c.app.owner.ID}, true)
		must(t, err)
	}
	recalls := func() {
		t.Helper()
		begun := time.Now()
		found, err := c.app.mind.search(t.Context(), "Where is the "+thingOf(7)+" kept?", 5)
		if err != nil || len(found) == 0 || !strings.Contains(found[0].Text, placeOf(7)) {
			t.Errorf("recall: %d found, %v", len(found), err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("recall took %v", took)
		}
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(40 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
			recalls()
			if t.Failed() || time.Now().After(deadline) {
				t.Fatalf("%s: %+v, %q", what, c.app.mind.meaning.Status(), c.app.meaningState())
			}
		}
	}
	done := func(space string) func() bool {
		return func() bool {
			s := c.app.mind.meaning.Status()
			return s.Space.String() == space && s.Have >= 30 && s.Pending == 0 && s.Problem == ""
		}
	}
	if state := c.app.meaningState(); state != "" {
		t.Errorf("it is off, and says %q", state)
	}
	recalls()

	first.set(func() { first.slow = 300 * time.Millisecond })
	c.setting(t, "memory.embedder", "vllm/small")
	until("the first embedder", done("vllm/small:32"))
	c.setting(t, "memory.embedder", "lmstudio/large")
	until("another embedder", done("lmstudio/large:64"))
	if near, err := c.app.mind.meaning.Nearest(t.Context(), "x", 5); err != nil || len(near) != 5 {
		t.Errorf("%d near, %v", len(near), err)
	}

	for _, wrong := range []string{"dead", "NaN"} {
		second.set(func() { second.wrong = wrong })
		until(wrong, func() bool { return c.app.mind.meaning.Status().Problem != "" })
		if state := c.app.meaningState(); !strings.Contains(state, "words goes on") {
			t.Errorf("%s: the page says %q", wrong, state)
		}
		_, err := c.app.mind.book.Remember(t.Context(), agent.Fact{Text: "Said while it was " + wrong, Owner: c.app.owner.ID}, true)
		must(t, err)
		second.set(func() { second.wrong = "" })
		until("back from "+wrong, func() bool { _, err := c.app.mind.meaning.Nearest(t.Context(), "x", 5); return err == nil })
		c.app.mind.meaning.Wake()
		until("made up for "+wrong, done("lmstudio/large:64"))
	}

	second.set(func() { second.dims = 48 }) // another model behind the same name
	until("other dimensions", done("lmstudio/large:48"))

	c.setting(t, "memory.static_model", t.TempDir()) // holds no model
	until("a model that is none", func() bool { return c.app.mind.meaning.Status().Problem != "" })
	c.setting(t, "memory.static_model", "")
	until("the one before", done("lmstudio/large:48"))

	c.setting(t, "memory.embedder", "")
	until("off", func() bool {
		near, err := c.app.mind.meaning.Nearest(t.Context(), "x", 5)
		return err == nil && len(near) == 0 && c.app.meaningState() == ""
	})
	second.set(func() { second.asked = 0 })
	recalls()
	if second.asked != 0 {
		t.Error("it is off, and is asked")
	}
}
