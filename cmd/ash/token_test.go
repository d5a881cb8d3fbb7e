package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
	"ash/handlers"
)

// program is something that uses the API of a server.
type program struct {
	t      *testing.T
	base   string
	secret string
}

// ask makes a request and returns the status and the body.
func (p program) ask(method, path, body string, headers ...string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+handlers.APIPrefix+path, strings.NewReader(body))
	must(p.t, err)
	req.Header.Set("Authorization", "Bearer "+p.secret)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	must(p.t, err)
	defer func() { must(p.t, res.Body.Close()) }()
	b, err := io.ReadAll(res.Body)
	must(p.t, err)
	return res.StatusCode, string(b)
}

// token makes one on the command line.
func token(t *testing.T, home, name string, more ...string) string {
	t.Helper()
	a := ash(t, "", append([]string{"token", "new", name, "--home", home}, more...)...).is(t, 0)
	secret := strings.TrimSuffix(a.out, "\n")
	if len(secret) != access.SecretLength || !strings.Contains(a.err, "not shown again") || strings.Contains(a.err, secret) {
		t.Fatalf("made %q, said %q", a.out, a.err)
	}
	return secret
}

func TestTokenCommands(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	must(t, os.Chmod(home, 0o700))
	ash(t, "", "token", "list", "--home", home).is(t, 0)
	secret := token(t, home, "notes app", "--scope", "memory,read", "--expires", "90d") // without a server
	server := serving(t, home)
	second := token(t, home, "second", "--scope", "read") // beside one
	p := program{t, server.url, secret}
	if status, body := p.ask("GET", "/memories", ""); status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	list := ash(t, "", "token", "list", "--home", home).is(t, 0).out
	for _, want := range []string{"notes app", "read,memory", "second", secret[:10] + "…", time.Now().AddDate(0, 0, 90).Format("2006-01"), "never"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q:\n%s", want, list)
		}
	}
	var all []handlers.ControlToken
	must(t, json.Unmarshal([]byte(ash(t, "", "token", "list", "--json", "--home", home).is(t, 0).out), &all))
	if len(all) != 2 || all[0].Name != "second" || all[1].Used.IsZero() || !all[0].Used.IsZero() || all[0].Secret != "" {
		t.Errorf("listed %+v", all)
	}
	if strings.Contains(list, secret) || strings.Contains(list, second) {
		t.Error("the list shows a token")
	}
	ash(t, "", "token", "new", "Second", "--scope", "read", "--home", home).complains(t, exitFailed, "with that name")
	ash(t, "", "token", "new", "x", "--home", home).complains(t, exitUsage, "--scope")
	ash(t, "", "token", "new", "x", "--scope", "root", "--home", home).complains(t, exitFailed, "root", "memory")
	ash(t, "", "token", "new", "x", "--scope", "read", "--expires", "soon", "--home", home).complains(t, exitUsage, "90d")
	ash(t, "", "token", "new", "x", "--scope", "read", "--expires", "2001-01-01", "--home", home).complains(t, exitFailed, "expired")
	ash(t, "", "token", "revoke", "nobody", "--home", home).complains(t, exitFailed, "no token")

	ash(t, "", "token", "revoke", "NOTES APP", "--home", home).is(t, 0)
	if status, body := p.ask("GET", "/memories", ""); status != 401 {
		t.Errorf("a revoked token: %d %s", status, body)
	}
	p.secret = second
	if status, _ := p.ask("GET", "/memories", ""); status != 200 {
		t.Error("the other one is refused as well")
	}
	ash(t, "", "token", "revoke", string(all[0].ID), "--home", home).is(t, 0)
	if status, _ := p.ask("GET", "/memories", ""); status != 401 {
		t.Error("revoked by its id it is still good")
	}
	if out := ash(t, "", "token", "list", "--home", home).is(t, 0).out; strings.Contains(out, "second") {
		t.Errorf("revoked ones are listed:\n%s", out)
	}
	if out := ash(t, "", "token", "list", "--all", "--home", home).is(t, 0).out; strings.Count(out, "revoked") != 2 {
		t.Errorf("all:\n%s", out)
	}
	made := ash(t, "", "token", "new", "third", "--scope", "admin", "--json", "--home", home).is(t, 0).out
	var third handlers.ControlToken
	must(t, json.Unmarshal([]byte(made), &third))
	if p.secret = third.Secret; third.Name != "third" {
		t.Errorf("made %s", made)
	}
	if status, _ := p.ask("GET", "/memories", ""); status != 200 {
		t.Error("it does not let in")
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 31, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"": {}, "never": {}, "90d": at.AddDate(0, 0, 90), "12h": at.Add(12 * time.Hour), "2w": at.AddDate(0, 0, 14),
		"2027-01-31": time.Date(2027, 2, 1, 0, 0, 0, 0, time.Local), "2027-01-31T10:00:00Z": time.Date(2027, 1, 31, 10, 0, 0, 0, time.UTC),
	} {
		if got, err := expiry(text, at); err != nil || got.Sub(want).Abs() > 2*time.Hour {
			t.Errorf("%q ends %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"d", "0d", "-1d", "1.5d", "9y", "soon", "1000000d", "é"} {
		if got, err := expiry(text, at); err == nil {
			t.Errorf("%q ends %v", text, got)
		}
	}
}

// TestAPIMemorySurvivesAKill kills the server in the instant it has answered, and once while it is busy.
func TestAPIMemorySurvivesAKill(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	must(t, os.Chmod(home, 0o700))
	p := program{t: t, secret: token(t, home, "app", "--scope", "memory")}
	var kept []string
	for round := range 3 {
		server := serving(t, home)
		p.base = server.url
		for i := range 5 {
			text := "Drawer " + string(rune('a'+round)) + string(rune('a'+i)) + " holds the spare key."
			status, body := p.ask("POST", "/memories", `{"text":"`+text+`"}`, "Idempotency-Key", text)
			if status != 201 {
				t.Fatalf("%d: %s", status, body)
			}
			var m handlers.APIMemory
			must(t, json.Unmarshal([]byte(body), &m))
			kept = append(kept, string(m.ID))
		}
		server.signal(syscall.SIGKILL)
		<-server.gone
	}
	s := look(t, home)
	for _, id := range kept {
		f, err := s.Fact(context.Background(), agent.ID(id))
		if err != nil || f.Source.Via != "API token app" || f.Status != agent.FactCurrent {
			t.Errorf("%s: %+v, %v", id, f, err)
		}
	}
	owner, err := s.Owner(context.Background())
	must(t, err)
	if all, _, err := s.Facts(context.Background(), agent.FactFilter{Owner: owner.ID, Limit: 200}); err != nil || len(all) != len(kept) {
		t.Errorf("%d facts of %d, %v", len(all), len(kept), err)
	}
}

// TestTokenStaysOutOfEverything looks for a token in the log at its most talkative, and in every file of the home.
func TestTokenStaysOutOfEverything(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	must(t, os.Chmod(home, 0o700))
	settings(t, home, "[log]\nlevel = \"debug\"\n")
	server := serving(t, home)
	p := program{t, server.url, token(t, home, "app", "--scope", "memory")}
	secret := p.secret
	p.ask("POST", "/memories", `{"text":"The bins go out on Tuesday."}`)
	p.ask("POST", "/memories", `{"text":"Mine is `+secret+`"}`)
	p.ask("POST", "/memories", `{"`+secret+`":1}`)
	p.ask("GET", "/memories?access_token="+secret, "")
	p.ask("GET", "/"+secret, "")
	p.ask("GET", "/memories/search?q="+secret, "")
	p.secret = secret[:len(secret)-1]
	p.ask("GET", "/memories", "")
	p.secret = secret
	ash(t, "", "token", "revoke", "app", "--home", home).is(t, 0)
	for range 10 {
		p.ask("GET", "/memories", "")
	}
	server.signal(syscall.SIGTERM)
	if code, _ := server.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	tail := []byte(secret[len(access.Prefix)+10 : len(secret)-10])
	if said := server.err.String() + server.out.String(); strings.Contains(said, string(tail)) || !strings.Contains(said, "an API token was refused") {
		t.Errorf("the log:\n%s", said)
	}
	must(t, filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, tail) {
			t.Errorf("%s holds it", path)
		}
		return err
	}))
}

// A page of the server shows where such a memory came from.
func TestPageSaysWhichProgram(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	server := serving(t, home)
	p := program{t, server.url, token(t, home, "notes app", "--scope", "memory")}
	_, body := p.ask("POST", "/memories", `{"text":"The bins go out on Tuesday."}`)
	var m handlers.APIMemory
	must(t, json.Unmarshal([]byte(body), &m))
	if page := server.get("/memory/facts/" + string(m.ID)); !strings.Contains(page, "Entered through the API token notes app") {
		t.Error("the page does not say so")
	}
	if page := server.get("/memory?source=api"); !strings.Contains(page, string(m.ID)) {
		t.Error("the list of what programs entered lacks it")
	}
}
