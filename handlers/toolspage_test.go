package handlers_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/agent/policy"
	"ash/agent/sandbox"
	"ash/agent/tool"
	"ash/handlers"
)

// look is the arguments of a tool that looks something up.
type look struct {
	Word  string   `json:"word" jsonschema:"what to look for"`
	Text  string   `json:"text,omitempty"`
	Count int      `json:"count,omitempty"`
	Exact bool     `json:"exact,omitempty"`
	In    []string `json:"in,omitempty"`
}

type looking struct{ problem error }

func (looking) Plan(context.Context, tool.Env, look) (tool.Plan, error) { return tool.Plan{}, nil }
func (looking) Run(context.Context, tool.Env, look, tool.Progress) (agent.ToolOutcome, error) {
	return agent.ToolOutcome{}, nil
}
func (l looking) Available(context.Context, agent.Thread) error { return l.problem }

// box is the tools of the page: one that sends, one that is not there.
func box() *tool.Box {
	return tool.NewBox(tool.Options{Root: func(agent.Thread) string { return "" }},
		tool.Define(tool.Definition{Name: "gone", Title: "Gone", About: "Is not there.", Effect: agent.EffectRead}, looking{agent.Errorf(agent.CodeUnavailable, "Install <it>.")}),
		tool.Define(tool.Definition{Name: "shell", Title: "Run a command", About: "Looks it up.", Effect: agent.EffectExecute}, looking{}))
}

// trying notes what was tried.
type trying struct {
	thread agent.ID
	got    []string
}

func (x *trying) Try(_ context.Context, tool string, arguments json.RawMessage) (agent.ID, error) {
	x.got = append(x.got, tool+" "+string(arguments))
	return x.thread, nil
}

// shop opens a house whose Tools page has everything.
func shop(t *testing.T, script ...llmtest.Reply) *house {
	t.Helper()
	h := openWith(t, plan{configured: true, tools: shellBench()}, script...)
	h.tools.Box = box()
	h.tools.Policy = policy.New(policy.Options{Rules: h.store, Log: h.store, Root: func(agent.Thread) string { return "" }})
	h.tools.Security = log{h}
	return h
}

// log is the newest of the security log.
type log struct{ *house }

func (l log) SecurityEvents(ctx context.Context, limit int) ([]policy.SecurityEvent, error) {
	events, _, err := l.store.SecurityEvents(ctx, 0, limit)
	return events, err
}

func TestToolsPage(t *testing.T) {
	h := shop(t, llmtest.Reply{Calls: []llmtest.Call{shell("a", "git status")}}, llmtest.Reply{Text: []string{"Well."}, Repeat: true})
	h.begin("go")
	p := h.browser.Get("/tools").Is(200).Has("#tool-shell").Says("runs commands").Says("1 call").Has(`#tool-shell svg.chart rect`).Says("what to look for")
	p.Says("Install &lt;it&gt;.").Has(`form[action="/stop"] button`)
	if first := p.Find(".tool-list > li").First().AttrOr("id", ""); first != "tool-shell" {
		t.Errorf("%s stands first: what cannot be used goes last", first)
	}
	checked := func(p string) string { return h.browser.Get(p).Find("#sw-shell input:checked").AttrOr("value", "none") }
	if got := checked("/tools"); got != "ask" {
		t.Errorf("the switch says %q, want what holds anyway", got)
	}
	set := func(verdict, thread string) { // with JavaScript
		h.browser.HTMX().Post("/tools/shell/policy", url.Values{"verdict": {verdict}, "thread": {thread}}).Is(200).Has("form#sw-shell")
	}
	rules := func() []policy.Rule {
		all, err := h.store.AllRules(context.Background())
		h.must(err)
		return all
	}
	set("deny", "")
	if got := checked("/tools"); got != "deny" || len(rules()) != 1 {
		t.Errorf("after deny the switch says %q, rules %+v", got, rules())
	}
	set("ask", "")
	if got := checked("/tools"); got != "ask" || len(rules()) != 0 {
		t.Errorf("what holds anyway needs no rule: %q, %+v", got, rules())
	}
	thread := h.newest()
	set("allow", thread)
	if got := checked("/tools?thread=" + thread); got != "allow" {
		t.Errorf("the conversation's switch says %q", got)
	}
	if got := checked("/tools"); got != "ask" {
		t.Errorf("the house's switch says %q", got)
	}
	h.browser.Get("/tools").Has(`#rules a[href="/chat/` + thread + `"]`)
	set("", thread)
	if len(rules()) != 0 {
		t.Errorf("rules %+v", rules())
	}
	if to := h.browser.Post("/tools/shell/policy", url.Values{"verdict": {"allow"}}).Leads(); to != "/tools#tool-shell" {
		t.Errorf("leads to %s", to)
	}
	h.browser.HTMX().Post("/tools/shell/policy", url.Values{"verdict": {"perhaps"}}).Is(422)
	h.browser.HTMX().Post("/tools/nothing/policy", url.Values{"verdict": {"deny"}}).Is(404)
	h.browser.HTMX().Post("/tools/shell/policy", url.Values{"verdict": {"deny"}, "thread": {string(agent.NewID())}}).Is(404)
}

func TestStandingPermissionsAreListedAndTakenBack(t *testing.T) {
	h := shop(t)
	_, err := h.store.SaveRule(context.Background(), policy.Rule{ID: agent.NewID(), Tool: "shell", Match: "run git log …", Verdict: agent.Allow, Created: time.Now()})
	h.must(err)
	thread := h.empty()
	_, err = h.store.SaveRule(context.Background(), policy.Rule{ID: agent.NewID(), Tool: policy.AnyTool, Match: "web", Verdict: agent.Allow, Thread: thread, Sources: []string{"a.example"}, Created: time.Now()})
	h.must(err)
	p := h.browser.Get("/tools").Has("#rules li code").Says("Run a command").Says("reading the web").Says("a.example").Says("not used yet")
	if n := p.Find("#rules li").Length(); n != 2 {
		t.Fatalf("%d rules, want 2", n)
	}
	path := p.Attr("#rules li form", "action")
	h.browser.HTMX().Post(path, nil).Is(200).Has("hx-partial[hx-swap=delete]")
	h.browser.HTMX().Post(path, nil).Is(404)
	if to := h.browser.Post(h.browser.Get("/tools").Attr("#rules li form", "action"), nil).Leads(); to != "/tools#rules" {
		t.Errorf("leads to %s", to)
	}
	h.browser.Get("/tools").Lacks("#rules li").Says("You took a permission back")
}

func TestTryingATool(t *testing.T) {
	h := shop(t)
	x := &trying{thread: h.empty()}
	h.tools.Trier = x
	p := h.browser.Get("/tools").Has(`#tool-gone .try button[disabled]`)
	for _, name := range []string{"text.word", "long.text", "number.count", "yesno.exact", "lines.in"} {
		if p.Find(`#tool-shell .try [name="`+name+`"]`).Length() != 1 {
			t.Errorf("no field %s", name)
		}
	}
	form := url.Values{"text.word": {`say "hi"`}, "long.text": {""}, "number.count": {" 3 "}, "yesno.exact": {"false"}, "lines.in": {"a\r\n\r\nb"}}
	if to := h.browser.Post("/tools/shell/try", form).Leads(); to != "/chat/"+string(x.thread) {
		t.Errorf("leads to %s", to)
	}
	if want := `shell {"word":"say \"hi\"","count":3,"exact":false,"in":["a","b"]}`; len(x.got) != 1 || x.got[0] != want {
		t.Errorf("tried %q, want %q", x.got, want)
	}
	form.Set("number.count", "three")
	h.browser.HTMX().Post("/tools/shell/try", form).Is(422).Says("“count” is a number")
	h.browser.HTMX().Post("/tools/shell/try", url.Values{"text.word": {"x"}}).Is(200)
	if got := x.got[len(x.got)-1]; got != `shell {"word":"x"}` {
		t.Errorf("tried %q", got)
	}
}

// box of one container, whose image takes as long as the test wants.
type engine struct {
	mu      sync.Mutex
	status  sandbox.Status
	release chan error
}

func (e *engine) Status(context.Context) sandbox.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *engine) Build(ctx context.Context, progress func(string)) error {
	progress("Step 1/2 : FROM <debian>\x1b[0m")
	select {
	case err := <-e.release:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSandboxPanelAndBuild(t *testing.T) {
	h := shop(t)
	thread := h.empty()
	e := &engine{release: make(chan error), status: sandbox.Status{
		Problem: "The sandbox is not built yet.", Engine: "docker", Name: "Docker", Version: "27", Image: sandbox.Image{Tag: "ash:1"},
		Limits:     []sandbox.Limit{{Name: "memory", Value: "1 GB", By: "cgroup"}, {Name: "swap", Value: "not limited"}},
		Containers: []sandbox.Container{{ID: "abc", Thread: thread, Use: "command", State: "running"}, {ID: "def", Thread: agent.NewID(), Use: "shell"}},
	}}
	h.tools.Sandbox = e
	p := h.browser.Get("/tools").Says("No command runs. The sandbox is not built yet.").Says("held by cgroup").Says("not enforced").Says("not built yet").Has(`#sandbox a[href="/chat/` + string(thread) + `"]`)
	if p.Find("#build[hx-get]").Length() > 0 {
		t.Error("the page asks how far a build is that does not run")
	}
	h.browser.HTMX().Post("/tools/sandbox/build", nil).Is(200).Has("#build[hx-get]").Says("being built")
	h.until("the first line", func() bool { return strings.Contains(h.browser.HTMX().Get("/tools/sandbox/build").Body, "Step 1/2") })
	h.browser.HTMX().Get("/tools/sandbox/build").Says("FROM &lt;debian&gt;⟨U+001B⟩").Has("#build[hx-get]")
	h.browser.HTMX().Post("/tools/sandbox/build", nil).Is(200).Says("being built") // a second one does not begin
	e.release <- agent.Errorf(agent.CodeUnavailable, "No network to load Debian with.")
	h.until("the failure", func() bool {
		return strings.Contains(h.browser.HTMX().Get("/tools/sandbox/build").Body, "No network to load Debian with.")
	})
	h.browser.HTMX().Get("/tools/sandbox/build").Lacks("#build[hx-get]")
	if to := h.browser.Post("/tools/sandbox/build", nil).Leads(); to != "/tools#sandbox" {
		t.Errorf("leads to %s", to)
	}
	e.mu.Lock()
	e.status.Image, e.status.Ready = sandbox.Image{Tag: "ash:1", Built: true, Created: time.Now(), Size: 4e8}, true
	e.mu.Unlock()
	e.release <- nil
	h.until("the end", func() bool { return !strings.Contains(h.browser.Get("/tools").Body, "being built") })
	h.browser.Get("/tools").Says("400 MB").Says("Build it anew").Says("Commands can run")
	h.browser.Post("/tools/sandbox/build", nil).Leads() // runs on: closing the house ends it
}

func TestFolders(t *testing.T) {
	h := shop(t)
	there := t.TempDir()
	do := func(what, path string, status int) {
		t.Helper()
		h.browser.Post("/tools/folders", url.Values{"path": {path}, "do": {what}}).Is(status)
	}
	files := func() (folders, own []string) {
		c := h.config.Current().Config().Files
		return c.Folders, c.Own
	}
	do("add", "notes", 422)
	do("add", filepath.Join(there, "nothing"), 422)
	do("add", there+"/a,b", 422)
	do("add", there, 303)
	do("add", there+"/", 409)
	do("writable", there, 303)
	do("own", there, 303)
	if f, own := files(); !slices.Equal(f, []string{there + ":rw"}) || !slices.Equal(own, []string{there}) {
		t.Errorf("folders %v, own %v", f, own)
	}
	h.browser.Get("/tools").Says("Can be changed").Says("Yours: its files count as your words.")
	do("readonly", there, 303)
	do("disown", there, 303)
	do("explode", there, 422)
	h.must(os.Remove(there))
	h.browser.Get("/tools").Says("Not there now.")
	do("remove", there, 303)
	do("remove", there, 409)
	if f, own := files(); len(f)+len(own) > 0 {
		t.Errorf("folders %v, own %v", f, own)
	}
	own := filepath.Join(h.config.Current().Config().Workspace.Path, "files")
	do("own", own, 303)
	do("remove", own, 422)
}

// stopping is the kill switch.
type stopping struct{ err error }

func (s stopping) StopAll(context.Context) error { return s.err }

func TestStopEverything(t *testing.T) {
	b := shellBench()
	b.hold = make(chan struct{})
	h, id := asks(t, b, shell("a", "sleep 600"))
	p := h.browser.Get("/chat/" + string(id))
	h.browser.HTMX().Post(p.Attr("section.call form", "action"), url.Values{"decision": {"approve"}, "binding": {p.Attr("section.call input[name=binding]", "value")}}).Is(200)
	h.until("the command", func() bool { return len(b.commands()) == 1 })
	h.browser.HTMX().Post("/stop", nil).Is(200).Says("Everything is stopped")
	if tail := h.rest(id); tail.Turn.Active() {
		t.Errorf("the turn is %s", tail.Turn.State)
	}
	h.browser.Get("/chat/" + string(id)).Has("section.call.stopped")
	if to := h.browser.Post("/stop", nil).Leads(); to != "/tools?stopped=1" {
		t.Errorf("leads to %s", to)
	}
	h.browser.Get("/tools?stopped=1").Says("Everything is stopped")
	h.browser.Get("/palette?q=stop").Has(`form[action="/stop"]`)
	h.tools.Halter = stopping{agent.Errorf(agent.CodeUnavailable, "This does not let go: shell.")}
	h.browser.HTMX().Post("/stop", nil).Is(503).Says("does not let go")
	h.tools.Halter = stopping{errors.New("secret detail")}
	if body := h.browser.HTMX().Post("/stop", nil).Is(500).Body; strings.Contains(body, "secret detail") {
		t.Error("an inner error reaches the page")
	}
}

func TestHistoryOfRuns(t *testing.T) {
	b := shellBench()
	b.results["shell"] = tool.Failed("=cmd|' /C calc'!A0\nplain")
	calls := []llmtest.Call{shell("a", "one <b>"), shell("b", "two"), shell("c", "=SUM(A1)")}
	h, id := asks(t, b, calls...)
	h.tools.Box = box()
	p := h.browser.Get("/chat/" + string(id))
	path, binding := p.Attr("section.call form", "action"), p.Attr("section.call input[name=binding]", "value")
	h.browser.HTMX().Post(path, url.Values{"decision": {"approve"}, "binding": {binding}}).Is(200)
	h.until("the first run", func() bool { return h.browser.Get("/tools/runs?state=failed").Find(".run").Length() == 1 })

	count := func(query string) int {
		return h.browser.Get("/tools/runs?" + query).Is(200).Find(".runs .run").Length()
	}
	today := time.Now().UTC().Format(time.DateOnly)
	for query, want := range map[string]int{
		"": 3, "state=waiting": 2, "state=failed": 1, "tool=shell": 3, "tool=other": 0, "text=two": 1, "text=TWO&state=waiting": 1, "text=calc": 1, "text=%25": 0,
		"thread=" + string(id): 3, "from=" + today: 3, "until=" + today: 3, "from=2999-01-01": 0, "until=2001-01-01": 0,
	} {
		if got := count(query); got != want {
			t.Errorf("%q finds %d, want %d", query, got, want)
		}
	}
	h.browser.Get("/tools/runs?from=yesterday").Is(422)
	h.browser.Get("/tools/runs?state=perhaps").Is(422)
	h.browser.Get("/tools/runs?after=x").Is(422)
	h.browser.Get("/tools/runs?thread=" + string(agent.NewID())).Is(404)
	h.browser.Get("/tools/runs").Lacks(".run b b").Has(`a[href^="/tools/runs.csv"]`)

	record := h.browser.Get("/tools/runs?state=failed").Attr(".run a", "href")
	h.browser.Get(record).Is(200).Has("#record section.call.failed").Says("test/test-model").Has(`a[href^="/chat/` + string(id) + `"]`)
	h.browser.Get("/tools/runs/" + string(agent.NewID())).Is(404)
	waiting := h.browser.Get("/tools/runs?text=two").Attr(".run a", "href")
	p = h.browser.Get(waiting).Has("#record section.call.pending input[name=place][value=run]")
	path, binding = p.Attr("#record form", "action"), p.Attr("#record input[name=binding]", "value")
	h.browser.HTMX().Post(path, url.Values{"decision": {"deny"}, "binding": {binding}, "place": {"run"}}).Is(200).Has("section.call.denied")

	answer := h.browser.Get("/tools/runs.csv").Is(200)
	if got := answer.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment") {
		t.Errorf("disposition %q", got)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(answer.Body, "\uFEFF"))).ReadAll()
	h.must(err)
	if len(rows) != 4 || rows[0][1] != "tool" || rows[3][3] != "failed" {
		t.Fatalf("rows %q", rows)
	}
	if got := rows[3][11]; got != "'=cmd|' /C calc'!A0\nplain" {
		t.Errorf("a result that is a formula is exported as %q", got)
	}
	rows, err = csv.NewReader(strings.NewReader(h.browser.Get("/tools/runs.csv?state=failed").Body)).ReadAll()
	if h.must(err); len(rows) != 2 {
		t.Errorf("the filter is left out of the export: %q", rows)
	}
}

func TestCellsAreNoFormulas(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "-3.5": "-3.5", "+1": "+1", "=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\tx": "'\tx",
		"a\n=1": "a\n'=1", "a\r=1": "a\n'=1", "＝1": "'＝1", "-rm": "'-rm", "x=1": "x=1", "\u0020=1": "'\u0020=1", "\u00a0=1": "'\u00a0=1",
	} {
		if got := handlers.Cell(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := handlers.Cell(strings.Repeat("é", 40_000)); len(got) > 31_000 {
		t.Errorf("%d bytes in one cell", len(got))
	}
}
