package learn_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ash/agent"
	"ash/agent/memory/learn"
)

// live starts a learner and returns it; it is stopped with the test.
func live(t *testing.T, h *house, change func(*learn.Options)) (*learn.Learner, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := h.learner(change)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	return l, func() {
		cancel()
		<-done
	}
}

func (h *house) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.runs)
}

func TestWaitsUntilItRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		l, stop := live(t, h, nil)
		defer stop()
		thread := h.say("", "Remember that I like tea.")
		l.Rested(thread)
		time.Sleep(time.Minute)
		l.Stirred(thread)
		h.say(thread, "And remember that I like milk.")
		l.Rested(thread)
		time.Sleep(119 * time.Second)
		synctest.Wait()
		if h.count() != 0 {
			t.Error("it did not wait")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if h.count() != 1 || h.texts() != "I like tea|I like milk" {
			t.Errorf("%d runs: %q", h.count(), h.texts())
		}
	})
}

func TestYields(t *testing.T) {
	for name, tt := range map[string]struct{ local, same, ends bool }{
		"to the same conversation":          {false, true, true},
		"to another":                        {false, false, true},
		"to another when the model is here": {true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse()
				h.local = tt.local
				var calls, cut atomic.Int32
				h.answer = func(ctx context.Context, _ agent.Prompt) (string, error) {
					calls.Add(1)
					select {
					case <-ctx.Done():
						cut.Add(1)
						return "", ctx.Err()
					case <-time.After(30 * time.Second):
						return `{}`, nil
					}
				}
				l, stop := live(t, h, nil)
				defer stop()
				thread, other := h.say("", "Remember that I like tea."), agent.NewID()
				l.Rested(thread)
				time.Sleep(125 * time.Second)
				synctest.Wait()
				if calls.Load() != 1 {
					t.Fatalf("%d calls", calls.Load())
				}
				if tt.same {
					other = thread
				}
				l.Stirred(other)
				synctest.Wait()
				if (cut.Load() == 1) != tt.ends {
					t.Errorf("cut short: %d", cut.Load())
				}
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				if h.count() != 1 || h.texts() != "I like tea" {
					t.Errorf("it was not made up for: %d runs", h.count())
				}
			})
		})
	}
}

func TestBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		var at []time.Duration
		begun := time.Now()
		h.answer = func(context.Context, agent.Prompt) (string, error) {
			at = append(at, time.Since(begun))
			return "", agent.Errorf(agent.CodeUnavailable, "The model does not answer.")
		}
		l, stop := live(t, h, nil)
		defer stop()
		l.Rested(h.say("", "Remember that I like tea."))
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		// After six tries what the phrases find is kept, and the run says why there is no more.
		if len(at) != 6 || at[5]-at[4] != 16*time.Minute || h.texts() != "I like tea" || h.runs[0].Failure == nil {
			t.Errorf("tries at %v, %q", at, h.texts())
		}
	})
}

// TestLockedVault keeps the key away for two days, which is no failure: nothing is given up, and the model is asked once the vault is unlocked.
func TestLockedVault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		begun, tries := time.Now(), 0
		h.answer = func(context.Context, agent.Prompt) (string, error) {
			tries++
			if time.Since(begun) < 48*time.Hour {
				return "", agent.Errorf(agent.CodeLocked, "The vault is locked.")
			}
			return `{}`, nil
		}
		l, stop := live(t, h, nil)
		defer stop()
		l.Rested(h.say("", "Remember that I like tea."))
		time.Sleep(47 * time.Hour)
		synctest.Wait()
		if tries < 7 || tries > 48*60/8+1 || h.count() != 0 {
			t.Errorf("%d tries, %d runs while it was locked", tries, h.count())
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if h.count() != 1 || h.runs[0].Failure != nil || h.texts() != "I like tea" {
			t.Errorf("%d runs, %q", h.count(), h.texts())
		}
	})
}

// TestLongTurns rests in the middle of a turn that takes an hour: that costs no try.
func TestLongTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		h.answers(`{}`)
		l, stop := live(t, h, nil)
		defer stop()
		thread := h.say("", "Remember that I like tea.")
		h.mu.Lock()
		h.turns[thread] = agent.TurnRunning
		h.mu.Unlock()
		l.Rested(thread)
		time.Sleep(time.Hour)
		h.mu.Lock()
		h.turns[thread] = agent.TurnDone
		h.mu.Unlock()
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		if h.count() != 1 || h.runs[0].Failure != nil || len(h.prompts) != 1 {
			t.Errorf("%d runs, %d calls", h.count(), len(h.prompts))
		}
	})
}

func TestMalformedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		h.answers("I would rather not.")
		l, stop := live(t, h, nil)
		defer stop()
		l.Rested(h.say("", "Remember that I like tea."))
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if len(h.prompts) != 2 || h.texts() != "I like tea" || h.runs[0].Failure == nil {
			t.Errorf("%d calls, %q", len(h.prompts), h.texts())
		}
	})
}

func TestOffWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		var busy atomic.Bool
		busy.Store(true)
		l, stop := live(t, h, func(o *learn.Options) { o.Busy = busy.Load })
		defer stop()
		l.Rested(h.say("", "Remember that I like tea."))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if h.count() != 0 {
			t.Error("it learned while the model was busy")
		}
		busy.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if h.count() != 1 {
			t.Error("it never learned")
		}
	})
}

func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		var now, most atomic.Int32
		h.answer = func(context.Context, agent.Prompt) (string, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return `{}`, nil
		}
		l, stop := live(t, h, nil)
		defer stop()
		for range 5 {
			l.Rested(h.say("", "I like tea"))
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if most.Load() != 1 || h.count() != 5 {
			t.Errorf("%d at once, %d runs", most.Load(), h.count())
		}
	})
}

// TestSurvivesARestart ends the program in the middle of a call and begins anew with what is stored.
func TestSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		h.answer = func(ctx context.Context, _ agent.Prompt) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		l, stop := live(t, h, nil)
		thread := h.say("", "Remember that I like tea.")
		l.Rested(thread)
		time.Sleep(3 * time.Minute)
		stop()
		if h.count() != 0 {
			t.Fatal("a run that was cut short left something")
		}
		h.answers(`{}`)
		for range 2 { // the second life finds nothing left to do
			_, stop = live(t, h, nil)
			time.Sleep(3 * time.Minute)
			stop()
			if h.count() != 1 || h.texts() != "I like tea" || len(h.prompts) != 2 {
				t.Errorf("%d runs, %d calls, %q", h.count(), len(h.prompts), h.texts())
			}
		}
	})
}

func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		h.answer = func(context.Context, agent.Prompt) (string, error) { panic("broken") }
		l, stop := live(t, h, nil)
		defer stop()
		thread := h.say("", "Remember that I like tea.")
		l.Rested(thread)
		time.Sleep(150 * time.Second)
		h.mu.Lock()
		h.answer = func(context.Context, agent.Prompt) (string, error) { return `{}`, nil }
		h.mu.Unlock()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if h.count() != 1 {
			t.Error("it did not recover")
		}
	})
}
