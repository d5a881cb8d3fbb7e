package handlers_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/attachment"
	"ash/agent/config"
	"ash/agent/feed"
	"ash/agent/identity"
	"ash/agent/inventory"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/offline"
	"ash/agent/llm/ollama"
	"ash/agent/llm/openai"
	"ash/agent/prompt"
	"ash/agent/spend"
	"ash/agent/vault"
	"ash/handlers"
	"ash/static"
	"ash/store"
	"ash/store/storetest"
	"ash/views/markdown"
	"ash/web"
	"ash/web/webtest"
)

// house is all of Ash behind a real listener, in a folder of its own, with a
// scripted model server.
type house struct {
	auditor inspection // of the Safety page
	doctor  ward       // of the Health page
	t       testing.TB
	home    string
	base    string
	store   *store.Store
	engine  *agent.Engine
	config  *config.Book
	book    *identity.Book
	llm     *llm.Providers
	vault   *vault.Vault
	model   *llmtest.Server
	tools   *handlers.Tools
	data    *keeper
	mind    *mind // nil: memory is not there
	pages   *handlers.Frame
	spend   *spend.Book
	now     func() time.Time // of the book and its page
	browser *webtest.Browser
}

// open starts a house whose model gives the scripted replies.
func open(t testing.TB, script ...llmtest.Reply) *house {
	t.Helper()
	return openWith(t, plan{configured: true}, script...)
}

// plan is how a house is built.
type plan struct {
	configured bool // the model server is already in the settings
	environ    []string
	tools      agent.Tools
	memory     bool           // the pages of memory are there
	zone       *time.Location // of the days that spending counts; nil is UTC
}

func openWith(t testing.TB, p plan, script ...llmtest.Reply) *house {
	t.Helper()
	h := &house{t: t, home: t.TempDir(), model: llmtest.OpenAI(t, script...), now: time.Now}
	ctx := context.Background()
	var err error
	options := config.Options{Home: h.home, Environ: p.environ}
	h.config, err = config.Open(options)
	h.must(err)
	if p.configured {
		_, err = h.config.Edit(ctx, "", []config.Change{
			{Key: "providers.test.kind", Value: "openai"},
			{Key: "providers.test.base_url", Value: h.model.URL + "/v1"},
			{Key: "models.order", Value: "test/test-model"},
		})
		h.must(err)
	}
	storetest.Put(t, filepath.Join(h.home, "ash.db"))
	h.store, err = store.Open(ctx, store.Options{Path: filepath.Join(h.home, "ash.db")})
	h.must(err)
	t.Cleanup(func() { h.must(h.store.Close()) })
	settings := h.config.Current().Config()
	h.book, err = identity.Open(ctx, settings.Workspace.Path, h.store, identity.Options{Tokens: prompt.Tokens})
	h.must(err)
	t.Cleanup(func() { h.must(h.book.Close()) })
	files, err := attachment.Open(filepath.Join(h.home, "attachments"), attachment.Options{})
	h.must(err)
	t.Cleanup(func() { h.must(files.Close()) })
	h.vault, err = vault.Open(filepath.Join(h.home, "vault"), vault.Options{
		Anchor: vault.FileMark{Path: filepath.Join(h.home, "vault.mark")}, Log: &vault.FileLog{Path: filepath.Join(h.home, "logs", "vault.jsonl")},
	})
	h.must(err)
	t.Cleanup(func() { h.must(h.vault.Close()) })
	keys := llm.NewKeys(func(string) (string, bool) { return "", false })
	keys.UseVault(vaultKeys{h.vault})
	h.llm, err = llm.New(llm.Options{
		Providers: providerSettings(settings), Order: settings.Models.Order,
		Dialects: map[string]llm.Dialect{"openai": openai.New, "ollama": ollama.New, "offline": offline.New(offline.Options{Library: h.store})},
		Keys:     keys,
		Logger:   slog.New(slog.DiscardHandler),
		Probe:    []llm.Settings{{Name: "lmstudio", Kind: "lmstudio", BaseURL: h.model.URL + "/v1"}},
	})
	h.must(err)
	t.Cleanup(h.llm.Close)
	h.config.Subscribe(func(_, now *config.Snapshot) {
		c := now.Config()
		h.must(h.llm.Reload(providerSettings(c), c.Models.Order))
	})
	events := feed.New(time.Millisecond)
	h.engine = agent.NewEngine(agent.Options{
		Unlocks: h.vault.Unlocks, Store: h.store, Prompter: prompt.New(prompt.Options{Identity: h.book, Blobs: files}), Models: h.llm, Publisher: events, Tools: p.tools,
		Settings: func() agent.Settings { return agent.Settings{Bounds: agent.Bounds{Rounds: 10}, MaxMessages: 100} },
	})
	owner, err := h.store.Owner(ctx)
	h.must(err)
	h.openSpending(p.zone)
	if p.memory {
		h.mind = openMind(h, owner.ID)
	}
	h.serve(events, files, owner.ID)
	return h
}

// serve wires the handlers the way cmd/ash does.
func (h *house) serve(events *feed.Feed, files *attachment.Store, owner agent.ID) {
	frame := &handlers.Frame{
		Markdown: markdown.New(), Reader: h.store, Latest: events.Last, Now: time.Now, Zone: time.UTC,
		Settings: func() config.Config { return h.config.Current().Config() },
	}
	frame.Keys = &handlers.KeyKeeper{Secrets: h.vault, Config: h.config, Providers: h.llm}
	safe := &handlers.Vault{
		Frame: frame, Secrets: h.vault, Config: h.config, Notes: handlers.PhraseFile(filepath.Join(h.home, "recovery-phrase.json")),
		Accesses: &vault.FileLog{Path: filepath.Join(h.home, "logs", "vault.jsonl")}, Kept: h.secretsKept,
	}
	frame.Lock = safe.Mark
	if h.mind != nil {
		frame.Proposals = h.store.ProposalCount
		h.mind.told = func() { events.Publish(agent.Envelope{Event: agent.MemoryEvent{Waiting: true}}) }
	}
	h.pages = frame
	h.data = &keeper{Home: inventory.Home{Path: h.home, Workspace: filepath.Join(h.home, "workspace"), Notes: filepath.Join(h.home, "notes")}, house: h}
	h.tools = &handlers.Tools{Frame: frame, Runs: h.store, Config: h.config, Halter: h.engine}
	h.t.Cleanup(h.tools.Close)
	memory, notes := h.mind.pages(frame)
	streams := &handlers.Events{Frame: frame, Feed: events, Threads: h.store, Tails: h.store, Summaries: h.store, Memory: memory, Stream: markdown.New(), Log: slog.New(slog.DiscardHandler)}
	h.tools.Memory = memory
	settings := &handlers.Settings{Frame: frame, Config: h.config, Book: h.book, Facts: func(context.Context) (handlers.Facts, error) {
		return handlers.Facts{Version: "1.2.3", Home: h.home, Started: time.Now()}, nil
	}}
	spending := h.spendingPage(*settings)
	settings.Spent = spending.Refused
	server, err := web.New(web.Config{
		Home: h.home, Log: slog.New(slog.DiscardHandler),
		Stopping: func(ctx context.Context) error {
			err := h.engine.Close(ctx)
			events.Close()
			return err
		},
		Routes: web.Routes{
			Problem:     frame.Problem,
			Chat:        &handlers.Chat{Frame: frame, Threads: h.store, Tails: h.store, Summaries: h.store},
			Messages:    &handlers.Messages{Frame: frame, Engine: h.engine, Turns: h.engine, Threads: h.store, Files: files, Owner: owner, Vault: safe},
			Threads:     &handlers.Threads{Frame: frame, Threads: h.store, Engine: h.engine, Paths: h.store, Summaries: h.store},
			Attachments: &handlers.Attachments{Files: files},
			Search:      h.mind.search(frame),
			Identity:    &handlers.Identity{Frame: frame, Book: h.book, Tokens: prompt.Tokens},
			Settings:    settings,
			Spending:    spending,
			Data:        &handlers.Data{Frame: frame, Keeper: h.data, Home: h.home},
			Tokens:      &handlers.Tokens{Frame: frame, Tokens: access.New(h.store, access.Options{})},
			Models:      &handlers.Models{Frame: frame, Config: h.config, Providers: h.llm},
			Health:      &handlers.Health{Frame: frame, Doctor: &h.doctor},
			Safety:      &handlers.Safety{Frame: frame, Auditor: &h.auditor},
			Setup: &handlers.Setup{Frame: frame, Config: h.config, Providers: h.llm, Prober: h.llm,
				Skipped: handlers.SkipMark(filepath.Join(h.home, "setup-skipped")), Own: func() []string { return nil }},
			Tools:  h.tools,
			Memory: memory, Notes: notes,
			Vault:  safe,
			Later:  &handlers.Later{Frame: frame},
			Thread: streams.Thread,
			House:  streams.House,
			Inbox:  streams.Inbox,
			Assets: static.Handler(),
		},
	})
	h.must(err)
	h.base = webtest.Serve(h.t, server)
	h.browser = webtest.Open(h.t, h.base)
	h.browser.Get("/chat").Is(200)
}

// secretsKept has the settings follow the vault, the way cmd/ash does.
func (h *house) secretsKept(ctx context.Context, kept, gone []string) error {
	var all []config.Change
	now := h.config.Current().Config()
	for _, name := range kept {
		all = append(all, now.SecretKept(name, func(p string) bool { _, known := llm.VendorOf(p); return known })...)
	}
	for _, name := range gone {
		all = append(all, now.SecretGone(name)...)
	}
	if len(all) == 0 {
		return nil
	}
	_, err := h.config.Edit(ctx, "", all)
	return err
}

// vaultKeys gives the providers their keys, the way cmd/ash does.
type vaultKeys struct{ vault *vault.Vault }

func (k vaultKeys) Use(ctx context.Context, u llm.SecretUse) ([]byte, error) {
	return k.vault.Use(ctx, vault.Request{Name: u.Secret, User: u.User, Host: u.Host, For: u.For})
}

func (k vaultKeys) Check(ctx context.Context, u llm.SecretUse) error {
	return k.vault.Check(ctx, vault.Request{Name: u.Secret, User: u.User, Host: u.Host})
}

// providerSettings names the configured providers.
func providerSettings(c config.Config) []llm.Settings {
	var out []llm.Settings
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		if p.Kind == "" {
			continue // only named for its key: the house speaks to no vendor
		}
		out = append(out, llm.Settings{Name: name, Kind: p.Kind, BaseURL: p.BaseURL, KeySecret: p.KeySecret, KeyFile: p.KeyFile})
	}
	return out
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// begin starts a conversation with a message and waits for the answer's end.
func (h *house) begin(text string) agent.ID {
	h.t.Helper()
	to := h.browser.Post("/chat", url.Values{"text": {text}, "form": {string(agent.NewID())}}).Leads()
	id, err := agent.ParseID(strings.TrimPrefix(to, "/chat/"))
	h.must(err)
	h.rest(id)
	return id
}

// rest waits until no turn of the thread runs, and returns its end.
func (h *house) rest(thread agent.ID) agent.Tail {
	h.t.Helper()
	for range 1000 {
		tail, err := h.store.Tail(context.Background(), thread)
		h.must(err)
		if tail.Turn.ID != "" && (!tail.Turn.Active() || tail.Turn.State == agent.TurnWaiting) {
			return tail
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.t.Fatal(errors.New("the turn does not end"))
	return agent.Tail{}
}

// thread reads a thread.
func (h *house) thread(id agent.ID) agent.Thread {
	h.t.Helper()
	t, err := h.store.Thread(context.Background(), id)
	h.must(err)
	return t
}

// empty makes a conversation in which nothing has been said.
func (h *house) empty() agent.ID {
	h.t.Helper()
	t, err := h.engine.CreateThread(context.Background(), agent.Origin{Channel: "web"})
	h.must(err)
	return t.ID
}

// newest is the conversation that changed last.
func (h *house) newest() string {
	h.t.Helper()
	all, _, err := h.store.Threads(context.Background(), agent.ThreadFilter{Limit: 1})
	h.must(err)
	return string(all[0].ID)
}

// until waits for what happens beside the test.
func (h *house) until(what string, cond func() bool) {
	h.t.Helper()
	for range 500 {
		if cond() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.t.Fatalf("it never came: %s", what)
}
