package access_test

import (
	"context"
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
)

// pair pairs a device and returns its secret.
func (p *porch) pair(name string) access.Secret {
	p.t.Helper()
	ctx := context.Background()
	offer, err := p.Offer(ctx)
	p.ok(err)
	claim, secret, err := p.Claim(ctx, offer.Code, access.Arrival{From: phone, Name: name})
	p.ok(err)
	p.ok(p.Confirm(ctx, claim.ID, true))
	_, session, err := p.Collect(ctx, secret, phone)
	p.ok(err)
	return session
}

func (p *porch) refusedCode(code string, from netip.Addr) access.Refused {
	p.t.Helper()
	_, _, err := p.Claim(context.Background(), code, access.Arrival{From: from})
	var refused *access.Refused
	if !errors.As(err, &refused) {
		p.t.Fatalf("the code %q: %v", code, err)
	}
	return *refused
}

func TestPairing(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	changed := p.Changed()
	offer, err := p.Offer(ctx)
	p.ok(err)
	if !regexp.MustCompile(`^[0-9A-Z]{4}-[0-9A-Z]{4}$`).MatchString(offer.Code) || len(offer.Link) != 26 || !closed(changed) {
		t.Errorf("offer %+v", offer)
	}
	changed = p.Changed()
	claim, secret, err := p.Claim(ctx, strings.ToLower(" "+strings.ReplaceAll(offer.Code, "-", " ")), access.Arrival{From: phone, Name: "Anna's phone"})
	p.ok(err)
	if claim.Name != "Anna's phone" || !regexp.MustCompile(`^\d\d \d\d$`).MatchString(claim.Check) || claim.Stage != access.StageWaiting || claim.Offer != offer.ID || !closed(changed) {
		t.Errorf("claim %+v", claim)
	}
	if list, _ := p.Claims(ctx); len(list) != 1 || list[0] != claim {
		t.Errorf("claims %+v", list)
	}
	if got := p.refusedCode(offer.Code, stranger); !got.Looked { // used
		t.Errorf("refused %+v", got)
	}
	var wait *access.Unconfirmed
	if _, _, err := p.Collect(ctx, secret, phone); !errors.As(err, &wait) || wait.Claim != claim {
		t.Errorf("collected before it was confirmed: %v", err)
	}
	if _, _, err := p.Collect(ctx, access.NewSecret(), phone); agent.CodeOf(err) != agent.CodeDenied {
		t.Errorf("collected by somebody else: %v", err)
	}
	p.ok(p.Confirm(ctx, claim.ID, true))
	p.fails(p.Confirm(ctx, claim.ID, false), agent.CodeConflict)
	dev, session, err := p.Collect(ctx, secret, phone)
	p.ok(err)
	if dev.How != access.ByPairing || dev.Name != "Anna's phone" || !p.opens(session) {
		t.Errorf("device %+v", dev)
	}
	_, _, err = p.Collect(ctx, secret, phone)
	p.fails(err, agent.CodeDenied)
	if ready, _ := p.Ready(ctx); !ready {
		t.Error("not ready with a paired device")
	}
	// By the link, and no.
	offer, err = p.Offer(ctx)
	p.ok(err)
	claim, secret, err = p.Claim(ctx, string(offer.Link), access.Arrival{From: phone})
	p.ok(err)
	p.ok(p.Confirm(ctx, claim.ID, false))
	_, _, err = p.Collect(ctx, secret, phone)
	p.fails(err, agent.CodeDenied)
	if list, _ := p.Devices(ctx); len(list) != 1 {
		t.Errorf("devices %+v", list)
	}
	p.fails(p.Confirm(ctx, agent.NewID(), true), agent.CodeNotFound)
	if out := p.log.String(); strings.Contains(out, offer.Code) || strings.Contains(out, string(offer.Link)) || strings.Contains(out, string(secret)) || strings.Contains(out, string(session)) {
		t.Error("a code or secret is in the log")
	}
}

func TestPairingEnds(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	old, err := p.Offer(ctx)
	p.ok(err)
	offer, err := p.Offer(ctx) // one at a time
	p.ok(err)
	p.refusedCode(old.Code, phone)
	p.refusedCode(string(old.Link), phone)
	p.ok(p.Withdraw(ctx, old.ID)) // not the one that is open
	p.pass(access.PairingTime - time.Second)
	claim, secret, err := p.Claim(ctx, offer.Code, access.Arrival{From: phone})
	p.ok(err)
	p.pass(access.PairingTime)
	p.fails(p.Confirm(ctx, claim.ID, true), agent.CodeNotFound)
	_, _, err = p.Collect(ctx, secret, phone)
	p.fails(err, agent.CodeDenied)

	offer, err = p.Offer(ctx)
	p.ok(err)
	p.pass(access.PairingTime)
	p.refusedCode(offer.Code, phone)
	offer, err = p.Offer(ctx)
	p.ok(err)
	p.ok(p.Withdraw(ctx, offer.ID))
	p.refusedCode(offer.Code, phone)

	// What is under way does not survive signing all out, a reset or a restart.
	for name, end := range map[string]func(){
		"sign out all": func() { _, err := p.SignOutAll(ctx, ""); p.ok(err) },
		"reset":        func() { p.ok(p.Reset(ctx)) },
		"restart":      p.start,
	} {
		p.pass(time.Hour)
		offer, err := p.Offer(ctx)
		p.ok(err)
		claim, secret, err := p.Claim(ctx, offer.Code, access.Arrival{From: phone})
		p.ok(err)
		p.ok(p.Confirm(ctx, claim.ID, true))
		second, err := p.Offer(ctx)
		p.ok(err)
		end()
		if _, _, err := p.Collect(ctx, secret, phone); agent.CodeOf(err) != agent.CodeDenied {
			t.Errorf("%s: collected: %v", name, err)
		}
		p.refusedCode(second.Code, phone)
	}
}

// TestTwoPhonesOneCode lets many claim one code, and collect one claim, at once: one wins.
func TestTwoPhonesOneCode(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	for range 20 {
		offer, err := p.Offer(ctx)
		p.ok(err)
		var won, in atomic.Int32
		var all sync.WaitGroup
		secrets := make(chan access.Secret, 8)
		for i := range 8 {
			all.Go(func() {
				from := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
				claim, secret, err := p.Claim(ctx, offer.Code, access.Arrival{From: from})
				if err != nil {
					return
				}
				won.Add(1)
				secrets <- secret
				if err := p.Confirm(ctx, claim.ID, true); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		close(secrets)
		if won.Load() != 1 {
			t.Fatalf("%d won", won.Load())
		}
		secret := <-secrets
		for range 8 {
			all.Go(func() {
				if _, _, err := p.Collect(ctx, secret, phone); err == nil {
					in.Add(1)
				}
			})
		}
		all.Wait()
		if in.Load() != 1 {
			t.Fatalf("collected %d times", in.Load())
		}
		p.pass(time.Hour)
	}
	if list, _ := p.Devices(ctx); len(list) != 20 {
		t.Errorf("%d devices", len(list))
	}
}

func TestWrongCodesHaveToWait(t *testing.T) {
	p := doors(t)
	ctx := t.Context()
	_, err := p.Offer(ctx)
	p.ok(err)
	tried := 0
	for start := p.now(); p.now().Sub(start) < access.PairingTime; {
		got := p.refusedCode("AAAA-AAAA", stranger)
		if !got.Looked {
			t.Fatal("not looked at after its wait")
		}
		tried++
		p.pass(got.Wait)
	}
	if tried > 15 {
		t.Errorf("%d codes tried in two minutes", tried)
	}
	if got := p.refusedCode("AAAA-AAAA", stranger); got.Wait > time.Minute {
		t.Errorf("waits %v", got.Wait)
	}
	// A stranger's wrong codes do not keep the phone waiting, and from however many addresses, few are looked at.
	offer, err := p.Offer(ctx)
	p.ok(err)
	if got := p.refusedCode(offer.Code, stranger); got.Looked {
		t.Error("a good code is looked at while its address waits")
	}
	for i := range 2000 {
		p.refusedCode("AAAA-AAAA", netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}))
	}
	p.pass(time.Minute)
	if got := p.refusedCode(offer.Code, phone); !got.Looked {
		t.Errorf("after a thousand wrong codes the phone: %+v", got)
	}
	p.pass(time.Minute - time.Second) // the code is not looked at any more, the link is
	if _, _, err := p.Claim(ctx, string(offer.Link), access.Arrival{From: phone}); err != nil {
		t.Errorf("the link: %v", err)
	}
}

func FuzzCode(f *testing.F) {
	for _, s := range []string{"7K3M-9QXT", "o1iL 0000", "", "-", strings.Repeat("a", 26), "ＡAAA-AAAA", "AAAA\u2013AAAA"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain, ok := access.Spelling(text)
		if again, okAgain := access.Spelling(plain); ok && (!okAgain || again != plain || plain != strings.ToLower(plain)) {
			t.Errorf("%q is %q, and that is %q", text, plain, again)
		}
		code, ok := access.ParseCode(text)
		if again, _ := access.ParseCode(code); ok && again != code {
			t.Errorf("%q is %q, and that is %q", text, code, again)
		}
	})
}
