package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"testing"

	"ash/agent/llm/llmtest"
)

func unauthorized() llmtest.Reply { return llmtest.Unauthorized() }

// listenAt lets m also be found at an address, if nothing else is there.
func (m *model) listenAt(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	s := &http.Server{Handler: m}
	go func() { _ = s.Serve(l) }() // ends with Close
	m.t.Cleanup(func() { _ = s.Close() })
	return true
}

// TestFirstRun goes from an empty folder to a streamed answer. It is not run beside
// others: the usual port of a model server is there only once.
func TestFirstRun(t *testing.T) {
	needBrowser(t)
	for _, s := range []screen{desktop, phone} {
		t.Run(s.name, func(t *testing.T) {
			m := newModel(t)
			if !m.listenAt("127.0.0.1:1234") {
				t.Skip("port 1234, where LM Studio would be found, is in use")
			}
			m.says("OK")
			b := visit(t, s, serve(t, nil).url, "/")
			b.until(`location.pathname === "/setup" && document.querySelector("h1").innerText.includes("Ash")`)
			b.until(`document.querySelector("#offers .offer h3")?.innerText.includes("LM Studio")`)
			b.until(`(s => { s.value = "quill-70b"; return s.selectedOptions.length; })(document.getElementById("m-lmstudio"))`)
			b.click(`#offers .offer button.go`)
			b.until(`document.querySelector("#r-lmstudio .state.ok")`)
			if n := len(m.questions()); n != 1 {
				t.Errorf("the test made %d calls to the model, want 1", n)
			}
			b.click(`#r-lmstudio a.go`)
			b.until(`location.pathname === "/chat/new"`)
			all := words("w", 40)
			held := m.pauses(20, all...)
			b.send("Good morning")
			held.wait(t)
			b.until(newThread)
			b.shows("w019")
			held.release()
			b.answered(plain(all...))
			var asked struct{ Model string }
			if err := json.Unmarshal([]byte(m.questions()[1]), &asked); err != nil || asked.Model != "quill-70b" {
				t.Errorf("the model asked is %q, want the one that was chosen", asked.Model)
			}

			// Settings know it too, and can test it.
			m.says("OK")
			b.goTo("/settings/models")
			b.until(`document.getElementById("p-lmstudio")?.innerText.includes("quill-70b")`)
			b.click(`#p-lmstudio form[action$="/test"] button`)
			b.until(`document.querySelector("#r-lmstudio .state.ok")`)
			b.goTo("/")
			b.until(`location.pathname === "/chat"`)
		})
	}
}

func TestSetupSaysWhatIsWrong(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.push(&reply{Reply: unauthorized()})
		m.says("OK")
		m.says("Here I am.")
		b := visit(t, s, serve(t, nil).url, "/setup")
		b.until(`document.querySelector("#offers:not([hx-trigger])")`)
		b.click(`.setup details.add summary`)
		b.until(`(k => { k.value = "openai"; return k.value === "openai"; })(document.getElementById("kind"))`)
		b.write("#base_url", m.url+"/v1")
		b.write("#model", "quill-7b")
		b.write("#key-setup", "sk-wrong-0123456789")
		b.click(`.setup details.add button.go`)
		b.until(`document.querySelector("#r-other .state.bad")?.innerText.includes("at least 8")`)
		b.write("#pass-setup", "four unrelated words")
		b.click(`.setup details.add button.go`)
		b.until(`document.querySelector("#r-other .state.bad")?.innerText.includes("key")`)
		if said := eval[string](b, `document.getElementById("r-other").innerText`); containsAny(said, []string{"sk-wrong", "sk-proj"}) {
			t.Errorf("the refusal shows the key: %s", said)
		}
		b.rewrite("#key-setup", "sk-right-0123456789")
		b.click(`.setup details.add button.go`)
		b.until(`document.querySelector("#r-other .state.ok")`)
		b.click(`#r-other a.go`)
		b.until(`location.pathname === "/chat/new"`)
		b.send("Hello")
		b.answered("Here I am.")
	})
}

func TestSetupSkipped(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		b := visit(t, s, serve(t, nil).url, "/")
		b.until(`location.pathname === "/setup" && document.querySelector("#offers:not([hx-trigger])")`)
		b.click(`.skip-setup button`)
		b.until(`location.pathname === "/chat/new" && document.querySelector(".welcome").innerText.includes("No language model is set up yet")`)
		b.send("My library card is in the blue drawer")
		b.until(newThread)
		b.until(lastText + `.length > 40 && ` + idle)
		if said := eval[string](b, lastText); !containsAny(said, []string{"no language model", "No language model"}) {
			t.Errorf("the offline model is not honest: %q", said)
		}
		b.goTo("/")
		b.until(`location.pathname === "/chat"`)
	})
}
