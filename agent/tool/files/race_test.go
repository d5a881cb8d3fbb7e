package files_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

// TestEditsSideBySide: calls of one reply run at once, and none may lose what another did.
func TestEditsSideBySide(t *testing.T) {
	d := newDesk(t)
	const n = 24
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %02d is as it was\n", i)
	}
	d.put("f.txt", b.String())
	var group sync.WaitGroup
	calls := make([]agent.ID, n)
	for i := range n {
		calls[i] = agent.NewID()
		group.Go(func() {
			env := d.env
			env.Call = agent.ToolCall{ID: calls[i], Name: "file_edit"}
			a := raw(t, edits(fmt.Sprintf("line %02d is as it was", i), fmt.Sprintf("line %02d was edited", i)))
			if _, err := d.tool("file_edit").Run(t.Context(), env, a, func(string) {}); err != nil {
				t.Errorf("edit %d: %v", i, err)
			}
		})
	}
	group.Wait()
	text, err := os.ReadFile(d.at("f.txt"))
	d.ok(err)
	if got := strings.Count(string(text), "was edited"); got != n {
		t.Errorf("%d of %d edits are there", got, n)
	}
	for _, call := range calls {
		if all, err := d.files.Changes(t.Context(), call); err != nil || len(all) != 1 {
			t.Errorf("versions: %v %v", all, err)
		}
	}
	d.clean()
}

// TestChangedInTheLastMoment has another program change the file after it was read and before it is replaced.
func TestChangedInTheLastMoment(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(d *desk)
		check     func(d *desk)
		words     string
	}{
		"edited": {
			func(d *desk) { d.put("f.txt", "by an editor\n") },
			func(d *desk) { d.holds("f.txt", "by an editor\n") }, "changed by something else",
		},
		"removed": {
			func(d *desk) { d.ok(os.Remove(d.at("f.txt"))) },
			func(d *desk) { d.absent("f.txt") }, "changed by something else",
		},
		"made a folder": {
			func(d *desk) {
				d.ok(os.Remove(d.at("f.txt")))
				d.ok(os.Mkdir(d.at("f.txt"), 0o755))
			},
			func(d *desk) { d.ok(os.Remove(d.at("f.txt"))) }, "a folder now",
		},
		"made a link out": {
			func(d *desk) {
				d.ok(os.Rename(d.at("f.txt"), filepath.Join(filepath.Dir(d.root), "moved")))
				d.ok(os.Symlink("../moved", d.at("f.txt")))
			},
			func(d *desk) {
				got, err := os.ReadFile(filepath.Join(filepath.Dir(d.root), "moved"))
				d.ok(err)
				if string(got) != "one\n" {
					d.t.Errorf("outside: %q", got)
				}
			}, "a link now",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.put("f.txt", "one\n")
			d.env.Labels = tool.Untrusted("example.org") // recorded right before the file is replaced
			d.records.wrote = func(string, string) { d.records.wrote = nil; c.meanwhile(d) }
			d.refuses(agent.CodeConflict, c.words, "file_edit", edits("one", "two"))
			c.check(d)
			d.clean()
			if all, err := d.files.Changes(t.Context(), d.lastCall()); err != nil || len(all) != 0 {
				t.Errorf("versions of what never happened: %v %v", all, err)
			}
		})
	}
	d := newDesk(t)
	d.env.Labels = tool.Untrusted("example.org")
	d.records.wrote = func(string, string) { d.records.wrote = nil; d.put("new.txt", "somebody else's\n") }
	d.refuses(agent.CodeConflict, "changed by something else", "file_write", arguments{"path": "new.txt", "content": "mine\n"})
	d.holds("new.txt", "somebody else's\n")
	d.clean()
}

// askAll asks about every call.
type askAll struct{}

func (askAll) Judge(_ context.Context, _ agent.Situation, _ agent.ToolCall, e agent.Effect) (agent.Judgement, error) {
	return agent.Judgement{Verdict: agent.Ask, Effect: &e}, nil
}

func (askAll) Permit(context.Context, agent.Situation, agent.ToolCall, agent.Offer) error { return nil }

// TestApprovalIsForWhatWasShown: what was approved runs on the contents it was approved for, or not at all.
func TestApprovalIsForWhatWasShown(t *testing.T) {
	d := newDesk(t)
	box := tool.NewBox(tool.Options{Policy: askAll{}, Root: func(agent.Thread) string { return d.root }}, d.files.Tools()...)
	approve := func(name string, a arguments) agent.ToolCall {
		t.Helper()
		c := agent.ToolCall{ID: agent.NewID(), Thread: d.env.Thread.ID, Name: name, Arguments: raw(t, a)}
		j, err := box.Judge(t.Context(), agent.Situation{}, c)
		d.ok(err)
		if j.Verdict != agent.Ask {
			t.Fatalf("judged %+v", j)
		}
		c.Binding, c.Effect, c.Decision = j.Binding, j.Effect, &agent.Decision{Approve: true}
		return c
	}
	runs := func(c agent.ToolCall) error {
		out, err := box.Run(t.Context(), agent.Situation{}, c, func(string) {})
		if err == nil && out.Failed {
			err = agent.Errorf(agent.CodeConflict, "%s", textOf(out))
		}
		return err
	}
	changed := func(err error) bool {
		return err != nil && strings.Contains(agent.PublicOf(err), "changed by something else")
	}
	d.put("f.txt", "one two\n")
	d.ok(runs(approve("file_edit", edits("one", "1"))))
	d.holds("f.txt", "1 two\n")

	c := approve("file_edit", edits("two", "2"))
	d.put("f.txt", "two, but another text\n")
	if err := runs(c); !changed(err) {
		t.Errorf("edit of a changed file: %v", err)
	}
	d.holds("f.txt", "two, but another text\n")
	c = approve("file_edit", edits("two", "2"))
	d.put("f.txt", "no such passage\n")
	if err := runs(c); !changed(err) {
		t.Errorf("edit that does not fit any more: %v", err)
	}
	c = approve("file_write", arguments{"path": "g.txt", "content": "new\n"})
	d.put("g.txt", "it is there meanwhile\n")
	if err := runs(c); !changed(err) {
		t.Errorf("write over what was not there: %v", err)
	}
	d.holds("g.txt", "it is there meanwhile\n")
	// The same path in another root is another file.
	c = approve("file_write", arguments{"path": "h.txt", "content": "new\n"})
	d.root = t.TempDir()
	if err := runs(c); !changed(err) {
		t.Errorf("write in another root: %v", err)
	}
	d.absent("h.txt")
}

func TestCancelledCallsChangeNothing(t *testing.T) {
	d := newDesk(t)
	d.put("f.txt", "one\n")
	ctx, cancel := context.WithCancel(t.Context())
	d.env.Labels = tool.Untrusted("example.org")
	d.records.wrote = func(string, string) { d.records.wrote = nil; cancel() }
	if _, err := d.tool("file_edit").Run(ctx, d.env, raw(t, edits("one", "two")), func(string) {}); err == nil {
		t.Error("no error")
	}
	d.holds("f.txt", "one\n")
	d.clean()
}

// inChild reports whether this process was started by a test to do something of its own, and what.
func inChild() string { return os.Getenv("ASH_FILES_TEST_CHILD") }

func child(t *testing.T, what, root string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), "ASH_FILES_TEST_CHILD="+what, "ASH_FILES_TEST_ROOT="+root)
	return cmd
}

// TestChild is what the processes of other tests run.
func TestChild(t *testing.T) {
	if inChild() == "" {
		t.Skip("only run by other tests, as a process of its own")
	}
	d := newDesk(t)
	d.root = os.Getenv("ASH_FILES_TEST_ROOT")
	d.env.Root = d.root
	switch inChild() {
	case "hang": // between the temp file and the rename
		d.env.Labels = tool.Untrusted("example.org")
		d.records.wrote = func(string, string) {
			d.ok(os.WriteFile(d.root+".ready", nil, 0o600))
			select {}
		}
		d.does("file_edit", edits("one", "two"))
	case "loop":
		for i := 0; ; i++ {
			d.does("file_write", arguments{"path": "f.txt", "content": strings.Repeat(fmt.Sprintf("%07x\n", (os.Getpid()<<12+i)&0xfffffff), 1<<16)})
			if i == 0 {
				d.ok(os.WriteFile(d.root+".ready", nil, 0o600))
			}
		}
	case "nobody":
		d.refuses(agent.CodeDenied, "does not permit it", "file_write", arguments{"path": "closed/new.txt", "content": "x\n"})
		d.refuses(agent.CodeDenied, "does not permit it", "file_write", arguments{"path": "closed/sub/new.txt", "content": "x\n"})
		d.refuses(agent.CodeDenied, "does not permit it", "file_edit", arguments{"path": "closed/f.txt", "edits": []arguments{{"old": "one", "new": "two"}}})
		d.refuses(agent.CodeDenied, "does not permit it", "file_read", arguments{"path": "hidden.txt"})
		d.refuses(agent.CodeDenied, "does not permit it", "file_list", arguments{"path": "hidden"})
		contains(t, d.does("file_search", arguments{"pattern": "one"}), "1 lines match", "1 files that cannot be opened")
	}
}

func ready(t *testing.T, root string) {
	t.Helper()
	for range 3000 {
		if _, err := os.Stat(root + ".ready"); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the process did not begin")
}

func TestKilledBetweenTempAndRename(t *testing.T) {
	d := newDesk(t)
	d.put("f.txt", "one\n")
	cmd := child(t, "hang", d.root)
	d.ok(cmd.Start())
	ready(t, d.root)
	d.ok(cmd.Process.Kill())
	_ = cmd.Wait()
	d.holds("f.txt", "one\n")
	left, err := filepath.Glob(d.at(".ash-writing-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("left behind: %v %v", left, err)
	}
	lacks(t, d.does("file_list", arguments{"all": true}), ".ash-writing")
	contains(t, d.does("file_search", arguments{"pattern": "two", "all": true}), "Nothing matches")
	// What is young may be another process's; what is old goes with the next write.
	d.does("file_edit", edits("one", "three"))
	if _, err := os.Stat(left[0]); err != nil {
		t.Error("a young one is gone")
	}
	old := time.Now().Add(-2 * time.Hour)
	d.ok(os.Chtimes(left[0], old, old))
	d.does("file_edit", edits("three", "four"))
	d.clean()
	d.holds("f.txt", "four\n")
}

func TestKilledAtAnyInstant(t *testing.T) {
	d := newDesk(t)
	for i := range 6 {
		d.ok(os.RemoveAll(d.root + ".ready"))
		cmd := child(t, "loop", d.root)
		d.ok(cmd.Start())
		ready(t, d.root)
		time.Sleep(time.Duration(i*17) * time.Millisecond)
		d.ok(cmd.Process.Kill())
		_ = cmd.Wait()
		text, err := os.ReadFile(d.at("f.txt"))
		d.ok(err)
		if len(text) != 8<<16 || strings.Count(string(text), string(text[:8])) != 1<<16 {
			t.Fatalf("half-written: %d bytes", len(text))
		}
	}
}

func TestFoldersOneMayNotWriteIn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean something else on Windows")
	}
	dir, err := os.MkdirTemp("", "ash-files-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	d := newDesk(t)
	d.root = filepath.Join(dir, "root")
	d.put("closed/f.txt", "one\n")
	d.put("hidden.txt", "one\n")
	d.put("hidden/x", "")
	d.put("tmp/x", "")
	d.ok(os.Chmod(dir, 0o755))
	d.ok(os.Chmod(d.root, 0o755))
	d.ok(os.Chmod(d.at("tmp"), 0o777))
	d.ok(os.Chmod(d.at("hidden"), 0))
	d.ok(os.Chmod(d.at("hidden.txt"), 0))
	d.ok(os.Chmod(d.at("closed"), 0o555))
	defer func() { _, _ = os.Chmod(d.at("hidden"), 0o755), os.Chmod(d.at("closed"), 0o755) }()
	cmd := child(t, "nobody", d.root)
	if os.Getuid() == 0 { // root may write everywhere
		program := filepath.Join(dir, "test")
		data, err := os.ReadFile(os.Args[0])
		d.ok(err)
		d.ok(os.WriteFile(program, data, 0o755))
		cmd.Path = program
		asNobody(cmd)
	}
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "TMPDIR="+d.at("tmp"), "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	left, err := filepath.Glob(d.at("closed/.ash*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
