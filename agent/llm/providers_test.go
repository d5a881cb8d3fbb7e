package llm_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/openai"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func noEnv(string) (string, bool) { return "", false }

// house makes Providers over real servers named s0, s1, …, in that order of fallback.
func house(t *testing.T, urls ...string) *llm.Providers {
	t.Helper()
	o := llm.Options{Dialects: map[string]llm.Dialect{"openai": openai.New}, Keys: llm.NewKeys(noEnv), Logger: quiet, Retry: llm.Retry{Base: 5 * time.Millisecond, Max: time.Second}}
	for i, u := range urls {
		name := "s" + string(rune('0'+i))
		o.Providers = append(o.Providers, llm.Settings{Name: name, Kind: "openai", BaseURL: u + "/v1", Connect: time.Second, FirstToken: 3 * time.Second, Stall: 500 * time.Millisecond})
		o.Order = append(o.Order, agent.ModelRef{Provider: name, Name: "m"})
	}
	p, err := llm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func ask(ctx context.Context, t *testing.T, p *llm.Providers, ref string) (string, agent.ModelRef, error) {
	t.Helper()
	m, _, err := p.Pick(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	var source agent.ModelRef
	for d, err := range m.Stream(ctx, agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "hi"}}}}}) {
		if err != nil {
			return text, source, err
		}
		text += d.Text
		if d.Model != nil {
			source = d.Model.Ref
		}
	}
	return text, source, nil
}

func TestFallbackOverRealServers(t *testing.T) {
	giant := llmtest.Broken(llmtest.StreamGiant, 0, "x")
	giant.Fault.Size = llm.MaxEvent + 1
	for name, script := range map[string][]llmtest.Reply{
		"refused key":       {llmtest.Unauthorized()},
		"broken thrice":     {llmtest.ServerError(), llmtest.Overloaded(), llmtest.RateLimited("")},
		"asks for an hour":  {llmtest.RateLimited("3600")},
		"slow headers":      {llmtest.SlowHeaders(10*time.Second, "late")},
		"no first token":    {llmtest.Broken(llmtest.StreamStall, 1, "x")},
		"web page":          {llmtest.HTML()},
		"prompt too long":   {llmtest.ContextTooLong()},
		"malformed, thrice": {llmtest.Broken(llmtest.StreamMalformed, 0, "x"), giant, llmtest.Broken(llmtest.StreamCut, 0, "x")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := llmtest.OpenAI(t, script...), llmtest.OpenAI(t, llmtest.Text("from ", "two"))
			text, source, err := ask(t.Context(), t, house(t, first.URL, second.URL), "")
			if text != "from two" || source.Provider != "s1" || err != nil {
				t.Errorf("got %q from %v, %v", text, source, err)
			}
			if n := len(first.Chats()); n != len(script) {
				t.Errorf("the first was asked %d times, want %d", n, len(script))
			}
		})
	}
}

func TestNoFallbackOnceBegun(t *testing.T) {
	for name, tc := range map[string]struct {
		fault llmtest.StreamFault
		want  llm.FaultKind
	}{
		"cut":   {llmtest.StreamCut, llm.FaultCut},
		"stall": {llmtest.StreamStall, llm.FaultStall},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := llmtest.OpenAI(t, llmtest.Broken(tc.fault, 3, "a", "b", "c")), llmtest.OpenAI(t, llmtest.Text("no"))
			text, _, err := ask(t.Context(), t, house(t, first.URL, second.URL), "")
			if f := llm.FaultOf(err); text != "ab" || f == nil || f.Kind != tc.want {
				t.Errorf("got %q, %v", text, err)
			}
			if len(second.Requests()) != 0 {
				t.Error("the second was asked")
			}
		})
	}
}

// TestNothingIsLeft: after calls that end, break, stall or are cancelled at any point, no goroutine remains.
func TestNothingIsLeft(t *testing.T) {
	server := llmtest.OpenAI(t, llmtest.Reply{Load: llmtest.Load{Tokens: 40, Rate: 4000}, Repeat: true})
	p := house(t, server.URL)
	m, _, err := p.Pick(t.Context(), "s0/m")
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for i := range 60 {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		for range m.Stream(ctx, agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "hi"}}}}}) {
			if n++; n == i {
				if i%2 == 0 {
					break
				}
				cancel()
			}
		}
		cancel()
	}
	p.Close()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, before %d\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestReloadTakesEffectAtOnce(t *testing.T) {
	old, fresh := llmtest.OpenAI(t, llmtest.Reply{Load: llmtest.Load{Tokens: 30, Rate: 300, Token: "o"}}), llmtest.OpenAI(t, llmtest.Text("new"))
	p := house(t, old.URL)
	done := make(chan string)
	m, _, err := p.Pick(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		text := ""
		for d, err := range m.Stream(context.Background(), agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "hi"}}}}}) {
			if err != nil {
				text = err.Error()
			}
			text += d.Text
		}
		done <- text
	}()
	for len(old.Chats()) == 0 {
		time.Sleep(time.Millisecond)
	}
	order := []agent.ModelRef{{Provider: "x", Name: "m"}}
	if err := p.Reload([]llm.Settings{{Name: "x", Kind: "openai", BaseURL: fresh.URL + "/v1"}}, order); err != nil {
		t.Fatal(err)
	}
	if text, source, err := ask(t.Context(), t, p, ""); text != "new" || source.Provider != "x" || err != nil {
		t.Errorf("got %q from %v, %v", text, source, err)
	}
	if got := <-done; got != strings.Repeat("o", 30) {
		t.Errorf("the call in flight got %q", got)
	}
	if err := p.Reload([]llm.Settings{{Name: "y", Kind: "nonsense"}}, nil); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("got %v", err)
	}
	if got := p.Order(); !slices.Equal(got, order) {
		t.Errorf("a refused reload changed the order to %v", got)
	}
}

func TestPick(t *testing.T) {
	p := house(t, "http://127.0.0.1:1", "http://127.0.0.1:2")
	for name, tc := range map[string]struct {
		ref, want string
		code      agent.Code
	}{
		"default":          {"", "s0/m", ""},
		"another":          {"s1/a/b", "s1/a/b", ""},
		"unknown provider": {"zz/m", "", agent.CodeInvalid},
		"no name":          {"s0/", "", agent.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, info, err := p.Pick(t.Context(), tc.ref)
			if info.Ref.String() != tc.want || agent.CodeOf(err) != tc.code {
				t.Errorf("got %v, %v", info.Ref, err)
			}
		})
	}
	empty, err := llm.New(llm.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := empty.Pick(t.Context(), ""); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("nothing set up: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		settings []llm.Settings
		order    []agent.ModelRef
	}{
		"unknown kind":     {[]llm.Settings{{Name: "a", Kind: "nope"}}, nil},
		"no address":       {[]llm.Settings{{Name: "a", Kind: "openai", BaseURL: "localhost:1"}}, nil},
		"key in address":   {[]llm.Settings{{Name: "a", Kind: "openai", BaseURL: "https://u:p@x"}}, nil},
		"slash in name":    {[]llm.Settings{{Name: "a/b", Kind: "openai"}}, nil},
		"twice":            {[]llm.Settings{{Name: "a", Kind: "openai"}, {Name: "a", Kind: "groq"}}, nil},
		"order of nothing": {[]llm.Settings{{Name: "a", Kind: "openai"}}, []agent.ModelRef{{Provider: "b", Name: "m"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := llm.New(llm.Options{Providers: tc.settings, Order: tc.order, Dialects: map[string]llm.Dialect{"openai": openai.New}, Logger: quiet})
			if agent.CodeOf(err) != agent.CodeInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestListAndTest(t *testing.T) {
	server := llmtest.OpenAI(t, llmtest.Text("ready"), llmtest.Unauthorized(), llmtest.Text("ready"))
	server.ModelNames = []string{"zeta", "alpha"}
	p := house(t, server.URL)
	models, err := p.ListModels(t.Context(), "s0")
	if err != nil || len(models) != 2 || models[0].Ref != (agent.ModelRef{Provider: "s0", Name: "alpha"}) || !models[0].Local {
		t.Errorf("got %+v, %v", models, err)
	}
	r, err := p.Test(t.Context(), "s0/alpha")
	if err != nil || r.Answer != "ready" || r.FirstToken <= 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err = p.Test(t.Context(), "s0/alpha")
	if f := llm.FaultOf(err); f == nil || f.Kind != llm.FaultAuth || len(server.Chats()) != 2 {
		t.Errorf("got %v after %d calls, want one refused try", err, len(server.Chats()))
	}
	unsaved := llm.Settings{Name: "u", Kind: "vllm", BaseURL: server.URL + "/v1"}
	if r, err := p.TestAt(t.Context(), unsaved, "alpha"); err != nil || r.Answer != "ready" {
		t.Errorf("got %+v, %v", r, err)
	}
	if models, err := p.ListModelsAt(t.Context(), unsaved); err != nil || len(models) != 2 {
		t.Errorf("got %+v, %v", models, err)
	}
	var e *agent.Error
	if _, err := p.ListModels(t.Context(), "zz"); !errors.As(err, &e) || e.Code != agent.CodeInvalid {
		t.Errorf("got %v", err)
	}
}

func TestDiscover(t *testing.T) {
	up, own := llmtest.OpenAI(t), llmtest.OpenAI(t)
	page := llmtest.Serve(t, htmlPage())
	deaf := silentPort(t)
	keys := llm.NewKeys(func(name string) (string, bool) { return "k-123", name == "MISTRAL_API_KEY" })
	p, err := llm.New(llm.Options{Dialects: map[string]llm.Dialect{"openai": openai.New}, Keys: keys, Logger: quiet, Probe: []llm.Settings{
		{Name: "up", Kind: "lmstudio", BaseURL: up.URL + "/v1"},
		{Name: "own", Kind: "llamacpp", BaseURL: own.URL + "/v1"},
		{Name: "page", Kind: "llamacpp", BaseURL: page + "/v1"},
		{Name: "down", Kind: "llamacpp", BaseURL: "http://127.0.0.1:1/v1"},
		{Name: "deaf", Kind: "llamacpp", BaseURL: "http://" + deaf + "/v1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	found := p.Discover(t.Context(), strings.Replace(own.URL, "127.0.0.1", "localhost", 1))
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Settings.Name)
	}
	if !slices.Equal(names, []string{"up", "mistral"}) || len(found[0].Models) != 1 || found[1].Key.Name != "MISTRAL_API_KEY" {
		t.Errorf("found %v: %+v", names, found)
	}
}

// silentPort accepts connections and never answers.
func silentPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestStatusNeverShowsAKey(t *testing.T) {
	p := house(t, "http://127.0.0.1:1")
	if err := p.Keys().Paste("s0", "sk-very-secret"); err != nil {
		t.Fatal(err)
	}
	status := p.Status()
	if len(status) != 1 || status[0].Key.Place != llm.KeyPasted || status[0].Settings.Stall != 500*time.Millisecond {
		t.Errorf("got %+v", status)
	}
}

func htmlPage() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>someone else</html>")
	})
}

// TestNoRedirectToAnotherHost: a key must not travel on.
func TestNoRedirectToAnotherHost(t *testing.T) {
	other := llmtest.OpenAI(t, llmtest.Text("no"))
	here := llmtest.Serve(t, http.RedirectHandler(other.URL+"/v1/chat/completions", http.StatusTemporaryRedirect))
	_, _, err := ask(t.Context(), t, house(t, here), "")
	if f := llm.FaultOf(err); f == nil || f.Kind != llm.FaultNotAPI || len(other.Requests()) != 0 {
		t.Errorf("got %v; the other host saw %d requests", err, len(other.Requests()))
	}
}
