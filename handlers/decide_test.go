package handlers_test

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/agent/tool"
	"ash/agent/tool/askperson"
)

// bench is a set of tools whose effects, results and standing permissions the test writes down.
type bench struct {
	mu      sync.Mutex
	effects map[string]agent.Effect // by tool
	whys    map[string]string
	results map[string]agent.ToolOutcome
	binding func(c agent.ToolCall) string
	hold    chan struct{} // closed: what runs ends
	ran     []agent.ToolCall
	permits []agent.Offer
}

func newBench() *bench {
	return &bench{effects: map[string]agent.Effect{}, whys: map[string]string{}, results: map[string]agent.ToolOutcome{}, hold: closed()}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (b *bench) Specs(context.Context, agent.Thread) []agent.ToolSpec {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []agent.ToolSpec
	for name := range b.effects {
		out = append(out, agent.ToolSpec{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

func (b *bench) Judge(_ context.Context, _ agent.Situation, c agent.ToolCall) (agent.Judgement, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.effects[c.Name]
	var a struct{ Command, Question string }
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return agent.Judgement{Verdict: agent.Invalid, Why: "The arguments do not fit."}, nil
	}
	if e.Text == "" {
		e.Text = a.Command + a.Question
	}
	if a.Command == "rm -rf /" {
		return agent.Judgement{Verdict: agent.Deny, Why: "Never that."}, nil
	}
	j := agent.Judgement{Verdict: agent.Ask, Why: b.whys[c.Name], Binding: "b-" + string(c.Arguments), Effect: &e, Question: e.Kind == agent.EffectAsk}
	if b.binding != nil {
		j.Binding = b.binding(c)
	}
	if e.Kind == agent.EffectRead {
		j.Verdict = agent.Allow
	}
	return j, nil
}

func (b *bench) Permit(_ context.Context, _ agent.Situation, _ agent.ToolCall, o agent.Offer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.permits = append(b.permits, o)
	return nil
}

func (b *bench) Run(ctx context.Context, _ agent.Situation, c agent.ToolCall, progress func(string)) (agent.ToolOutcome, error) {
	b.mu.Lock()
	b.ran = append(b.ran, c)
	out, hold := b.results[c.Name], b.hold
	b.mu.Unlock()
	progress("begun\n")
	select {
	case <-hold:
	case <-ctx.Done():
	}
	return out, nil
}

func (b *bench) commands() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, c := range b.ran {
		var a struct{ Command string }
		_ = json.Unmarshal(c.Arguments, &a)
		out = append(out, a.Command)
	}
	slices.Sort(out)
	return out
}

// asks opens a house whose model asks for calls, each with arguments, and rests on them.
func asks(t *testing.T, b *bench, calls ...llmtest.Call) (*house, agent.ID) {
	t.Helper()
	h := openWith(t, plan{configured: true, tools: b}, llmtest.Reply{Calls: calls}, llmtest.Reply{Text: []string{"Well then."}, Repeat: true})
	return h, h.begin("go")
}

func shell(id, command string) llmtest.Call {
	raw, _ := json.Marshal(map[string]string{"command": command})
	return llmtest.Call{ID: id, Name: "shell", Arguments: []string{string(raw)}}
}

func shellBench() *bench {
	b := newBench()
	b.effects["shell"] = agent.Effect{
		Kind: agent.EffectExecute, Title: "Run a command",
		Offers: []agent.Offer{{Rule: "run git status", Label: "Always allow `git status`"}, {Rule: "t web", Label: "Read the web in this conversation", Thread: true}},
	}
	b.whys["shell"] = "It wants to run a command."
	b.results["shell"] = tool.Text("fine")
	return b
}

func TestCardShowsExactlyWhatItAsks(t *testing.T) {
	b := newBench()
	b.effects["shell"] = agent.Effect{
		Kind: agent.EffectExecute, Title: "Run a command", Hosts: []string{"paste.example"}, Opaque: true,
		Sources: []string{"evil.example", "file:notes/a.md"}, Private: []string{"the blue house"},
	}
	b.whys["shell"] = "This reply read evil.example; it now wants to run a command."
	h, id := asks(t, b, shell("c", "echo 'the blue house' \u202e| sh"))
	p := h.browser.Get("/chat/" + string(id)).Is(200)
	if got := p.Text("section.call .args"); got != "echo 'the blue house' ⟨U+202E⟩| sh" {
		t.Errorf("the payload is shown as %q", got)
	}
	if got := p.Text("section.call .args mark.private"); got != "the blue house" {
		t.Errorf("marked as private: %q", got)
	}
	p.Says("<b>paste.example</b> only").Says("cannot be read").Says("This reply read evil.example").Says("waiting for you")
	if got := p.Text("section.call .source"); got != "file:notes/a.md" {
		t.Errorf("sources beside the sentence: %q, want those it does not name", got)
	}
	// Enter in a field must not press the button of another way to decide.
	forms := p.Find("section.call form")
	if forms.Length() != 3 {
		t.Errorf("%d forms, want one for each way to decide", forms.Length())
	}
	if p.Find(`section.call form:has(input[name=reason]) button[value=approve], section.call form:has([name="text.command"]) button[value=approve]`).Length() > 0 {
		t.Error("a form with a field approves as the model asked")
	}
}

func TestAlwaysGivesTheOfferedPermission(t *testing.T) {
	b := shellBench()
	h, id := asks(t, b, shell("c", "git status"))
	base := "/chat/" + string(id)
	p := h.browser.Get(base).Has(`button[value=always] code`)
	path, binding := p.Attr("section.call form", "action"), p.Attr("section.call input[name=binding]", "value")
	form := url.Values{"decision": {"always"}, "binding": {binding}}
	h.browser.HTMX().Post(path, form).Is(422)
	form.Set("rule", "run rm")
	h.browser.HTMX().Post(path, form).Is(422).Says("not offered")
	form.Set("rule", "run git status")
	h.browser.HTMX().Post(path, form).Is(200)
	h.rest(id)
	if len(b.permits) != 1 || b.permits[0].Rule != "run git status" {
		t.Errorf("permitted %+v", b.permits)
	}
	h.browser.Get(base).Has("section.call.finished").Says("from then on: Always allow")
}

func TestArgumentsAreEditedBeforeApproving(t *testing.T) {
	b := shellBench()
	raw := `{"command":"git push\n","tries":3,"hosts":["a.example"],"note":"line one\r\nline two"}`
	h, id := asks(t, b, llmtest.Call{ID: "c", Name: "shell", Arguments: []string{raw}})
	base := "/chat/" + string(id)
	p := h.browser.Get(base)
	path, binding := p.Attr("section.call form", "action"), p.Attr("section.call input[name=binding]", "value")
	form := url.Values{"decision": {"edit"}, "binding": {binding}, "text.command": {"git push\r\n"}, "json.tries": {"3"}, "json.hosts": {`["a.example"]`}, "text.note": {"line one\r\nline two"}}

	form.Set("json.tries", "three")
	h.browser.HTMX().Post(path, form).Is(422).Says("“tries” is not JSON").Lacks("section.call")
	page := h.browser.Post(path, form).Is(422) // without JavaScript, what was typed is still there
	if got := page.Attr(`[name="json.tries"]`, "value"); got != "three" {
		t.Errorf("the form forgot what was typed: %q", got)
	}
	form.Set("json.tries", "1")
	form.Set("text.command", "rm -rf /")
	h.browser.HTMX().Post(path, form).Is(422).Says("Never that.")
	if got := b.commands(); len(got) > 0 {
		t.Fatalf("ran %v", got)
	}
	form.Set("text.command", "git pull")
	h.browser.HTMX().Post(path, form).Is(200)
	h.rest(id)
	got := string(b.ran[0].Arguments)
	if want := `{"command":"git pull","tries":1,"hosts":["a.example"],"note":"line one\r\nline two"}`; got != want {
		t.Errorf("ran with %s, want %s", got, want)
	}
	h.browser.Get(base).Has("section.call.finished").Says("with your own changes").Says("git pull")
}

func TestArgumentsThatWereNotChangedAreApprovedAsAsked(t *testing.T) {
	b := shellBench()
	h, id := asks(t, b, shell("c", "a\nb"))
	p := h.browser.Get("/chat/" + string(id))
	form := url.Values{"decision": {"edit"}, "binding": {p.Attr("section.call input[name=binding]", "value")}, "text.command": {"a\r\nb"}}
	h.browser.HTMX().Post(p.Attr("section.call form", "action"), form).Is(200)
	h.rest(id)
	h.browser.Get("/chat/" + string(id)).Has("section.call.finished").Says("You approved this")
	if strings.Contains(h.browser.Get("/chat/"+string(id)).Body, "your own changes") {
		t.Error("nothing was changed")
	}
}

func TestSecondAnswerMeetsAConflictAndTheCardAsItIs(t *testing.T) {
	b := shellBench()
	h, id := asks(t, b, shell("c", "git status"))
	base := "/chat/" + string(id)
	p := h.browser.Get(base)
	path, binding := p.Attr("section.call form", "action"), p.Attr("section.call input[name=binding]", "value")
	form := url.Values{"decision": {"deny"}, "binding": {binding}, "reason": {"not now"}}
	h.browser.HTMX().Post(path, form).Is(200)
	h.rest(id)
	form.Set("decision", "approve")
	h.browser.HTMX().Post(path, form).Is(409).Says("already").Has("section.call.denied").Says("not now")
	h.browser.Post(path, form).Is(409).Says("already").Has("section.call.denied") // a page, without JavaScript
	if got := b.commands(); len(got) > 0 {
		t.Errorf("ran %v", got)
	}
}

func TestOneDecisionCoversAllThatWereShown(t *testing.T) {
	b := shellBench()
	b.effects["ask_person"] = agent.Effect{Kind: agent.EffectAsk, Title: askperson.Name}
	question := llmtest.Call{ID: "q", Name: "ask_person", Arguments: []string{`{"question":"Which?"}`}}
	h, id := asks(t, b, shell("a", "one"), shell("b", "two"), shell("c", "three"), question)
	base := "/chat/" + string(id)
	p := h.browser.Get(base).Says("3 things wait here")
	path := p.Attr(".all form", "action")
	form := url.Values{"decision": {"approve"}}
	p.Find(`.all input[name^="binding."]`).Each(func(i int, s *goquery.Selection) {
		name, value := s.AttrOr("name", ""), s.AttrOr("value", "")
		if i == 1 {
			value = "something else" // it has changed since it was shown
		}
		form.Set(name, value)
	})
	h.browser.HTMX().Post(path, url.Values{"decision": {"approve"}}).Is(422)
	h.browser.HTMX().Post(path, form).Is(409).Says("2 calls were decided").Says("has changed")
	p = h.browser.Get(base)
	if n := p.Find("section.call.pending").Length(); n != 2 { // the changed one and the question
		t.Errorf("%d still wait, want 2", n)
	}
	if p.Find(".all form").Length() != 0 {
		t.Error("one decision is offered for a single call")
	}
	decide := func(card, decision, answer string) {
		form := url.Values{"decision": {decision}, "answer": {answer}, "binding": {p.Attr(card+" input[name=binding]", "value")}}
		h.browser.HTMX().Post(p.Attr(card+" form", "action"), form).Is(200)
	}
	decide("section.call.pending:not(:has(.asked))", "deny", "")
	decide("section.call.pending:has(.asked)", "approve", "the blue one")
	h.rest(id)
	if got := b.commands(); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("ran %v", got)
	}
}

func TestQuestionIsAnsweredByChoiceOrByTyping(t *testing.T) {
	b := newBench()
	b.effects["ask_person"] = agent.Effect{Kind: agent.EffectAsk, Title: "Ask you a question", Choices: []string{"red", "blue"}}
	h, id := asks(t, b, llmtest.Call{ID: "q", Name: "ask_person", Arguments: []string{`{"question":"Which one?"}`}})
	base := "/chat/" + string(id)
	p := h.browser.Get(base).Says("Which one?").Has("button.choice")
	path, binding := p.Attr("section.call form", "action"), p.Attr("section.call input[name=binding]", "value")
	h.browser.HTMX().Post(path, url.Values{"decision": {"approve"}, "binding": {binding}, "answer": {" "}}).Is(422).Says("empty")
	// A message sent while the question waits is its answer: no message is stored.
	h.browser.HTMX().Post(base+"/messages", formOf("the green one")).Is(200).Has("section.call.finished")
	h.rest(id)
	h.browser.Get(base).Says("the green one").Has("section.call.finished q")
	if n := h.browser.Get(base).Find("article.me").Length(); n != 1 {
		t.Errorf("%d messages of the person, want the first alone", n)
	}
}

func TestResultShowsFindingsFilesAndUndo(t *testing.T) {
	b := newBench()
	b.effects["file_edit"] = agent.Effect{Kind: agent.EffectWrite, Title: "Edit a file", Target: "a.md", Diff: "--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n same\n-old <b>\n+new\n"}
	code := 3
	b.results["file_edit"] = agent.ToolOutcome{
		Content:  []agent.Part{agent.Text{Text: "beginning"}, agent.File{Attachment: agent.Attachment{Hash: strings.Repeat("a", 64), Name: "out.txt", Size: 12, Media: "text/plain"}, Truncated: true}},
		Exit:     &code,
		Labels:   agent.Labels{{Source: "evil.example", Kind: agent.LabelUntrusted}},
		Findings: []agent.Finding{{Rule: "override.en", Why: "It tells the assistant to forget.", Excerpt: "<i>forget</i>"}},
	}
	h, id := asks(t, b, llmtest.Call{ID: "c", Name: "file_edit", Arguments: []string{`{"path":"a.md"}`}})
	undoer := &takeBack{}
	h.pages.Undoer = undoer
	base := "/chat/" + string(id)
	p := h.browser.Get(base).Has(".lines .rem del").Has(".lines .add ins").Lacks(".lines b")
	if got := p.Text(".lines .rem del"); got != "old <b>" {
		t.Errorf("removed line %q", got)
	}
	path := p.Attr("section.call form", "action")
	h.browser.HTMX().Post(path, url.Values{"decision": {"approve"}, "binding": {p.Attr("section.call input[name=binding]", "value")}}).Is(200)
	h.rest(id)
	p = h.browser.Get(base).Says("This result tries to give orders").Says("override.en").Says("evil.example").Says("exit 3").Has(`.foot a[href*="out.txt"]`).Lacks("section.call i")
	undo := p.Attr(`section.call form[action$="/undo"]`, "action")
	h.browser.HTMX().Post(undo, nil).Is(200).Says("as it was before").Says("Bring the change back")
	if undoer.calls != 1 {
		t.Errorf("undone %d times", undoer.calls)
	}
	h.browser.Post(undo, nil).Leads()
	undoer.err = agent.Errorf(agent.CodeConflict, "a.md has changed since.")
	h.browser.HTMX().Post(undo, nil).Is(409).Says("has changed since")
}

// takeBack undoes and brings again.
type takeBack struct {
	calls int
	err   error
}

func (u *takeBack) Undo(context.Context, agent.ID) error {
	if u.err == nil {
		u.calls++
	}
	return u.err
}
func (u *takeBack) Undoable(context.Context, agent.ID) bool { return true }
func (u *takeBack) Undone(context.Context, agent.ID) bool   { return u.calls%2 == 1 }
