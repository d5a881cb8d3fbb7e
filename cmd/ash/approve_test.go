package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/handlers"
)

// calling is a reply that uses one tool.
func calling(tool, arguments string) llmtest.Reply {
	return llmtest.Reply{Calls: []llmtest.Call{{ID: "c-" + tool, Name: tool, Arguments: []string{arguments}}}}
}

const writes = `{"path":"note.md","content":"remember the milk\n"}`

// written is what the model wrote to the note; "" when it did not.
func written(t *testing.T, home string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(home, "workspace", "files", "note.md"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

func flags(m *llmtest.Server) modelFlags { return modelFlags{"openai/test-model", m.URL + "/v1"} }

func TestApprovalAtTheTerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		lines   []string
		written bool
		told    string // to the model
	}{
		"yes":           {[]string{"y"}, true, ""},
		"yes in full":   {[]string{"YES"}, true, ""},
		"no":            {[]string{"n"}, false, "denied"},
		"with a reason": {[]string{"n not in that folder"}, false, "not in that folder"},
		"unclear first": {[]string{"", "perhaps", "y but", "99", "yes"}, true, ""},
		"always":        {[]string{"1"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			m := model(t, calling("file_write", writes), llmtest.Text("All done."))
			p := sit(t, home, flags(m))
			p.types("write it down")
			p.sees(&p.notes, "y yes · n no · n REASON")
			for _, part := range []string{"(file_write)", "note.md", "+remember the milk"} {
				if got := p.notes.String(); !strings.Contains(got, part) {
					t.Errorf("the card lacks %q:\n%s", part, got)
				}
			}
			for i, line := range tt.lines {
				p.types(line)
				if i < len(tt.lines)-1 {
					p.sees(&p.notes, strings.Repeat("the number of a permission", 1))
				}
			}
			p.sees(&p.out, "All done.")
			if got := written(t, home); (got == "remember the milk\n") != tt.written {
				t.Errorf("written %q", got)
			}
			if all := m.Chats(); !strings.Contains(string(all[len(all)-1].Body), tt.told) {
				t.Errorf("the model was told %s", all[len(all)-1].Body)
			}
			p.types("/quit")
			p.leaves()
		})
	}
}

func TestQuestionAtTheTerminal(t *testing.T) {
	for name, tt := range map[string]struct{ line, told string }{
		"a choice":       {"2", "The person answers: blue"},
		"another answer": {"the one at the back", "The person answers: the one at the back"},
		"a number":       {"7", "The person answers: 7"},
		"none":           {"/skip", "does not answer this"},
	} {
		t.Run(name, func(t *testing.T) {
			m := model(t, calling("ask_person", `{"question":"Which one?","choices":["red","blue"]}`), llmtest.Text("I see."))
			p := sit(t, t.TempDir(), flags(m))
			p.types("take one")
			p.sees(&p.notes, "? Which one?\n  1 red\n  2 blue\n")
			p.types("")
			p.sees(&p.notes, "or /later")
			p.types(tt.line)
			p.sees(&p.out, "I see.")
			if got := string(m.Chats()[1].Body); !strings.Contains(got, tt.told) {
				t.Errorf("the model was told %s", got)
			}
		})
	}
}

// What was typed before a card was shown is no answer to it.
func TestTypedAhead(t *testing.T) {
	home := t.TempDir()
	m := model(t, calling("file_write", writes), llmtest.Text("All done."), llmtest.Text("And this."))
	p := sit(t, home, flags(m))
	p.sees(&p.notes, "› ")
	_, err := io.WriteString(p.in, "write it down\ny\n")
	must(t, err)
	p.sees(&p.notes, "y yes · n no")
	time.Sleep(300 * time.Millisecond)
	if got := written(t, home); got != "" {
		t.Fatalf("a line typed ahead approved it: %q", got)
	}
	p.types("n")
	p.sees(&p.out, "All done.")
	p.sees(&p.out, "And this.")
	if got := string(m.Chats()[2].Body); !strings.Contains(got, `"y`) {
		t.Errorf("what was typed ahead was lost: %s", got)
	}
}

func TestDecidedElsewhere(t *testing.T) {
	home := t.TempDir()
	m := model(t, calling("file_write", writes), llmtest.Text("All done."))
	p := sit(t, home, flags(m))
	p.types("write it down")
	p.sees(&p.notes, "y yes · n no")
	c, err := dial(t.Context(), filepath.Join(home, socketName))
	must(t, err)
	defer c.close()
	all, err := c.threads(t.Context())
	must(t, err)
	waiting, err := c.waiting(t.Context(), all[0].ID)
	must(t, err)
	if len(waiting) != 1 || waiting[0].Tool != "file_write" || waiting[0].Effect == nil {
		t.Fatalf("waiting: %+v", waiting)
	}
	err = c.decide(t.Context(), waiting[0].ID, handlers.ControlDecision{Approve: true, Binding: waiting[0].Binding})
	must(t, err)
	p.sees(&p.notes, "[decided elsewhere]")
	p.sees(&p.out, "All done.")
	if err := c.decide(t.Context(), waiting[0].ID, handlers.ControlDecision{Binding: waiting[0].Binding}); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("the second answer: %v", err)
	}
}

// Where nobody can be asked it is left waiting, and taken up later.
func TestLeftWaiting(t *testing.T) {
	home := t.TempDir()
	m := model(t, calling("file_write", writes), llmtest.Text("All done."))
	a := ash(t, "", append([]string{"chat", "--home", home, "-m", "write it down"}, using(m)...)...)
	a.complains(t, exitWaiting, "waits for your decision", "file_write: note.md", "ash chat --last")
	if written(t, home) != "" {
		t.Fatal("it was written")
	}
	l, err := connect(t.Context(), home, flags(m))
	must(t, err)
	defer func() { must(t, l.close()) }()
	r, w := io.Pipe()
	var out, notes journal
	term := &terminal{link: l, in: bufio.NewReader(r), out: &out, notes: &notes, interrupts: make(chan os.Signal)}
	must(t, term.choose(t.Context(), chatFlags{last: true}))
	left := make(chan error, 1)
	go func() { left <- term.converse(context.WithoutCancel(t.Context())) }()
	p := &seat{t: t, in: w, left: left}
	p.sees(&notes, "y yes · n no")
	p.types("y")
	p.sees(&out, "All done.")
	must(t, w.Close())
	p.leaves()
	if got := written(t, home); got != "remember the milk\n" {
		t.Errorf("written %q", got)
	}
}

func TestLeavingACard(t *testing.T) {
	for name, leave := range map[string]func(*seat){
		"the end of input": func(p *seat) { must(p.t, p.in.Close()) },
		"later": func(p *seat) {
			p.types("/later")
			p.sees(&p.notes, "waits for your decision")
			p.types("/waiting")
			for end := time.Now().Add(patience); strings.Count(p.notes.String(), "y yes") < 2 && time.Now().Before(end); time.Sleep(time.Millisecond) {
			}
			p.types("/quit")
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			p := sit(t, home, flags(model(t, calling("file_write", writes))))
			p.types("write it down")
			p.sees(&p.notes, "y yes · n no")
			leave(p)
			p.leaves()
			c, err := dial(t.Context(), filepath.Join(home, socketName))
			must(t, err)
			defer c.close()
			all, err := c.threads(t.Context())
			must(t, err)
			if w, err := c.waiting(t.Context(), all[0].ID); err != nil || len(w) != 1 {
				t.Errorf("%d wait, %v", len(w), err)
			}
		})
	}
}

func TestStoppedAtACard(t *testing.T) {
	p := sit(t, t.TempDir(), flags(model(t, calling("file_write", writes))))
	p.types("write it down")
	p.sees(&p.notes, "y yes · n no")
	p.interrupts <- os.Interrupt
	p.sees(&p.notes, "[stopped]")
	p.types("/quit")
	p.leaves()
}

func TestToolsInJSON(t *testing.T) {
	home := t.TempDir()
	m := model(t, llmtest.Reply{Calls: []llmtest.Call{
		{ID: "a", Name: "file_list", Arguments: []string{`{}`}}, {ID: "b", Name: "file_write", Arguments: []string{writes}},
	}})
	a := ash(t, "", append([]string{"chat", "--home", home, "--json", "-m", "look and write"}, using(m)...)...).is(t, exitWaiting)
	var asked, listed *handlers.ControlCall
	for _, ev := range jsonLines(t, a.out) {
		switch ev.Kind {
		case "confirm_request":
			asked = ev.Detail
		case "tool_result":
			listed = ev.Detail
		}
	}
	if asked == nil || asked.Tool != "file_write" || asked.Binding == "" || asked.Effect == nil || !strings.Contains(asked.Effect.Diff, "+remember the milk") || asked.State != agent.CallWaiting {
		t.Errorf("asked %+v", asked)
	}
	if listed == nil || listed.Tool != "file_list" || listed.State != agent.CallFinished {
		t.Errorf("listed %+v", listed)
	}
}

func TestToolsArePrinted(t *testing.T) {
	m := model(t, calling("file_list", `{}`), calling("fly", `{"to":"\u001b[31mmoon"}`), llmtest.Text("Nothing there."))
	a := ash(t, "", append([]string{"chat", "--home", t.TempDir(), "-m", "look"}, using(m)...)...).is(t, 0)
	if a.out != "Nothing there.\n" || !strings.Contains(a.err, "• List a folder") || !strings.Contains(a.err, "└ file_list finished") || !strings.Contains(a.err, "└ fly failed: There is no tool of that name") {
		t.Errorf("out %q\nnotes %q", a.out, a.err)
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain é\n\ttext":  "plain é\n\ttext",
		"\x1b[2Jgone":      "‹U+001B›[2Jgone",
		"rm \u202efdp.txt": "rm ‹U+202E›fdp.txt",
		"a\u200bb\r\u0085": "a‹U+200B›b‹U+000D›‹U+0085›",
	} {
		if got := shown(in); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPrinterProgress(t *testing.T) {
	var out, notes journal
	p := &printer{out: &out, notes: &notes}
	for _, text := range []string{"one\ntwo", " and\n", "three", ""} {
		must(t, p.print(handlers.ControlEvent{Kind: "tool_progress", Text: text}))
	}
	exit := 2
	must(t, p.print(handlers.ControlEvent{Kind: "tool_result", Tool: "shell", State: "failed", Detail: &handlers.ControlCall{State: agent.CallFailed, Exit: &exit, From: []string{"network: a.example"}}}))
	want := "  │ one\n  │ two and\n  │ three\n  └ shell failed, exit 2 (from network: a.example)\n"
	if notes.String() != want {
		t.Errorf("%q, want %q", notes.String(), want)
	}
}

// FuzzDecision: only a plain yes, or a number that was offered, ever approves.
func FuzzDecision(f *testing.F) {
	for _, seed := range []string{"y", "n", "yes", "Y ", "1", "0", "-1", "n no", "y\u200b", "١", "+1"} {
		f.Add(seed)
	}
	c := handlers.ControlCall{Effect: &handlers.ControlEffect{Offers: []handlers.ControlOffer{{Rule: "r"}}}}
	f.Fuzz(func(t *testing.T, line string) {
		d, ok := decisionOf(c, strings.TrimSpace(line))
		if !ok || !d.Approve {
			return
		}
		plain := strings.ToLower(strings.TrimSpace(line))
		if (plain != "y" && plain != "yes" && d.Always == "") || (d.Always != "" && d.Always != "r") || json.Valid([]byte(d.Arguments)) {
			t.Errorf("%q approves: %+v", line, d)
		}
	})
}
