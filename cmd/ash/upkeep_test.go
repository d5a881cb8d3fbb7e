package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/offline"
	"ash/agent/spend"
)

// opened is everything behind the doors, on a home of its own.
func opened(t *testing.T, home string) *app {
	t.Helper()
	a, err := openApp(t.Context(), home, nil, true)
	must(t, err)
	t.Cleanup(func() { must(t, a.closeSoon(context.Background())) })
	return a
}

// attached stores a file and returns it.
func (a *app) attached(t *testing.T, name, content string) agent.Attachment {
	t.Helper()
	part, err := a.files.Put(t.Context(), name, strings.NewReader(content))
	must(t, err)
	file, ok := part.(agent.File)
	if !ok {
		t.Fatalf("%s became %T", name, part)
	}
	return file.Attachment
}

// saying makes a conversation with one message.
func (a *app) saying(t *testing.T, parts ...agent.Part) agent.ID {
	t.Helper()
	thread, err := a.engine.CreateThread(t.Context(), agent.Origin{Channel: "web", Person: a.owner.ID})
	must(t, err)
	posted, err := a.store.Post(t.Context(), agent.NewMessage{Thread: thread.ID, Parts: parts, Author: a.owner.ID})
	must(t, err)
	_, err = a.store.EndTurn(t.Context(), posted.Turn, agent.TurnDone)
	must(t, err)
	return thread.ID
}

func TestPurge(t *testing.T) {
	home := t.TempDir()
	a := opened(t, home)
	kept := a.attached(t, "kept.txt", "in a conversation that stays")
	shared := a.attached(t, "shared.txt", "in both")
	gone := a.attached(t, "gone.txt", "in the deleted conversation alone")
	draft := a.attached(t, "draft.txt", "never sent, a moment ago")
	stale := a.attached(t, "stale.txt", "never sent, long ago")
	file := func(x agent.Attachment) agent.Part { return agent.File{Attachment: x} }
	stays := a.saying(t, agent.Text{Text: "look"}, file(kept), file(shared))
	deleted := a.saying(t, agent.Text{Text: "look"}, file(gone), file(shared))
	undoable := a.saying(t, agent.Text{Text: "oops"})
	remove := func(id agent.ID) {
		yes := true
		_, err := a.store.PatchThread(t.Context(), id, agent.ThreadPatch{Deleted: &yes})
		must(t, err)
	}
	remove(deleted)
	old := time.Now().Add(-draftWindow - time.Hour)
	for _, x := range []agent.Attachment{gone, stale, kept, shared} {
		must(t, filepath.Walk(filepath.Join(home, "attachments"), func(path string, _ os.FileInfo, err error) error {
			if err == nil && strings.Contains(path, x.Hash) {
				err = os.Chtimes(path, old, old)
			}
			return err
		}))
	}

	must(t, a.purge(t.Context(), time.Now()))
	for _, id := range []agent.ID{stays, deleted, undoable} {
		if _, err := a.store.Thread(t.Context(), id); err != nil {
			t.Errorf("a conversation deleted a moment ago, or not at all, is gone: %v", err)
		}
	}
	has := func(x agent.Attachment) bool {
		_, err := a.files.Load(x.Hash)
		return err == nil
	}
	for _, x := range []agent.Attachment{kept, shared, gone, draft} {
		if !has(x) {
			t.Errorf("%s is gone", x.Name)
		}
	}
	if has(stale) {
		t.Error("a file that was never sent stays for ever")
	}

	must(t, a.purge(t.Context(), time.Now().Add(undoWindow+time.Minute)))
	remove(undoable)
	must(t, a.purge(t.Context(), time.Now()))
	if _, err := a.store.Thread(t.Context(), deleted); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("the deleted conversation is still there: %v", err)
	}
	if _, err := a.store.Thread(t.Context(), undoable); err != nil {
		t.Errorf("one deleted a moment ago is gone: %v", err)
	}
	if has(gone) {
		t.Error("the deleted conversation's file is still there")
	}
	for _, x := range []agent.Attachment{kept, shared, draft} {
		if !has(x) {
			t.Errorf("%s is gone", x.Name)
		}
	}
	must(t, a.purge(t.Context(), time.Now()))
}

// Memory is given back once for everything that happened, when it is over.
func TestComingToRest(t *testing.T) {
	const much, little = 20 << 20, 10 << 10
	var r rest
	total := uint64(0)
	for i, step := range []struct {
		allocated uint64
		busy      bool
		want      bool
		why       string
	}{
		{much, false, false, "the start"},
		{little, false, true, "the start is over"},
		{little, false, false, "nothing happens"},
		{much, true, false, "a turn runs"},
		{little, true, false, "it waits for its model"},
		{much, false, false, "it has ended a moment ago"},
		{much, false, false, "what was said is indexed"},
		{little, false, true, "all is done"},
		{little, false, false, "nothing happens"},
		{much, false, false, "pages are read, without a turn"},
		{little, false, true, "they have been read"},
	} {
		total += step.allocated
		got := r.come(total, step.busy)
		if got != step.want {
			t.Errorf("%d, %s: %v", i, step.why, got)
		}
		if got {
			r.given = total
		}
	}
	given := 0
	for range 1000 {
		total += little
		if r.come(total, false) {
			r.given = total
			given++
		}
	}
	if given < 5 || given > 15 {
		t.Errorf("given back %d times while 10 MB were allocated little by little", given)
	}
}

// What counts as allocated grows with what is allocated.
func TestAllocated(t *testing.T) {
	before := allocated()
	kept := make([][]byte, 4)
	for i := range kept {
		kept[i] = make([]byte, 1<<20)
	}
	if n := allocated() - before; n < 4<<20 || n > 1<<30 {
		t.Errorf("%d bytes for 4 MB", n)
	}
	runtime.KeepAlive(kept)
}

// configured is what the settings of a config.toml become.
func configured(t *testing.T, toml string) config.Config {
	t.Helper()
	home := t.TempDir()
	settings(t, home, toml)
	s, err := config.Load(config.Options{Home: home})
	must(t, err)
	return s.Config()
}

func TestRetriesReachTheModels(t *testing.T) {
	for _, tt := range []struct {
		name     string
		retries  string
		requests int
	}{{"none", "0", 1}, {"one", "1", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			reply := llmtest.ServerError()
			reply.Repeat = true
			m := model(t, reply)
			settings(t, home, "[models]\nretries = "+tt.retries+"\n")
			ash(t, "", append([]string{"chat", "--home", home, "-m", "x"}, using(m)...)...).is(t, exitUnavailable)
			if n := len(m.Chats()); n != tt.requests {
				t.Errorf("the model was asked %d times, want %d", n, tt.requests)
			}
		})
	}
}

// Changed while Ash runs, the number of retries counts from the next question on.
func TestRetriesChange(t *testing.T) {
	reply := llmtest.ServerError()
	reply.Repeat = true
	m := model(t, reply)
	home := t.TempDir()
	settings(t, home, "[models]\norder = [\"openai/m\"]\nretries = 1\n[providers.openai]\nbase_url = \""+m.URL+"/v1\"\n")
	a := opened(t, home)
	ask := func() int {
		t.Helper()
		before := len(m.Chats())
		chain, _, err := a.providers.Pick(t.Context(), "")
		must(t, err)
		for _, err := range chain.Stream(t.Context(), agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "x"}}}}}) {
			if err != nil {
				break
			}
		}
		return len(m.Chats()) - before
	}
	if n := ask(); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	_, err := a.config.Edit(t.Context(), "", []config.Change{{Key: "models.retries", Value: "0"}})
	must(t, err)
	if n := ask(); n != 1 {
		t.Errorf("after the change asked %d times, want 1", n)
	}
}

// What an entry of the catalog leaves out stays as the built-in catalog has it.
func TestCatalogEntriesReachTheModels(t *testing.T) {
	const name = "anthropic/claude-sonnet-4-5"
	info := func(toml string) agent.ModelInfo {
		t.Helper()
		p, err := newProviders(configured(t, "[models]\norder = [\""+name+"\"]\n"+toml), nil, offline.Options{}, spend.New(spend.Options{}), nil)
		must(t, err)
		t.Cleanup(p.Close)
		_, m, err := p.Pick(t.Context(), "")
		must(t, err)
		return m
	}
	known := info("")
	if known.ContextWindow == 0 || known.Price.Input == 0 || known.Price.CacheRead == 0 || !known.Vision || !known.Tools {
		t.Fatalf("the built-in catalog says %+v", known)
	}
	with := func(change func(*agent.ModelInfo)) agent.ModelInfo {
		m := known
		change(&m)
		return m
	}
	entry := func(lines string) string { return "[[catalog]]\nref = \"" + name + "\"\n" + lines + "\n" }
	for name, tt := range map[string]struct {
		toml string
		want agent.ModelInfo
	}{
		"only a window":       {entry("context_window = 1000"), with(func(m *agent.ModelInfo) { m.ContextWindow = 1000 })},
		"only one price":      {entry("output_price = 1.25"), with(func(m *agent.ModelInfo) { m.Price.Output = 1_250_000 })},
		"a price of nothing":  {entry("input_price = 0.0"), with(func(m *agent.ModelInfo) { m.Price.Input = 0 })},
		"no cache":            {entry("cache_read_price = 0.0"), with(func(m *agent.ModelInfo) { m.Price.CacheRead = 0 })},
		"fewer abilities":     {entry(`abilities = ["tools"]`), with(func(m *agent.ModelInfo) { m.Vision, m.Documents, m.Thinking = false, false, false })},
		"no abilities":        {entry(`abilities = []`), with(func(m *agent.ModelInfo) { m.Tools, m.Vision, m.Documents, m.Thinking = false, false, false, false })},
		"a title":             {entry(`title = "Sonnet"`), with(func(m *agent.ModelInfo) { m.Title = "Sonnet" })},
		"two facts":           {entry("max_output = 7\ncontext_window = 9000"), with(func(m *agent.ModelInfo) { m.MaxOutput, m.ContextWindow = 7, 9000 })},
		"on this machine":     {entry("local = true"), with(func(m *agent.ModelInfo) { m.Local, m.Price = true, agent.Price{} })},
		"for another model":   {"[[catalog]]\nref = \"anthropic/other\"\ncontext_window = 5\n", known},
		"of another provider": {"[[catalog]]\nref = \"openai/claude-sonnet-4-5\"\ncontext_window = 5\n", known},
	} {
		t.Run(name, func(t *testing.T) {
			if got := info(tt.toml); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestProviderSettings(t *testing.T) {
	c := configured(t, `
[models]
order = ["mine/a", "groq/b", "mine/c"]
title_model = "ollama/small"
[providers.mine]
base_url = "http://127.0.0.1:9/v1"
stall_timeout = "7s"
thinking = "low"
[providers.unused]
kind = "anthropic"
`)
	var got []string
	for _, s := range providerSettings(c) {
		got = append(got, s.Name+":"+s.Kind)
		if s.Name == "mine" && (s.BaseURL != "http://127.0.0.1:9/v1" || s.Stall != 7*time.Second || s.Thinking != "low") {
			t.Errorf("mine is %+v", s)
		}
	}
	if want := "groq:groq mine:openai ollama:ollama unused:anthropic"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
