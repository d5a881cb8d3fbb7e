package spend_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/spend"
	"ash/store"
	"ash/store/storetest"
)

const dollar agent.MicroDollars = 1_000_000

// desk is a book over a real database, with a clock.
type desk struct {
	*spend.Book
	t     *testing.T
	store *store.Store
	caps  spend.Settings
	now   time.Time
	mu    sync.Mutex
	told  []agent.SpendEvent
}

func newDesk(t *testing.T, caps spend.PerCap) *desk {
	t.Helper()
	return newDeskIn(t, caps, time.FixedZone("UTC+2", 2*3600))
}

func newDeskIn(t *testing.T, caps spend.PerCap, zone *time.Location) *desk {
	t.Helper()
	s := storetest.Open(t)
	d := &desk{t: t, store: s, now: time.Date(2026, 11, 22, 9, 0, 0, 0, zone)}
	d.caps = spend.Settings{PerCap: caps, UnknownInput: 3 * dollar, UnknownOutput: 15 * dollar}
	d.Book = spend.New(spend.Options{
		Store: s, Zone: zone, Settings: func() spend.Settings { return d.caps }, Now: func() time.Time { return d.now },
		Size:     func(p agent.Prompt) int { return len(p.System) },
		Tokens:   func(text string) int { return len(text) / 4 },
		Unbilled: func(err error) bool { return errors.Is(err, errRefused) },
		Tell: func(e agent.SpendEvent) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.told = append(d.told, e)
		},
	})
	if err := d.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

var errRefused = errors.New("429")

// paid is a model of $1 per million tokens sent and $10 received, which answers at most 10,000.
func paid() agent.ModelInfo {
	return agent.ModelInfo{
		Ref: agent.ModelRef{Provider: "p", Name: "m"}, MaxOutput: 10_000,
		Price: agent.Price{Input: dollar, Output: 10 * dollar, CacheRead: dollar / 10, CacheWrite: dollar},
	}
}

// says is a model that answers and says what it took.
func says(text string, in, out int) spend.Ask {
	return func(context.Context, agent.Prompt) iter.Seq2[agent.Delta, error] {
		return deltas(
			agent.Delta{Kind: agent.DeltaText, Text: text},
			agent.Delta{Kind: agent.DeltaUsage, Usage: &agent.Usage{Input: in, Output: out}},
			agent.Delta{Kind: agent.DeltaStop, Stop: agent.StopEnd},
		)
	}
}

func deltas(list ...agent.Delta) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		for _, d := range list {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// call asks for an answer and returns how it ended.
func (d *desk) call(info agent.ModelInfo, p agent.Prompt, ask spend.Ask) (text string, err error) {
	d.t.Helper()
	for delta, e := range d.Stream(d.t.Context(), info, p, ask) {
		text, err = text+delta.Text, e
	}
	return text, err
}

func chat(tokens int) agent.Prompt {
	return agent.Prompt{System: strings.Repeat("x", tokens), Charge: agent.Charge{Purpose: agent.PurposeChat}}
}

func (d *desk) spent(c spend.Cap) agent.MicroDollars {
	d.t.Helper()
	list, err := d.Allowances(d.t.Context(), "")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, a := range list {
		if a.Cap == c {
			return a.Spent
		}
	}
	d.t.Fatalf("no cap %s", c)
	return 0
}

func refusal(t *testing.T, err error) *spend.Refusal {
	t.Helper()
	var r *spend.Refusal
	if !errors.As(err, &r) || agent.CodeOf(err) != agent.CodeExhausted || agent.NeedOf(err) != agent.NeedMoney {
		t.Fatalf("want a refusal, got %v", err)
	}
	return r
}

func TestSettledAtWhatItCost(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: dollar})
	if _, err := d.call(paid(), chat(1000), says("hi", 1000, 500)); err != nil {
		t.Fatal(err)
	}
	if got, want := d.spent(spend.CapDay), agent.MicroDollars(1000+5000); got != want {
		t.Errorf("spent %d, want %d", got, want)
	}
}

func TestRefusedBeforeAnythingIsSent(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: dollar, Month: 100 * dollar})
	sent := false
	_, err := d.call(paid(), chat(2_000_000), func(context.Context, agent.Prompt) iter.Seq2[agent.Delta, error] {
		sent = true
		return deltas()
	})
	r := refusal(t, err)
	if sent || r.Cap != spend.CapDay || !strings.Contains(err.Error(), "$1.00") || !strings.Contains(err.Error(), "midnight") {
		t.Errorf("sent %v, refused with %v", sent, err)
	}
	if got := d.spent(spend.CapDay); got != 0 {
		t.Errorf("a refused call counts as %d", got)
	}
}

func TestShrunkToWhatIsLeftDownToAFloor(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: 60_000}) // 6,000 tokens of an answer
	var asked int
	ask := func(_ context.Context, p agent.Prompt) iter.Seq2[agent.Delta, error] {
		asked = p.MaxTokens
		return deltas(
			agent.Delta{Kind: agent.DeltaText, Text: "half"},
			agent.Delta{Kind: agent.DeltaStop, Stop: agent.StopMaxTokens},
			agent.Delta{Kind: agent.DeltaUsage, Usage: &agent.Usage{Input: 100, Output: p.MaxTokens - 100}},
		)
	}
	text, err := d.call(paid(), chat(100), ask)
	if text != "half" || asked < 5000 || asked > 6000 {
		t.Errorf("the answer %q had a limit of %d", text, asked)
	}
	refusal(t, err)
	if got := d.spent(spend.CapDay); got > 60_000 {
		t.Errorf("spent %d of 60000", got)
	}
	// What is left does not pay for the shortest answer.
	_, err = d.call(paid(), chat(100), ask)
	refusal(t, err)
	// A short one that is wanted short is paid for.
	short := chat(10)
	short.MaxTokens = 10
	if _, err := d.call(paid(), short, says("ok", 10, 5)); err != nil {
		t.Errorf("a short answer is refused: %v", err)
	}
}

// A server that takes no notice of the limit is broken off.
func TestAnEndlessAnswerIsBrokenOff(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: 60_000})
	piece := agent.Delta{Kind: agent.DeltaText, Text: strings.Repeat("word ", 100)}
	n := 0
	_, err := d.call(paid(), chat(100), func(context.Context, agent.Prompt) iter.Seq2[agent.Delta, error] {
		return func(yield func(agent.Delta, error) bool) {
			for n < 100_000 && yield(piece, nil) {
				n++
			}
		}
	})
	refusal(t, err)
	if n > 200 {
		t.Errorf("it was broken off after %d pieces", n)
	}
}

// 50 calls race for a budget that pays for few of them: what is spent and set aside never passes the cap.
func TestRacingCallsNeverPassTheCap(t *testing.T) {
	const limit = dollar / 4
	d := newDesk(t, spend.PerCap{Day: limit, Month: limit, Background: limit})
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused, passed := 0, 0
	for i := range 50 {
		wg.Go(func() {
			p := chat(1000)
			if i%3 == 0 {
				p.Charge.Purpose = agent.PurposeMemory
			}
			var err error
			for _, e := range d.Stream(t.Context(), paid(), p, func(_ context.Context, p agent.Prompt) iter.Seq2[agent.Delta, error] {
				if got := d.spent(spend.CapDay); got > limit {
					t.Errorf("%d of %d is spent or set aside", got, limit)
				}
				limit := p.MaxTokens
				if limit == 0 {
					limit = paid().MaxOutput
				}
				time.Sleep(5 * time.Millisecond)
				return says("x", 1100, limit)(t.Context(), p) // as much as it may
			}) {
				err = e
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refusal(t, err)
				refused++
			} else {
				passed++
			}
		})
	}
	wg.Wait()
	if got := d.spent(spend.CapDay); got > limit || got < limit/2 {
		t.Errorf("%d of %d spent", got, limit)
	}
	if refused == 0 || passed == 0 {
		t.Errorf("%d passed, %d refused", passed, refused)
	}
}

func TestWhatIsNotSaidIsEstimated(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: dollar})
	text := strings.Repeat("word", 500)
	for delta := range d.Stream(t.Context(), paid(), chat(1000), func(context.Context, agent.Prompt) iter.Seq2[agent.Delta, error] {
		return deltas(agent.Delta{Kind: agent.DeltaText, Text: text}, agent.Delta{Kind: agent.DeltaText, Text: text})
	}) {
		if delta.Text != "" {
			break // the person stopped it
		}
	}
	if got, want := d.spent(spend.CapDay), agent.MicroDollars(1100+5000); got != want {
		t.Errorf("spent %d, want %d", got, want)
	}
	r, err := d.Report(t.Context(), d.Today(), d.Today())
	if err != nil || r.Total.Estimated != r.Total.Usage.Cost || r.Total.Calls != 1 {
		t.Errorf("%+v %v", r.Total, err)
	}
}

func TestRefusedByTheProviderCostsNothing(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: dollar})
	_, err := d.call(paid(), chat(1000), func(context.Context, agent.Prompt) iter.Seq2[agent.Delta, error] {
		return func(yield func(agent.Delta, error) bool) { yield(agent.Delta{}, errRefused) }
	})
	if !errors.Is(err, errRefused) || d.spent(spend.CapDay) != 0 {
		t.Errorf("%v, spent %d", err, d.spent(spend.CapDay))
	}
	// A line that broke may have cost something.
	_, _ = d.call(paid(), chat(1000), func(context.Context, agent.Prompt) iter.Seq2[agent.Delta, error] {
		return func(yield func(agent.Delta, error) bool) { yield(agent.Delta{}, errors.New("reset")) }
	})
	if got := d.spent(spend.CapDay); got != 1100 {
		t.Errorf("spent %d", got)
	}
}

func TestUnknownPricesAreAssumedAndLocalModelsAreFree(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: dollar})
	unknown := paid()
	unknown.Price = agent.Price{}
	if _, err := d.call(unknown, chat(1000), says("x", 1000, 1000)); err != nil {
		t.Fatal(err)
	}
	if got := d.spent(spend.CapDay); got != 3000+15000 {
		t.Errorf("spent %d", got)
	}
	local := unknown
	local.Local = true
	if _, err := d.call(local, chat(50_000_000), says("x", 7000, 1000)); err != nil {
		t.Fatal(err)
	}
	r, err := d.Report(t.Context(), d.Today(), d.Today())
	if err != nil || r.Total.Usage.Input != 8000 || r.Total.Usage.Cost != 18_000 || r.Total.Assumed != 18_000 {
		t.Errorf("%+v %v", r.Total, err)
	}
}

// Whoever brings a key of their own spends their own money: no cap holds them, and nothing is counted but the tokens.
func TestALentKeyCostsNothing(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: 1})
	ask := says("hello", 1000, 1000)
	if _, err := d.call(paid(), chat(10), ask); agent.CodeOf(err) != agent.CodeExhausted {
		t.Fatalf("with the owner's key: %v", err)
	}
	var text string
	ctx := agent.WithLent(t.Context(), agent.NewLent(paid().Ref.Provider, "sk-theirs"))
	for delta, err := range d.Stream(ctx, paid(), chat(10), ask) {
		if err != nil {
			t.Fatal(err)
		}
		text += delta.Text
	}
	if text != "hello" {
		t.Errorf("with a key of their own: %q", text)
	}
	if n := d.spent(spend.CapDay); n != 0 {
		t.Errorf("%d micro-dollars are the owner's", n)
	}
}

func TestCapsOfBackgroundWorkAndOfConversations(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: dollar, Thread: 50_000, Background: 50_000})
	learn := chat(49_000)
	learn.Charge.Purpose, learn.MaxTokens = agent.PurposeMemory, 10
	if _, err := d.call(paid(), learn, says("x", 49_000, 10)); err == nil {
		t.Error("background work beyond its cap")
	}
	learn.System = learn.System[:40_000]
	if _, err := d.call(paid(), learn, says("x", 49_000, 10)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := func() *spend.Refusal { _, err := d.call(paid(), learn, says("x", 1, 1)); return refusal(t, err) }(); r.Cap != spend.CapBackground {
			t.Errorf("refused by %s", r.Cap)
		}
	}
	if _, err := d.call(paid(), chat(1000), says("x", 1000, 10)); err != nil {
		t.Errorf("an answer is refused: %v", err)
	}
	reached := 0
	for _, e := range d.told {
		if e.Reached {
			reached++
		}
	}
	if reached != 1 {
		t.Errorf("told %d times that background work stopped: %+v", reached, d.told)
	}
	// A conversation, and the helper below it, count together.
	thread := agent.NewID()
	p := chat(1000)
	p.Charge.Thread, p.MaxTokens = thread, 1000
	if _, err := d.call(paid(), p, says("x", 30_000, 1000)); err != nil {
		t.Fatal(err)
	}
	_, err := d.call(paid(), p, says("x", 1000, 1000))
	if r := refusal(t, err); r.Cap != spend.CapThread {
		t.Errorf("refused by %s", r.Cap)
	}
	if err := d.Allow(t.Context(), thread, dollar/10); err != nil {
		t.Fatal(err)
	}
	if _, err := d.call(paid(), p, says("x", 1000, 1000)); err != nil {
		t.Errorf("after it was raised: %v", err)
	}
}

func TestRaisedOnceUntilTheDayEnds(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: 22_000, Month: 22_000})
	p := chat(10_000)
	p.MaxTokens = 1000
	if _, err := d.call(paid(), p, says("x", 10_000, 1000)); err != nil {
		t.Fatal(err)
	}
	_, err := d.call(paid(), p, says("x", 10_000, 1000))
	refusal(t, err)
	if err := d.Allow(t.Context(), "", 25_000); err != nil {
		t.Fatal(err)
	}
	if _, err := d.call(paid(), p, says("x", 10_000, 1000)); err != nil {
		t.Fatalf("after it was raised: %v", err)
	}
	d.now = d.now.AddDate(0, 0, 1)
	list, err := d.Allowances(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		switch {
		case a.Cap == spend.CapDay && (a.Raised != 0 || a.Spent != 0):
			t.Errorf("the next day: %+v", a)
		case a.Cap == spend.CapMonth && (a.Raised != 23_000 || a.Spent != 40_000):
			t.Errorf("the next day: %+v", a)
		}
	}
	for _, bad := range []agent.MicroDollars{0, -1, 1 << 60} {
		if agent.CodeOf(d.Allow(t.Context(), "", bad)) != agent.CodeInvalid {
			t.Errorf("%d is allowed", bad)
		}
	}
}

func TestMostOfACapIsSaidOnce(t *testing.T) {
	d := newDesk(t, spend.PerCap{Day: 20_000})
	p := chat(100)
	p.MaxTokens = 10
	for range 3 {
		if _, err := d.call(paid(), p, says("x", 6000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.told) != 1 || d.told[0].Reached || !strings.Contains(d.told[0].Text, "$0.02") {
		t.Errorf("told %+v", d.told)
	}
}

func TestEmbeddings(t *testing.T) {
	d := newDesk(t, spend.PerCap{Background: 1000})
	ask := func(context.Context) ([][]float32, error) { return [][]float32{{1}}, nil }
	info := agent.ModelInfo{Ref: agent.ModelRef{Provider: "p", Name: "e"}}
	if _, err := d.Embed(t.Context(), info, []string{strings.Repeat("word", 4000)}, ask); err != nil {
		t.Fatal(err)
	}
	if got := d.spent(spend.CapBackground); got != 800 {
		t.Errorf("spent %d", got)
	}
	_, err := d.Embed(t.Context(), info, []string{strings.Repeat("word", 4000)}, ask)
	refusal(t, err)
}
