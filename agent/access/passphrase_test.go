package access_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
)

func TestWeakPassphrases(t *testing.T) {
	for _, weak := range []string{
		"", "short", "  seven 7  ", "aaaaaaaa", "AaAaAaAaAa", "abababababab", "abcdabcdabcd", "12345678", "1234567890", "87654321", "abcdefgh", "hgfedcba",
		"password", "Password1!", "P@ssw0rd", "passwort123", "2024password", "password password", "qwertyui", "QWERTZ12345", "1q2w3e4r", "iloveyou", "1Il0veY0u!",
		"31.12.1999", "0170 1234567", "dragon123", "Summer2024!", "changeme", "ash12345", "adminadmin", "sunshine princess", "ab12ab12", "eight\x00chars", "broken\xff\xfetext",
		"two\nlines of it", strings.Repeat("long ", 300),
	} {
		err := access.CheckPassphrase([]byte(weak))
		if agent.CodeOf(err) != agent.CodeInvalid || !strings.HasSuffix(agent.PublicOf(err), ".") {
			t.Errorf("%q: %v", weak, err)
		}
	}
	for _, fine := range []string{
		good, "correct horse battery staple", "kT9#mq2L", "grünes Pferd", "Wir essen um 7", "пароль на двери", "密码藏在竹林深处吧", "14 Birnbäume am Bach", "password of the blue whale kingdom",
	} {
		if err := access.CheckPassphrase([]byte(fine)); err != nil {
			t.Errorf("%q: %v", fine, err)
		}
	}
}

func TestTooLongIsNotHashed(t *testing.T) {
	p := doors(t)
	p.set(good)
	for range 50 { // no guess, so nobody waits
		_, _, err := p.SignIn(t.Context(), []byte(strings.Repeat("a", access.MaxPassphrase+1)), access.Arrival{From: stranger})
		p.fails(err, agent.CodeInvalid)
	}
	if got := p.guess(access.Arrival{From: stranger}); !got.Looked {
		t.Errorf("waits: %+v", got)
	}
}

// TestUsualCost hashes as usual: several at once take the memory of one, which is given back, and no passphrase at all takes as long as a wrong one.
func TestUsualCost(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory would be measured")
	}
	p := doors(t)
	p.Doors = access.NewDoors(p.store, access.DoorOptions{Now: p.now})
	timed := func() time.Duration {
		start := time.Now()
		p.guess(access.Arrival{From: phone})
		return time.Since(start)
	}
	timed()
	none := timed()
	before := resident()
	p.set(good)
	wrong := timed()
	if none < wrong/3 || wrong < none/3 {
		t.Errorf("without a passphrase it takes %v, with one %v", none, wrong)
	}
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			select {
			case <-stop:
				peak <- most
				return
			default:
				most = max(most, resident())
				time.Sleep(time.Millisecond)
			}
		}
	}()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, _, err := p.SignIn(context.Background(), []byte(good), access.Arrival{Here: true})
			if refused := (*access.Refused)(nil); err != nil && !errors.As(err, &refused) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(stop)
	most := <-peak
	runtime.GC()
	t.Logf("one takes %v; memory before %d MB, peak of four at once %d MB, after %d MB", wrong, before>>20, most>>20, resident()>>20)
	if most > before+(140<<20) || resident() > before+(24<<20) {
		t.Errorf("memory before %d MB, peak %d MB, after %d MB", before>>20, most>>20, resident()>>20)
	}
	if kept, _ := p.store.Passphrase(t.Context()); !strings.HasPrefix(kept, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("kept as %s", kept)
	}
}

// resident is what the process holds of the system's memory, in bytes.
func resident() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
