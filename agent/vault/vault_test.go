package vault_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/vault"
)

func TestLifeOfAVault(t *testing.T) {
	log := &memory{}
	dir := filepath.Join(tempDir(t), "vault")
	v := open(t, dir, vault.Options{Log: log, Anchor: log})
	if s := v.Status(t.Context()); s.Exists || s.Unlocked || s.Problem != "" {
		t.Fatalf("before it is made: %+v", s)
	}
	refused(t, v.Unlock(t.Context(), pass), agent.CodeNotFound)
	refused(t, v.Create(t.Context(), []byte("short")), agent.CodeInvalid)
	must(t, v.Create(t.Context(), pass))
	refused(t, v.Create(t.Context(), pass), agent.CodeConflict)
	put(t, v, "provider/anthropic", "api.anthropic.com")
	yields(t, v, "provider/anthropic", "value of provider/anthropic")
	if got, want := log.last(), "use provider/anthropic provider/anthropic api.anthropic.com test true "; got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
	v.Lock(t.Context())
	_, err := use(v, "provider/anthropic")
	refused(t, err, agent.CodeLocked)
	if got := log.last(); got != "use provider/anthropic provider/anthropic api.anthropic.com test false locked" {
		t.Errorf("logged %q", got)
	}
	_, err = v.List()
	refused(t, err, agent.CodeLocked)
	refused(t, v.Unlock(t.Context(), other), agent.CodeDenied)
	_, err = vault.Open(dir, vault.Options{})
	refused(t, err, agent.CodeConflict)
	must(t, v.Close())

	v = open(t, dir, vault.Options{Log: log, Anchor: log})
	_, err = use(v, "provider/anthropic")
	refused(t, err, agent.CodeLocked)
	must(t, v.Unlock(t.Context(), pass))
	yields(t, v, "provider/anthropic", "value of provider/anthropic")
	noPlaintext(t, filepath.Dir(dir), []byte("value of"), []byte("anthropic"), pass)
}

func TestRequestsAreBound(t *testing.T) {
	log := &memory{}
	v, _ := made(t, vault.Options{Log: log})
	_, err := v.Put(t.Context(), vault.Secret{Name: "tool/wide", Value: []byte("v"), Hosts: []string{"*.example.com", "[::1]:8080", "exact.org:8443"}, Users: []string{"tool/webfetch", "tool/wide"}})
	must(t, err)
	_, err = v.Put(t.Context(), vault.Secret{Name: "door/ca", Value: []byte("inner")})
	must(t, err)
	for _, c := range []struct {
		name, user, host string
		code             agent.Code
	}{
		{"tool/wide", "tool/webfetch", "a.example.com", ""},
		{"tool/wide", "tool/wide", "A.B.example.com:443", ""},
		{"tool/wide", "tool/wide", "[::1]:8080", ""},
		{"tool/wide", "tool/wide", "exact.org:8443", ""},
		{"tool/wide", "tool/wide", "exact.org", agent.CodeDenied},
		{"tool/wide", "tool/wide", "exact.org:443", agent.CodeDenied},
		{"tool/wide", "tool/wide", "example.com", agent.CodeDenied},
		{"tool/wide", "tool/wide", "notexample.com", agent.CodeDenied},
		{"tool/wide", "tool/wide", "a.example.com.evil.org", agent.CodeDenied},
		{"tool/wide", "tool/wide", "a.example.com@evil.org", agent.CodeDenied},
		{"tool/wide", "tool/wide", "*.example.com", agent.CodeDenied},
		{"tool/wide", "tool/wide", "[::1]", agent.CodeDenied},
		{"tool/wide", "tool/wide", "", agent.CodeDenied},
		{"tool/wide", "plugin/evil", "a.example.com", agent.CodeDenied},
		{"tool/wide", "", "a.example.com", agent.CodeDenied},
		{"door/ca", "door/ca", "", ""},
		{"door/ca", "door/ca", "example.com", agent.CodeDenied},
		{"tool/none", "tool/none", "example.com", agent.CodeNotFound},
		{"../etc/passwd", "tool/none", "example.com", agent.CodeNotFound},
	} {
		_, err := v.Use(t.Context(), vault.Request{Name: c.name, User: c.user, Host: c.host})
		if agent.CodeOf(err) != c.code {
			t.Errorf("%s for %s to %s: %v, want %q", c.name, c.user, c.host, err, c.code)
		}
	}
	for _, a := range log.lines {
		if a.Action == vault.ActionUse && a.Allowed != (a.Why == "") {
			t.Errorf("the log contradicts itself: %+v", a)
		}
	}
}

func TestRotatingKeepsTheFormerValue(t *testing.T) {
	v, _ := made(t, vault.Options{})
	name := "tool/brave"
	refused(t, v.Confirm(t.Context(), name), agent.CodeConflict)
	rotate := func(value string) {
		t.Helper()
		_, err := v.Rotate(t.Context(), name, []byte(value), nil)
		must(t, err)
		yields(t, v, name, value)
	}
	rotate("second")
	must(t, v.Revert(t.Context(), name))
	yields(t, v, name, "value of tool/brave")
	rotate("third")
	rotate("fourth") // the third was never confirmed
	must(t, v.Revert(t.Context(), name))
	yields(t, v, name, "value of tool/brave")
	rotate("fifth")
	must(t, v.Confirm(t.Context(), name))
	refused(t, v.Revert(t.Context(), name), agent.CodeConflict)
	yields(t, v, name, "fifth")
	_, err := v.Rotate(t.Context(), "tool/none", []byte("x"), nil)
	refused(t, err, agent.CodeNotFound)
	_, err = v.Put(t.Context(), vault.Secret{Name: name, Value: []byte("x")})
	refused(t, err, agent.CodeConflict)
	must(t, v.Delete(t.Context(), name))
	_, err = use(v, name)
	refused(t, err, agent.CodeNotFound)
	refused(t, v.Delete(t.Context(), name), agent.CodeNotFound)
	must(t, v.Bind(t.Context(), "provider/anthropic", []string{"git.example.com"}, []string{"tool/x"}))
	_, err = use(v, "provider/anthropic")
	refused(t, err, agent.CodeDenied)
	got, err := v.Use(t.Context(), vault.Request{Name: "provider/anthropic", User: "tool/x", Host: "git.example.com"})
	must(t, err)
	if string(got) != "value of provider/anthropic" {
		t.Error(string(got))
	}
}

func TestAddingWhileLocked(t *testing.T) {
	log := &memory{}
	v, dir := made(t, vault.Options{Anchor: log, Log: log})
	v.Lock(t.Context())
	later, err := v.Put(t.Context(), vault.Secret{Name: "tool/late", Value: []byte("late"), Hosts: []string{"late.example.com"}})
	must(t, err)
	if !later {
		t.Fatal("a locked vault took it at once")
	}
	_, err = v.Put(t.Context(), vault.Secret{Name: "tool/brave", Value: []byte("theirs"), Hosts: []string{"evil.example.com"}, Users: []string{"plugin/evil"}})
	must(t, err)
	if s := v.Status(t.Context()); s.Incoming != 2 || s.Secrets != -1 {
		t.Errorf("%+v", s)
	}
	left := snapshot(t, dir)
	noPlaintext(t, dir, []byte("late"), []byte("theirs"))
	must(t, v.Unlock(t.Context(), pass))
	got, err := v.Use(t.Context(), vault.Request{Name: "tool/late", User: "tool/late", Host: "late.example.com"})
	must(t, err)
	if string(got) != "late" {
		t.Errorf("%q", got)
	}
	yields(t, v, "tool/brave", "value of tool/brave") // what waits is not used
	if s := v.Status(t.Context()); s.Incoming != 0 || s.Secrets != 4 || s.Waiting != 1 {
		t.Errorf("%+v", s)
	}
	must(t, v.Confirm(t.Context(), "tool/brave"))
	yields(t, v, "tool/brave", "theirs") // and only to where the one before went
	must(t, v.Delete(t.Context(), "tool/late"))

	// What was taken in once is not taken in again.
	v.Lock(t.Context())
	for name, data := range left {
		if strings.HasPrefix(name, "new/") {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
		}
	}
	must(t, v.Unlock(t.Context(), pass))
	all, err := v.List()
	must(t, err)
	if len(all) != 3 || slices.ContainsFunc(all, func(i vault.Info) bool { return i.Waiting || i.Name == "tool/late" }) {
		t.Errorf("a file put back was taken in: %+v", all)
	}
}

func TestAddingBlindlyNeedsTheKnownKey(t *testing.T) {
	log := &memory{}
	v, dir := made(t, vault.Options{Anchor: log})
	v.Lock(t.Context())
	foreign, foreignDir := made(t, vault.Options{})
	must(t, foreign.Close())
	theirs, err := os.ReadFile(filepath.Join(foreignDir, "current"))
	must(t, err)
	mine, err := os.ReadFile(filepath.Join(dir, "current"))
	must(t, err)
	recipient := func(text []byte) []byte {
		i := bytes.Index(text, []byte("age1"))
		return text[i : i+62]
	}
	must(t, os.WriteFile(filepath.Join(dir, "current"), bytes.Replace(mine, recipient(mine), recipient(theirs), 1), 0o600))
	_, err = v.Put(t.Context(), vault.Secret{Name: "tool/late", Value: []byte("late")})
	refused(t, err, agent.CodeDenied)
	refused(t, v.Unlock(t.Context(), pass), agent.CodeDenied)
}

func TestASecretWithAPassphraseOfItsOwn(t *testing.T) {
	v, _ := made(t, vault.Options{})
	_, err := v.Put(t.Context(), vault.Secret{Name: "tool/bank", Value: []byte("gold"), Hosts: []string{"bank.example.com"}, Extra: other})
	must(t, err)
	ask := vault.Request{Name: "tool/bank", User: "tool/bank", Host: "bank.example.com"}
	_, err = v.Use(t.Context(), ask)
	refused(t, err, agent.CodeLocked)
	ask.Extra = pass
	_, err = v.Use(t.Context(), ask)
	refused(t, err, agent.CodeDenied)
	ask.Extra = other
	got, err := v.Use(t.Context(), ask)
	must(t, err)
	if string(got) != "gold" {
		t.Errorf("%q", got)
	}
	_, err = v.Rotate(t.Context(), "tool/bank", []byte("silver"), nil)
	refused(t, err, agent.CodeInvalid)
	must(t, v.RotateIdentity(t.Context(), pass))
	got, err = v.Use(t.Context(), ask)
	must(t, err)
	if string(got) != "gold" {
		t.Errorf("%q", got)
	}
}

func TestPassphraseAndPhrase(t *testing.T) {
	v, dir := made(t, vault.Options{})
	refused(t, v.ChangePassphrase(t.Context(), other, pass), agent.CodeDenied)
	must(t, v.ChangePassphrase(t.Context(), pass, other))
	v.Lock(t.Context())
	refused(t, v.Unlock(t.Context(), pass), agent.CodeDenied)
	refused(t, v.Recover(t.Context(), strings.Repeat("abandon ", 23)+"art", pass), agent.CodeNotFound)
	must(t, v.Unlock(t.Context(), other))

	phrase, err := v.NewPhrase(t.Context())
	must(t, err)
	if n := len(strings.Fields(phrase)); n != 24 {
		t.Fatalf("%d words", n)
	}
	if !v.Status(t.Context()).Recovery {
		t.Error("the status does not know of the phrase")
	}
	must(t, v.RotateIdentity(t.Context(), other)) // without the phrase
	v.Lock(t.Context())
	refused(t, v.Recover(t.Context(), strings.Repeat("abandon ", 23)+"art", pass), agent.CodeDenied)
	refused(t, v.Recover(t.Context(), strings.Repeat("abandon ", 24), pass), agent.CodeInvalid)
	var written strings.Builder
	for i, w := range strings.Fields(phrase) { // as somebody writes it down
		written.WriteString(strings.ToUpper(w[:min(4, len(w))]))
		if i%4 == 3 {
			written.WriteString("\r\n 5.")
		}
		written.WriteString(", ")
	}
	must(t, v.Recover(t.Context(), written.String(), pass))
	yields(t, v, "tool/brave", "value of tool/brave")
	v.Lock(t.Context())
	refused(t, v.Unlock(t.Context(), other), agent.CodeDenied)
	must(t, v.Unlock(t.Context(), pass))
	newer, err := v.NewPhrase(t.Context())
	must(t, err)
	refused(t, v.Recover(t.Context(), phrase, pass), agent.CodeDenied)
	must(t, v.Recover(t.Context(), newer, pass))
	noPlaintext(t, dir, []byte(strings.Fields(phrase)[0]+" "+strings.Fields(phrase)[1]), []byte("AGE-SECRET"))
}

func TestUnicodePassphrase(t *testing.T) {
	v, _ := made(t, vault.Options{})
	must(t, v.ChangePassphrase(t.Context(), pass, []byte("Schlüssel zum Garten")))
	v.Lock(t.Context())
	must(t, v.Unlock(t.Context(), []byte("Schlu\u0308ssel zum Garten"))) // as another keyboard says it
}

func TestIdleLocks(t *testing.T) {
	log := &memory{}
	now := time.Now()
	v, _ := made(t, vault.Options{Idle: time.Hour, Log: log}.Now(func() time.Time { return now }))
	now = now.Add(59 * time.Minute)
	yields(t, v, "tool/brave", "value of tool/brave")
	now = now.Add(59 * time.Minute)
	yields(t, v, "tool/brave", "value of tool/brave")
	now = now.Add(time.Hour) // the timer did not see it: the machine slept
	_, err := use(v, "tool/brave")
	refused(t, err, agent.CodeLocked)
	for range 3 { // it is in the log once, whoever asks again
		_, err = v.List()
		refused(t, err, agent.CodeLocked)
		_ = v.Status(t.Context())
	}
	if n := log.lapses(); n != 1 {
		t.Errorf("the log says %d times that the idle time ran out: %s", n, log.last())
	}
	must(t, v.Unlock(t.Context(), pass))
	now = now.Add(time.Hour)
	if v.Status(t.Context()).Unlocked || log.lapses() != 2 || log.last() != "lock    idle true " {
		t.Errorf("looked at after an hour: %d lapses, then %s", log.lapses(), log.last())
	}
	log.fail = errors.New("the disk is full") // then it locks all the same
	must(t, v.Unlock(t.Context(), pass))
	now = now.Add(time.Hour)
	if v.Status(t.Context()).Unlocked {
		t.Error("it stays unlocked because that cannot be recorded")
	}
	log.fail = nil

	v2, _ := made(t, vault.Options{Idle: 30 * time.Millisecond, Log: log})
	deadline := time.Now().Add(10 * time.Second)
	for log.last() != "lock    idle true " {
		if time.Now().After(deadline) {
			t.Fatalf("did not lock by itself: %s", log.last())
		}
		time.Sleep(5 * time.Millisecond)
	}
	_, err = v2.List()
	refused(t, err, agent.CodeLocked)
}

// TestIdleLocksWhoeverSetsTheClock: by itself soon after the machine woke, also when nothing asks for a secret; and when the clock was set back.
func TestIdleLocksWhoeverSetsTheClock(t *testing.T) {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	slept, _ := made(t, vault.Options{Idle: time.Hour}.Now(clock).Wake(5*time.Millisecond))
	ahead.Store(int64(2 * time.Hour))
	back, _ := made(t, vault.Options{Idle: 300 * time.Millisecond}.Now(clock).Wake(5*time.Millisecond))
	ahead.Store(int64(-24 * time.Hour))
	deadline := time.Now().Add(10 * time.Second)
	for _, v := range []*vault.Vault{back, slept} {
		if v == slept {
			ahead.Store(int64(26 * time.Hour))
		}
		for v.Values() != nil {
			if time.Now().After(deadline) {
				t.Fatal("did not lock by itself")
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// TestClosedIsClosed: what was under way when the vault was closed does not open it again, for another process may have it.
func TestClosedIsClosed(t *testing.T) {
	v, dir := made(t, vault.Options{})
	must(t, v.Close())
	before := snapshot(t, dir)
	refused(t, v.Unlock(t.Context(), pass), agent.CodeUnavailable)
	refused(t, v.Repair(t.Context(), pass), agent.CodeUnavailable)
	refused(t, v.ChangePassphrase(t.Context(), pass, other), agent.CodeUnavailable)
	_, err := v.Put(t.Context(), vault.Secret{Name: "tool/late", Value: []byte("late")})
	refused(t, err, agent.CodeUnavailable)
	same(t, before, snapshot(t, dir))
}

// TestWrongPassphrasesCostTime: whoever sits at a page that is signed in gets a few tries, then one at a time with waits between, however many ask at once.
func TestWrongPassphrasesCostTime(t *testing.T) {
	v, _ := made(t, vault.Options{})
	v.Lock(t.Context())
	var denied, early atomic.Int64
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			switch agent.CodeOf(v.Unlock(t.Context(), other)) {
			case agent.CodeDenied:
				denied.Add(1)
			case agent.CodeExhausted:
				early.Add(1)
			}
		})
	}
	all.Wait()
	if denied.Load() > 6 || early.Load() < 34 { // the sixth may come a second later
		t.Errorf("%d tried, %d put off", denied.Load(), early.Load())
	}
	refused(t, v.Unlock(t.Context(), pass), agent.CodeExhausted) // or the answer would tell that it was right
	deadline := time.Now().Add(10 * time.Second)
	for v.Unlock(t.Context(), pass) != nil {
		if time.Now().After(deadline) {
			t.Fatal("the owner waits for ever")
		}
		time.Sleep(50 * time.Millisecond)
	}
	v.Lock(t.Context())
	refused(t, v.Unlock(t.Context(), other), agent.CodeDenied) // counted anew
}

func TestWithoutALogNothingIsHandedOut(t *testing.T) {
	log := &memory{}
	v, _ := made(t, vault.Options{Log: log})
	log.fail = errors.New("disk full")
	_, err := use(v, "tool/brave")
	refused(t, err, agent.CodeUnavailable)
	var out bytes.Buffer
	refused(t, v.Export(t.Context(), &out, other), agent.CodeUnavailable)
	if out.Len() > 0 {
		t.Error("exported unseen")
	}
	must(t, v.Delete(t.Context(), "tool/brave"))
	if s := v.Status(t.Context()); len(s.Notes) == 0 {
		t.Error("no note of the log's failure")
	}
}

func TestExportAndImport(t *testing.T) {
	v, _ := made(t, vault.Options{})
	_, err := v.Put(t.Context(), vault.Secret{Name: "tool/bank", Value: []byte("gold"), Hosts: []string{"bank.example.com"}, Extra: other})
	must(t, err)
	var file bytes.Buffer
	must(t, v.Export(t.Context(), &file, other))
	if bytes.Contains(file.Bytes(), []byte("value of")) {
		t.Fatal("the export is readable")
	}
	dir := filepath.Join(tempDir(t), "second")
	v2 := open(t, dir, vault.Options{})
	must(t, v2.Create(t.Context(), pass))
	put(t, v2, "tool/brave", "api.search.brave.com")
	_, err = v2.Import(t.Context(), bytes.NewReader(file.Bytes()), pass)
	refused(t, err, agent.CodeDenied)
	_, err = v2.Import(t.Context(), bytes.NewReader(file.Bytes()[:file.Len()-1]), other)
	refused(t, err, agent.CodeDenied)
	done, err := v2.Import(t.Context(), bytes.NewReader(file.Bytes()), other)
	must(t, err)
	if len(done.Added) != 3 || len(done.There) != 1 {
		t.Errorf("%+v", done)
	}
	yields(t, v2, "provider/anthropic", "value of provider/anthropic")
	got, err := v2.Use(t.Context(), vault.Request{Name: "tool/bank", User: "tool/bank", Host: "bank.example.com", Extra: other})
	must(t, err)
	if string(got) != "gold" {
		t.Errorf("%q", got)
	}
}

func TestImportEnv(t *testing.T) {
	v, _ := made(t, vault.Options{})
	done, err := v.ImportEnv(t.Context(), []byte("A_KEY=one\nB_KEY=two\nEMPTY=\nOTHER=x\n"), func(key string) (vault.Secret, bool) {
		name, ok := map[string]string{"A_KEY": "tool/a", "B_KEY": "tool/brave", "EMPTY": "tool/empty"}[key]
		return vault.Secret{Name: name, Hosts: []string{"a.example.com"}}, ok
	})
	must(t, err)
	if !slices.Equal(done.Added, []string{"tool/a"}) || !slices.Equal(done.There, []string{"tool/brave"}) || !slices.Equal(done.Skipped, []string{"EMPTY", "OTHER"}) {
		t.Errorf("%+v", done)
	}
}

func TestConcurrentUse(t *testing.T) {
	v, _ := made(t, vault.Options{})
	done := make(chan error, 40)
	for i := range 10 {
		go func() { _, err := use(v, "tool/brave"); done <- err }()
		go func() { done <- v.Unlock(t.Context(), pass) }()
		go func() { _, err := v.Rotate(t.Context(), "plugin/git/token", []byte{byte('a' + i)}, nil); done <- err }()
		go func() {
			v.Status(t.Context())
			done <- v.ChangePassphrase(t.Context(), pass, pass)
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil && agent.CodeOf(err) != agent.CodeConflict {
			t.Error(err)
		}
	}
	yields(t, v, "tool/brave", "value of tool/brave")
	wrong, err := v.Verify(t.Context())
	must(t, err)
	if len(wrong) > 0 {
		t.Error(wrong)
	}
}

// TestValues are what the guard takes out of all that is written.
func TestValues(t *testing.T) {
	v, _ := made(t, vault.Options{})
	is := func(want ...string) {
		t.Helper()
		if got := v.Values(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	is("value of plugin/git/token", "value of provider/anthropic", "value of tool/brave")
	_, err := v.Rotate(t.Context(), "tool/brave", []byte("newer"), nil)
	must(t, err)
	is("newer", "value of plugin/git/token", "value of provider/anthropic", "value of tool/brave")
	must(t, v.Confirm(t.Context(), "tool/brave"))
	must(t, v.Delete(t.Context(), "plugin/git/token"))
	_, err = v.Put(t.Context(), vault.Secret{Name: "tool/bank", Value: []byte("gold"), Extra: other})
	must(t, err)
	is("newer", "value of provider/anthropic")
	v.Lock(t.Context())
	is()
	_, err = v.Put(t.Context(), vault.Secret{Name: "tool/brave", Value: []byte("waits")})
	must(t, err)
	must(t, v.Unlock(t.Context(), pass))
	is("newer", "value of provider/anthropic", "waits")
	must(t, v.RotateIdentity(t.Context(), pass))
	is("newer", "value of provider/anthropic", "waits")
	must(t, v.Close())
	is()
}
