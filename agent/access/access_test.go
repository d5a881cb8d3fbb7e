package access_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
	"ash/store"
	"ash/store/storetest"
)

// house is the tokens of a real store, with a clock that tests move.
type house struct {
	t      *testing.T
	store  *store.Store
	tokens *access.Tokens
	log    bytes.Buffer
	mu     sync.Mutex
	at     time.Time
}

func open(t *testing.T) *house {
	t.Helper()
	s := storetest.Open(t)
	h := &house{t: t, store: s, at: time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)}
	h.tokens = access.New(s, access.Options{Now: h.now, Log: slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	return h
}

func (h *house) now() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.at }

func (h *house) pass(d time.Duration) { h.mu.Lock(); defer h.mu.Unlock(); h.at = h.at.Add(d) }

func (h *house) make(name string, expires time.Time, scopes ...string) (access.Token, access.Secret) {
	h.t.Helper()
	token, secret, err := h.tokens.Create(context.Background(), access.NewToken{Name: name, Scopes: scopes, Expires: expires})
	if err != nil {
		h.t.Fatal(err)
	}
	return token, secret
}

var here = netip.MustParseAddr("127.0.0.1")

// try presents a secret, and returns how long it has to wait, -1 when it is let in.
func (h *house) try(s access.Secret, from netip.Addr) time.Duration {
	h.t.Helper()
	_, err := h.tokens.Authenticate(context.Background(), s, from)
	if err == nil {
		return -1
	}
	var refused *access.Refused
	if !errors.As(err, &refused) {
		h.t.Fatalf("refused with %v", err)
	}
	return refused.Wait
}

func TestTokenLetsIn(t *testing.T) {
	h := open(t)
	made, secret := h.make("  notes   app ", time.Time{}, "memory", "read", "memory")
	if made.Name != "notes app" || fmt.Sprint(made.Scopes) != "[read memory]" || !strings.HasPrefix(string(secret), made.Hint) || len(secret) != access.SecretLength {
		t.Errorf("made %+v, %d characters", made, len(secret))
	}
	got, err := h.tokens.Authenticate(t.Context(), secret, here)
	if err != nil || got.ID != made.ID || !got.Allows(access.ScopeMemory) || got.Allows(access.ScopeChat) || got.Allows() {
		t.Errorf("let in as %+v, %v", got, err)
	}
	if _, boss := h.make("boss", time.Time{}, "admin"); h.try(boss, here) != -1 {
		t.Error("admin is refused")
	} else if all, _ := h.tokens.List(t.Context()); !all[0].Allows(access.ScopeChat) || all[0].Name != "boss" || len(all) != 2 {
		t.Errorf("tokens %+v", all)
	}
}

func TestSecretsAreToldNobody(t *testing.T) {
	h := open(t)
	made, secret := h.make("a", time.Time{}, "read")
	h.try(secret, here)
	h.try(secret[:len(secret)-1]+"0", here)
	if _, err := h.tokens.Revoke(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		h.try(secret, here)
	}
	told := fmt.Sprintf("%v %s %#v %+v", secret, secret, secret, struct{ S access.Secret }{secret}) + h.log.String()
	if rest := string(secret)[len(made.Hint):]; strings.Contains(told, rest) || strings.Contains(told, rest[:20]) {
		t.Errorf("the secret is in: %s", told)
	}
	if !strings.Contains(h.log.String(), "it is revoked") || !strings.Contains(h.log.String(), string(made.ID)) {
		t.Errorf("the log does not say why: %s", h.log.String())
	}
	all, err := h.tokens.List(t.Context())
	if err != nil || strings.Contains(fmt.Sprintf("%+v", all), string(secret)[len(made.Hint):]) {
		t.Errorf("the list holds it: %+v, %v", all, err)
	}
}

func TestRefusedAlike(t *testing.T) {
	h := open(t)
	_, old := h.make("old", h.now().Add(time.Hour), "read")
	_, gone := h.make("gone", time.Time{}, "read")
	if h.try(old, here) != -1 || h.try(gone, here) != -1 {
		t.Fatal("not let in")
	}
	h.pass(time.Hour)
	if _, err := h.tokens.Revoke(t.Context(), "GONE"); err != nil {
		t.Fatal(err)
	}
	typo := []byte(access.NewSecret())
	typo[20]++
	upper := access.Secret(strings.ToUpper(string(old)))
	for i, s := range []access.Secret{old, gone, access.NewSecret(), access.Secret(typo), upper, "", "ash_", "x", access.Secret(strings.Repeat("a", 1<<16))} {
		_, err := h.tokens.Authenticate(t.Context(), s, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
		if err == nil || err.Error() != (&access.Refused{}).Error() {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

func TestMistypedOnesAreKnownWithoutALook(t *testing.T) {
	s := access.NewSecret()
	if _, ok := s.Hash(); !ok {
		t.Fatalf("%q is none", string(s))
	}
	for i := range len(s) {
		for _, c := range []byte("0z") {
			other := []byte(s)
			if other[i] == c {
				continue
			}
			other[i] = c
			if _, ok := access.Secret(other).Hash(); ok {
				t.Errorf("one with another character at %d passes", i)
			}
		}
	}
}

func TestNamesAndScopes(t *testing.T) {
	h := open(t)
	h.make("App", time.Time{}, "read")
	for name, n := range map[string]access.NewToken{
		"taken":     {Name: "aPP", Scopes: []string{"read"}},
		"empty":     {Name: " ", Scopes: []string{"read"}},
		"long":      {Name: strings.Repeat("ä", access.MaxName+1), Scopes: []string{"read"}},
		"control":   {Name: "a\x1b[2J", Scopes: []string{"read"}},
		"broken":    {Name: "a\xff", Scopes: []string{"read"}},
		"bidi":      {Name: "a\u202eb", Scopes: []string{"read"}},
		"an id":     {Name: string(agent.NewID()), Scopes: []string{"read"}},
		"a secret":  {Name: string(access.NewSecret()), Scopes: []string{"read"}},
		"no scope":  {Name: "b"},
		"unknown":   {Name: "b", Scopes: []string{"root"}},
		"over then": {Name: "b", Scopes: []string{"read"}, Expires: h.now()},
	} {
		want := agent.CodeInvalid
		if name == "taken" {
			want = agent.CodeConflict
		}
		if _, _, err := h.tokens.Create(t.Context(), n); agent.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := h.tokens.Revoke(t.Context(), "nobody"); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("revoking nothing: %v", err)
	}
	first, err := h.tokens.Revoke(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	second, _ := h.make("app", time.Time{}, "read") // the name is free again
	if _, err := h.tokens.Revoke(t.Context(), string(first.ID)); err != nil {
		t.Errorf("revoking twice: %v", err)
	}
	if got, err := h.tokens.Revoke(t.Context(), string(second.ID)); err != nil || got.Revoked.IsZero() {
		t.Errorf("by id: %+v, %v", got, err)
	}
	for i := range access.MaxTokens {
		h.make(fmt.Sprint("n", i), time.Time{}, "read")
	}
	if _, _, err := h.tokens.Create(t.Context(), access.NewToken{Name: "more", Scopes: []string{"read"}}); agent.CodeOf(err) != agent.CodeExhausted {
		t.Errorf("beyond the most: %v", err)
	}
}

func TestUseIsNotedOnceAMinute(t *testing.T) {
	h := open(t)
	_, secret := h.make("a", time.Time{}, "read")
	used := func() time.Time {
		all, err := h.tokens.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Used
	}
	if !used().IsZero() {
		t.Fatal("used before it was")
	}
	h.try(secret, here)
	first := used()
	h.pass(59 * time.Second)
	h.try(secret, here)
	if !first.Equal(used()) || first.IsZero() {
		t.Errorf("noted again after 59 s: %v, %v", first, used())
	}
	h.pass(2 * time.Second)
	h.try(secret, here)
	if got := used().Sub(first); got != 61*time.Second {
		t.Errorf("noted after %v", got)
	}
}

func TestFailuresHaveToWait(t *testing.T) {
	h := open(t)
	_, good := h.make("good", time.Time{}, "read")
	_, late := h.make("late", time.Time{}, "read")
	other := netip.MustParseAddr("192.168.1.9")
	if h.try(good, here) != -1 {
		t.Fatal("not let in")
	}
	var waits []time.Duration
	for range 40 {
		wait := h.try(access.NewSecret(), here)
		if wait > 0 {
			waits = append(waits, wait)
			h.pass(wait)
			if again := h.try(access.NewSecret(), here); again != 0 {
				t.Fatalf("after its wait it waits %v more", again)
			}
		}
	}
	for i := 1; i < len(waits); i++ {
		if waits[i] < waits[i-1] || waits[i] > 5*time.Minute {
			t.Errorf("waits %v", waits)
		}
	}
	if waits[0] != time.Second || waits[len(waits)-1] != 5*time.Minute {
		t.Errorf("waits from %v to %v", waits[0], waits[len(waits)-1])
	}
	if h.try(access.NewSecret(), here) == 0 {
		t.Fatal("it does not wait")
	}
	if h.try(good, here) != -1 {
		t.Error("one that has worked is kept out by the failures of another")
	}
	if h.try(late, here) <= 0 {
		t.Error("a guess is looked at while its address waits")
	}
	if h.try(late, other) != -1 {
		t.Error("another address has to wait as well")
	}
	if _, err := h.tokens.Revoke(t.Context(), "good"); err != nil {
		t.Fatal(err)
	}
	if h.try(good, here) < 0 || h.try(good, here) <= 0 {
		t.Error("a revoked one is still let past the wait")
	}
	h.pass(16 * time.Minute)
	if h.try(access.NewSecret(), here) != 0 || h.try(late, here) != -1 {
		t.Error("failures are not forgotten")
	}
}

// TestManyAddresses fails from more addresses than are remembered.
func TestManyAddresses(t *testing.T) {
	h := open(t)
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for i := range 1100 {
		h.try("x", at(i))
	}
	if h.try("x", at(1_000_000)) == 0 {
		t.Error("beyond those that are remembered nobody has to wait")
	}
	if h.try("x", at(0)) != 0 {
		t.Error("an address that failed once has to wait")
	}
	h.pass(16 * time.Minute)
	if h.try("x", at(2_000_000)) != 0 {
		t.Error("the addresses of long ago are still remembered")
	}
	// A network of IPv6 is one machine.
	for i := range 6 {
		h.try("x", netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i+1)))
	}
	if h.try("x", netip.MustParseAddr("2001:db8::ffff")) == 0 {
		t.Error("another address of the same network is a new one")
	}
}

func TestManyAtOnce(t *testing.T) {
	h := open(t)
	_, secret := h.make("a", time.Time{}, "read")
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			if i%2 == 0 {
				h.try("x", here)
			} else if got := h.try(secret, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})); got != -1 {
				t.Errorf("refused: %v", got)
			}
		})
	}
	all.Wait()
}

func FuzzSecret(f *testing.F) {
	f.Add(string(access.NewSecret()))
	f.Add("ash_")
	f.Add(strings.Repeat("0", access.SecretLength))
	f.Fuzz(func(t *testing.T, text string) {
		s := access.Secret(text)
		_ = s.String()
		if hash, ok := s.Hash(); ok && (len(hash) != 32 || len(text) != access.SecretLength || text != strings.ToLower(text)) {
			t.Errorf("%q is a secret", text)
		}
	})
}
