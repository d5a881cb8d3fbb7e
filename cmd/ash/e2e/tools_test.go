package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ash/agent/llm/llmtest"
)

// What tests of tools look at, as JavaScript.
const (
	waitingCards = `[...document.querySelectorAll("#messages section.call.waiting")]`
	lastCard     = `[...document.querySelectorAll("#messages section.call")].at(-1)`
)

// asks adds a reply of the model that wants one tool.
func (m *model) asks(tool string, arguments map[string]any) {
	b, err := json.Marshal(arguments)
	if err != nil {
		m.t.Fatal(err)
	}
	m.push(&reply{Reply: llmtest.Reply{Calls: []llmtest.Call{{ID: "call_1", Name: tool, Arguments: []string{string(b)}}}}})
}

// wants posts a wish to which the model answers by writing a file, and waits for the card.
func wants(t *testing.T, s screen) (*server, *tab, *model) {
	t.Helper()
	m := newModel(t)
	srv := serveModel(t, m)
	m.asks("file_write", map[string]any{"path": "plan.md", "content": "sow tomatoes\n"})
	b := visit(t, s, srv.url, "/chat/new")
	b.send("Write me a plan.")
	b.until(waitingCards + ".length === 1")
	return srv, b, m
}

// workspace reads a file of the server's workspace; "" when there is none.
func (s *server) workspace(name string) string {
	b, err := os.ReadFile(filepath.Join(s.home, "workspace", "files", name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(b)
}

func TestApproveShowsTheEffectFirst(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		srv, b, m := wants(t, s)
		if got := eval[string](b, lastCard+".innerText"); !strings.Contains(got, "plan.md") || !strings.Contains(got, "sow tomatoes") {
			t.Errorf("the card shows neither file nor contents:\n%s", got)
		}
		if srv.workspace("plan.md") != "" {
			t.Fatal("the file was written before anybody approved")
		}
		m.says("Written.")
		b.click(`#messages section.call.waiting form.quick button[value="approve"]`)
		b.answered("Written.")
		if got := srv.workspace("plan.md"); got != "sow tomatoes\n" {
			t.Errorf("the file holds %q", got)
		}
		live := eval[string](b, lastCard+".outerHTML")
		b.reload()
		b.until(lastCard)
		if d := differ(eval[string](b, lastCard+".querySelector('summary').innerText"), textOf(b, live, "summary")); d != "" {
			t.Errorf("the card looks different after a reload: %s", d)
		}
		b.settle()
	})
}

// textOf returns the text of an element within markup, as the page would show it.
func textOf(b *tab, markup, selector string) string {
	return eval[string](b, `(() => { const d = document.createElement("div"); d.className = "call-copy"; d.innerHTML = `+quote(markup)+
		`; document.body.append(d); const s = d.querySelector(`+quote(selector)+`).innerText; d.remove(); return s })()`)
}

func TestDenyWithAReason(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		srv, b, m := wants(t, s)
		m.says("As you like.")
		b.click(`#messages section.call.waiting details.aside:has(input[name="reason"]) summary`)
		b.write(`#messages section.call.waiting input[name="reason"]`, "Not tomatoes again")
		b.click(`#messages section.call.waiting form.beside button[value="deny"]`)
		b.answered("As you like.")
		if got := srv.workspace("plan.md"); got != "" {
			t.Errorf("a denied write left %q", got)
		}
		asked := m.questions()
		if last := asked[len(asked)-1]; !strings.Contains(last, "Not tomatoes again") {
			t.Error("the model did not get the reason")
		}
		b.settle()
	})
}

func TestEditArgumentsBeforeApproving(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		srv, b, m := wants(t, s)
		m.says("Done your way.")
		b.click(`#messages section.call.waiting details.aside:has(form.edit-call) summary`)
		b.rewrite(`#messages section.call.waiting form.edit-call [name$="content"]`, "sow beans")
		b.click(`#messages section.call.waiting form.edit-call button[value="edit"]`)
		b.answered("Done your way.")
		if got := strings.TrimSpace(srv.workspace("plan.md")); got != "sow beans" {
			t.Errorf("the file holds %q", got)
		}
		b.settle()
	})
}

func TestAlwaysMakesARule(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	srv, b, m := wants(t, desktop)
	m.says("Written.")
	b.click(`#messages section.call.waiting .offered-rules button[value="always"]`)
	b.answered("Written.")
	m.asks("file_write", map[string]any{"path": "second.md", "content": "no question\n"})
	m.says("Written again.")
	b.send("One more.")
	b.answered("Written again.")
	if got := srv.workspace("second.md"); got != "no question\n" {
		t.Errorf("the second file holds %q", got)
	}
	b.settle()
}

func TestQuestionIsAnsweredByAChoiceAndByTyping(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		srv := serveModel(t, m)
		question := map[string]any{"question": "Which colour?", "choices": []string{"red", "blue"}}
		m.asks("ask_person", question)
		b := visit(t, s, srv.url, "/chat/new")
		b.send("Paint it.")
		b.until(waitingCards + ".length === 1")
		m.says("Blue it is.")
		b.run()
		b.click(`#messages section.call.waiting form:has(input[name="answer"][value="blue"]) button.choice`)
		b.answered("Blue it is.")
		m.asks("ask_person", question)
		b.send("And the door?")
		b.until(waitingCards + ".length === 1")
		m.says("Green then.")
		b.send("rather green")
		b.answered("Green then.")
		asked := m.questions()
		if last := asked[len(asked)-1]; !strings.Contains(last, "rather green") {
			t.Error("the model did not get the typed answer")
		}
		b.settle()
	})
}

// An approval outlives a crash, is seen in the inbox of another browser, answered there, and told to the first.
func TestApprovalOutlivesARestartAndIsAnsweredElsewhere(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	srv, b, m := wants(t, desktop)
	b.expect("ERR_", "Failed to", "fetch", "network") // the server goes away
	srv.kill()
	srv.start()
	m.says("Written after all.")
	other := visit(t, phone, srv.url, "/inbox")
	other.until(`document.querySelectorAll("section.call.waiting").length === 1`)
	other.click(`section.call.waiting form.quick button[value="approve"]`)
	other.until(`document.querySelectorAll("section.call.waiting").length === 0`)
	b.answered("Written after all.")
	if got := srv.workspace("plan.md"); got != "sow tomatoes\n" {
		t.Errorf("the file holds %q", got)
	}
	other.settle()
}
