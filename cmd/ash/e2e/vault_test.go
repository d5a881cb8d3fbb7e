package e2e

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

const (
	passphrase = "canary: four unrelated words"
	modelKey   = "sk-canary-4f1c0a77d2b94e0a8c55"
	nextKey    = "sk-canary-b7730e5ad19f4c61a2d8"
	braveKey   = "BSA-canary-91aa0c7e3d"
)

// tape is what a tab was sent, but for event streams, whose effect is on its pages.
type tape struct {
	mu      sync.Mutex
	text    strings.Builder
	loading int        // answers that are on their way from the browser
	idle    *sync.Cond // none is
}

// record begins to keep what b is sent.
func (b *tab) record() *tape {
	tp := &tape{}
	tp.idle = sync.NewCond(&tp.mu)
	chromedp.ListenTarget(b.ctx, func(event any) {
		done, ok := event.(*network.EventLoadingFinished)
		if !ok {
			return
		}
		tp.mu.Lock()
		tp.loading++
		tp.mu.Unlock()
		go func() {
			c := chromedp.FromContext(b.ctx)
			body, err := network.GetResponseBody(done.RequestID).Do(cdp.WithExecutor(b.ctx, c.Target))
			tp.mu.Lock()
			defer tp.mu.Unlock()
			tp.loading--
			tp.idle.Broadcast()
			if err == nil { // else the page it belonged to is gone
				tp.text.Write(body)
			}
		}()
	})
	return tp
}

// keep adds the page as it is now, with what was typed into it left out: a field's content is no attribute.
func (tp *tape) keep(b *tab) {
	b.t.Helper()
	page := eval[string](b, `document.documentElement.outerHTML`)
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.text.WriteString(page)
}

// soFar returns what was recorded. The page goes on meanwhile: what it loads later is on a later tape.
func (tp *tape) soFar() string {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	for tp.loading > 0 {
		tp.idle.Wait()
	}
	return tp.text.String()
}

// secretsIn returns which of the values stand in data, plain or in base64.
func secretsIn(data []byte, values ...string) (found []string) {
	for _, v := range values {
		if bytes.Contains(data, []byte(v)) || bytes.Contains(data, []byte(base64.StdEncoding.EncodeToString([]byte(v)))) {
			found = append(found, v[:9]+"…")
		}
	}
	return found
}

// nowhere fails the test if a value stands in the home, in the log or in what the tab was sent.
func (tp *tape) nowhere(t *testing.T, s *server, values ...string) {
	t.Helper()
	sent := tp.soFar()
	if len(sent) < 50_000 {
		t.Errorf("only %d bytes were recorded: the tape does not run", len(sent))
	}
	if found := secretsIn([]byte(sent), values...); found != nil {
		t.Errorf("the browser was sent %v", found)
	}
	if found := secretsIn([]byte(s.log.String()), values...); found != nil {
		t.Errorf("the server logged %v", found)
	}
	files := 0
	err := filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		files++
		if found := secretsIn(data, values...); found != nil {
			t.Errorf("%s holds %v", path, found)
		}
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files of the home were looked at: %v", files, err)
	}
}

// TestVault goes from the first pasted key over a lost process to the answer that the passphrase brings.
func TestVault(t *testing.T) {
	onScreens(t, func(t *testing.T, screen screen) {
		m := newModel(t)
		s := serve(t, nil)
		b := visit(t, screen, s.url, "/setup")
		b.expect("422", "net::ERR_", "Failed to fetch", "network error", "sse")
		tp := b.record()

		// The first pasted key: one passphrase, and the answer comes.
		m.says("OK")
		b.until(`document.querySelector("#offers:not([hx-trigger])")`)
		b.click(`.setup details.add summary`)
		b.until(`(k => { k.value = "openai"; return k.value === "openai"; })(document.getElementById("kind"))`)
		b.write("#base_url", m.url+"/v1")
		b.write("#model", "quill-7b")
		b.write("#key-setup", modelKey)
		b.write("#pass-setup", passphrase)
		b.click(`.setup details.add button.go`)
		b.until(`document.querySelector("#r-other .state.ok")`)
		b.click(`#r-other a.go`)
		b.until(`location.pathname === "/chat/new" && document.querySelector("#vault-rail use[href='#i-lock-open']")`)
		m.says("Good morning.")
		b.send("Hello")
		b.until(newThread)
		b.answered("Good morning.")
		tp.keep(b)
		chat := eval[string](b, `location.pathname`)

		words := b.writesDownPhrase(tp)
		b.locksAndAdds(tp)

		// The power fails: afterwards the vault is locked, and the answer asks for it in its place.
		s.kill()
		s.start()
		b.goTo(chat)
		b.until(online)
		b.send("Are you there?")
		b.until(`document.querySelector(".msg form.unlock input[type=password]")`)
		b.write(".msg form.unlock input[type=password]", "something else entirely")
		b.click(".msg form.unlock button")
		b.until(`document.querySelector(".msg form.unlock [role=alert]")?.innerText.includes("not the passphrase")`)
		tp.keep(b)
		if n := len(m.questions()); n != 2 {
			t.Errorf("the model was asked %d times while its key was locked away, want 2: the test of the setup, and the first message", n)
		}
		m.says("Here again.")
		b.rewrite(".msg form.unlock input[type=password]", passphrase)
		b.click(".msg form.unlock button")
		b.answered("Here again.")
		b.until(`!document.querySelector(".msg form.unlock") && document.querySelector("#vault-rail use[href='#i-lock-open']")`)
		b.once("Are you there?", "Here again.")
		b.reload()
		b.answered("Here again.")
		tp.keep(b)

		// What was added while it was locked is there.
		b.goTo("/vault")
		b.until(`document.querySelector(".secrets")?.innerText.includes("tool/brave")`)
		b.goTo("/vault/log")
		b.until(`document.querySelector(".accesses")?.innerText.includes("provider/openai") && document.querySelector(".accesses .bad")`)
		tp.keep(b)
		b.replacesRefused(tp, m, chat)
		tp.nowhere(t, s, passphrase, modelKey, nextKey, braveKey, strings.Join(words[3:7], " "))
	})
}

// writesDownPhrase makes a recovery phrase and types two of its words back.
func (b *tab) writesDownPhrase(tp *tape) []string {
	b.t.Helper()
	b.goTo("/vault")
	b.click(`.vault-phrase a.go`)
	b.until(`location.pathname === "/vault/phrase"`)
	b.click(`form[action="/vault/phrase"] button.go`)
	b.until(`document.querySelectorAll(".words li").length === 24`)
	words := eval[[]string](b, `[...document.querySelectorAll(".words li")].map((w) => w.innerText.trim())`)
	b.click(`a.go[href="/vault/phrase/check"]`)
	b.until(`document.getElementById("first")`)
	for _, field := range []string{"first", "second"} {
		at := eval[int](b, `Number(document.querySelector("label[for=`+field+`]").innerText.split(" ")[1])`)
		b.write("#"+field, words[at-1])
	}
	b.click(`form[action="/vault/phrase/check"] button.go`)
	b.until(`location.pathname === "/vault/keys" && document.querySelector("main [role=status]")`)
	tp.keep(b)
	return words
}

// locksAndAdds locks the vault and adds a secret all the same.
func (b *tab) locksAndAdds(tp *tape) {
	b.t.Helper()
	b.goTo("/vault")
	b.until(`document.querySelector(".secrets")?.innerText.includes("provider/openai")`)
	tp.keep(b)
	b.click(`form[action="/vault/lock"] button`)
	b.until(`document.querySelector("main form.unlock") && document.querySelector("#vault-rail use[href='#i-lock']")`)
	b.goTo("/vault/new?name=tool/brave")
	b.write("#value", braveKey)
	b.click(`.vault-new button.go`)
	b.until(`location.pathname === "/vault" && document.querySelector("main").innerText.includes("1 secret was added")`)
	tp.keep(b)
}

// replacesRefused gives the provider, which refuses the key from now on, another one in the place of the failed answer.
func (b *tab) replacesRefused(tp *tape, m *model, chat string) {
	b.t.Helper()
	m.takes(nextKey)
	b.goTo(chat)
	b.until(online)
	b.send("Is the door shut?")
	const field = ".msg form.key-here input[name=key]"
	b.until(`document.querySelector(".msg .ending.bad")?.innerText.includes("does not accept the key") && document.querySelector("` + field + `")`)
	b.write(field, "two words")
	b.click(".msg form.key-here button.go")
	b.until(`document.querySelector(".msg form.key-here [role=alert]")?.innerText.includes("does not look like a key")`)
	tp.keep(b)
	if wide := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		b.t.Errorf("the page scrolls sideways by %d px", wide)
	}
	m.says("It is shut.")
	b.rewrite(field, nextKey)
	b.click(".msg form.key-here button.go")
	b.answered("It is shut.")
	b.until(`!document.querySelector(".msg form.key-here")`)
	b.once("Is the door shut?", "It is shut.")
	tp.keep(b)

	// The key that was refused is kept until somebody says that the new one is good.
	b.goTo("/vault/secret?name=provider/openai")
	b.click(`form[action="/vault/confirm"] button.go`)
	b.until(`!document.querySelector("form[action='/vault/confirm']") && document.querySelector("main").innerText.includes("provider/openai")`)
	tp.keep(b)
}
