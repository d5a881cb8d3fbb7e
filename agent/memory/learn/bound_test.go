package learn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ash/agent"
	"ash/agent/memory/learn"
)

// size is the most tokens that a call may be counted as: a token has two bytes or more.
func size(p agent.Prompt) int {
	n := len(p.System)
	for _, m := range p.Messages {
		n += len(agent.Message{Parts: m.Parts}.Text())
	}
	return n/2 + p.MaxTokens
}

// TestTokensOfACall holds that no call takes more tokens than the setting allows, whatever was said, and that all of it is looked at.
func TestTokensOfACall(t *testing.T) {
	for name, word := range map[string]string{"words": "word ", "what JSON makes long": "<<<< ", "CJK": "東京都庁舎"} {
		for _, tokens := range []int{4000, 12000} {
			t.Run(fmt.Sprintf("%s in %d", name, tokens), func(t *testing.T) {
				h := newHouse()
				calls := 0
				h.answer = func(_ context.Context, p agent.Prompt) (string, error) {
					if calls++; size(p) > tokens {
						t.Errorf("a call of %d tokens", size(p))
					}
					return `{}`, nil
				}
				for i := range 200 {
					h.fact(fmt.Sprintf("Fact %d: %s", i, strings.Repeat("thing ", 40)), nil)
				}
				var said []string
				for range 30 {
					said = append(said, strings.Repeat(word, 200))
				}
				thread := h.say("", said...)
				run(t, h.learner(func(o *learn.Options) { o.Tokens = func() int { return tokens } }), thread)
				if calls == 0 || h.through(thread) != h.paths[thread][29].ID {
					t.Errorf("%d calls, learned through %s", calls, h.through(thread))
				}
				for _, r := range h.runs {
					if r.Failure != nil {
						t.Errorf("%v", r.Failure)
					}
				}
			})
		}
	}
}

// TestTooFewTokens says in the run why no model was asked.
func TestTooFewTokens(t *testing.T) {
	h := newHouse()
	h.answers(`{}`)
	run(t, h.learner(func(o *learn.Options) { o.Tokens = func() int { return 300 } }), h.say("", "Remember that I like tea."))
	if len(h.prompts) != 0 || h.texts() != "I like tea" || h.runs[0].Failure == nil || !strings.Contains(h.runs[0].Failure.Public, "learn_tokens") {
		t.Errorf("%d calls, %q, %+v", len(h.prompts), h.texts(), h.runs[0].Failure)
	}
}

// spent counts the runs of a house, as a store would.
func (h *house) spent(_ context.Context, since time.Time) (cost agent.MicroDollars, calls int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.runs {
		if !r.Created.Before(since) && r.Model != (agent.ModelRef{}) {
			cost, calls = cost+r.Usage.Cost, calls+1
		}
	}
	return cost, calls, nil
}

// TestBoundedPerDay asks a model no more once a day has cost enough, and goes on the next day. Calls that were cut short count.
func TestBoundedPerDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			change func(*learn.Options)
			calls  int
			why    string
		}{
			"calls": {func(o *learn.Options) { o.Calls = func() int { return 3 } }, 3, "3 times today"},
			"money": {func(o *learn.Options) { o.Daily = func() agent.MicroDollars { return 5000 } }, 1, "learn_daily"},
		} {
			h := newHouse()
			h.answers(`{}`)
			h.cost = 3000
			h.price = agent.Price{Input: 1_000_000, Output: 1_000_000} // a dollar a million: a call may cost 3,000 or so
			l := h.learner(func(o *learn.Options) {
				o.Spent = h.spent
				tt.change(o)
			})
			for i := range 6 {
				run(t, l, h.say("", fmt.Sprintf("Remember that I like tea %d.", i)))
			}
			last := h.runs[5]
			if n := len(h.prompts); n != tt.calls && name == "calls" || n == 0 || n == 6 || last.Failure == nil || !strings.Contains(last.Failure.Public, tt.why) || len(last.Changes) != 1 {
				t.Errorf("%s: %d calls, %+v", name, n, last.Failure)
			}
			before := len(h.prompts)
			l = h.learner(func(o *learn.Options) { // a restart on the same day
				o.Spent = h.spent
				tt.change(o)
			})
			run(t, l, h.say("", "Remember that I like milk."))
			if name == "calls" && len(h.prompts) != before {
				t.Errorf("%s: a restart forgot what the day has cost", name)
			}
			time.Sleep(24 * time.Hour)
			before = len(h.prompts)
			run(t, l, h.say("", "Remember that I like juice."))
			if len(h.prompts) != before+1 {
				t.Errorf("%s: it is off for ever", name)
			}
		}
	})
}

func TestLostCallsCount(t *testing.T) {
	h := newHouse()
	h.answer = func(context.Context, agent.Prompt) (string, error) {
		return "", agent.Errorf(agent.CodeUnavailable, "no")
	}
	l := h.learner(func(o *learn.Options) { o.Bounds.Calls = 2 })
	thread := h.say("", "Remember that I like tea.")
	for range 2 {
		if _, err := l.Learn(t.Context(), thread); err == nil {
			t.Fatal("it did not fail")
		}
	}
	if _, err := l.Learn(t.Context(), thread); err != nil || len(h.prompts) != 2 || h.runs[0].Failure == nil {
		t.Errorf("%v, %d calls", err, len(h.prompts))
	}
}

// TestDeclinedIsNotOfferedAgain drops an offer the person said no to, and still keeps what they say themselves.
func TestDeclinedIsNotOfferedAgain(t *testing.T) {
	h := newHouse()
	h.declined = "tea"
	ask := func(o *learn.Options) { o.Mode = func() learn.Mode { return learn.Ask } }
	run(t, h.learner(ask), h.say("", "Remember that I like tea. Remember that I like milk."))
	if h.waiting() != "keep I like milk" {
		t.Errorf("offered: %q", h.waiting())
	}
	run(t, h.learner(nil), h.say("", "Remember that I like tea."))
	if h.texts() != "I like tea" {
		t.Errorf("kept: %q", h.texts())
	}
}
