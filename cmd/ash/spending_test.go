package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/offline"
	"ash/agent/prompt"
	"ash/agent/spend"
	"ash/store"
	"ash/store/storetest"
)

// till is a chain of models with its book, over real servers and a real database, put together as a running Ash does it.
type till struct {
	t         *testing.T
	store     *store.Store
	book      *spend.Book
	providers *llm.Providers

	mu    sync.Mutex
	asked []arrival
}

// arrival is a request that reached a model server, with what was set aside at that instant.
type arrival struct {
	provider string
	open     agent.MicroDollars
}

// drawer is one provider of a till: the wire it speaks, and what it answers.
type drawer struct {
	name   string
	format llmtest.Format // nil: nobody listens there
	keyed  bool           // its key is in a file that is missing
	script []llmtest.Reply
}

// newTill opens a till. Each model costs $1 per million tokens sent and $10 per million received, and says 1,000 tokens at the most.
func newTill(t *testing.T, caps config.Spend, drawers []drawer) *till {
	t.Helper()
	k := &till{t: t, store: storetest.Open(t)}
	var order []string
	var toml strings.Builder
	for _, d := range drawers {
		order = append(order, fmt.Sprintf("%q", d.name+"/m"))
		kind := "openai"
		if _, ok := d.format.(llmtest.AnthropicFormat); ok {
			kind = "anthropic"
		}
		fmt.Fprintf(&toml, "[providers.%s]\nkind = %q\nbase_url = %q\n", d.name, kind, k.serve(d))
		if d.keyed {
			fmt.Fprintf(&toml, "key_file = %q\n", filepath.Join(t.TempDir(), "key"))
		}
		fmt.Fprintf(&toml, "[[catalog]]\nref = %q\nlocal = false\nmax_output = 1000\ninput_price = 1\noutput_price = 10\ncache_read_price = 1\ncache_write_price = 1\n", d.name+"/m")
	}
	home := t.TempDir()
	settings(t, home, "[models]\norder = ["+strings.Join(order, ", ")+"]\n"+toml.String())
	loaded, err := config.Load(config.Options{Home: home})
	must(t, err)
	c := loaded.Config()
	c.Spend = caps
	log := slog.New(slog.DiscardHandler)
	k.book, _, err = newSpending(t.Context(), k.store, func() config.Config { return c }, log)
	must(t, err)
	k.providers, err = newProviders(c, nil, offline.Options{}, k.book, log)
	must(t, err)
	k.providers.SetRetry(llm.Retry{Tries: 3, Base: time.Millisecond})
	t.Cleanup(k.providers.Close)
	return k
}

// serve starts a drawer's server, which notes who comes and what is set aside then, and returns its base URL.
func (k *till) serve(d drawer) string {
	if d.format == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(k.t, err)
		must(k.t, l.Close())
		return "http://" + l.Addr().String() + "/v1"
	}
	m := llmtest.New(d.format, d.script...)
	url := llmtest.Serve(k.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := arrival{provider: d.name, open: k.open()}
		k.mu.Lock()
		k.asked = append(k.asked, a)
		k.mu.Unlock()
		m.Handler().ServeHTTP(w, r)
	}))
	k.t.Cleanup(m.Close)
	if _, ok := d.format.(llmtest.OpenAIFormat); ok {
		url += "/v1"
	}
	return url
}

// rows are the calls that are counted.
func (k *till) rows() []spend.Row {
	rows, err := k.store.Spending(k.t.Context(), k.book.Today(), k.book.Today(), spend.ByAll)
	if err != nil {
		k.t.Error(err)
	}
	return rows
}

// open is what calls under way have set aside.
func (k *till) open() agent.MicroDollars {
	sums, err := k.store.SpendSums(k.t.Context(), k.book.Today(), "")
	if err != nil {
		k.t.Error(err)
	}
	left := sums.Spent.Day
	for _, r := range k.rows() {
		left -= r.Usage.Cost
	}
	return left
}

// ask asks the chain, and reads until it ends or so much text has come; 0 reads all.
func (k *till) ask(p agent.Prompt, enough int) (text string, err error) {
	k.t.Helper()
	m, _, err := k.providers.Pick(k.t.Context(), "")
	must(k.t, err)
	for d, e := range m.Stream(k.t.Context(), p) {
		if e != nil {
			return text, e
		}
		if d.Kind == agent.DeltaText {
			text += d.Text
		}
		if enough > 0 && len(text) >= enough {
			break
		}
	}
	return text, nil
}

// costing is an answer whose server says what it took.
func costing(text string, input, output int) llmtest.Reply {
	r := llmtest.Text(text)
	r.Usage = &llmtest.Usage{Input: input, Output: output}
	return r
}

// longWords is a long answer of n tokens, or nearly, in one piece.
func longWords() string { return strings.TrimSpace(strings.Repeat("word after word ", 40)) }

// Every request that leaves is a call of its own, whoever makes it necessary: reserved before it leaves, counted or taken back when it ends.
func TestEveryRequestOfAChainIsPaidForByItself(t *testing.T) {
	openai, anthropic := llmtest.OpenAIFormat{}, llmtest.AnthropicFormat{}
	ask := agent.Prompt{
		System: strings.Repeat("Be brief. ", 100), Charge: agent.Charge{Purpose: agent.PurposeChat},
		Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "What keeps?"}}}},
	}
	input := prompt.Size(ask) * 110 / 100
	cut := func(pieces ...string) llmtest.Reply {
		return llmtest.Broken(llmtest.StreamCut, len(pieces)+1, pieces...)
	}
	cases := map[string]struct {
		drawers []drawer
		enough  int                 // text after which the person stops it
		asked   string              // who was asked, in order
		counted map[string][3]int   // calls, tokens sent and received, by provider
		guessed map[string]struct{} // providers whose cost is an estimate in part
	}{
		"asked again while the provider is busy": {
			drawers: []drawer{{name: "one", format: openai, script: []llmtest.Reply{llmtest.RateLimited(""), llmtest.Overloaded(), costing("Rusk.", 700, 20)}}},
			asked:   "one one one", counted: map[string][3]int{"one": {1, 700, 20}},
		},
		"asked again after the line broke before the first word": {
			drawers: []drawer{{name: "one", format: openai, script: []llmtest.Reply{cut(), costing("Rusk.", 700, 20)}}},
			asked:   "one one", counted: map[string][3]int{"one": {2, 700 + input, 20}}, guessed: map[string]struct{}{"one": {}},
		},
		"cut in the middle": {
			drawers: []drawer{
				{name: "one", format: openai, script: []llmtest.Reply{cut(longWords())}},
				{name: "two", format: openai, script: []llmtest.Reply{costing("Rusk.", 1, 1)}},
			},
			asked: "one", counted: map[string][3]int{"one": {1, input, prompt.Tokens(longWords())}}, guessed: map[string]struct{}{"one": {}},
		},
		"cut in the middle, after the server said how much was sent": {
			drawers: []drawer{{name: "one", format: anthropic, script: []llmtest.Reply{{
				Text: []string{longWords()}, Usage: &llmtest.Usage{Input: 555, Output: 99}, Fault: llmtest.Fault{Stream: llmtest.StreamCut, After: 4},
			}}}},
			asked: "one", counted: map[string][3]int{"one": {1, 555, prompt.Tokens(longWords())}}, guessed: map[string]struct{}{"one": {}},
		},
		"stopped by the person": {
			drawers: []drawer{{name: "one", format: openai, script: []llmtest.Reply{llmtest.Broken(llmtest.StreamStall, 2, longWords())}}},
			enough:  1, asked: "one", counted: map[string][3]int{"one": {1, input, prompt.Tokens(longWords())}}, guessed: map[string]struct{}{"one": {}},
		},
		"three providers, and the third answers": {
			drawers: []drawer{
				{name: "one", format: openai, script: []llmtest.Reply{llmtest.QuotaSpent()}},
				{name: "two", format: anthropic, script: []llmtest.Reply{llmtest.ServerError(), llmtest.ServerError(), llmtest.ServerError()}},
				{name: "three", format: openai, script: []llmtest.Reply{costing("Rusk.", 700, 20)}},
			},
			asked: "one two two two three", counted: map[string][3]int{"three": {1, 700, 20}},
		},
		"nobody listens, a key is missing, a page comes back": {
			drawers: []drawer{
				{name: "one"},
				{name: "two", format: openai, keyed: true, script: []llmtest.Reply{costing("no", 1, 1)}},
				{name: "three", format: openai, script: []llmtest.Reply{llmtest.HTML()}},
				{name: "four", format: anthropic, script: []llmtest.Reply{costing("Rusk.", 700, 20)}},
			},
			asked: "three four", counted: map[string][3]int{"four": {1, 700, 20}},
		},
		"each provider costs its own": {
			drawers: []drawer{
				{name: "one", format: openai, script: []llmtest.Reply{cut(), cut(), cut()}},
				{name: "two", format: openai, script: []llmtest.Reply{cut(), costing("Rusk.", 700, 20)}},
			},
			asked:   "one one one two two",
			counted: map[string][3]int{"one": {3, 3 * input, 0}, "two": {2, input + 700, 20}}, guessed: map[string]struct{}{"one": {}, "two": {}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := newTill(t, config.Spend{Daily: 1_000_000, UnknownInput: 1, UnknownOutput: 1}, c.drawers)
			text, err := k.ask(ask, c.enough)
			t.Logf("%d bytes came, %v", len(text), err)
			k.arrived(c.asked, agent.MicroDollars(input+10*1000))
			if left := k.open(); left != 0 {
				t.Errorf("%d micro-dollars are set aside for calls that ended", left)
			}
			got := k.rows()
			if len(got) != len(c.counted) {
				t.Errorf("counted %+v", got)
			}
			for _, r := range got {
				want, ok := c.counted[r.Model.Provider]
				if have := [3]int{r.Calls, r.Usage.Input, r.Usage.Output}; !ok || have != want {
					t.Errorf("%s: counted calls, tokens sent and received %v, want %v", r.Model.Provider, have, want)
				}
				if cost := agent.MicroDollars(want[1] + 10*want[2]); r.Usage.Cost != cost {
					t.Errorf("%s cost %d, want %d", r.Model.Provider, r.Usage.Cost, cost)
				}
				if _, guessed := c.guessed[r.Model.Provider]; guessed != (r.Estimated > 0) {
					t.Errorf("%s: %d of the cost is an estimate", r.Model.Provider, r.Estimated)
				}
			}
		})
	}
}

// arrived checks who was asked, and that each request found exactly its own reservation on the disk.
func (k *till) arrived(who string, reserved agent.MicroDollars) {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	var names []string
	for _, a := range k.asked {
		names = append(names, a.provider)
		if a.open != reserved {
			k.t.Errorf("%d micro-dollars were set aside when a request reached %s, want %d", a.open, a.provider, reserved)
		}
	}
	if got := strings.Join(names, " "); got != who {
		k.t.Errorf("asked %q, want %q", got, who)
	}
}

// A cap that is reached by what failed calls cost ends the chain where it stands: neither a further try nor another model is asked.
func TestACapEndsAChainInTheMiddle(t *testing.T) {
	openai := llmtest.OpenAIFormat{}
	ask := agent.Prompt{System: strings.Repeat("Be brief. ", 10_000), MaxTokens: 10, Charge: agent.Charge{Purpose: agent.PurposeChat}}
	one := agent.MicroDollars(prompt.Size(ask)*110/100) + 10*10 // what one call sets aside
	broken := llmtest.Broken(llmtest.StreamCut, 1)
	rusk := llmtest.Reply{Text: []string{"Rusk."}, Repeat: true}
	cases := map[string]struct {
		cap     agent.MicroDollars
		drawers []drawer
		asked   string
		calls   int
	}{
		"between two tries": {
			cap: one + one/2, asked: "one", calls: 1,
			drawers: []drawer{{name: "one", format: openai, script: []llmtest.Reply{broken, rusk}}, {name: "two", format: openai, script: []llmtest.Reply{rusk}}},
		},
		"between two models": {
			cap: 3*one + one/2, asked: "one one one", calls: 3,
			drawers: []drawer{{name: "one", format: openai, script: []llmtest.Reply{broken, broken, broken}}, {name: "two", format: openai, script: []llmtest.Reply{rusk}}},
		},
		"before the first": {
			cap: one / 2, calls: 0,
			drawers: []drawer{{name: "one", format: openai, script: []llmtest.Reply{rusk}}, {name: "two", format: openai, script: []llmtest.Reply{rusk}}},
		},
		"never, for what was not billed": {
			cap: one + one/2, asked: "one one one two", calls: 1,
			drawers: []drawer{
				{name: "one", format: openai, script: []llmtest.Reply{llmtest.ServerError(), llmtest.ServerError(), llmtest.ServerError()}},
				{name: "two", format: openai, script: []llmtest.Reply{rusk}},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := newTill(t, config.Spend{Daily: c.cap, UnknownInput: 1, UnknownOutput: 1}, c.drawers)
			text, err := k.ask(ask, 0)
			k.arrived(c.asked, one)
			calls := 0
			for _, r := range k.rows() {
				calls += r.Calls
			}
			if calls != c.calls || k.open() != 0 {
				t.Errorf("%d calls are counted, want %d; %d is set aside", calls, c.calls, k.open())
			}
			if text != "" {
				if err != nil || text != "Rusk." {
					t.Errorf("%q, %v", text, err)
				}
				return
			}
			if agent.CodeOf(err) != agent.CodeExhausted || agent.NeedOf(err) != agent.NeedMoney || !strings.Contains(agent.PublicOf(err), "today's spending cap") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}
