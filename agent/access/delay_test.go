package access_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
)

// siege guesses n times, waiting as told, from what next returns for each guess; it returns how long that took.
func (p *porch) siege(n int, next func(i int) access.Arrival) time.Duration {
	p.t.Helper()
	start := p.now()
	for i := 0; i < n; {
		got := p.guess(next(i))
		if got.Looked {
			i++
		}
		if !got.Looked {
			p.pass(got.Wait)
		}
	}
	return p.now().Sub(start)
}

// TestTenThousandGuesses computes what 10,000 wrong passphrases take, by the same rules that a guesser meets, in the four ways to come.
func TestTenThousandGuesses(t *testing.T) {
	if testing.Short() {
		t.Skip("40,000 guesses")
	}
	const day = 24 * time.Hour
	many := func(i int) access.Arrival {
		return access.Arrival{From: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})}
	}
	for name, c := range map[string]struct {
		next  func(p *porch) func(int) access.Arrival
		least time.Duration
	}{
		"one address": {func(*porch) func(int) access.Arrival {
			return func(int) access.Arrival { return access.Arrival{From: stranger} }
		}, 400 * day},
		"an address of its own each time": {func(*porch) func(int) access.Arrival { return many }, 6 * day},
		"this machine": {func(*porch) func(int) access.Arrival {
			return func(int) access.Arrival { return access.Arrival{Here: true} }
		}, 6 * day},
		"a network of IPv6":                 {func(*porch) func(int) access.Arrival { return sameNetwork }, 400 * day},
		"a device that was signed in":       {formerly, 400 * day},
		"a device, the server restarting":   {formerly, 400 * day},
		"all addresses, pausing in between": {func(*porch) func(int) access.Arrival { return many }, 6 * day},
	} {
		t.Run(name, func(t *testing.T) {
			p := doors(t)
			p.set(good)
			n := 400 // each further one takes as long as the last: the rest is reckoned
			next := c.next(p)
			took := p.siege(n, func(i int) access.Arrival {
				if strings.HasSuffix(name, "restarting") && i%7 == 0 {
					p.start()
				}
				if strings.HasSuffix(name, "between") && i%20 == 0 {
					p.pass(15 * time.Minute)
				}
				return next(i)
			})
			before := p.now()
			p.siege(50, func(i int) access.Arrival { return next(n + i) })
			total := took + p.now().Sub(before)*(10_000-400)/50
			t.Logf("400 guesses take %v, 10,000 about %.0f days", took, total.Hours()/24)
			if total < c.least {
				t.Errorf("10,000 guesses take %v, not %v", total, c.least)
			}
		})
	}
}

func sameNetwork(i int) access.Arrival {
	return access.Arrival{From: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i+1))}
}

func formerly(p *porch) func(int) access.Arrival {
	_, s := p.in(access.Arrival{From: phone})
	return func(int) access.Arrival { return access.Arrival{From: stranger, Former: s} }
}

// TestStrangersKeepNobodyOut besieges the doors from everywhere; who was here before, and this machine, come in all the same.
func TestStrangersKeepNobodyOut(t *testing.T) {
	p := doors(t)
	p.set(good)
	_, live := p.in(access.Arrival{From: phone})
	_, old := p.in(access.Arrival{From: phone})
	p.pass(access.Idle - time.Hour)
	if !p.opens(live) {
		t.Fatal("ended")
	}
	p.pass(2 * time.Hour) // the old one has expired
	mine, revoked := p.in(access.Arrival{From: phone})
	p.ok(p.SignOut(t.Context(), mine.ID))
	p.siege(200, func(i int) access.Arrival {
		return access.Arrival{From: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})}
	})
	p.guess(access.Arrival{From: stranger})
	if got := p.try(good, access.Arrival{From: netip.MustParseAddr("10.9.9.9")}); got.Looked || got.Wait <= 0 || got.Wait > time.Minute {
		t.Errorf("a new device of the owner: %+v", got)
	}
	if got := p.try(good, access.Arrival{From: stranger, Former: revoked}); got.Looked || got.Wait <= 0 {
		t.Errorf("one that was signed out by the person is a stranger: %+v", got)
	}
	if !p.opens(live) {
		t.Error("a signed-in device is kept out")
	}
	if got := p.try(good, access.Arrival{From: stranger, Former: old}); got != (access.Refused{}) {
		t.Errorf("a device that was signed in before: %+v", got)
	}
	if got := p.try(good, access.Arrival{From: netip.MustParseAddr("127.0.0.1"), Here: true}); got != (access.Refused{}) {
		t.Errorf("this machine: %+v", got)
	}
	if session := p.pair("New phone"); !p.opens(session) {
		t.Error("pairing waits for strangers")
	}
	p.pass(time.Minute)
	if got := p.try(good, access.Arrival{From: netip.MustParseAddr("10.9.9.9")}); got != (access.Refused{}) {
		t.Errorf("a new device, when the strangers rest for a minute: %+v", got)
	}
}

// TestProxyIsNobody: who comes through a proxy on this machine shares its address with strangers, and pays only what all strangers share.
func TestProxyIsNobody(t *testing.T) {
	p := doors(t)
	p.set(good)
	proxy := access.Arrival{From: netip.MustParseAddr("::ffff:127.0.0.1")}
	took := p.siege(60, func(int) access.Arrival { return proxy })
	if took < 30*time.Minute {
		t.Errorf("60 guesses take %v", took)
	}
	got := p.guess(proxy)
	if got.Looked || got.Wait > time.Minute {
		t.Errorf("the owner behind the same proxy: %+v", got)
	}
	p.pass(got.Wait)
	p.in(proxy)
	for range 10 {
		_, _, _ = p.Claim(t.Context(), "AAAA-AAAA", proxy)
	}
	offer, err := p.Offer(t.Context())
	p.ok(err)
	if got := p.refusedCode(offer.Code, proxy.From); got.Looked {
		t.Error("a code does not wait")
	}
	if _, _, err := p.Claim(t.Context(), string(offer.Link), proxy); err != nil {
		t.Errorf("a link waits: %v", err)
	}
}

func TestAttemptsAtOnceAreNotFree(t *testing.T) {
	p := doors(t)
	p.set(good)
	var all sync.WaitGroup
	var mu sync.Mutex
	looked := 0
	for range 64 {
		all.Go(func() {
			if got := p.guess(access.Arrival{From: stranger}); got.Looked {
				mu.Lock()
				looked++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if looked != 6 { // five free ones, and the one that begins the wait
		t.Errorf("%d of 64 at once were looked at", looked)
	}
}

func TestDelaysOutliveARestart(t *testing.T) {
	p := doors(t)
	p.set(good)
	p.siege(12, func(int) access.Arrival { return access.Arrival{From: stranger} })
	first := p.guess(access.Arrival{From: stranger})
	p.start()
	again := p.guess(access.Arrival{From: stranger})
	if again.Looked || again.Wait != first.Wait {
		t.Errorf("before the restart %+v, after it %+v", first, again)
	}
	p.set("quite another passphrase") // at the machine: the owner begins anew
	if got := p.guess(access.Arrival{From: stranger}); !got.Looked || got.Wait != 0 {
		t.Errorf("after the owner set another: %+v", got)
	}
}

// TestWorkingForgets: a right one forgets the wrong ones of its address, not those of everybody.
func TestWorkingForgets(t *testing.T) {
	p := doors(t)
	p.set(good)
	for range 5 {
		p.guess(access.Arrival{From: phone})
	}
	p.in(access.Arrival{From: phone})
	for i := range 6 {
		if got := p.guess(access.Arrival{From: phone}); !got.Looked || (got.Wait > 0) != (i == 5) {
			t.Fatalf("guess %d: %+v", i, got)
		}
	}
}

// TestDelaysHold guesses at random times from random places, with a clock that jumps, and looks whether what must always hold does.
func TestDelaysHold(t *testing.T) {
	for seed := range uint64(6) {
		p := doors(t)
		p.set(good)
		r := rand.New(rand.NewPCG(seed, 1))
		looked := map[string]int{}
		start := p.now()
		for range 400 {
			from := netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(4))})
			got := p.guess(access.Arrival{From: from})
			if got.Wait < 0 || got.Wait > time.Hour {
				t.Fatalf("seed %d: a wait of %v", seed, got.Wait)
			}
			if got.Looked {
				looked[from.String()]++
			} else if got.Wait == 0 {
				t.Fatalf("seed %d: not looked at for no reason", seed)
			}
			switch r.IntN(12) {
			case 0:
				p.start()
			case 1:
				p.pass(-time.Duration(r.IntN(100)) * time.Second) // the clock is put back
			case 2:
				p.pass(time.Duration(r.IntN(90)) * time.Minute)
			default:
				p.pass(time.Duration(r.IntN(20)) * time.Second)
			}
		}
		hours := int(p.now().Sub(start).Hours())
		for from, n := range looked {
			if most := hours + 5 + 13 + 1; n > most {
				t.Errorf("seed %d: %d guesses of %s looked at in %d hours", seed, n, from, hours)
			}
		}
		list, err := p.store.Delays(context.Background())
		p.ok(err)
		if len(list) > 5 {
			t.Errorf("seed %d: %d delays kept", seed, len(list))
		}
	}
}

// TestClockPutBack: a clock that was a year ahead keeps nobody out for a year.
func TestClockPutBack(t *testing.T) {
	p := doors(t)
	p.set(good)
	p.siege(20, func(int) access.Arrival { return access.Arrival{From: stranger} })
	p.guess(access.Arrival{From: stranger})
	p.pass(-365 * 24 * time.Hour)
	got := p.guess(access.Arrival{From: stranger})
	if got.Looked || got.Wait > time.Hour {
		t.Errorf("%+v", got)
	}
	p.pass(got.Wait)
	if got := p.try(good, access.Arrival{From: stranger}); got != (access.Refused{}) {
		t.Errorf("after the wait: %+v", got)
	}
}

// TestManyStrangers: what is remembered is bounded.
func TestManyStrangers(t *testing.T) {
	p := doors(t)
	p.set(good)
	for i := range 1500 {
		p.pass(time.Minute)
		p.guess(access.Arrival{From: netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})})
	}
	list, err := p.store.Delays(t.Context())
	p.ok(err)
	if len(list) > 70 { // an address that failed once is forgotten after an hour
		t.Errorf("%d addresses remembered", len(list))
	}
}

func FuzzPHC(f *testing.F) {
	f.Add("$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21l$AAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$argon2id$v=19$m=0,t=0,p=0$$")
	f.Add("$argon2i$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21l$AAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		back, err := access.ParsePHC(text)
		if err == nil && back != text {
			t.Errorf("%q is read as %q", text, back)
		}
		if err != nil && agent.CodeOf(err) != agent.CodeInternal {
			t.Errorf("%q: %v", text, err)
		}
	})
}
