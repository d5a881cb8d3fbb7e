package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSimpleCommand(t *testing.T) {
	for text, want := range map[string][]string{
		"git status":                {"git", "status"},
		"  git   status  ":          {"git", "status"},
		`grep 'a b' "c d" e'f'"g"`:  {"grep", "a b", "c d", "efg"},
		`echo '$HOME' '*' ';' '\n'`: nil, // a backslash is never plain
		`echo '$HOME' '*' ';'`:      {"echo", "$HOME", "*", ";"},
		"ls -la a/b.txt":            {"ls", "-la", "a/b.txt"},
		"date +%F":                  {"date", "+%F"},
		"ls …":                      {"ls", "…"},
	} {
		got, ok := simpleCommand(text)
		if ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%q: got %q %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", " ", "a;b", "a;", "a&", "a&b", "a&&b", "a||b", "a|b", "a|&b", "!a", "! a", "a>b", "a<b", "a 2>&1", "a<<<b", "a<<b\nc\nb",
		"a $(b)", "a `b`", `a "$(b)"`, "a $b", "a ${b}", `a "$b"`, "a $((1))", "a $'b'", `a $"b"`, "a <(b)", "a >(b)", "a *", "a ?", "a [b]", "a {b,c}", "a ~", "a ~b",
		"A=1 b", "A=1", "a\nb", "a\n", "\na", "a\rb", "a\x00b", "a #b", "#a", "(a)", "{ a; }", "if a; then b; fi", "for a in b; do c; done", "a() { b; }", "[[ a ]]", "((a))",
		"a\\ b", "\\a", "function a { b; }", "coproc a", "time a", "a\u00a0b", "a\u2028b", "a\u202eb", "a\u200bb", "a \xff", "'unfinished", "let a", "declare a=1", "export a", "a=b", "'a=b' c", "''", "'' b",
		strings.Repeat("a ", 4000), "case a in b) c;; esac", "a !b", "a ^b^c", "select a in b; do c; done", "a +(b)", "a @(b|c)",
	} {
		if got, ok := simpleCommand(text); ok {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}

func TestInWritingIsReadBack(t *testing.T) {
	for _, words := range [][]string{{"a", "b c"}, {"a", "$b", "*", ";", "'", `"`}, {"a", "…"}, {"a", "~", "{x}", "#", "!"}, {"a", ""}} {
		text, ok := inWriting(words)
		if !ok {
			continue // it is not offered
		}
		again, ok := simpleCommand(text)
		if !ok || !slices.Equal(again, words) {
			t.Errorf("%q is written %q and read %q", words, text, again)
		}
	}
	for text, same := range map[string]bool{"run git status": true, "run git log …": true, "run wc -l 'a b'": true, "web": true, "": true, "host example.org": true, `folder "/a b/c"`: true} {
		m, err := parseMatch(text)
		if err != nil || (m.String() == text) != same {
			t.Errorf("%q: %q, %v", text, m.String(), err)
		}
	}
}

// shells are those of this machine that can say what they would run.
func shells(t testing.TB) []string {
	var found []string
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		t.Skip("no shell to compare with: install bash")
	}
	return found
}

// witness makes a command that prints its words.
func witness(t testing.TB, dir, name string) {
	t.Helper()
	script := "#!/bin/sh\nprintf 'BEGIN\\000'\nfor w in \"$@\"; do printf '%s\\000' \"$w\"; done\nprintf 'END\\000'\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
}

// FuzzSimpleCommand holds that what is taken for one simple command is exactly that to real shells: the same words, nothing else.
func FuzzSimpleCommand(f *testing.F) {
	for _, s := range []string{"a 'b c' d", "a;b", "a\nb", `a "$(b)"`, "a {b,c}", "a>b", "a #b", "a !!", "a $'x'", "a b&", "a\\\nb", "a ~ b", "a '\n'", "a=b c", "a ]]", "a -- }", "a \"b\"'c'd", "a %1", "a a=~", "a a=~:~"} {
		f.Add(s)
	}
	all := shells(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 {
			return
		}
		text = "witness " + text // the first word is ours: the rest is the fuzzer's
		words, ok := simpleCommand(text)
		if !ok {
			return
		}
		for _, shell := range all {
			dir := t.TempDir()
			witness(t, dir, "witness")
			cmd := exec.Command(shell, "-c", text)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir, "HOME=/somewhere"}
			out, _ := cmd.Output() // what it printed is what counts
			want := "BEGIN\x00" + strings.Join(append(slices.Clone(words[1:]), "END\x00"), "\x00")
			if string(out) != want {
				t.Errorf("%s: %q is taken for %q, but prints %q", shell, text, words, out)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("%s: %q left files: %v %v", shell, text, left, err)
			}
		}
	})
}
