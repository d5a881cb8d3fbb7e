package e2e

import "testing"

// variant is what stands between the arrows of the last message of a kind.
func variant(articles string) string {
	return articles + `.at(-1)?.querySelector(".variants span")?.innerText`
}

func TestEditMakesABranch(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says("Red wine, then.")
		m.says("White wine, then.")
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send("Wine for beef")
		b.until(newThread)
		b.answered("Red wine, then.")
		b.until(online)
		b.click(`#messages article[aria-label="You"] [aria-label="Edit and branch"]`)
		b.rewrite("#edit-text", "Wine for fish")
		b.click(`.edit button.go`)
		b.answered("White wine, then.")
		b.until(variant(mine) + ` === "2/2"`)
		b.once("Wine for fish")
		if b.holds(`document.getElementById("messages").innerText.includes("beef")`) {
			t.Error("the other branch shows beside this one")
		}

		b.click(`#messages article[aria-label="You"] button[aria-label="Variant before"]`)
		b.answered("Red wine, then.")
		b.until(variant(mine) + ` === "1/2"`)
		b.once("Wine for beef")
		b.reload()
		b.answered("Red wine, then.")
		b.until(variant(mine) + ` === "1/2"`)
		b.until(online)
		b.click(`#messages article[aria-label="You"] button[aria-label="Variant after"]`)
		b.answered("White wine, then.")

		// The next message follows the branch that is shown.
		m.says("Cheers.")
		b.send("And a toast")
		b.answered("Cheers.")
		asked := m.question()
		var said []string
		for _, x := range asked.Messages {
			if x.Role != "system" && x.Role != "developer" {
				said = append(said, string(x.Content))
			}
		}
		if all := plain(said...); !inOrder(all, []string{"Wine for fish", "White wine, then.", "And a toast"}) || inOrder(all, []string{"beef"}) {
			t.Errorf("the model was told %q", said)
		}
	})
}

func TestRegenerate(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.says("Heads.")
		second := words("w", 20)
		held := m.pauses(10, second...)
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send("Flip a coin")
		b.until(newThread)
		b.answered("Heads.")
		b.until(online)
		b.click(`#messages article[aria-label="Ash"] [aria-label="Answer again"]`)
		held.wait(t)
		b.shows("w009")
		b.until(`!document.getElementById("messages").innerText.includes("Heads.")`)
		held.release()
		b.answered(plain(second...))
		b.until(variant(answers) + ` === "2/2"`)
		b.click(`#messages article[aria-label="Ash"] button[aria-label="Variant before"]`)
		b.answered("Heads.")
		b.until(variant(answers) + ` === "1/2"`)
		b.once("Flip a coin")
	})
}

func TestModelFailsAndIsAskedAgain(t *testing.T) {
	onScreens(t, func(t *testing.T, s screen) {
		m := newModel(t)
		m.push(&reply{Reply: unauthorized()})
		m.says("Now it works.")
		b := visit(t, s, serveModel(t, m).url, "/chat/new")
		b.send("Are you there?")
		b.until(newThread)
		b.until(answers + `.at(-1)?.querySelector(".ending.bad")?.innerText.length > 10`)
		if said := eval[string](b, `document.getElementById("messages").innerText`); containsAny(said, []string{"sk-proj", "sk-of-no-use"}) {
			t.Errorf("the page shows a key: %s", said)
		}
		b.until(`document.querySelector("#messages form.resume button")?.innerText.trim() === "Try again"`)
		b.click(`#messages form.resume button`)
		b.answered("Now it works.")
		b.once("Are you there?")
	})
}
