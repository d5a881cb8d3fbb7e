package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm/llmtest"
)

// project is a git repository with a folder src, which becomes the current folder.
func project(t *testing.T) (root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	out, err := exec.Command("git", "init", "-q", root).CombinedOutput()
	if err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	must(t, os.Mkdir(filepath.Join(root, "src"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "src", "main.txt"), []byte("the project's words"), 0o644))
	t.Chdir(filepath.Join(root, "src"))
	return root
}

func TestHere(t *testing.T) {
	home, root := t.TempDir(), project(t)
	m := model(t, calling("file_read", `{"path":"src/main.txt"}`), llmtest.Text("I read it."), llmtest.Text("Again."))
	a := ash(t, "", append([]string{"chat", "--home", home, "--here", "-m", "read"}, using(m)...)...).is(t, 0)
	if a.out != "I read it.\n" || !strings.Contains(a.err, "counts as a stranger's") {
		t.Errorf("%q, %q", a.out, a.err)
	}
	if got := string(m.Chats()[0].Body); !strings.Contains(got, "programming") {
		t.Error("the model is not told that it works in a project")
	}
	if got := string(m.Chats()[1].Body); !strings.Contains(got, "the project's words") {
		t.Errorf("the model was given %s", got)
	}
	ash(t, "", append([]string{"chat", "--home", home, "--here", "--last", "-m", "again"}, using(m)...)...).is(t, 0)
	s := look(t, home)
	all := threads(t, s)
	if len(all) != 1 || all[0].Root != root || all[0].WorkDir != "src" {
		t.Errorf("%d conversations, the first in %q at %q", len(all), all[0].Root, all[0].WorkDir)
	}
	must(t, s.Close())
	t.Chdir(t.TempDir())
	ash(t, "", append([]string{"chat", "--home", home, "--here", "--last", "-m", "x"}, using(m)...)...).complains(t, exitFailed, "no conversation")
	ash(t, "", "chat", "--home", home, "--here", "--thread", string(agent.NewID()), "-m", "x").complains(t, exitUsage, "exclude")
}

func TestHereAsksOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		lines []string
		own   bool
		asked bool
	}{
		"yes":       {[]string{"what?", "y"}, true, true},
		"no":        {[]string{"n"}, false, true},
		"no answer": {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			home, root := t.TempDir(), project(t)
			settings(t, home, "# mine\n[log]\nlevel = \"error\"\n")
			l, err := connect(t.Context(), home, modelFlags{})
			must(t, err)
			defer func() { must(t, l.close()) }()
			choose := func(lines []string) (*terminal, string) {
				r, w := io.Pipe()
				var notes journal
				term := &terminal{link: l, in: bufio.NewReader(r), out: io.Discard, notes: &notes, ask: true, interrupts: make(chan os.Signal)}
				term.typed = term.lines(t.Context())
				go func() {
					_, _ = io.WriteString(w, strings.Join(append(lines, ""), "\n"))
					_ = w.Close()
				}()
				must(t, term.choose(t.Context(), chatFlags{here: true}))
				return term, notes.String()
			}
			term, notes := choose(slices.Clone(tt.lines))
			if !strings.Contains(notes, "Is it your own") || term.root != root || term.dir != "src" {
				t.Errorf("%q at %q: %s", term.root, term.dir, notes)
			}
			_, notes = choose([]string{"n"})
			if asked := strings.Contains(notes, "Is it your own"); asked == tt.asked {
				t.Errorf("asked again: %v\n%s", asked, notes)
			}
			if tt.asked {
				place, err := l.place(t.Context(), root)
				if err != nil || place.Own != tt.own || !place.Asked {
					t.Errorf("%+v, %v", place, err)
				}
				inside, err := l.place(t.Context(), filepath.Join(root, "src"))
				if err != nil || inside.Own != tt.own {
					t.Errorf("inside: %+v, %v", inside, err)
				}
			}
			b, err := os.ReadFile(filepath.Join(home, "config.toml"))
			must(t, err)
			if strings.Contains(string(b), root) != tt.own || !strings.HasPrefix(string(b), "# mine") {
				t.Errorf("config.toml says\n%s", b)
			}
		})
	}
}

func TestHereRefuses(t *testing.T) {
	home := t.TempDir()
	book, err := config.Open(config.Options{Home: home})
	must(t, err)
	p := &places{home: home, config: book}
	must(t, os.Mkdir(filepath.Join(home, "inside"), 0o700))
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(home, link))
	for name, tt := range map[string]struct {
		folder string
		code   agent.Code
	}{
		"the top":              {"/", agent.CodeDenied},
		"the home of Ash":      {home, agent.CodeDenied},
		"what holds the home":  {filepath.Dir(home), agent.CodeDenied},
		"what is in the home":  {filepath.Join(home, "inside"), agent.CodeDenied},
		"a link into the home": {link, agent.CodeDenied},
		"what is not there":    {filepath.Join(home, "nowhere"), agent.CodeNotFound},
		"a file":               {file, agent.CodeInvalid},
		"what is not absolute": {"src", agent.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := p.Check(tt.folder); agent.CodeOf(err) != tt.code {
				t.Errorf("%v, want %s", err, tt.code)
			}
		})
	}
	must(t, os.WriteFile(filepath.Join(home, askedFile), []byte("{"), 0o600))
	if err := p.Answer(t.Context(), "/x", false); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("a damaged file: %v", err)
	}
}
