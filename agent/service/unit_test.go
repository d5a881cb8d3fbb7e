package service

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ash/agent"
)

// hostile are paths that somebody has.
var hostile = []string{
	"/home/me/.ash", "/home/me/my home", `/home/me/it's "mine"`, "/home/me/100% $HOME ${X}", `/home/me/back\slash`, "/home/me/tab\there", "/home/mé/ünï", "/home/me/<a>&b;", "/home/me/;rm -rf #x",
}

// unwords reads a command line as systemd does: the reverse of unitWord, written from systemd.service(5) and systemd.syntax(7).
func unwords(t *testing.T, line string) (words []string) {
	t.Helper()
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var b strings.Builder
		quoted := line[0] == '"'
		if quoted {
			line = line[1:]
		}
		for {
			if line == "" {
				if quoted {
					t.Fatal("a quote is not closed")
				}
				break
			}
			c := line[0]
			if quoted && c == '"' {
				line = line[1:]
				break
			}
			if !quoted && c == ' ' {
				break
			}
			switch {
			case c == '\\' && len(line) > 1 && line[1] == 't':
				b.WriteByte('\t')
				line = line[2:]
			case c == '\\' && len(line) > 1, c == '%' && strings.HasPrefix(line, "%%"), c == '$' && strings.HasPrefix(line, "$$"):
				b.WriteByte(line[1])
				line = line[2:]
			case c == '%' || c == '$':
				t.Fatalf("%q begins a specifier or a variable", line)
			default:
				b.WriteByte(c)
				line = line[1:]
			}
		}
		words = append(words, b.String())
	}
	return words
}

func TestPathsComeThroughTheUnit(t *testing.T) {
	for _, path := range hostile {
		unit, err := Unit(Options{Program: path + "/ash", Home: path})
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(unit, "\nExecStart=")
		line, _, _ = strings.Cut(line, "\n")
		line = strings.TrimPrefix(line, "/usr/bin/env -- ")
		if got := unwords(t, line); !slices.Equal(got, []string{path + "/ash", "serve", "--home", path}) {
			t.Errorf("%q became %q", path, got)
		}
	}
}

func TestPathsComeThroughTheAgent(t *testing.T) {
	for _, path := range hostile {
		plist, err := Plist(Options{Program: path + "/ash", Home: path, Log: path + "/logs/serve.log"})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for d := xml.NewDecoder(strings.NewReader(plist)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := token.(xml.CharData); ok {
				texts = append(texts, string(c))
			}
		}
		for _, want := range []string{path, path + "/ash", path + "/logs/serve.log", AgentName} {
			if !slices.Contains(texts, want) {
				t.Errorf("%q is not in %q", want, texts)
			}
		}
	}
}

func TestPathsThatNoFileHoldsAreRefused(t *testing.T) {
	for _, path := range []string{"relative/home", "/home/a\nExecStart=/bin/evil", "/home/a\x00b", "/home/a\rb", ""} {
		for _, o := range []Options{{Program: "/usr/bin/ash", Home: path}, {Program: path, Home: "/home/me/.ash"}} {
			if _, err := Unit(o); agent.CodeOf(err) != agent.CodeInvalid {
				t.Errorf("%+v: %v", o, err)
			}
			if _, err := Plist(o); agent.CodeOf(err) != agent.CodeInvalid {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
}

// TestSystemdTakesTheUnit asks systemd itself, where it is installed.
func TestSystemdTakesTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if slices.Contains(strings.Fields(strings.ReplaceAll(os.Getenv("ASH_TEST_REQUIRE"), ",", " ")), "systemd") {
			t.Fatal("systemd-analyze is required")
		}
		t.Skip("install systemd to have the unit verified (Debian and Ubuntu: apt-get install systemd)")
	}
	for _, name := range []string{"plain", "with space", "100% $HOME", `it's "mine"`} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, "ash")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		unit, err := Unit(Options{Program: program, Home: filepath.Join(dir, "home")})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, UnitName)
		if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(analyze, "verify", "--user", "--man=no", path)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), UnitName) {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, unit)
		}
	}
}
