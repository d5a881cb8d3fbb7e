package prompt

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// long is a conversation far beyond the small window of the tests below.
func long(turns int) *talk {
	k := newTalk()
	for i := range turns {
		k.say(prose(i, 120))
		k.answer(prose(i+1, 700))
	}
	k.say("the question")
	return k
}

func narrow(r *agent.PromptRequest) { r.Model.ContextWindow = 8 << 10 }

func ids(messages []agent.Message) []agent.ID {
	var out []agent.ID
	for _, m := range messages {
		out = append(out, m.ID)
	}
	return out
}

func TestOverflowNamesWhatIsLeftOut(t *testing.T) {
	b := New(Options{Location: time.UTC})
	k := long(60)
	built := k.build(t, b, narrow)
	if len(built.Overflow) == 0 {
		t.Fatal("nothing was left out")
	}
	n := len(built.Overflow)
	if !slices.Equal(ids(built.Overflow), ids(k.path[:n])) {
		t.Errorf("the overflow is not the beginning of the path: %v", ids(built.Overflow))
	}
	if k.path[n].Role != agent.RoleUser {
		t.Error("what is kept begins with an answer")
	}
	if !strings.Contains(wire(built.Prompt), k.path[n].Text()) || strings.Contains(wire(built.Prompt), k.path[0].Text()+"\n\n[sent Mon 2026-03-02 13:05") {
		t.Error("what is sent is not what the overflow leaves")
	}
	if short := long(3); len(short.build(t, b, narrow).Overflow) != 0 {
		t.Error("a short conversation overflows")
	}
}

func TestSummaries(t *testing.T) {
	b := New(Options{Location: time.UTC})
	k := long(60)
	first := k.build(t, b, narrow)
	to := first.Overflow[len(first.Overflow)-1]
	private := agent.Labels{{Source: "note:plan.md", Kind: agent.LabelPrivate, Private: true}}
	summary := agent.Summary{ID: "s1", From: k.path[0].ID, To: to.ID, Text: "They spoke of beans.", Labels: private}

	build := func(change func(*agent.PromptRequest)) agent.BuiltPrompt {
		return k.build(t, b, narrow, func(r *agent.PromptRequest) {
			r.Summaries = []agent.Summary{summary}
			if change != nil {
				change(r)
			}
		})
	}
	t.Run("stands at the beginning and closes the overflow", func(t *testing.T) {
		built := build(nil)
		opening := built.Prompt.Messages[0].Parts[0].(agent.Text).Text
		if built.Summary == nil || len(built.Overflow) != 0 || !strings.Contains(opening, `from="note:plan.md"`) || !strings.Contains(opening, "They spoke of beans.") {
			t.Errorf("summary %v, overflow %d, opening %q", built.Summary, len(built.Overflow), opening)
		}
		if !slices.Contains(built.Labels, private[0]) {
			t.Errorf("labels of the summary are lost: %v", built.Labels)
		}
	})
	t.Run("not when taken back", func(t *testing.T) {
		if built := build(func(r *agent.PromptRequest) { r.Summaries[0].Disabled = true }); built.Summary != nil || len(built.Overflow) == 0 {
			t.Error("a disabled summary is used")
		}
	})
	t.Run("not on another branch", func(t *testing.T) {
		if built := build(func(r *agent.PromptRequest) { r.Summaries[0].To = "elsewhere" }); built.Summary != nil {
			t.Error("a summary of another branch is used")
		}
	})
	t.Run("not where everything fits", func(t *testing.T) {
		if built := build(func(r *agent.PromptRequest) { r.Model.ContextWindow = 1 << 20 }); built.Summary != nil {
			t.Error("a large window is given the summary instead of the messages")
		}
	})
	t.Run("the one that covers most", func(t *testing.T) {
		later := summary
		later.ID, later.To = "s2", k.path[len(k.path)-6].ID
		if built := build(func(r *agent.PromptRequest) { r.Summaries = []agent.Summary{summary, later} }); built.Summary == nil || built.Summary.ID != "s2" {
			t.Errorf("used %v", built.Summary)
		}
	})
	t.Run("covering the question leaves it standing", func(t *testing.T) {
		built := build(func(r *agent.PromptRequest) { r.Summaries[0].To = k.path[len(k.path)-1].ID })
		if !strings.Contains(wire(built.Prompt), "the question") {
			t.Error("the question is gone")
		}
	})
	t.Run("beyond what was read", func(t *testing.T) {
		n := len(first.Overflow)
		built := build(func(r *agent.PromptRequest) { r.Path = r.Path[n:] })
		if built.Summary == nil {
			t.Error("a summary that ends just before the path is not used")
		}
	})
}

func TestSummariesAreSeldomMade(t *testing.T) {
	b := New(Options{Location: time.UTC})
	made, turns := 0, 0
	k := newTalk()
	var have []agent.Summary
	for i := range 200 {
		k.say(prose(i, 120))
		built := k.build(t, b, narrow, func(r *agent.PromptRequest) { r.Summaries = have })
		if n := len(built.Overflow); n > 0 {
			made++
			have = append([]agent.Summary{{ID: k.id("s"), From: k.path[0].ID, To: built.Overflow[n-1].ID, Text: prose(i, 2000)}}, have...)
			again := k.build(t, b, narrow, func(r *agent.PromptRequest) { r.Summaries = have })
			if len(again.Overflow) > 0 {
				t.Fatalf("turn %d: what was just summarised overflows again", i)
			}
		}
		turns++
		k.answer(prose(i, 700))
	}
	t.Logf("%d summaries in %d turns", made, turns)
	if made == 0 || made > turns/8 {
		t.Errorf("%d summaries in %d turns", made, turns)
	}
}

func TestLongTurnDropsItsOldestRounds(t *testing.T) {
	b := New(Options{Location: time.UTC})
	k := newTalk()
	k.say("read them all")
	for i := range 60 {
		k.use("read", agent.CallFinished, agent.Text{Text: prose(i, 900)})
	}
	built := k.build(t, b, narrow)
	text := wire(built.Prompt)
	last := k.path[len(k.path)-1].Calls[0].ProviderID
	if !strings.Contains(text, "read them all") || !strings.Contains(text, noteLeftOut) || !strings.Contains(text, last) {
		t.Errorf("the question, the note or the newest round is missing:\n%s", agent.Clip(text, 3000))
	}
	if slices.Contains(ids(built.Overflow), k.path[0].ID) || len(built.Overflow) == 0 {
		t.Errorf("overflow %v", ids(built.Overflow))
	}
}

func TestTooLargeForTheWindowIsCutShort(t *testing.T) {
	b := New(Options{Location: time.UTC})
	label := agent.Labels{{Source: "file:big.txt", Kind: agent.LabelUntrusted}}
	file := agent.File{Attachment: agent.Attachment{Name: "big.txt", Media: "text/plain"}, Extract: prose(1, 200<<10), Labels: label}
	for _, test := range []struct {
		name string
		talk func(*talk)
	}{
		{"file", func(k *talk) { k.say("sum this up", file) }},
		{"result", func(k *talk) {
			k.say("fetch it")
			k.use("fetch", agent.CallFinished, agent.Text{Text: file.Extract, Labels: label})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newTalk()
			test.talk(k)
			built := k.build(t, b, narrow)
			if room := 8<<10 - reserve(agent.ModelInfo{ContextWindow: 8 << 10}, Settings{}); built.Tokens > room {
				t.Errorf("%d tokens for %d", built.Tokens, room)
			}
			if text := wire(built.Prompt); !strings.Contains(text, "cut here to fit") || built.Tokens < 2000 {
				t.Errorf("not cut, or by too much: %d tokens", built.Tokens)
			}
		})
	}
}

func TestReserve(t *testing.T) {
	for _, test := range []struct {
		name     string
		model    agent.ModelInfo
		settings Settings
		want     int
	}{
		{"unknown", agent.ModelInfo{}, Settings{}, 4096 + 1638},
		{"known", agent.ModelInfo{ContextWindow: 200_000, MaxOutput: 8192}, Settings{}, 8192 + 10_000},
		{"never more than a quarter", agent.ModelInfo{ContextWindow: 100_000, MaxOutput: 100_000}, Settings{}, 25_000 + 5_000},
		{"setting", agent.ModelInfo{ContextWindow: 100_000, MaxOutput: 64_000}, Settings{MaxTokens: 1000}, 1000 + 5_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := reserve(test.model, test.settings); got != test.want {
				t.Errorf("reserve = %d, want %d", got, test.want)
			}
		})
	}
}
