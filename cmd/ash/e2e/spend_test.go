package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ash/agent/llm/llmtest"
)

// paidConfig is a model that costs $10 per million tokens either way, with a daily cap.
func paidConfig(m *model, daily string) string {
	return fmt.Sprintf(`[models]
order = ["paid/test"]
[providers.paid]
kind = "openai"
base_url = %q
key_env = "PAID_KEY"
[[catalog]]
ref = "paid/test"
local = false
max_output = 2000
input_price = 10
output_price = 10
[memory]
learn = "off"
[spend]
daily = %s
`, m.url+"/v1", daily)
}

// took is an answer whose server says how many tokens it took.
func took(text string, input, output int) *reply {
	r := llmtest.Text(text)
	r.Usage = &llmtest.Usage{Input: input, Output: output}
	return &reply{Reply: r}
}

// A cap is reached: nothing is sent, the answer says so and offers in its place to raise the cap, once and for good; then it comes.
func TestCapReachedAndRaised(t *testing.T) { onScreens(t, capReachedAndRaised) }

func capReachedAndRaised(t *testing.T, on screen) {
	m := newModel(t)
	m.push(took("Bread.", 45_000, 100))
	s := serveConfig(t, paidConfig(m, "0.50"), []string{"PAID_KEY=sk-of-no-use"})
	b := visit(t, on, s.url, "/chat/new")
	b.send("What keeps?")
	b.answered("Bread.")

	b.send("And for longer?")
	const offer = `document.querySelector("#messages > article:last-of-type .raise.panel")`
	b.until(offer + ` !== null && ` + idle)
	b.until(`document.querySelector("#messages").innerText.includes("today’s spending cap") || document.querySelector("#messages").innerText.includes("today's spending cap")`)
	if n := len(m.questions()); n != 1 {
		t.Fatalf("the model was asked %d times although the cap is reached", n)
	}
	if dir := os.Getenv("SPEND_SHOTS"); dir != "" {
		b.picture(filepath.Join(dir, "chat-cap-"+on.name+".png"))
	}

	// Once.
	m.push(took("Rusk.", 99_000, 100))
	b.click(`.raise.panel input[value="once"] ~ .beside button`)
	b.answered("Rusk.")
	if n := len(m.questions()); n != 2 {
		t.Fatalf("the model was asked %d times, want 2", n)
	}

	// For good.
	b.send("And for ever?")
	b.until(offer + ` !== null && ` + idle)
	m.push(took("Hardtack.", 1000, 10))
	b.rewrite(`.raise.panel input[value="good"] ~ .beside input`, "3")
	b.click(`.raise.panel input[value="good"] ~ .beside button`)
	b.answered("Hardtack.")
	raw, err := os.ReadFile(filepath.Join(s.home, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "daily = 3.00") {
		t.Errorf("the cap is not raised for good:\n%s", raw)
	}

	// What was spent is told.
	b.goTo("/settings/spending")
	b.until(`document.querySelector(".caps")?.innerText.includes("$1.4")`)
	b.until(`document.querySelector(".growth") !== null && document.querySelectorAll(".spend-table").length === 3`)
	b.until(`[...document.querySelectorAll(".spend-table tbody th")].some(e => e.innerText === "paid/test")`)
	if dir := os.Getenv("SPEND_SHOTS"); dir != "" {
		b.picture(filepath.Join(dir, "spending-"+on.name+".png"))
	}
	b.goTo("/settings/general?q=daily")
	b.until(`document.querySelector("#set-spend-daily input[name=value]")?.value.startsWith("3")`)
}
