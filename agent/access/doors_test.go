package access_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
	"ash/store"
)

const good = "four words nobody expects"

var (
	phone    = netip.MustParseAddr("192.168.1.20")
	stranger = netip.MustParseAddr("192.168.1.66")
)

// porch is the doors of a real store, with a clock that tests move.
type porch struct {
	*access.Doors
	t     *testing.T
	store *store.Store
	path  string
	log   bytes.Buffer
	idle  time.Duration
	mu    sync.Mutex
	at    time.Time
}

func doors(t *testing.T) *porch {
	t.Helper()
	p := &porch{t: t, path: filepath.Join(t.TempDir(), "ash.db"), at: time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)}
	t.Cleanup(func() { _ = p.store.Close() })
	p.start()
	return p
}

func (p *porch) now() time.Time { p.mu.Lock(); defer p.mu.Unlock(); return p.at }

func (p *porch) pass(d time.Duration) { p.mu.Lock(); defer p.mu.Unlock(); p.at = p.at.Add(d) }

func (p *porch) options() access.DoorOptions {
	return access.Cheap(access.DoorOptions{
		Now: p.now, Idle: func() time.Duration { return p.idle },
		Log: slog.New(slog.NewTextHandler(&p.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
}

// start opens the store; again, it is as after a restart.
func (p *porch) start() {
	p.t.Helper()
	if p.store != nil {
		p.ok(p.store.Close())
	}
	s, err := store.Open(context.Background(), store.Options{Path: p.path})
	p.ok(err)
	p.store, p.Doors = s, access.NewDoors(s, p.options())
}

func (p *porch) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *porch) fails(err error, want agent.Code) {
	p.t.Helper()
	if agent.CodeOf(err) != want {
		p.t.Errorf("got %v, want %s", err, want)
	}
}

func (p *porch) set(passphrase string) {
	p.t.Helper()
	p.ok(p.ResetPassphrase(context.Background(), []byte(passphrase)))
}

func (p *porch) in(a access.Arrival) (access.Device, access.Secret) {
	p.t.Helper()
	d, s, err := p.SignIn(context.Background(), []byte(good), a)
	p.ok(err)
	return d, s
}

// guess tries a wrong passphrase, and returns what it was refused with.
func (p *porch) guess(a access.Arrival) access.Refused { p.t.Helper(); return p.try("wrong one", a) }

// try returns what a passphrase was refused with; zero for not at all.
func (p *porch) try(passphrase string, a access.Arrival) access.Refused {
	p.t.Helper()
	_, _, err := p.SignIn(context.Background(), []byte(passphrase), a)
	if err == nil {
		return access.Refused{}
	}
	var refused *access.Refused
	if !errors.As(err, &refused) {
		p.t.Fatalf("refused with %v", err)
	}
	return *refused
}

// opens reports whether a secret opens the doors.
func (p *porch) opens(s access.Secret) bool {
	p.t.Helper()
	_, err := p.Session(context.Background(), s, phone)
	if err != nil {
		p.fails(err, agent.CodeDenied)
		if err.Error() != p.sessionError("x") {
			p.t.Errorf("refused in another way: %v", err)
		}
	}
	return err == nil
}

func (p *porch) sessionError(s access.Secret) string {
	_, err := p.Session(context.Background(), s, phone)
	return fmt.Sprint(err)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestSignIn(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	if ready, err := p.Ready(ctx); ready || err != nil {
		t.Errorf("ready with nothing: %v, %v", ready, err)
	}
	if got := p.try(good, access.Arrival{From: phone}); !got.Looked {
		t.Errorf("let in, or answered otherwise, with no passphrase set: %+v", got)
	}
	p.set(good)
	if ready, _ := p.Ready(ctx); !ready {
		t.Error("not ready with a passphrase")
	}
	agentHeader := "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile/15E148 Safari/604.1"
	d, s := p.in(access.Arrival{From: phone, Agent: agentHeader})
	if d.Name != "Safari on iPhone" || d.How != access.ByPassphrase || d.Address != "192.168.1.20" || !d.Expires.Equal(p.now().Add(access.Idle)) {
		t.Errorf("device %+v", d)
	}
	got, err := p.Session(ctx, s, phone)
	if err != nil || got != d {
		t.Errorf("session %+v, %v; want %+v", got, err, d)
	}
	// Signing in anew replaces what the browser was.
	again, s2 := p.in(access.Arrival{From: phone, Name: "My\u202e phone", Former: s})
	if p.opens(s) || !p.opens(s2) || again.Name != "My phone" {
		t.Errorf("signed in again as %+v", again)
	}
	if list, _ := p.Devices(ctx); len(list) != 1 || list[0].ID != again.ID {
		t.Errorf("devices %+v", list)
	}
	told := fmt.Sprintf("%v %s %#v", s2, s2, s2) + p.log.String()
	if strings.Contains(told, string(s2)[12:]) || strings.Contains(told, good) {
		t.Error("a secret is told")
	}
	if p.opens(s2[:len(s2)-1]) || p.opens("") || p.opens(access.NewSecret()) || p.opens(access.Secret(strings.Repeat("a", 1<<20))) {
		t.Error("opened by what is no session")
	}
}

func TestSessionsEnd(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	p.set(good)
	one, s1 := p.in(access.Arrival{From: phone})
	two, s2 := p.in(access.Arrival{From: phone})
	three, s3 := p.in(access.Arrival{From: phone})
	w1, w2, w3 := p.Watch(ctx, one.ID), p.Watch(ctx, two.ID), p.Watch(ctx, three.ID)
	if closed(w1) || closed(w2) || !closed(p.Watch(ctx, agent.NewID())) {
		t.Error("streams end for no reason, or stay open for nobody")
	}
	p.ok(p.SignOut(ctx, one.ID))
	if p.opens(s1) || !p.opens(s2) || !closed(w1) || closed(w2) || !closed(p.Watch(ctx, one.ID)) {
		t.Error("signing one out")
	}
	p.fails(p.SignOut(ctx, one.ID), agent.CodeNotFound)
	if n, err := p.SignOutAll(ctx, three.ID); n != 1 || err != nil || p.opens(s2) || !p.opens(s3) || !closed(w2) || closed(w3) {
		t.Errorf("signing all others out: %d, %v", n, err)
	}
	p.start() // a restart changes nothing
	if p.opens(s1) || p.opens(s2) || !p.opens(s3) {
		t.Error("a restart forgets, or remembers too much")
	}
	p.pass(access.Idle - time.Second)
	if !p.opens(s3) {
		t.Error("ended too early")
	}
	p.pass(access.Idle - time.Second)
	if !p.opens(s3) {
		t.Error("use does not keep it")
	}
	p.idle = 10 * time.Hour // a shorter setting counts at once
	p.pass(11 * time.Hour)
	if list, _ := p.Devices(ctx); p.opens(s3) || len(list) != 0 {
		t.Error("not ended by a shorter setting")
	}
	p.idle = 0
	p.pass(access.Idle)
	if p.opens(s3) {
		t.Error("never ends")
	}
}

func TestSeenIsNotedOnceAMinute(t *testing.T) {
	p := doors(t)
	p.set(good)
	_, s := p.in(access.Arrival{From: phone})
	first := p.now()
	see := func() time.Time {
		_, err := p.Session(t.Context(), s, stranger)
		p.ok(err)
		list, err := p.Devices(t.Context())
		p.ok(err)
		return list[0].Seen
	}
	p.pass(59 * time.Second)
	if got := see(); !got.Equal(first) {
		t.Errorf("noted after 59 s: %v", got)
	}
	p.pass(time.Second)
	if got := see(); !got.Equal(first.Add(time.Minute)) {
		t.Errorf("not noted after a minute: %v", got)
	}
	if list, _ := p.Devices(t.Context()); list[0].Address != stranger.String() {
		t.Errorf("seen at %s", list[0].Address)
	}
}

func TestRotation(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	p.set(good)
	due := func(s access.Secret) bool {
		t.Helper()
		d, err := p.Session(ctx, s, phone)
		p.ok(err)
		return d.Rotate
	}
	_, s1 := p.in(access.Arrival{From: phone})
	if due(s1) {
		t.Error("due at once")
	}
	p.pass(access.RotateEvery)
	if !due(s1) {
		t.Error("not due")
	}
	s2, err := p.Rotate(ctx, s1)
	p.ok(err)
	if _, err := p.Rotate(ctx, s1); agent.CodeOf(err) != agent.CodeConflict || due(s1) {
		t.Errorf("two requests at once rotate twice: %v", err)
	}
	p.pass(time.Hour) // the answer with the new one was lost
	if !due(s1) {
		t.Error("a lost answer is not made good")
	}
	s3, err := p.Rotate(ctx, s1)
	p.ok(err)
	if p.opens(s2) || !p.opens(s1) {
		t.Error("the lost one opens, or the only one that is known does not")
	}
	if due(s3) { // used: the old one goes
		t.Error("due at once")
	}
	p.pass(59 * time.Second)
	if !p.opens(s1) {
		t.Error("a request under way is refused")
	}
	if _, err := p.Rotate(ctx, s1); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("a retired one rotates: %v", err)
	}
	p.pass(time.Second)
	if p.opens(s1) || !p.opens(s3) || !strings.Contains(p.log.String(), "used again") {
		t.Error("after its grace")
	}
	// The owner, whose secret somebody else has rotated, signs in: the other one is out.
	_, s4 := p.in(access.Arrival{From: phone, Former: s1})
	if p.opens(s3) || !p.opens(s4) {
		t.Error("whoever has the successor stays in")
	}
	if _, err := p.Rotate(ctx, s3); agent.CodeOf(err) != agent.CodeDenied {
		t.Errorf("an ended one rotates: %v", err)
	}
}

func TestManyDevices(t *testing.T) {
	p := doors(t)
	p.set(good)
	_, first := p.in(access.Arrival{From: phone})
	for range access.MaxDevices {
		p.pass(time.Second)
		p.in(access.Arrival{From: phone})
	}
	if list, _ := p.Devices(t.Context()); len(list) != access.MaxDevices || p.opens(first) {
		t.Errorf("%d devices, the first is still in: %v", len(list), p.opens(first))
	}
}

func TestChangingThePassphrase(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	first := access.Change{New: []byte(good), By: access.Arrival{Here: true}}
	p.ok(p.SetPassphrase(ctx, first))
	var refused *access.Refused
	if err := p.SetPassphrase(ctx, first); !errors.As(err, &refused) || !refused.Looked {
		t.Errorf("changed without the old one: %v", err)
	}
	mine, s1 := p.in(access.Arrival{From: phone})
	_, s2 := p.in(access.Arrival{From: phone})
	paired := p.pair("Tablet")
	p.fails(p.SetPassphrase(ctx, access.Change{Old: []byte(good), New: []byte("short"), By: access.Arrival{From: phone, Former: s1}}), agent.CodeInvalid)
	p.ok(p.SetPassphrase(ctx, access.Change{Old: []byte(good), New: []byte("another fine passphrase"), By: access.Arrival{From: phone, Former: s1}, Keep: mine.ID}))
	if !p.opens(s1) || p.opens(s2) || !p.opens(paired) {
		t.Errorf("signed in: mine %v, other %v, paired %v", p.opens(s1), p.opens(s2), p.opens(paired))
	}
	if got := p.try(good, access.Arrival{From: phone}); !got.Looked {
		t.Error("the old one still lets in")
	}
	p.set(good)
	if p.opens(s1) || !p.opens(paired) {
		t.Error("reset at the machine")
	}
	p.ok(p.Reset(ctx))
	has, err := p.HasPassphrase(ctx)
	if has || err != nil || p.opens(paired) {
		t.Errorf("after the reset: %v, %v", has, err)
	}
	if ready, _ := p.Ready(ctx); ready {
		t.Error("ready after the reset")
	}
}

func TestHashIsMadeAnew(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	p.set(good)
	before, err := p.store.Passphrase(ctx)
	p.ok(err)
	p.Doors = access.NewDoors(p.store, access.Dearer(p.options()))
	p.in(access.Arrival{From: phone})
	after, err := p.store.Passphrase(ctx)
	p.ok(err)
	if before == after || !strings.Contains(after, "m=128,t=2,p=1") {
		t.Errorf("kept %s", after)
	}
	p.in(access.Arrival{From: phone})
	if again, _ := p.store.Passphrase(ctx); again != after {
		t.Error("made anew each time")
	}
	p.Doors = access.NewDoors(p.store, p.options()) // cheaper again: it stays
	p.in(access.Arrival{From: phone})
	if again, _ := p.store.Passphrase(ctx); again != after {
		t.Error("made cheaper")
	}
}

func TestOnePassphraseInEveryKeyboard(t *testing.T) {
	p := doors(t)
	p.set("gru\u0308n wie die Wiese")
	if got := p.try("gr\u00fcn wie die Wiese", access.Arrival{From: phone}); got != (access.Refused{}) {
		t.Errorf("refused: %+v", got)
	}
}

func TestDamagedHash(t *testing.T) {
	p := doors(t)
	_, err := p.store.SetPassphrase(t.Context(), "", "$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", p.now(), access.Ending{})
	p.ok(err)
	_, _, err = p.SignIn(t.Context(), []byte(good), access.Arrival{From: phone})
	p.fails(err, agent.CodeInternal)
	p.set(good) // the way out
	p.in(access.Arrival{From: phone})
}
