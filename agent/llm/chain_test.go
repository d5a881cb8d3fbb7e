package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ash/agent"
)

// client is a llm.Client made of functions.
type client struct {
	stream func(ctx context.Context, info agent.ModelInfo, p agent.Prompt, yield func(agent.Delta, error) bool)
	models func(ctx context.Context) ([]agent.ModelInfo, error)
}

func (c client) Stream(ctx context.Context, info agent.ModelInfo, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) { c.stream(ctx, info, p, yield) }
}

func (c client) Models(ctx context.Context) ([]agent.ModelInfo, error) { return c.models(ctx) }

// step is what one call of a scripted provider does.
type step func(ctx context.Context, yield func(agent.Delta, error) bool)

func fails(f *Fault) step {
	return func(_ context.Context, yield func(agent.Delta, error) bool) { yield(agent.Delta{}, f) }
}

func says(texts ...string) step {
	return func(_ context.Context, yield func(agent.Delta, error) bool) {
		for _, t := range texts {
			if !yield(agent.Delta{Kind: agent.DeltaText, Text: t}, nil) {
				return
			}
		}
		if yield(agent.Delta{Kind: agent.DeltaStop, Stop: agent.StopEnd}, nil) {
			yield(agent.Delta{Kind: agent.DeltaUsage, Usage: &agent.Usage{Input: 1_000_000, Output: 100_000}}, nil)
		}
	}
}

// silent says texts and then nothing until it is cancelled.
func silent(texts ...string) step {
	return func(ctx context.Context, yield func(agent.Delta, error) bool) {
		for _, t := range texts {
			if !yield(agent.Delta{Kind: agent.DeltaText, Text: t}, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(agent.Delta{}, TransportFault(ctx.Err()))
	}
}

// providers makes Providers whose providers "a", "b", … follow scripts; each call takes the next step.
func providers(t *testing.T, scripts ...[]step) *Providers {
	t.Helper()
	var settings []Settings
	var order []agent.ModelRef
	dialects := map[string]Dialect{}
	for i, script := range scripts {
		name := string(rune('a' + i))
		settings = append(settings, Settings{Name: name, Kind: name, BaseURL: "https://" + name + ".example", Amend: func(_ string, m agent.ModelInfo) agent.ModelInfo {
			m.Price = agent.Price{Input: 3_000_000, Output: 15_000_000}
			return m
		}})
		order = append(order, agent.ModelRef{Provider: name, Name: "m"})
		dialects[name] = func(Connection) (Client, error) {
			return client{stream: func(ctx context.Context, _ agent.ModelInfo, _ agent.Prompt, yield func(agent.Delta, error) bool) {
				next := script[0]
				script = script[1:]
				next(ctx, yield)
			}}, nil
		}
	}
	p, err := New(Options{Providers: settings, Order: order, Dialects: dialects, Keys: NewKeys(noEnv), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func noEnv(string) (string, bool) { return "", false }

// trace writes down what a chain yields, one word or two per delta.
func trace(ctx context.Context, t *testing.T, p *Providers, ref string) (string, agent.Usage, error) {
	t.Helper()
	m, _, err := p.Pick(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var usage agent.Usage
	for d, err := range m.Stream(ctx, agent.Prompt{}) {
		if err != nil {
			return strings.Join(out, " "), usage, err
		}
		switch d.Kind {
		case agent.DeltaText:
			out = append(out, d.Text)
		case agent.DeltaSource:
			out = append(out, "from:"+d.Model.Ref.String())
		case agent.DeltaUsage:
			usage = *d.Usage
		case agent.DeltaStop:
			out = append(out, "stop:"+string(d.Stop))
		case agent.DeltaAttempt:
			word := fmt.Sprintf("try%d:%s", d.Attempt.Number, d.Attempt.Model.Provider)
			if d.Attempt.Failed != nil {
				word = fmt.Sprintf("failed%d:%s", d.Attempt.Number, d.Attempt.Failed.Code)
			}
			if d.Attempt.Wait > 0 {
				word += ":wait"
			}
			if d.Attempt.Next != nil {
				word += ":next=" + d.Attempt.Next.Provider
			}
			out = append(out, word)
		}
	}
	return strings.Join(out, " "), usage, nil
}

func TestChain(t *testing.T) {
	overload, auth, tooLong := NewFault(FaultOverload, "", nil), NewFault(FaultAuth, "", nil), NewFault(FaultContext, "", nil)
	limited := &Fault{Kind: FaultRateLimit, RetryAfter: 4 * time.Second}
	patient := &Fault{Kind: FaultRateLimit, RetryAfter: time.Hour}
	halfMinute := &Fault{Kind: FaultRateLimit, RetryAfter: 30 * time.Second}
	cut := NewFault(FaultCut, "", io.ErrUnexpectedEOF)
	for name, tc := range map[string]struct {
		a, b   []step
		want   string
		kind   FaultKind // of the error at the end, "" for none
		public string    // part of its public text
		atMost time.Duration
		least  time.Duration
	}{
		"answers": {a: []step{says("hi")}, want: "try1:a from:a/m hi stop:end"},
		"retries an overload": {a: []step{fails(overload), fails(overload), says("hi")},
			want: "try1:a failed1:unavailable:wait try2:a failed2:unavailable:wait try3:a from:a/m hi stop:end", atMost: 1500 * time.Millisecond, least: 700 * time.Millisecond},
		"waits as long as asked": {a: []step{fails(limited), says("hi")},
			want: "try1:a failed1:unavailable:wait try2:a from:a/m hi stop:end", least: 4 * time.Second, atMost: 4 * time.Second},
		"does not wait an hour": {a: []step{fails(patient)}, want: "try1:a failed1:unavailable", kind: FaultRateLimit, public: "1h0m0s", atMost: 0},
		"does not wait an hour when another could answer": {a: []step{fails(patient)}, b: []step{says("hi")},
			want: "try1:a failed1:unavailable:next=b try2:b from:b/m hi stop:end"},
		"nor half a minute": {a: []step{fails(halfMinute)}, b: []step{says("hi")},
			want: "try1:a failed1:unavailable:next=b try2:b from:b/m hi stop:end"},
		"but waits half a minute when no other could": {a: []step{fails(halfMinute), says("hi")},
			want: "try1:a failed1:unavailable:wait try2:a from:a/m hi stop:end", least: 30 * time.Second, atMost: 30 * time.Second},
		"does not try a refused key again": {a: []step{fails(auth)}, b: []step{says("hi")},
			want: "try1:a failed1:denied:next=b try2:b from:b/m hi stop:end"},
		"does not try too long a prompt again": {a: []step{fails(tooLong)}, want: "try1:a failed1:exhausted", kind: FaultContext, public: "Start a new chat"},
		"says what the first model's failure was": {a: []step{fails(auth)}, b: []step{fails(tooLong)},
			want: "try1:a failed1:denied:next=b try2:b failed2:exhausted", kind: FaultAuth, public: "The other model failed as well."},
		"gives up after three tries": {a: []step{fails(overload), fails(overload), fails(overload)},
			want: "try1:a failed1:unavailable:wait try2:a failed2:unavailable:wait try3:a failed3:unavailable", kind: FaultOverload, atMost: 1500 * time.Millisecond},
		"keeps what came before a cut": {a: []step{func(ctx context.Context, yield func(agent.Delta, error) bool) {
			if yield(agent.Delta{Kind: agent.DeltaText, Text: "half"}, nil) {
				yield(agent.Delta{}, cut)
			}
		}}, b: []step{says("never")}, want: "try1:a from:a/m half failed1:unavailable", kind: FaultCut, public: "Continue"},
		"first token too late": {a: []step{silent()}, b: []step{says("hi")},
			want: "try1:a failed1:unavailable:next=b try2:b from:b/m hi stop:end", least: 2 * time.Minute, atMost: 150 * time.Second},
		"stream stands still": {a: []step{silent("half")}, b: []step{says("never")},
			want: "try1:a from:a/m half failed1:unavailable", kind: FaultStall, least: time.Minute, atMost: 75 * time.Second},
		"a server that keeps quiet after the end": {a: []step{func(ctx context.Context, yield func(agent.Delta, error) bool) {
			_ = yield(agent.Delta{Kind: agent.DeltaText, Text: "hi"}, nil) && yield(agent.Delta{Kind: agent.DeltaStop, Stop: agent.StopEnd}, nil)
			<-ctx.Done()
			yield(agent.Delta{}, TransportFault(ctx.Err()))
		}}, want: "try1:a from:a/m hi stop:end", least: 5 * time.Second, atMost: 7 * time.Second},
		"an error that is no fault": {a: []step{func(_ context.Context, yield func(agent.Delta, error) bool) { yield(agent.Delta{}, errors.New("odd")) }}, b: []step{says("hi")},
			want: "try1:a failed1:unavailable:wait try2:a failed2:unavailable:wait try3:a failed3:unavailable", kind: FaultCut, atMost: 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				scripts := [][]step{tc.a}
				if tc.b != nil {
					scripts = append(scripts, tc.b)
				}
				if name == "an error that is no fault" {
					odd := tc.a[0]
					scripts = [][]step{{odd, odd, odd}}
				}
				start := time.Now()
				got, usage, err := trace(t.Context(), t, providers(t, scripts...), "")
				took := time.Since(start)
				if got != tc.want {
					t.Errorf("got  %s\nwant %s", got, tc.want)
				}
				checkEnd(t, err, tc.kind, tc.public)
				if took < tc.least || took > tc.atMost {
					t.Errorf("took %v, want %v to %v", took, tc.least, tc.atMost)
				}
				if strings.HasSuffix(got, "stop:end") && !strings.Contains(name, "quiet") && usage.Cost != 4_500_000 {
					t.Errorf("cost %d, want 4500000", usage.Cost)
				}
			})
		})
	}
}

func checkEnd(t *testing.T, err error, kind FaultKind, public string) {
	t.Helper()
	if kind == "" {
		if err != nil {
			t.Errorf("unexpected %v", err)
		}
		return
	}
	var e *agent.Error
	f := FaultOf(err)
	if !errors.As(err, &e) || f == nil || f.Kind != kind || !strings.Contains(e.Public, public) || e.Code != f.Code() {
		t.Errorf("got %v, want %s saying %q", err, kind, public)
	}
}

// TestSlowCallerIsNoStall: time the caller takes over a delta is not the provider's.
func TestSlowCallerIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		careful := func(ctx context.Context, yield func(agent.Delta, error) bool) {
			for _, s := range []string{"a", "b"} {
				if ctx.Err() != nil {
					yield(agent.Delta{}, TransportFault(ctx.Err()))
					return
				}
				yield(agent.Delta{Kind: agent.DeltaText, Text: s}, nil)
			}
		}
		m, _, err := providers(t, []step{careful}).Pick(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for d, err := range m.Stream(t.Context(), agent.Prompt{}) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Kind == agent.DeltaText {
				time.Sleep(10 * time.Minute)
				text += d.Text
			}
		}
		if text != "ab" {
			t.Errorf("got %q", text)
		}
	})
}

func TestChainTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, yield func(agent.Delta, error) bool) {
			time.Sleep(3 * time.Second)
			if yield(agent.Delta{Kind: agent.DeltaThinking, Text: "x"}, nil) {
				time.Sleep(4 * time.Second)
				yield(agent.Delta{Kind: agent.DeltaStop, Stop: agent.StopEnd}, nil)
			}
		}
		_, usage, err := trace(t.Context(), t, providers(t, []step{slow}), "")
		if err != nil || usage.FirstToken != 3*time.Second || usage.Duration != 7*time.Second {
			t.Errorf("got %+v, %v", usage, err)
		}
	})
}

func TestCancel(t *testing.T) {
	overload := NewFault(FaultOverload, "", nil)
	for name, script := range map[string][]step{
		"before the first token": {silent()},
		"in the answer":          {silent("half")},
		"while waiting":          {fails(overload), fails(&Fault{Kind: FaultRateLimit, RetryAfter: 50 * time.Second})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				why := errors.New("the person pressed Stop")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(10*time.Second, func() { cancel(why) })
				start := time.Now()
				_, _, err := trace(ctx, t, providers(t, script), "")
				if f := FaultOf(err); f == nil || f.Kind != FaultCancelled || !errors.Is(err, why) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took != 10*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestBreakingOffAtEveryDelta(t *testing.T) {
	for stop := 1; stop < 9; stop++ {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			last := func(ctx context.Context, yield func(agent.Delta, error) bool) {
				says("a", "b")(ctx, yield)
				ended = true
			}
			m, _, err := providers(t, []step{fails(NewFault(FaultOverload, "", nil)), last}).Pick(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for range m.Stream(t.Context(), agent.Prompt{}) {
				if n++; n == stop {
					break
				}
			}
			if n != stop || stop > 3 && !ended {
				t.Errorf("stopped after %d of %d, client ended: %v", n, stop, ended)
			}
		})
	}
}

// TestWhatARefusedKeyNeeds: another key helps where Ash's own was refused, and not where somebody brought theirs.
func TestWhatARefusedKeyNeeds(t *testing.T) {
	auth, overload := NewFault(FaultAuth, "", nil), NewFault(FaultDenied, "", nil)
	for name, tc := range map[string]struct {
		a, b []step
		lent bool
		need agent.Need
		says string
	}{
		"refused":                 {a: []step{fails(auth)}, need: agent.NeedNewKey, says: "A does not accept the key. "},
		"refused by both":         {a: []step{fails(auth)}, b: []step{fails(auth)}, need: agent.NeedNewKey, says: "A does not accept the key. "},
		"refused by the other":    {a: []step{fails(overload)}, b: []step{fails(auth)}, need: ""},
		"somebody's own, refused": {a: []step{fails(auth)}, lent: true, need: "", says: "the key that came with the request"},
	} {
		t.Run(name, func(t *testing.T) {
			scripts := [][]step{tc.a}
			if tc.b != nil {
				scripts = append(scripts, tc.b)
			}
			ctx := t.Context()
			if tc.lent {
				ctx = agent.WithLent(ctx, agent.NewLent("a", "sk-somebodys-own"))
			}
			_, _, err := trace(ctx, t, providers(t, scripts...), "")
			if f := agent.FailureOf(err); f.Code != agent.CodeDenied || f.Need != tc.need || !strings.Contains(f.Public, tc.says) {
				t.Errorf("%+v", f)
			}
		})
	}
}
