package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"ash/agent/audit"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

func clock() time.Time { return noon }

// found runs one check and returns what it reports, as "severity: text".
func found(t *testing.T, c audit.Check) (list []string, note string) {
	t.Helper()
	note, err := c.Run(t.Context(), func(f audit.Finding) {
		if f.Remedy == "" {
			t.Errorf("no remedy: %+v", f)
		}
		list = append(list, string(f.Severity)+": "+f.Text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, note
}

// are compares findings with what each should begin with or hold.
func are(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d findings, want %d: %q", what, len(got), len(want), got)
		return
	}
	for i, w := range want {
		severity, words, _ := strings.Cut(w, ": ")
		if !strings.HasPrefix(got[i], severity+": ") || !strings.Contains(got[i], words) {
			t.Errorf("%s: %q, want %q", what, got[i], w)
		}
	}
}

// line is one of the vault's log.
type line struct {
	at                       time.Time
	action, name, user, host string
	refused                  string // why; "" for allowed
}

func (l line) String() string {
	b, _ := json.Marshal(map[string]any{"at": l.at, "action": l.action, "name": l.name, "user": l.user, "host": l.host, "allowed": l.refused == "", "why": l.refused})
	return string(b) + "\n"
}

func usedFor(t *testing.T, text string) []string {
	t.Helper()
	list, _ := found(t, audit.VaultUse{
		Files: func(context.Context) ([]audit.LogFile, error) {
			return []audit.LogFile{{Name: "logs/vault.jsonl", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}}, nil
		},
		Now: clock, Zone: time.UTC,
	})
	return list
}

// usual is a month of one use a day, at noon.
func usual() string {
	var b strings.Builder
	for d := 40; d > 0; d-- {
		b.WriteString(line{at: noon.Add(-days(d)), action: "use", name: "provider/a", user: "provider/a", host: "api.a.example"}.String())
	}
	return b.String()
}

func TestVaultLogPatterns(t *testing.T) {
	t.Parallel()
	used := line{at: noon.Add(-time.Hour), action: "use", name: "provider/a", user: "provider/a", host: "api.a.example"}
	with := func(change func(*line)) string { l := used; change(&l); return l.String() }
	wrong := func(n int, apart time.Duration) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line{at: noon.Add(-2*time.Hour + time.Duration(i)*apart), action: "unlock", refused: "denied"}.String())
		}
		return b.String()
	}
	refused := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line{at: noon.Add(-2*time.Hour + time.Duration(i)*time.Minute), action: "use", name: "provider/a", user: "tool/x", host: fmt.Sprintf("h%d.example", i), refused: "denied"}.String())
		}
		return b.String()
	}
	for what, x := range map[string]struct {
		log  string
		want []string
	}{
		"nothing":               {"", nil},
		"as always":             {usual() + used.String(), nil},
		"a new host":            {usual() + with(func(l *line) { l.host = "api.b.example" }), []string{"low: api.b.example. It did not before"}},
		"a new user":            {usual() + with(func(l *line) { l.user = "" }), []string{"low: somebody uses the secret provider/a"}},
		"a new use within Ash":  {usual() + with(func(l *line) { l.host = "" }), []string{"low: for use inside Ash"}},
		"new, but all is new":   {used.String() + with(func(l *line) { l.host = "api.b.example" }), nil},
		"at night":              {usual() + with(func(l *line) { l.at = noon.Add(-9 * time.Hour) }), []string{"low: between midnight and 5"}},
		"at night, as always":   {line{at: noon.Add(-days(41) - 9*time.Hour), action: "use", name: "provider/a", user: "provider/a", host: "api.a.example"}.String() + usual() + with(func(l *line) { l.at = noon.Add(-9 * time.Hour) }), nil},
		"a burst":               {usual() + strings.Repeat(used.String(), 250), []string{"medium: 200 times within a minute"}},
		"many, but not at once": {usual() + strings.Repeat(used.String(), 150), nil},
		"wrong passphrases":     {wrong(5, time.Minute), []string{"high: 5 wrong passphrases"}},
		"wrong ones, far apart": {wrong(6, 20*time.Minute), nil},
		"four wrong ones":       {wrong(4, time.Minute), nil},
		"a refused use":         {refused(1), []string{"medium: tool/x asked for the secret provider/a for h0.example"}},
		"many refused ones":     {refused(5), []string{"medium: h0", "medium: h1", "medium: h2", "medium: h3", "high: h4"}},
		"only locked":           {with(func(l *line) { l.refused = "locked" }), nil},
		"an export":             {with(func(l *line) { l.action = "export" }), []string{"info: export"}},
		"an old export":         {with(func(l *line) { l.action, l.at = "export", noon.Add(-days(30)) }), nil},
		"a line that was cut":   {used.String() + "{\"at\":\"2026-", []string{"medium: 1 lines of the access log"}},
		"a line without a time": {"{}\n", []string{"medium: 1 lines"}},
		"a line without an end": {strings.Repeat("x", 200<<10) + "\n" + used.String(), []string{"medium: 1 lines"}},
		"white space":           {"\n  \n" + used.String(), nil},
	} {
		are(t, what, usedFor(t, x.log), x.want...)
	}
}

func FuzzVaultLog(f *testing.F) {
	f.Add(usual())
	f.Add("{\"at\":\"2026-11-20T03:00:00Z\",\"action\":\"use\",\"allowed\":true}\n{")
	f.Fuzz(func(t *testing.T, text string) { usedFor(t, text) })
}

// What was read to a bound only is told, once for all texts of a look, by each look that reads them.
func TestTextsThatWereNotReadToTheirEnds(t *testing.T) {
	t.Parallel()
	source := func(cut int) audit.SourceFunc {
		return func(_ context.Context, yield func(audit.Text) error) error {
			for i := range cut + 1 {
				place := audit.Text{Place: fmt.Sprintf("message %d", i), Text: "words", Kind: audit.KindMessage}
				err := yield(place)
				if place.Text, place.Until = "more", 1<<20; err == nil && i > 0 {
					err = yield(place)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	for cut, want := range map[int][]string{0: nil, 1: {"info: Only the first 1 MB of one text was read."}, 12: {"info: Only the first 1 MB of 12 texts was read."}} {
		for _, c := range []audit.Check{
			audit.Secrets{Title: "Secrets", Source: source(cut), Find: func(string) []audit.Hit { return nil }},
			audit.Planted{Source: source(cut), Scan: func(context.Context, audit.Kind, string) []audit.Sign { return nil }},
		} {
			list, _ := found(t, c)
			are(t, fmt.Sprintf("%s, %d", c.Name(), cut), list, want...)
			_, _ = c.Run(t.Context(), func(f audit.Finding) {
				if f.Place != "message 1" || len(f.More) > 5 || cut == 12 && f.More[4] != "and 7 more" {
					t.Errorf("places: %q %q", f.Place, f.More)
				}
			})
		}
	}
	_, note := found(t, audit.Secrets{Source: source(0), Find: func(string) []audit.Hit { return nil }, Blind: func(context.Context) string { return "the vault is locked" }})
	if !strings.Contains(note, "; the vault is locked") {
		t.Error(note)
	}
}

func TestOldImage(t *testing.T) {
	t.Parallel()
	for what, x := range map[string]struct {
		image audit.Image
		want  []string
	}{
		"none":      {audit.Image{}, nil},
		"not built": {audit.Image{Engine: "Docker", Tag: "ash-sandbox"}, nil},
		"new":       {audit.Image{Engine: "Docker", Tag: "ash-sandbox", Built: true, Created: noon.Add(-days(59))}, nil},
		"old":       {audit.Image{Engine: "Docker", Tag: "ash-sandbox", Built: true, Created: noon.Add(-days(90))}, []string{"low: 90 days ago"}},
		"very old":  {audit.Image{Engine: "Docker", Tag: "ash-sandbox", Built: true, Created: noon.Add(-days(200))}, []string{"medium: 200 days ago"}},
	} {
		list, _ := found(t, audit.OldImage{Now: clock, Look: func(context.Context) (audit.Image, error) { return x.image, nil }})
		are(t, what, list, x.want...)
	}
	_, err := audit.OldImage{Look: func(context.Context) (audit.Image, error) { return audit.Image{}, errors.New("no engine") }}.Run(t.Context(), nil)
	if err == nil {
		t.Error("an engine that does not answer is not told")
	}
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	parts := []audit.Module{{Path: "example.org/a", Version: "v1.0.0"}, {Path: "stdlib", Version: "1.26.0"}}
	check := func(ask func(context.Context, []audit.Module) ([]audit.Flaw, error)) []string {
		list, _ := found(t, audit.Dependencies{Modules: func() []audit.Module { return parts }, Ask: ask})
		return list
	}
	are(t, "not asked", check(nil), "info: Nobody on the network was asked")
	are(t, "not reached", check(func(context.Context, []audit.Module) ([]audit.Flaw, error) { return nil, errors.New("down") }), "info: cannot be reached")
	are(t, "none", check(func(context.Context, []audit.Module) ([]audit.Flaw, error) { return nil, nil }))
	are(t, "two of one", check(func(_ context.Context, m []audit.Module) ([]audit.Flaw, error) {
		return []audit.Flaw{{"GO-1", m[0]}, {"GO-2", m[0]}}, nil
	}), "medium: example.org/a v1.0.0")
	list, note := found(t, audit.Dependencies{Modules: func() []audit.Module { return nil }})
	if are(t, "unknown", list); !strings.Contains(note, "does not know") {
		t.Error(note)
	}
}

func TestExposure(t *testing.T) {
	t.Parallel()
	list, _ := found(t, audit.Exposure{Look: func(context.Context) ([]audit.Listener, error) {
		return []audit.Listener{
			{Address: "127.0.0.1:8080", Local: true}, {Address: "a:1"}, {Address: "b:1", SignIn: true}, {Address: "c:1", SignIn: true, TLS: true},
		}, nil
	}})
	are(t, "doors", list, "critical: Everybody who reaches a:1", "medium: b:1 without encryption", "info: c:1")
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	check := func(w audit.Way) []string {
		list, _ := found(t, audit.SignIn{Now: clock, Look: func(context.Context) (audit.Way, error) { return w, nil }})
		return list
	}
	are(t, "closed", check(audit.Way{}))
	are(t, "open to all", check(audit.Way{Open: true}), "critical: neither a passphrase nor a paired device")
	are(t, "strong", check(audit.Way{Open: true, Passphrase: true, Memory: 64 << 10, Passes: 3}))
	are(t, "weak", check(audit.Way{Passphrase: true, Memory: 8 << 10, Passes: 3}), "medium: too little work")
	are(t, "one pass", check(audit.Way{Passphrase: true, Memory: 64 << 10, Passes: 1}), "medium: too little work")
	are(t, "devices", check(audit.Way{Devices: []audit.Device{{Name: "Phone", Seen: noon.Add(-days(59))}, {Name: "Tablet", Seen: noon.Add(-days(61))}}}), "low: Tablet is signed in and was not seen for 61 days")
	are(t, "tokens", check(audit.Way{Tokens: []audit.Token{
		{Name: "fine", Created: noon.Add(-days(90)), Used: noon.Add(-days(1)), Expires: noon.Add(days(1))},
		{Name: "over", Expires: noon.Add(-time.Hour)},
		{Name: "wide", Wide: true, Created: noon, Expires: noon.Add(days(1))},
		{Name: "for ever", Wide: true, Created: noon},
		{Name: "unused", Created: noon.Add(-days(31))},
		{Name: "rests", Created: noon.Add(-days(400)), Used: noon.Add(-days(181))},
	}}), "info: over has expired", "low: wide may do everything", "medium: for ever may do everything, for ever", "low: unused was never used", "low: rests was not used for 181 days")
}

func TestRules(t *testing.T) {
	t.Parallel()
	rule := func(match string) audit.Rule { return audit.Rule{Tool: "shell", Match: match, Words: "x", Made: noon} }
	for what, x := range map[string]struct {
		rule audit.Rule
		want []string
	}{
		"everything":     {audit.Rule{Tool: "*", Made: noon}, []string{"critical: Everything"}},
		"every command":  {audit.Rule{Tool: "shell", Runs: true, Made: noon}, []string{"high: Every command"}},
		"every send":     {audit.Rule{Tool: "web_fetch", Sends: true, Made: noon}, []string{"medium: reaches the network"}},
		"every write":    {audit.Rule{Tool: "file_write", Writes: true, Made: noon}, []string{"medium: changes things"}},
		"an interpreter": {rule("run python3 …"), []string{"high: begin with python3"}},
		"by its path":    {rule("run /usr/bin/env …"), []string{"high: begin with env"}},
		"a command":      {rule("run git log …"), nil},
		"one command":    {rule("run python3"), nil},
		"the disk":       {rule(`folder "/"`), []string{"high: all of /"}},
		"the home":       {rule("folder /home/me"), []string{"high: all of /home/me"}},
		"above the home": {rule("folder /home"), []string{"high: all of /home"}},
		"a folder":       {rule("folder /home/me/site"), nil},
		"beside it":      {rule("folder /home/m"), nil},
		"forgotten":      {audit.Rule{Tool: "shell", Match: "run ls", Words: "ls", Made: noon.Add(-days(1000)), Used: noon.Add(-days(999))}, []string{"info: was not used for 999 days: ls"}},
	} {
		list, _ := found(t, audit.Rules{Home: "/home/me", Now: clock, Look: func(context.Context) ([]audit.Rule, error) { return []audit.Rule{x.rule}, nil }})
		are(t, what, list, x.want...)
	}
}

// broken is a check that does not do what it should.
type broken func(ctx context.Context, report func(audit.Finding)) (string, error)

func (broken) Name() string { return "Broken" }

func (b broken) Run(ctx context.Context, report func(audit.Finding)) (string, error) {
	return b(ctx, report)
}

// One check that panics, fails, hangs or never ends to report costs only itself.
func TestChecksThatBreak(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	a := audit.New(audit.Options{Timeout: 50 * time.Millisecond, Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }},
		broken(func(context.Context, func(audit.Finding)) (string, error) { panic("hunter2") }),
		broken(func(context.Context, func(audit.Finding)) (string, error) { return "", errors.New("hunter2") }),
		broken(func(context.Context, func(audit.Finding)) (string, error) { <-hang; return "", nil }),
		broken(func(_ context.Context, report func(audit.Finding)) (string, error) {
			for i := range 300 {
				report(audit.Finding{Severity: audit.Low, Text: fmt.Sprintf("%d hunter2", i)})
			}
			return "hunter2", nil
		}),
	)
	steps := 0
	r := a.Run(t.Context(), func(done, total int) {
		if steps++; done != steps || total != 4 {
			t.Errorf("%d of %d", done, total)
		}
	})
	for i, c := range r.Checks {
		if (c.Failed != "") != (i < 3) {
			t.Errorf("check %d: %+v", i, c)
		}
	}
	if r.Failed() != 3 {
		t.Error("the report does not say that something was not looked at")
	}
	if n := len(r.Findings); n != audit.MaxOfCheck+1 {
		t.Errorf("%d findings", n)
	}
	if b, err := json.Marshal(r); err != nil || strings.Contains(string(b), "hunter2") {
		t.Errorf("a secret in the report, or %v", err)
	}
}
