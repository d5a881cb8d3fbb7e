package access_test

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent/access"
)

// doomedPath in the environment makes TestDoomed work on the database there until it is killed.
const doomedPath = "ACCESS_DOOMED"

// TestDoomed is the process that TestKilled kills. It says what was done once it is done.
func TestDoomed(t *testing.T) {
	path := os.Getenv(doomedPath)
	if path == "" {
		t.Skip("only as a process of TestKilled")
	}
	p := &porch{t: t, path: path, at: time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)}
	p.start()
	p.set(good)
	ctx := context.Background()
	var before access.Device
	var secret access.Secret
	for i := 0; ; i++ {
		d, s := p.in(access.Arrival{Here: true})
		fmt.Println("in", string(d.ID), string(s))
		if before.ID != "" {
			p.ok(p.SignOut(ctx, before.ID))
			fmt.Println("out", string(before.ID), string(secret))
		}
		next, err := p.Rotate(ctx, s)
		p.ok(err)
		fmt.Println("in", string(d.ID), string(next))
		if i < 18 { // one more would have to wait, and the clock stands still
			p.guess(access.Arrival{From: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})})
			fmt.Println("guess", i)
		}
		before, secret = d, next
	}
}

// TestKilled kills a process at any instant: what it said was done is done.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		path := filepath.Join(t.TempDir(), "ash.db")
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestDoomed$")
		cmd.Env = append(os.Environ(), doomedPath+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in, gone, guesses, lines := map[string]string{}, map[string]string{}, 0, 0 // secrets to their devices, devices to their last secrets
		for s := bufio.NewScanner(out); s.Scan(); lines++ {
			what, which, _ := strings.Cut(s.Text(), " ")
			switch what {
			case "in":
				device, secret, _ := strings.Cut(which, " ")
				in[secret] = device
			case "out":
				device, secret, _ := strings.Cut(which, " ")
				gone[device] = secret
			case "guess":
				guesses++
			}
			if lines == 3+17*round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		if lines < 3+17*round {
			t.Fatalf("it ended by itself after %d lines", lines)
		}
		p := &porch{t: t, path: path, at: time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)}
		p.start()
		t.Cleanup(func() { _ = p.store.Close() })
		for _, secret := range gone {
			if p.opens(access.Secret(secret)) {
				t.Errorf("round %d: what was signed out opens", round)
			}
		}
		untold := map[string]bool{} // devices that are signed out although nobody was told: the process died on the way to saying so
		for secret, device := range in {
			if _, told := gone[device]; !told && !p.opens(access.Secret(secret)) {
				untold[device] = true
			}
		}
		if len(untold) > 1 {
			t.Errorf("round %d: the sessions of %d devices are lost", round, len(untold)-1)
		}
		counted := 0
		list, err := p.store.Delays(t.Context())
		p.ok(err)
		for _, d := range list {
			if d.Key == "everybody" {
				counted = d.Count
			}
		}
		if counted < guesses {
			t.Errorf("round %d: %d of %d guesses are counted", round, counted, guesses)
		}
	}
}
