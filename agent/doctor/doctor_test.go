package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
)

// check is a check made of a function.
type check struct {
	name string
	run  func(ctx context.Context) Finding
}

func (c check) Name() string                    { return c.name }
func (c check) Run(ctx context.Context) Finding { return c.run(ctx) }

func says(name string, s Severity) check {
	return check{name, func(context.Context) Finding { return Finding{Severity: s, Text: name + " was looked at"} }}
}

func TestTheReportKeepsTheOrderAndTheWorst(t *testing.T) {
	slow := check{"slow", func(ctx context.Context) Finding {
		time.Sleep(30 * time.Millisecond)
		return Finding{Severity: Warning, Text: "slow"}
	}}
	heard := 0
	r := New(Options{Version: "v1", Home: "/h"}, slow, says("a", OK), says("b", Note)).
		Run(t.Context(), func(done, total int, _ Finding) {
			heard++
			if done != heard || total != 3 {
				t.Errorf("heard %d of %d at call %d", done, total, heard)
			}
		})
	var names []string
	for _, f := range r.Findings {
		names = append(names, f.Check)
	}
	if got := strings.Join(names, " "); got != "slow a b" {
		t.Errorf("order is %s", got)
	}
	if r.Worst() != Warning || r.Count(OK) != 1 || r.Took <= 0 || r.Version != "v1" || heard != 3 {
		t.Errorf("%+v", r)
	}
	if (Report{}).Worst() != OK {
		t.Error("an empty report is not well")
	}
}

func TestAPanicIsAFinding(t *testing.T) {
	r := New(Options{}, check{"bad", func(context.Context) Finding { panic("index out of range") }}, says("good", OK)).Run(t.Context(), nil)
	if f := r.Findings[0]; f.Severity != Problem || !strings.Contains(f.Text, "index out of range") || f.Check != "bad" {
		t.Errorf("%+v", f)
	}
	if r.Findings[1].Severity != OK {
		t.Error("a panic took another check down")
	}
}

func TestAHangIsAFindingAndIsNotBegunTwice(t *testing.T) {
	var began atomic.Int32
	release := make(chan struct{})
	hangs := check{"hangs", func(context.Context) Finding {
		began.Add(1)
		<-release // it does not heed its context
		return Finding{Severity: OK}
	}}
	d := New(Options{Timeout: 20 * time.Millisecond}, hangs, says("good", OK))
	start := time.Now()
	r := d.Run(t.Context(), nil)
	if f := r.Findings[0]; f.Severity != Warning || !strings.Contains(f.Text, "did not end within") || f.Fix == "" {
		t.Errorf("%+v", f)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("the others waited %v for it", took)
	}
	if f := d.Run(t.Context(), nil).Findings[0]; !strings.Contains(f.Text, "has not ended yet") || began.Load() != 1 {
		t.Errorf("begun %d times: %+v", began.Load(), f)
	}
	close(release)
	for range 100 {
		if f := d.Run(t.Context(), nil).Findings[0]; f.Severity == OK {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("after its end it is not begun again")
}

func TestALookThatIsEndedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := New(Options{}, says("a", OK)).Run(ctx, nil).Findings[0]; f.Severity == OK {
		t.Errorf("what was not looked at is well: %+v", f)
	}
}

func TestFindingsAreBoundedAndRedacted(t *testing.T) {
	const secret = "sk-ant-0123456789"
	details := make([]string, 500)
	for i := range details {
		details[i] = fmt.Sprintf("%s in line %d", secret, i)
	}
	many := check{"many", func(context.Context) Finding {
		return Finding{Severity: "?", Text: "has " + secret, Fix: "take out " + secret, Details: details}
	}}
	f := New(Options{Redact: func(s string) string { return strings.ReplaceAll(s, secret, "[secret]") }}, many).Run(t.Context(), nil).Findings[0]
	if len(f.Details) != MaxDetails+1 || f.Details[MaxDetails] != "and 480 more" || f.Severity != Problem {
		t.Errorf("%d details, the last %q, %s", len(f.Details), f.Details[len(f.Details)-1], f.Severity)
	}
	if all := fmt.Sprint(f); strings.Contains(all, secret) {
		t.Errorf("a secret is reported: %s", all)
	}
	if details[0] == "[secret] in line 0" {
		t.Error("the check's own slice was changed")
	}
}

// provider returns the check of a provider that really is asked over HTTP.
func provider(t *testing.T, status int, k Key, used bool) Provider {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	return Provider{Title: "p", Used: used, Key: func(context.Context) Key { return k }, Ask: func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return agent.Wrap(agent.CodeUnavailable, err, "It cannot be reached.")
		}
		defer res.Body.Close()
		switch res.StatusCode {
		case http.StatusUnauthorized:
			return agent.Errorf(agent.CodeDenied, "The key is wrong.")
		case http.StatusTooManyRequests:
			return agent.Errorf(agent.CodeExhausted, "Too many requests.")
		}
		return nil
	}}
}

func TestProviders(t *testing.T) {
	key := Key{Needed: true, Present: true, Place: "the environment variable K"}
	gone := provider(t, 200, key, true)
	gone.Ask = func(context.Context) error { return agent.Errorf(agent.CodeUnavailable, "It cannot be reached.") }
	public := provider(t, 200, key, true)
	public.Public = true
	offline := provider(t, 200, key, true)
	offline.Ask = nil
	for _, c := range []struct {
		name string
		p    Provider
		want Severity
		says string
	}{
		{"well", provider(t, 200, key, true), OK, "takes the key from the environment variable K"},
		{"well without a key", provider(t, 200, Key{}, true), OK, "It answers."},
		{"a list for anybody", public, OK, "Whether it takes the key"},
		{"not asked", offline, OK, "It is set up."},
		{"key refused", provider(t, 401, key, true), Problem, "refuses the key from the environment variable K"},
		{"key refused, not in use", provider(t, 401, key, false), Warning, "refuses the key"},
		{"too much", provider(t, 429, key, true), Warning, "takes no more for now"},
		{"not reached", gone, Problem, "It cannot be reached."},
		{"no key", provider(t, 200, Key{Needed: true}, true), Problem, "needs a key"},
		{"locked", provider(t, 200, Key{Needed: true, Locked: true}, true), Note, "vault, which is locked"},
		{"bad place", provider(t, 200, Key{Problem: "the key file x is not there"}, true), Problem, "cannot be used: the key file x is not there."},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := New(Options{}, c.p).Run(t.Context(), nil).Findings[0]
			if f.Severity != c.want || !strings.Contains(f.Text, c.says) {
				t.Errorf("got %s: %s", f.Severity, f.Text)
			}
		})
	}
}

func TestTheClock(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	asked := func(off time.Duration) []Asked {
		return []Asked{{Host: "api.example.com", Said: now.Add(-off), Moment: now}}
	}
	for name, c := range map[string]struct {
		times Times
		want  Severity
		says  string
	}{
		"right":               {Times{Stored: now.Add(-time.Hour), Asked: asked(2 * time.Second)}, OK, "is right, api.example.com says"},
		"nobody asked":        {Times{}, OK, "No server was asked"},
		"behind the database": {Times{Stored: now.Add(26 * time.Hour)}, Problem, "what was stored last is of 2026-03-02"},
		"a little ahead":      {Times{Stored: now.Add(time.Minute)}, OK, ""},
		"before it was made":  {Times{Built: now.Add(48 * time.Hour)}, Problem, "before this program was made"},
		"a bit fast":          {Times{Asked: asked(time.Minute)}, Warning, "fast by 1m0s"},
		"a bit slow":          {Times{Asked: asked(-time.Minute)}, Warning, "slow by 1m0s"},
		"a lot slow":          {Times{Asked: asked(-2 * time.Hour)}, Problem, "slow by 2h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Clock{Look: func(context.Context) (Times, error) { return c.times, nil }, Now: func() time.Time { return now }}.Run(t.Context())
			if f.Severity != c.want || !strings.Contains(f.Text, c.says) {
				t.Errorf("got %s: %s", f.Severity, f.Text)
			}
		})
	}
}

// TestEveryCheck runs the checks over what they may see.
func TestEveryCheck(t *testing.T) {
	failed := errors.New("inner words")
	db := func(d Database, err error) Integrity {
		return Integrity{Look: func(context.Context, bool) (Database, error) { return d, err }}
	}
	schema := func(d Database) Schema {
		return Schema{Look: func(context.Context) (Database, error) { return d, nil }}
	}
	disk := func(r Room) Disk { return Disk{Look: func(context.Context) ([]Room, error) { return []Room{r}, nil }} }
	safe := func(s Safe) Vault { return Vault{Look: func(context.Context) (Safe, error) { return s, nil }} }
	box := func(s Sandboxes) Sandbox {
		return Sandbox{Look: func(context.Context) (Sandboxes, error) { return s, nil }}
	}
	doors := func(d Doors) Ports { return Ports{Look: func(context.Context) (Doors, error) { return d, nil }} }
	models := func(list ...string) Models {
		return Models{Look: func(context.Context) ([]string, error) { return list, nil }}
	}
	server := func(s ServerState) Server {
		return Server{Look: func(context.Context) (ServerState, error) { return s, nil }}
	}
	settings := func(s Settings) Config {
		return Config{Look: func(context.Context) (Settings, error) { return s, nil }}
	}
	zones := func(z Zones) Zone { return Zone{Look: func(context.Context) (Zones, error) { return z, nil }} }
	files := func(l ...Loose) Permissions {
		return Permissions{Look: func(context.Context) ([]Loose, error) { return l, nil }}
	}
	const gb = int64(1) << 30
	for _, c := range []struct {
		check Check
		want  Severity
		says  string
	}{
		{settings(Settings{Path: "/h/config.toml", There: true}), OK, "is well"},
		{settings(Settings{Path: "/h/config.toml", Problems: []string{"line 3: no such key"}}), Problem, "cannot be used"},
		{settings(Settings{Elsewhere: []string{"log.level, set by ASH_LOG_LEVEL"}}), Note, "outside of the file"},
		{files(), OK, "yours alone"},
		{files(Loose{Path: "/h/ash.db", What: "others may read it", Fix: "chmod 0600 /h/ash.db"}), Warning, "1 thing"},
		{files(Loose{Path: "/h/ash.db", Bad: true}, Loose{Path: "/h/x"}), Problem, "2 things"},
		{Permissions{Look: func(context.Context) ([]Loose, error) {
			return nil, agent.Errorf(agent.CodeNotFound, "There is no home.")
		}}, Note, "There is no home."},
		{disk(Room{Path: "/", Free: 50 * gb}), OK, "50 GB free"},
		{disk(Room{Path: "/", Free: 100 << 20}), Problem, "Only 100 MB"},
		{disk(Room{Path: "/", Free: gb - 1}), Warning, "commands are stopped"},
		{disk(Room{Path: "/", Free: 3 * gb, Need: 4 * gb}), Warning, "before an upgrade"},
		{db(Database{There: true}, nil), OK, "sound"},
		{db(Database{}, nil), Note, "no database yet"},
		{db(Database{There: true, Damage: []string{"page 4"}}, nil), Problem, "damaged"},
		{db(Database{There: true, Off: true}, nil), Problem, "turned off"},
		{db(Database{There: true, Unclean: true}, nil), Note, "did not end cleanly"},
		{db(Database{}, agent.Errorf(agent.CodeUnavailable, "It cannot be read.")), Problem, "It cannot be read."},
		{db(Database{}, failed), Problem, "inside Ash"},
		{schema(Database{There: true, Version: 3, Known: 3}), OK, "the newest"},
		{schema(Database{There: true, Version: 2, Known: 3}), Note, "2 of 3"},
		{schema(Database{There: true, Version: 4, Known: 3}), Problem, "newer Ash"},
		{schema(Database{There: true, Version: 3, Known: 3, Foreign: true}), Problem, "never released"},
		{safe(Safe{}), OK, "no vault"},
		{safe(Safe{There: true, Recovery: true}), OK, "locked"},
		{safe(Safe{There: true, Recovery: true, Unlocked: true}), OK, "unlocked"},
		{safe(Safe{There: true}), Note, "no recovery phrase"},
		{safe(Safe{There: true, Problem: "It is open to others."}), Problem, "open to others"},
		{safe(Safe{There: true, Recovery: true, Notes: []string{"x"}}), Warning, ""},
		{box(Sandboxes{Ready: true, Name: "Docker 28"}), OK, "Docker 28"},
		{box(Sandboxes{Off: true}), OK, "switched off"},
		{box(Sandboxes{Name: "Docker 28", Image: "ash:1"}), Warning, "not built"},
		{box(Sandboxes{Problem: "Docker is not running."}), Warning, "Docker is not running."},
		{doors(Doors{Address: "127.0.0.1:8080"}), OK, "is free"},
		{doors(Doors{Open: []string{"localhost:8080"}}), OK, "listens on localhost:8080"},
		{doors(Doors{Address: "127.0.0.1:8080", Busy: true, Default: true}), Note, "next free port"},
		{doors(Doors{Address: "127.0.0.1:8080", Busy: true}), Problem, "Another program"},
		{doors(Doors{Refused: "Ash does not listen there."}), Problem, "does not listen there"},
		{doors(Doors{Barred: "Nobody could sign in."}), Problem, "Nobody could sign in."},
		{doors(Doors{Open: []string{"localhost:8080"}, Ready: true, Network: []string{"http://192.168.1.5:8080"}}), OK, "reach it at http://192.168.1.5:8080"},
		{doors(Doors{Open: []string{"localhost:8080"}, Ready: true, Closed: "Ash cannot listen on 192.168.1.5:8080."}), Warning, "localhost:8080. Ash cannot listen on 192.168.1.5"},
		{doors(Doors{Address: "127.0.0.1:8080", Closed: "Nobody could sign in."}), Warning, "is free. Nobody could"},
		{models(), Note, "No model is set up"},
		{models("a/b"), OK, "a/b answers"},
		{models("a/b", "c/d"), OK, "When it fails: c/d"},
		{server(ServerState{Self: true}), OK, "Ash runs"},
		{server(ServerState{}), Note, "No Ash runs"},
		{server(ServerState{Running: true, Who: " (process 7)"}), Problem, "does not answer"},
		{server(ServerState{Running: true, Answers: true, Version: "1", Mine: "2"}), Warning, "The running Ash is 1"},
		{server(ServerState{Running: true, Answers: true}), OK, "answers"},
		{zones(Zones{Name: "Europe/Berlin"}), OK, "Europe/Berlin"},
		{zones(Zones{Wrong: "Mars/Base"}), Warning, "Mars/Base"},
		{zones(Zones{Unknown: true}), Note, "UTC"},
		{Embedder{}, OK, "off"},
		{Embedder{Title: "m", Ask: func(context.Context) error { return nil }}, OK, "answers"},
		{Embedder{Title: "m", Ask: func(context.Context) error { return agent.Errorf(agent.CodeUnavailable, "No server.") }}, Warning, "No server."},
		{Leftovers{Look: func(context.Context) ([]Leftover, error) { return nil, nil }}, OK, "Nothing"},
		{Leftovers{Look: func(context.Context) ([]Leftover, error) { return []Leftover{{"/h/.x", 2048}}, nil }}, Note, "2 KB"},
	} {
		f := New(Options{}, c.check).Run(t.Context(), nil).Findings[0]
		if f.Severity != c.want || !strings.Contains(f.Text, c.says) || f.Text == "" {
			t.Errorf("%s: got %s: %s; want %s with %q", c.check.Name(), f.Severity, f.Text, c.want, c.says)
		}
		if f.Severity.Rank() >= Warning.Rank() && f.Fix == "" && c.check.Name() != "Vault" && !strings.Contains(f.Text, "inside Ash") {
			t.Errorf("%s: %s has no advice", c.check.Name(), f.Text)
		}
		if strings.Contains(f.Text, "inner words") {
			t.Errorf("%s tells inner words: %s", c.check.Name(), f.Text)
		}
	}
}
