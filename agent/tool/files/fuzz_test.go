package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/tool"
)

// nobody knows where anything came from.
type nobody struct{}

func (nobody) Labels(context.Context, string, string, string) (agent.Labels, error) {
	return tool.Untrusted("file"), nil
}
func (nobody) Wrote(context.Context, string, string, string, agent.Labels) error { return nil }
func (nobody) Watch(context.Context, string) (agent.Labels, func(context.Context, agent.Labels) error, error) {
	return nil, nil, errors.New("no commands here")
}

// forgetful keeps no versions.
type forgetful struct{}

func (forgetful) AddFileVersion(context.Context, Version, []byte, agent.ID) error { return nil }
func (forgetful) DropFileVersion(context.Context, agent.ID, agent.ID) error       { return nil }
func (forgetful) FileVersions(context.Context, agent.ID) ([]Version, error)       { return nil, nil }
func (forgetful) FileVersionBytes(context.Context, agent.ID) ([]byte, error)      { return nil, nil }

// FuzzPath gives any path to every tool, in a folder with links of all kinds in it: nothing outside is ever shown or
// changed, and every refusal is one for the model.
func FuzzPath(f *testing.F) {
	for _, p := range []string{
		"a.txt", "dir/../a.txt", "../secret", "/etc/passwd", "out/secret", "up/secret", "loop", "dir/abs", "~/x", "", ".", "..", "/", "//", "a\x00", "\xff",
		"dir/./up2/../secret", "C:\\x", "a/b/c/d", ".git/config", strings.Repeat("../", 50), "up/../up/secret", "outfile", "dir/.ash-writing-x",
	} {
		f.Add(p)
	}
	dir := f.TempDir()
	root := filepath.Join(dir, "root")
	secret := filepath.Join(dir, "secret")
	const canary = "CANARY-outside-7c1"
	setup := errors.Join(
		os.MkdirAll(filepath.Join(root, "dir"), 0o755), os.MkdirAll(filepath.Join(root, ".git"), 0o755), os.WriteFile(secret, []byte(canary), 0o600),
		os.WriteFile(filepath.Join(root, "a.txt"), []byte("inside\n"), 0o644), os.WriteFile(filepath.Join(root, ".git/config"), []byte("inside\n"), 0o644),
		os.Symlink(dir, filepath.Join(root, "out")), os.Symlink("..", filepath.Join(root, "up")), os.Symlink("../..", filepath.Join(root, "dir/up2")),
		os.Symlink("loop", filepath.Join(root, "loop")), os.Symlink(filepath.Join(root, "dir"), filepath.Join(root, "dir/abs")), os.Symlink(secret, filepath.Join(root, "outfile")),
	)
	if setup != nil {
		f.Fatal(setup)
	}
	fs := New(Options{Provenance: nobody{}, Versions: forgetful{}, Mount: "/work"})
	tools := fs.Tools()
	env := tool.Env{Root: root}
	f.Fuzz(func(t *testing.T, p string) {
		quoted, err := json.Marshal(p)
		if err != nil {
			t.Skip()
		}
		for i, more := range []string{``, ``, `,"pattern":"."`, `,"content":"written\n"`, `,"edits":[{"old":"inside","new":"edited"},{"old":"edited","new":"inside "}]`} {
			raw := json.RawMessage(`{"path":` + string(quoted) + more + `}`)
			out, err := tools[i].Plan(t.Context(), env, raw)
			if err != nil {
				var known *agent.Error
				if !errors.As(err, &known) || known.Code == agent.CodeInternal || known.Code == agent.CodeUnavailable || !utf8.ValidString(known.Public) || len(known.Public) > 3000 {
					t.Fatalf("%q: plan of %s: %v", p, tools[i].Definition().Name, err)
				}
				continue
			}
			if strings.Contains(out.Effect.Diff, canary) || badIn(out.Effect.Target) {
				t.Fatalf("%q: %+v", p, out.Effect)
			}
			result, err := tools[i].Run(t.Context(), env, raw, func(string) {})
			if err != nil && agent.CodeOf(err) == agent.CodeInternal {
				t.Fatalf("%q: run of %s: %v", p, tools[i].Definition().Name, err)
			}
			for _, part := range result.Content {
				if text, ok := part.(agent.Text); ok && strings.Contains(text.Text, canary) {
					t.Fatalf("%q: %s shows what is outside", p, tools[i].Definition().Name)
				}
			}
		}
		if got, err := os.ReadFile(secret); err != nil || string(got) != canary {
			t.Fatalf("%q: outside holds %q (%v)", p, got, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 {
			t.Fatalf("%q: outside there is %v (%v)", p, entries, err)
		}
		if got, err := os.ReadFile(filepath.Join(root, ".git/config")); err != nil || string(got) != "inside\n" {
			t.Fatalf("%q: .git/config holds %q (%v)", p, got, err)
		}
	})
}

func badIn(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return badRune(r) != "" })
}

// FuzzApply: an edit changes its passage and nothing else.
func FuzzApply(f *testing.F) {
	f.Add("one\ntwo\nthree\n", "two", "2", false, false)
	f.Add("a\r\nb\r\n", "a\nb", "x\ny", false, false)
	f.Add("a\r\nb\n", "a\nb", "x", false, true)
	f.Add("aaa", "aa", "b", false, false)
	f.Add("tab\tindent\n\tx\n", "    x", "y", true, false)
	f.Fuzz(func(t *testing.T, text, old, with string, crlf, all bool) {
		if crlf {
			text = lf(text)
		}
		got, n, err := apply(text, crlf, []Edit{{Old: old, New: with, All: all}})
		if err != nil {
			var known *agent.Error
			if !errors.As(err, &known) || known.Code != agent.CodeInvalid || known.Public == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		e := Edit{Old: old, New: with}.fit(text, crlf)
		switch {
		case all && (got != strings.ReplaceAll(text, e.Old, e.New) || n < 1):
			t.Fatalf("replaced %d: %q", n, got)
		case !all:
			before, after, found := strings.Cut(text, e.Old)
			if !found || n != 1 || got != before+e.New+after || strings.Contains(text[len(before)+1:], e.Old) {
				t.Fatalf("replaced %d in %q: %q", n, text, got)
			}
		}
	})
}

// FuzzDecode: what is read as text is written as the same bytes.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"plain\n", "\xef\xbb\xbfbom", "\xff\xfea\x00", "\xfe\xff\x00a", "gr\xfcn", "a\r\nb\r\n", "a\r\nb\n", "a\x00b\x00", "\x7fELF\x00", "\xff\xfe\x00\xd8", "\xc3\xa9"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, fm, ok := decode(raw)
		if !ok {
			return
		}
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			t.Fatalf("%q is read as %q", raw, text)
		}
		again, err := fm.encode(text)
		if err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%q (%s) becomes %q (%v)", raw, fm, again, err)
		}
	})
}

// FuzzUnified: a diff that is complete makes the new text of the old one.
func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n")
	f.Add("", "a")
	f.Add("a", "")
	f.Add("a\n", "a")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "1\n2\nx\n4\n5\n6\n7\n8\n9\ny\n11\n12\n13\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		diff, complete := unified("f", before, after)
		if !complete {
			return
		}
		if got, ok := patch(before, diff); !ok || got != after {
			t.Fatalf("%q to %q: patched %q (%v) by\n%s", before, after, got, ok, diff)
		}
	})
}

// patch applies a unified diff and checks every line of it.
func patch(before, diff string) (string, bool) {
	if diff == "" {
		return before, true
	}
	old := splitLines(before)
	lines := splitLines(diff)[2:]
	var out strings.Builder
	at := 0
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		body := line[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\ No newline`) {
			body = strings.TrimSuffix(body, "\n")
		}
		switch line[0] {
		case '@':
			from, count, ok := header(line)
			if !ok {
				return "", false
			}
			if count > 0 {
				from--
			}
			for ; at < from; at++ {
				out.WriteString(old[at])
			}
		case ' ', '-':
			if at >= len(old) || old[at] != body {
				return "", false
			}
			at++
			if line[0] == ' ' {
				out.WriteString(body)
			}
		case '+':
			out.WriteString(body)
		case '\\':
		default:
			return "", false
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String(), true
}

// header reads where a hunk begins in the old text.
func header(line string) (from, count int, ok bool) {
	span, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return 0, 0, false
	}
	span, _, _ = strings.Cut(span, " ")
	a, b, two := strings.Cut(span, ",")
	count = 1
	if two {
		if json.Unmarshal([]byte(b), &count) != nil {
			return 0, 0, false
		}
	}
	return from, count, json.Unmarshal([]byte(a), &from) == nil
}

// FuzzIgnore: no .gitignore makes trouble.
func FuzzIgnore(f *testing.F) {
	f.Add("*.log\n!keep\n/a/**/b\n{x}\n[z-a]\n\\\n", "a/b/c.log")
	f.Fuzz(func(t *testing.T, text, p string) {
		if len(text) > 4<<10 || len(p) > 200 || p == "" || strings.HasPrefix(p, "/") {
			return
		}
		ignored(parseIgnore(".", []byte(text)), p, false)
		ignored(parseIgnore("a", []byte(text)), "a/"+p, true)
	})
}

func TestGitRoot(t *testing.T) {
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	deep := filepath.Join(repo, "a", "b")
	tree := filepath.Join(repo, "a", "worktree")
	err := errors.Join(
		os.MkdirAll(filepath.Join(repo, ".git"), 0o755), os.WriteFile(filepath.Join(repo, ".git", "HEAD"), []byte("ref: x\n"), 0o644),
		os.MkdirAll(deep, 0o755), os.MkdirAll(filepath.Join(tree, "sub"), 0o755), os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: ../../.git/worktrees/w\n"), 0o644),
		os.MkdirAll(filepath.Join(dir, "fake", ".git"), 0o755), os.MkdirAll(filepath.Join(dir, "notes"), 0o755), os.WriteFile(filepath.Join(dir, "notes", ".git"), []byte("just a note"), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		repo: repo, deep: repo, filepath.Join(tree, "sub"): tree, tree: tree,
		filepath.Join(dir, "fake"): "", filepath.Join(dir, "notes"): "", dir: "", filepath.Join(dir, "missing", "x"): "", filepath.Join(deep, "missing"): repo,
	} {
		got, ok := GitRoot(from)
		if ok != (want != "") || ok && got != want || !ok && got != from {
			t.Errorf("GitRoot(%s) = %s, %v; want %s", from, got, ok, want)
		}
	}
}

func TestOfGit(t *testing.T) {
	if !ofGit(".git ") {
		t.Error("a space at the end does not count on Windows")
	}
	for name, want := range map[string]bool{".git": true, ".GIT": true, ".git..": true, "GIT~1": true, ".g\u200cit": true, ".git::$INDEX_ALLOCATION": true, ".gitignore": false, "git": false, "x.git": false, ".github": false} {
		if ofGit(name) != want {
			t.Errorf("ofGit(%q) = %v", name, !want)
		}
	}
}
