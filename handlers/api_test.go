package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/feed"
	"ash/agent/guard"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/openai"
	"ash/agent/memory"
	"ash/agent/memory/recall"
	"ash/agent/prompt"
	"ash/handlers"
	"ash/store"
	"ash/store/storetest"
	"ash/web"
	"ash/web/webtest"
)

// apiHouse is the API over a real store, book and index behind a real listener.
type apiHouse struct {
	t      testing.TB
	home   string
	base   string
	store  *store.Store
	book   *memory.Book
	tokens *access.Tokens
	owner  agent.ID
	secret access.Secret // scopes memory and chat
	engine *agent.Engine
	model  *llmtest.Server
	doc    *openDoc
	client *http.Client
	log    *logged
}

// logged is all that was written to the log, at every level.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}
func (l *logged) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.buf.String() }

// index brings recall up to date with what changed.
type index struct{ engine *recall.Engine }

func (i index) Refresh(ctx context.Context, _ memory.Touched) error { return i.engine.CatchUp(ctx) }

func (i index) Recall(ctx context.Context, query string, k int) ([]agent.Recollection, error) {
	return i.engine.Recall(ctx, recall.Query{Text: query, Limit: k})
}

func openAPI(t testing.TB, change ...func(*handlers.APIParts)) *apiHouse {
	t.Helper()
	h := &apiHouse{t: t, home: t.TempDir(), client: &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}, log: &logged{}}
	t.Cleanup(h.client.CloseIdleConnections)
	var err error
	storetest.Put(t, filepath.Join(h.home, "ash.db"))
	h.store, err = store.Open(context.Background(), store.Options{Path: filepath.Join(h.home, "ash.db")})
	h.must(err)
	t.Cleanup(func() { h.must(h.store.Close()) })
	owner, err := h.store.Owner(context.Background())
	h.must(err)
	h.owner = owner.ID
	log := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	found := index{recall.New(recall.Options{Index: h.store, Tokens: prompt.Tokens})}
	h.book = memory.New(h.store, memory.Options{Index: found, Window: time.Hour})
	h.tokens = access.New(h.store, access.Options{Log: log})
	events := feed.New(0)
	h.model = llmtest.OpenAI(t)
	models, err := llm.New(llm.Options{
		Providers: []llm.Settings{
			{Name: "test", Kind: "openai", BaseURL: h.model.URL + "/v1", KeyEnv: "ASH_OWN_KEY"}, {Name: "other", Kind: "openai", BaseURL: h.model.URL + "/v1"},
		},
		Order: []agent.ModelRef{{Provider: "test", Name: "test-model"}, {Provider: "other", Name: "test-model"}}, Dialects: map[string]llm.Dialect{"openai": openai.New},
		Keys: llm.NewKeys(func(name string) (string, bool) { return "the-owners-key", name == "ASH_OWN_KEY" }), Logger: log,
	})
	h.must(err)
	t.Cleanup(models.Close)
	h.engine = agent.NewEngine(agent.Options{
		Store: h.store, Prompter: prompt.New(prompt.Options{}), Models: models, Publisher: events, Logger: log,
		Settings: func() agent.Settings { return agent.Settings{MaxMessages: 100} },
	})
	t.Cleanup(func() { h.must(h.engine.Close(context.Background())); events.Close() })
	parts := handlers.APIParts{
		Engine: h.engine, Conversations: h.store, Feed: events, Watch: h.tokens,
		Owner: h.owner, Version: "1.2.3", Tokens: h.tokens, Facts: h.store, Entities: h.store, Recall: found, Book: h.book, Forgetter: h.book,
		Requests: h.store, Redact: guard.New(guard.Options{}).Redact, Now: time.Now, Log: log,
	}
	for _, f := range change {
		f(&parts)
	}
	server, err := web.New(web.Config{Home: h.home, Log: log, Routes: web.Routes{
		API: handlers.NewAPI(parts), Problem: func(c echo.Context, p handlers.Problem) error { return c.HTML(p.Status, "<p>"+p.Public+"</p>") },
	}})
	h.must(err)
	h.base = webtest.Serve(t, server)
	h.secret = h.token("app", "memory", "chat")
	h.doc = readDoc(h)
	return h
}

func (h *apiHouse) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *apiHouse) token(name string, scopes ...string) access.Secret {
	h.t.Helper()
	_, secret, err := h.tokens.Create(context.Background(), access.NewToken{Name: name, Scopes: scopes})
	h.must(err)
	return secret
}

// reply is an answer of the API.
type reply struct {
	h      *apiHouse
	what   string
	status int
	header http.Header
	body   []byte
}

// ask makes a request with the house's token. Headers are given as name and value by turns; an empty value takes one away. A
// body is JSON unless a header says otherwise. What is answered must be as it is described.
func (h *apiHouse) ask(method, path, body string, headers ...string) *reply {
	h.t.Helper()
	r := h.raw(method, path, body, headers...)
	h.doc.check(r, method, path)
	return r
}

// raw is ask for requests that are answered by what stands before the API.
func (h *apiHouse) raw(method, path, body string, headers ...string) *reply {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.base+handlers.APIPrefix+path, strings.NewReader(body))
	h.must(err)
	req.Header.Set("Authorization", "Bearer "+string(h.secret))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := h.client.Do(req)
	h.must(err)
	defer func() { _ = res.Body.Close() }()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // it has no end
		return &reply{h, method + " " + path, res.StatusCode, res.Header, nil}
	}
	b, err := io.ReadAll(res.Body)
	h.must(err)
	return &reply{h, method + " " + path, res.StatusCode, res.Header, b}
}

// is checks the status, and of a failure that it says what is wrong.
func (r *reply) is(status int, says ...string) *reply {
	r.h.t.Helper()
	if r.status != status {
		r.h.t.Fatalf("%s: status %d, want %d\n%s", r.what, r.status, status, r.body)
	}
	if media := r.header.Get("Content-Type"); status >= 400 {
		var p handlers.APIFailure
		if err := json.Unmarshal(r.body, &p); err != nil || media != "application/problem+json" || p.Status != status || p.Title == "" || p.Detail == "" || p.Request == "" {
			r.h.t.Fatalf("%s: no problem but %s %s", r.what, media, r.body)
		}
	}
	for _, w := range says {
		if !strings.Contains(string(r.body), w) {
			r.h.t.Fatalf("%s: does not say %q:\n%s", r.what, w, r.body)
		}
	}
	if r.header.Get("Cache-Control") != "no-store" || len(r.header.Values("Set-Cookie")) > 0 {
		r.h.t.Fatalf("%s: headers %v", r.what, r.header)
	}
	return r
}

func into[T any](r *reply) (out T) {
	r.h.t.Helper()
	r.h.must(json.Unmarshal(r.body, &out))
	return out
}

// add has a text remembered.
func (h *apiHouse) add(text string, more ...string) handlers.APIMemory {
	h.t.Helper()
	body := `{"text":` + strconv.Quote(text) + strings.Join(more, "") + `}`
	return into[handlers.APIMemory](h.ask("POST", "/memories", body).is(201))
}

func (h *apiHouse) list(query string) (texts []string) {
	h.t.Helper()
	for _, m := range into[handlers.APIMemories](h.ask("GET", "/memories"+query, "").is(200)).Memories {
		texts = append(texts, m.Text)
	}
	return texts
}

// openDoc is the description as a client reads it.
type openDoc struct {
	OpenAPI string
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		OperationID string
		Security    *[]map[string][]string
		Parameters  []struct {
			Name, In string
			Required bool
		}
		RequestBody *struct {
			Content map[string]struct{ Schema *jsonschema.Schema }
		}
		Responses map[string]struct {
			Description string
			Headers     map[string]json.RawMessage
			Content     map[string]struct{ Schema *jsonschema.Schema }
		}
	}
	Components struct {
		Schemas         map[string]*jsonschema.Schema
		SecuritySchemes map[string]struct{ Type, Scheme string }
	}
	resolved map[string]*jsonschema.Resolved
	mu       sync.Mutex
	seen     map[string]bool // operations and statuses that were answered
}

func readDoc(h *apiHouse) *openDoc {
	h.t.Helper()
	r := h.raw("GET", "/openapi.json", "", "Authorization", "").is(200)
	d := &openDoc{resolved: map[string]*jsonschema.Resolved{}, seen: map[string]bool{}}
	h.must(json.Unmarshal(r.body, d))
	for name, s := range d.Components.Schemas {
		closed := s.CloneSchemas()
		shut(closed)
		resolved, err := closed.Resolve(nil)
		h.must(err)
		d.resolved[name] = resolved
	}
	return d
}

// shut makes a schema refuse what it does not describe.
func shut(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	for _, p := range s.Properties {
		shut(p)
	}
	shut(s.Items)
}

// check holds an answer to its description.
func (d *openDoc) check(r *reply, method, path string) {
	r.h.t.Helper()
	template := d.template(path)
	op, known := d.Paths[template][strings.ToLower(method)]
	if !known {
		if r.status < 400 {
			r.h.t.Fatalf("%s succeeds and is not described", r.what)
		}
		return
	}
	res, known := op.Responses[strconv.Itoa(r.status)]
	if !known {
		r.h.t.Fatalf("%s: status %d is not described: %s", r.what, r.status, r.body)
	}
	d.mu.Lock()
	d.seen[method+" "+template+" "+strconv.Itoa(r.status)] = true
	d.mu.Unlock()
	for name := range res.Headers {
		if r.header.Get(name) == "" {
			r.h.t.Errorf("%s: the header %s is described and missing", r.what, name)
		}
	}
	if len(res.Content) == 0 {
		if len(r.body) > 0 {
			r.h.t.Errorf("%s: a body that is not described: %s", r.what, r.body)
		}
		return
	}
	content, known := res.Content[r.header.Get("Content-Type")]
	if !known {
		r.h.t.Fatalf("%s: %s is not described", r.what, r.header.Get("Content-Type"))
	}
	var value any
	r.h.must(json.Unmarshal(r.body, &value))
	var failed []string
	options := append([]*jsonschema.Schema{content.Schema}, content.Schema.OneOf...)
	for _, s := range options {
		if s.Ref == "" {
			continue
		}
		err := d.resolved[strings.TrimPrefix(s.Ref, "#/components/schemas/")].Validate(value)
		if err == nil {
			return
		}
		failed = append(failed, err.Error())
	}
	r.h.t.Fatalf("%s: not as described: %v\n%s", r.what, failed, r.body)
}

// template finds the described path of an address; the one without a parameter first.
func (d *openDoc) template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if _, ok := d.Paths[path]; ok {
		return path
	}
	for template := range d.Paths {
		a, b := strings.Split(template, "/"), strings.Split(path, "/")
		if len(a) == len(b) && !slices.ContainsFunc(slices.Collect(indexes(a)), func(i int) bool { return a[i] != b[i] && !strings.HasPrefix(a[i], "{") }) {
			return template
		}
	}
	return ""
}

func indexes(list []string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range list {
			if !yield(i) {
				return
			}
		}
	}
}
