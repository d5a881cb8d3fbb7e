package e2e

import (
	"strings"
	"testing"
)

// memoryLink is the link below the last answer to what it was given.
const memoryLink = `[...document.querySelectorAll("#messages .act.memories")].at(-1)`

// asksAnew asks in a new conversation and returns what the model was sent: the messages, without the tools.
func asksAnew(b *tab, m *model, question, answer string) string {
	b.t.Helper()
	m.says(answer)
	b.goTo("/chat/new")
	b.send(question)
	b.answered(answer)
	var sent strings.Builder
	for _, said := range m.question().Messages {
		sent.Write(said.Content)
	}
	return sent.String()
}

// What the person tells is remembered with their approval, stands before the model in another conversation with a receipt on the answer, is
// corrected, and is gone from every prompt once it is forgotten.
func TestToldRecalledCorrectedForgotten(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		m.asks("remember", map[string]any{"text": "My dog is called Rexington"})
		b.send("Please remember what my dog is called: it stands on the collar") // in other words than the model's: it asks
		b.until(waitingCards + ".length === 1")
		m.says("Noted.")
		b.click(`#messages section.call.waiting form.quick button[value="approve"]`)
		b.answered("Noted.")

		if got := asksAnew(b, m, "What is my dog called?", "As you told me."); !strings.Contains(got, "My dog is called Rexington") {
			t.Errorf("the fact does not stand before the model: %s", got)
		}
		b.until(memoryLink)
		b.click("#messages .act.memories")
		b.until(`document.querySelector("#sheet-body .given")?.innerText.includes("My dog is called Rexington")`)
		b.click(`#sheet-body .given a[title="Correct"]`)
		b.until(`document.getElementById("fact-text")`)
		b.rewrite("#fact-text", "My dog is called Maximus")
		b.click(`form[action$="/correct"] button.go`)
		b.until(`document.body.innerText.includes("My dog is called Maximus")`)

		got := asksAnew(b, m, "And what is my dog called now?", "As you put it right.")
		if !strings.Contains(got, "My dog is called Maximus") {
			t.Errorf("the corrected fact does not stand before the model: %s", got)
		}

		b.reload()
		b.until(memoryLink)
		b.click("#messages .act.memories")
		b.until(`document.querySelector("#sheet-body .given")?.innerText.includes("Maximus")`)
		b.click(`#sheet-body .given li:has(a[title="Correct"]) a[title="Forget"]`)
		b.until(`document.querySelector("form.traces")`)
		b.click(`form.traces button.halt`)
		b.until(`!document.querySelector("form.traces")`)
		if got := asksAnew(b, m, "Tell me once more what my dog is called", "I do not know."); strings.Contains(got, "Rexington") || strings.Contains(got, "Maximus") {
			t.Errorf("what was forgotten stands before the model: %s", got)
		}
		b.settle()
	})
}

// What the person tells in so many words is kept without a question, with a card that says so; another conversation knows it, and
// forgetting it does ask.
func TestToldIsKeptUnasked(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		m.asks("remember", map[string]any{"text": "My dog is called Rexington"})
		m.says("Noted.")
		b.send("Remember that my dog is called Rexington.")
		b.answered("Noted.")
		if b.holds(waitingCards + ".length > 0") {
			t.Error("what the person told waits for an approval")
		}
		b.until(`document.querySelector("#messages section.call summary")?.innerText.includes("My dog is called Rexington")`)
		told := eval[string](b, `[...document.querySelectorAll("#messages section.call")].map((e) => e.className).join()`)
		if !strings.Contains(told, "finished") {
			t.Errorf("the card of what was kept is %q", told)
		}
		b.goTo("/memory")
		b.said("My dog is called Rexington")
		fact := eval[string](b, `document.querySelector('.mem-text a[href^="/memory/facts/"]').getAttribute("href").split("/").at(-1)`)

		if got := asksAnew(b, m, "What is my dog called?", "As you told me."); !strings.Contains(got, "My dog is called Rexington") {
			t.Errorf("the fact does not stand before the model: %s", got)
		}
		b.until(memoryLink)
		b.click("#messages .act.memories")
		b.until(`document.querySelector("#sheet-body .given")?.innerText.includes("My dog is called Rexington")`)
		b.click("#sheet > [data-close]")

		m.asks("forget", map[string]any{"id": fact})
		b.send("Forget that my dog is called Rexington.")
		b.until(waitingCards + ".length === 1")
		b.until(waitingCards + `[0].textContent.includes("My dog is called Rexington")`) // what would go is shown
		m.says("It is gone.")
		b.click(`#messages section.call.waiting form.quick button[value="approve"]`)
		b.answered("It is gone.")
		if got := asksAnew(b, m, "How is my dog called?", "I do not know."); strings.Contains(got, "Rexington") {
			t.Errorf("what was forgotten stands before the model: %s", got)
		}
	})
}
