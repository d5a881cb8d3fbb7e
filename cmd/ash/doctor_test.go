package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ash/agent/doctor"
	"ash/agent/llm/llmtest"
)

// ward is a home that was used once, for the doctor to look at.
type ward struct {
	t    *testing.T
	home string
}

func newWard(t *testing.T) ward {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	must(t, os.Mkdir(home, 0o700))
	settings(t, home, "[sandbox]\nengine = \"off\"\n[server]\nlisten = \"127.0.0.1:0\"\n")
	ash(t, "", "token", "list", "--home", home).is(t, 0)
	return ward{t, home}
}

func (w ward) path(name string) string { return filepath.Join(w.home, name) }

// examine runs ash doctor and returns its report.
func (w ward) examine(code int, args ...string) doctor.Report {
	w.t.Helper()
	a := ash(w.t, "", append([]string{"doctor", "--json", "--home", w.home}, args...)...).is(w.t, code)
	var r doctor.Report
	if err := json.Unmarshal([]byte(a.out), &r); err != nil {
		w.t.Fatalf("%v in %s", err, a.out)
	}
	return r
}

// looked is examine where the exit code is not known before.
func (w ward) looked(args ...string) doctor.Report {
	w.t.Helper()
	var r doctor.Report
	if a := ash(w.t, "", append([]string{"doctor", "--json", "--home", w.home}, args...)...); json.Unmarshal([]byte(a.out), &r) != nil {
		w.t.Fatalf("exit %d: %s%s", a.code, a.out, a.err)
	}
	return r
}

// of returns the finding of one check.
func of(t *testing.T, r doctor.Report, check string) doctor.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("there is no look at %s", check)
	return doctor.Finding{}
}

func TestDoctorFindsAllWell(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	for _, args := range [][]string{nil, {"--full"}, {"--offline"}} {
		r := w.examine(0, args...)
		for _, f := range r.Findings {
			if f.Severity.Rank() > doctor.Note.Rank() {
				t.Errorf("%v: %s: %s", args, f.Check, f.Text)
			}
		}
		if r.Running || len(r.Findings) < 12 || r.Home != w.home {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if out := ash(t, "", "doctor", "--home", w.home).is(t, 0).out; !strings.Contains(out, "All is well") {
		t.Error(out)
	}
}

// TestDoctorFindsWhatIsBroken breaks one thing at a time, for real.
func TestDoctorFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	refusing := func(status int) func(t *testing.T) string {
		return func(t *testing.T) string {
			s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
				out.WriteHeader(status)
				fmt.Fprint(out, `{"error":{"message":"Incorrect API key provided: sk-proj-abcdefghijklmnopqrstuvwxyz012345","type":"invalid_request_error","code":"invalid_api_key"}}`)
			}))
			t.Cleanup(s.Close)
			return s.URL
		}
	}
	model := func(t *testing.T, w ward, url string) {
		key := w.path("key")
		must(t, os.WriteFile(key, []byte("sk-test-0123456789abcdef"), 0o600))
		settings(t, w.home, fmt.Sprintf("[models]\norder = [\"mine/m\"]\n[sandbox]\nengine = \"off\"\n[providers.mine]\nkind = \"openai\"\nbase_url = %q\nkey_file = %q\n", url+"/v1", key))
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, w ward)
		check string
		want  doctor.Severity
		says  string
		args  []string
	}{
		{"a key of config.toml that is none", func(t *testing.T, w ward) { settings(t, w.home, "[server]\nlisen = \"x\"\n") }, "Settings", doctor.Problem, "cannot be used", nil},
		{"config.toml that is no TOML", func(t *testing.T, w ward) { settings(t, w.home, "[[[\n") }, "Settings", doctor.Problem, "cannot be used", nil},
		{"a database others may read", func(t *testing.T, w ward) { must(t, os.Chmod(w.path("ash.db"), 0o644)) }, "Permissions", doctor.Warning, "1 thing", nil},
		{"a home others may enter", func(t *testing.T, w ward) {
			must(t, os.Chmod(w.home, 0o755))
			must(t, os.Chmod(w.path("session.key"), 0o644))
		}, "Permissions", doctor.Warning, "2 things", nil},
		{"a database with damaged pages", func(t *testing.T, w ward) { harm(t, w.path("ash.db")) }, "Database", doctor.Problem, "damaged", nil},
		{"a database that is none", func(t *testing.T, w ward) { must(t, os.WriteFile(w.path("ash.db"), []byte("hello"), 0o600)) }, "Database", doctor.Problem, "damaged", nil},
		{"writing turned off", func(t *testing.T, w ward) {
			must(t, os.WriteFile(w.path("ash.db.unclean"), []byte("the database is damaged; writing is off until a check finds it well\n"), 0o600))
		}, "Database", doctor.Problem, "turned off", nil},
		{"an older schema", func(t *testing.T, w ward) { ash(t, "", "db", "rollback", "--home", w.home).is(t, 0) }, "Database version", doctor.Note, "version", nil},
		{"a provider nobody runs", func(t *testing.T, w ward) { model(t, w, "http://127.0.0.1:1") }, "Provider mine", doctor.Problem, "", nil},
		{"a key that is refused", func(t *testing.T, w ward) { model(t, w, refusing(401)(t)) }, "Provider mine", doctor.Problem, "refuses the key", nil},
		{"a key that is refused by the model", func(t *testing.T, w ward) {
			m := llmtest.OpenAI(t, llmtest.Unauthorized())
			model(t, w, m.URL)
		}, "Provider mine", doctor.Problem, "refuses the key", []string{"--full"}},
		{"a key file others may read", func(t *testing.T, w ward) {
			model(t, w, refusing(200)(t))
			must(t, os.Chmod(w.path("key"), 0o644))
		}, "Provider mine", doctor.Problem, "key cannot be used", nil},
		{"a key in a vault nobody unlocked", func(t *testing.T, w ward) {
			settings(t, w.home, "[models]\norder = [\"openai/m\"]\n[sandbox]\nengine = \"off\"\n[providers.openai]\nkey_secret = \"provider/openai\"\n")
		}, "Provider openai", doctor.Note, "vault", nil},
		{"an embedder that is not there", func(t *testing.T, w ward) {
			settings(t, w.home, "[memory]\nstatic_model = \"/nowhere/model\"\n[sandbox]\nengine = \"off\"\n")
		}, "Finding by meaning", doctor.Warning, "cannot be used", nil},
		{"an address that is in use", func(t *testing.T, w ward) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			t.Cleanup(func() { must(t, l.Close()) })
			settings(t, w.home, fmt.Sprintf("[server]\nlisten = %q\n[sandbox]\nengine = \"off\"\n", l.Addr().String()))
		}, "Address", doctor.Problem, "Another program", nil},
		{"a vault others may read", func(t *testing.T, w ward) {
			pass := w.path("pass")
			must(t, os.WriteFile(pass, []byte("correct horse battery staple\n"), 0o600))
			ash(t, "", "vault", "create", "--passphrase-file", pass, "--home", w.home).is(t, 0)
			must(t, os.Chmod(w.path("vault"), 0o755))
		}, "Vault", doctor.Problem, "open to others", nil},
		{"a file that was broken off", func(t *testing.T, w ward) {
			left := w.path(".config.toml.123")
			must(t, os.WriteFile(left, []byte("x"), 0o600))
			must(t, os.Chtimes(left, time.Now(), time.Now().Add(-2*time.Hour)))
		}, "Leftover files", doctor.Note, "1 temporary file", nil},
		{"a link in place of a file", func(t *testing.T, w ward) { must(t, os.Symlink("/etc/passwd", w.path("extra"))) }, "Permissions", doctor.Warning, "1 thing", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			w.t = t
			if r := w.examine(0, "--offline"); of(t, r, "Permissions").Severity != doctor.OK {
				t.Fatalf("it was not well before: %+v", r)
			}
			c.spoil(t, w)
			code := map[doctor.Severity]int{doctor.Problem: exitFailed, doctor.Warning: exitWarnings, doctor.Note: exitOK}[c.want]
			if runtime.GOOS == "windows" && strings.Contains(c.name, "others may") {
				t.Skip("modes say nothing here")
			}
			r := w.examine(code, c.args...)
			f := of(t, r, c.check)
			if f.Severity != c.want || !strings.Contains(f.Text, c.says) {
				t.Errorf("got %s: %s", f.Severity, f.Text)
			}
			if all := fmt.Sprint(r); strings.Contains(all, "sk-proj-abc") || strings.Contains(all, "sk-test-") {
				t.Errorf("a key is shown: %s", all)
			}
		})
	}
}

// harm damages pages of a database.
func harm(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	for at := 3 * 4096; at+64 < len(b); at += 2 * 4096 {
		copy(b[at:], strings.Repeat("\xa5", 64))
	}
	must(t, os.WriteFile(path, b, 0o600))
}

func TestDoctorBesideNothing(t *testing.T) {
	t.Parallel()
	w := ward{t, filepath.Join(t.TempDir(), "none")}
	r := w.examine(0, "--offline")
	if _, err := os.Stat(w.home); !os.IsNotExist(err) {
		t.Error("a look made the home")
	}
	if f := of(t, r, "Permissions"); !strings.Contains(f.Text, "no home") {
		t.Error(f.Text)
	}
}

func TestDoctorAsksTheRunningAsh(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	server := serving(t, w.home)
	for _, args := range [][]string{nil, {"--full", "--offline"}} {
		r := w.examine(0, args...)
		if !r.Running || r.Full != (args != nil) {
			t.Errorf("it was looked at beside the server: %+v", r)
		}
		if f := of(t, r, "Address"); !strings.Contains(f.Text, strings.TrimPrefix(server.url, "http://")) {
			t.Error(f.Text)
		}
		if f := of(t, r, "Database"); f.Severity != doctor.OK {
			t.Error(f.Text)
		}
	}
	must(t, os.Chmod(w.path("session.key"), 0o644)) // somebody spoils it while it runs
	if f := of(t, w.examine(exitWarnings), "Permissions"); f.Severity != doctor.Warning {
		t.Error(f.Text)
	}
}

// TestDoctorBesideAnAshThatHangs: a server that holds the home and answers nothing is found, and looked at beside.
func TestDoctorBesideAnAshThatHangs(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	l, err := net.Listen("unix", w.path(socketName))
	must(t, err)
	must(t, os.Chmod(w.path(socketName), 0o600))
	t.Cleanup(func() { must(t, l.Close()) })
	began := time.Now()
	r := w.examine(exitFailed, "--offline")
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
	if f := of(t, r, "Running Ash"); f.Severity != doctor.Problem || !strings.Contains(f.Text, "does not answer") {
		t.Error(f.Text)
	}
	if f := of(t, r, "Database"); f.Severity != doctor.OK {
		t.Error(f.Text)
	}
}

func TestTheClockOfAServerIsRead(t *testing.T) {
	t.Parallel()
	said := time.Now().Add(-3 * time.Hour).UTC().Truncate(time.Second)
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Method != http.MethodHead || r.URL.Path != "/" {
			t.Errorf("asked with %s %s", r.Method, r.URL)
		}
		out.Header().Set("Date", said.Format(http.TimeFormat))
		out.WriteHeader(http.StatusForbidden)
	}))
	defer s.Close()
	asked, ok := askTime(t.Context(), s.URL+"/v1/chat")
	if !ok || !asked.Said.Equal(said) || time.Since(asked.Moment) > patience {
		t.Errorf("%v %+v", ok, asked)
	}
	if _, ok := askTime(t.Context(), "http://127.0.0.1:1"); ok {
		t.Error("a server that is not there told the time")
	}
}
