package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rsc.io/qr"

	"ash/agent"
	"ash/agent/access"
	"ash/handlers"
)

func doorHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	must(t, os.Chmod(home, 0o700))
	return home
}

func passFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pass")
	must(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

func doorState(t *testing.T, home string) handlers.ControlDoorState {
	t.Helper()
	var s handlers.ControlDoorState
	must(t, json.Unmarshal([]byte(ash(t, "", "doors", "status", "--json", "--home", home).is(t, 0).out), &s))
	return s
}

func TestDoorsCommands(t *testing.T) {
	t.Parallel()
	home := doorHome(t)
	out := ash(t, "", "doors", "status", "--home", home).is(t, 0).out
	for _, want := range []string{"not running", "ash doors passphrase", "none is signed in"} {
		if !strings.Contains(out, want) {
			t.Errorf("the status lacks %q:\n%s", want, out)
		}
	}
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "password1"), "--home", home).complains(t, exitFailed, "first that anybody would try")
	ash(t, "", "doors", "passphrase", "--home", home).complains(t, exitFailed, "--passphrase-file") // no terminal
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "four words nobody expects"), "--home", home).is(t, 0)

	server := serving(t, home)
	if s := doorState(t, home); !s.Passphrase || s.Here != server.url || len(s.Devices) != 0 {
		t.Errorf("state %+v", s)
	}
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "another fine passphrase"), "--home", home).is(t, 0)
	ash(t, "", "doors", "sign-out", "nobody", "--home", home).complains(t, exitFailed, "nobody", "ash doors status")
	ash(t, "", "doors", "sign-out", "--home", home).complains(t, exitUsage, "--all")
	ash(t, "", "doors", "sign-out", "x", "--all", "--home", home).complains(t, exitUsage, "--all")
	ash(t, "", "doors", "sign-out", "--all", "--home", home).is(t, 0)
	ash(t, "n\n", "doors", "reset", "--home", home).complains(t, exitFailed, "Nothing was changed")
	ash(t, "", "doors", "reset", "--home", home).complains(t, exitFailed, "Nothing was changed")
	if !doorState(t, home).Passphrase {
		t.Error("reset without a yes")
	}
	ash(t, "y\n", "doors", "reset", "--home", home).is(t, 0)
	if doorState(t, home).Passphrase {
		t.Error("not reset")
	}
	server.signal(os.Interrupt)
	server.end()
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "four words nobody expects"), "--home", home).is(t, 0)
	ash(t, "", "doors", "reset", "--yes", "--home", home).is(t, 0) // without a server
	if doorState(t, home).Passphrase {
		t.Error("not reset without a server")
	}
}

func TestPairNeedsAServerAndATerminal(t *testing.T) {
	t.Parallel()
	home := doorHome(t)
	ash(t, "", "pair", "--home", home).complains(t, exitFailed, "terminal")
	for _, bad := range []string{"box", "ftp://x", "https://x/y", "https://x?y", "https://a@x", "https://"} {
		ash(t, "", "pair", "--url", bad, "--home", home).complains(t, exitUsage, "--url")
	}
	if base, err := baseAddress("https://box.ts.net/"); base != "https://box.ts.net" || err != nil {
		t.Errorf("%q, %v", base, err)
	}
}

// pairs is a running Ash, and one ash pair on it.
type pairs struct {
	t     *testing.T
	app   *app
	typed io.WriteCloser
	mu    sync.Mutex
	out   bytes.Buffer
	done  chan error
}

func (p *pairs) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *pairs) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func pairingOn(t *testing.T, base string) *pairs {
	t.Helper()
	home := doorHome(t)
	a, err := openApp(t.Context(), home, nil, true)
	must(t, err)
	t.Cleanup(func() { must(t, a.close(context.Background())) })
	stop, err := a.serveSocket(context.Background())
	must(t, err)
	t.Cleanup(func() { must(t, stop()) })
	c, err := dial(t.Context(), filepath.Join(home, socketName))
	must(t, err)
	t.Cleanup(c.close)
	in, typed := io.Pipe()
	t.Cleanup(func() { _ = typed.Close() })
	p := &pairs{t: t, app: a, typed: typed, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	one := &pairing{client: c, base: base, out: p, answers: newAnswers(in)}
	go func() { p.done <- one.run(ctx) }()
	return p
}

// until waits until ash pair said something.
func (p *pairs) until(words string) string {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		out := p.said()
		if strings.Contains(out, words) {
			return out
		}
		if time.Now().After(end) {
			p.t.Fatalf("it does not say %q:\n%s", words, out)
		}
	}
}

func (p *pairs) code() string {
	p.t.Helper()
	out := p.until("Waiting for the device")
	_, rest, _ := strings.Cut(out, "and type  ")
	code, ok := access.ParseCode(strings.Fields(rest)[0])
	if !ok {
		p.t.Fatalf("no code in:\n%s", out)
	}
	return code
}

func (p *pairs) claim(name string) (access.Claim, access.Secret) {
	p.t.Helper()
	claim, secret, err := p.app.doors.Claim(p.t.Context(), p.code(), access.Arrival{From: netip.MustParseAddr("192.168.1.9"), Name: name, Agent: "Firefox/1 Android"})
	must(p.t, err)
	return claim, secret
}

func (p *pairs) end() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		p.t.Fatalf("ash pair does not end:\n%s", p.said())
		return nil
	}
}

func TestPairInTheTerminal(t *testing.T) {
	t.Parallel()
	p := pairingOn(t, "https://ash.example.org")
	if out := p.until("Waiting"); !strings.Contains(out, "https://ash.example.org/pair ") || !strings.Contains(out, "█") {
		t.Errorf("it shows:\n%s", out)
	}
	claim, secret := p.claim("Anna's phone")
	if out := p.until("[y/N]"); !strings.Contains(out, "Anna's phone") || !strings.Contains(out, claim.Check) || !strings.Contains(out, "192.168.1.9") || !strings.Contains(out, "Firefox on Android") {
		t.Errorf("it asks:\n%s", out)
	}
	var wait *access.Unconfirmed
	if _, _, err := p.app.doors.Collect(t.Context(), secret, netip.Addr{}); !errors.As(err, &wait) {
		t.Errorf("collected unasked: %v", err)
	}
	_, err := io.WriteString(p.typed, "y\n")
	must(t, err)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, _, err := p.app.doors.Collect(t.Context(), secret, netip.Addr{})
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if err := p.end(); err != nil || !strings.Contains(p.said(), "is signed in") {
		t.Errorf("%v:\n%s", err, p.said())
	}
}

func TestPairSaysNo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		early, answer string
		want          string
	}{
		"no":                     {"", "n\n", "stays out"},
		"only a return":          {"", "\n", "stays out"},
		"a yes typed beforehand": {"y\ny\ny\n", "n\n", "stays out"},
		"the terminal is closed": {"", "EOF", "stays out"},
		"on another screen":      {"", "", "stays out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pairingOn(t, "http://192.168.1.2:8080")
			p.code()
			for _, line := range strings.SplitAfter(c.early, "\n") {
				go func() { _, _ = io.WriteString(p.typed, line) }() // taken when it is dropped, at the question
			}
			claim, secret := p.claim("Phone\x1b[2J")
			out := p.until("[y/N]")
			if strings.Contains(out, "\x1b[2J") {
				t.Error("the device writes into the terminal")
			}
			switch c.answer {
			case "EOF":
				must(t, p.typed.Close())
			case "":
				must(t, p.app.doors.Confirm(t.Context(), claim.ID, false))
			default:
				time.Sleep(2 * typedAhead)
				_, err := io.WriteString(p.typed, c.answer)
				must(t, err)
			}
			if err := p.end(); err != nil || !strings.Contains(p.said(), c.want) {
				t.Errorf("%v:\n%s", err, p.said())
			}
			if _, _, err := p.app.doors.Collect(t.Context(), secret, netip.Addr{}); agent.CodeOf(err) != agent.CodeDenied {
				t.Errorf("collected: %v", err)
			}
		})
	}
}

func TestPairWhereNobodyReachesAsh(t *testing.T) {
	t.Parallel()
	p := pairingOn(t, "")
	err := p.end()
	if agent.CodeOf(err) != agent.CodeConflict || !strings.Contains(agent.PublicOf(err), "ash doors passphrase") || !strings.Contains(agent.PublicOf(err), "ash serve --lan") {
		t.Errorf("%v", err)
	}
	must(t, p.app.doors.ResetPassphrase(t.Context(), []byte("four words nobody expects")))
	if claims, _ := p.app.doors.Claims(t.Context()); len(claims) != 0 {
		t.Error("a code is open")
	}
}

// TestQRText reads the picture back and compares it with the code.
func TestQRText(t *testing.T) {
	t.Parallel()
	const link = "http://192.168.100.200:8080/pair/7k3m9qxt7k3m9qxt7k3m9qxt7k"
	code, err := qr.Encode(link, qr.L)
	must(t, err)
	for _, colour := range []bool{true, false} {
		text, err := qrText(link, colour)
		must(t, err)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > 20 {
			t.Errorf("%d lines", len(lines))
		}
		for row, line := range lines {
			if colour {
				line = strings.TrimSuffix(strings.TrimPrefix(line, "\x1b[38;5;16;48;5;231m"), "\x1b[0m")
			}
			squares := []rune(line)
			if len(squares) != code.Size+2*quietZone {
				t.Fatalf("line %d has %d squares", row, len(squares))
			}
			for col, r := range squares {
				upper, lower := r == '█' || r == '▀', r == '█' || r == '▄'
				if !colour {
					upper, lower = !upper, !lower
				}
				x, y := col-quietZone, 2*row-quietZone
				if upper != code.Black(x, y) || lower != code.Black(x, y+1) {
					t.Fatalf("colour %v: square %d,%d", colour, x, y)
				}
			}
		}
	}
	if _, err := qrText(strings.Repeat("x", 5000), true); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("too long: %v", err)
	}
}
