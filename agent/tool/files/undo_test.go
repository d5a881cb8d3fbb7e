package files_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/tool"
)

func TestUndoAndUndoingThat(t *testing.T) {
	d := newDesk(t)
	d.put("f.txt", "one\r\n")
	d.does("file_edit", edits("one", "two"))
	call := d.lastCall()
	all, err := d.files.Changes(t.Context(), call)
	d.ok(err)
	if len(all) != 1 || all[0].Path != "f.txt" || all[0].Root != d.root || all[0].Before != hashOf("one\r\n") || all[0].After != hashOf("two\r\n") ||
		!all[0].Kept || all[0].Undone || all[0].Thread != d.env.Thread.ID {
		t.Errorf("kept %+v", all)
	}
	for i, want := range []string{"one\r\n", "two\r\n", "one\r\n"} {
		d.ok(d.files.Undo(t.Context(), call))
		d.holds("f.txt", want)
		if all, err = d.files.Changes(t.Context(), call); err != nil || len(all) != i+2 || all[0].Undone || !all[1].Undone {
			t.Errorf("after %d times: %+v %v", i+1, all, err)
		}
	}
	d.clean()
	if err := d.files.Undo(t.Context(), agent.NewID()); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("of a call that changed nothing: %v", err)
	}
}

func TestUndoOfANewFile(t *testing.T) {
	d := newDesk(t)
	d.does("file_write", arguments{"path": "dir/f.txt", "content": "new\n"})
	call := d.lastCall()
	d.ok(d.files.Undo(t.Context(), call))
	d.absent("dir/f.txt")
	d.ok(d.files.Undo(t.Context(), call))
	d.holds("dir/f.txt", "new\n")
	d.ok(d.files.Undo(t.Context(), call))
	d.ok(os.Remove(d.at("dir"))) // with its folder gone it comes back all the same
	d.ok(d.files.Undo(t.Context(), call))
	d.holds("dir/f.txt", "new\n")
	d.put("empty", "")
	d.does("file_write", arguments{"path": "empty", "content": "filled\n"})
	d.ok(d.files.Undo(t.Context(), d.lastCall()))
	d.holds("empty", "")
}

func TestUndoOfWhatChangedSince(t *testing.T) {
	d := newDesk(t)
	change := func() agent.ID {
		d.put("f.txt", "one\n")
		d.does("file_write", arguments{"path": "f.txt", "content": "two\n"})
		return d.lastCall()
	}
	for name, c := range map[string]struct {
		meanwhile func()
		words     string
	}{
		"edited":           {func() { d.put("f.txt", "two, and more\n") }, "changed again since"},
		"removed":          {func() { d.ok(os.Remove(d.at("f.txt"))) }, "removed or renamed"},
		"put back by hand": {func() { d.put("f.txt", "one\n") }, "already holds"},
		"now a folder": {func() {
			d.ok(os.Remove(d.at("f.txt")))
			d.ok(os.Mkdir(d.at("f.txt"), 0o755))
		}, "a folder"},
		"now a link": {func() {
			d.ok(os.Remove(d.at("f.txt")))
			d.put("elsewhere", "two\n")
			d.ok(os.Symlink("elsewhere", d.at("f.txt")))
		}, "a link now"},
	} {
		call := change()
		c.meanwhile()
		err := d.files.Undo(t.Context(), call)
		if code := agent.CodeOf(err); code != agent.CodeConflict && code != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		d.ok(os.RemoveAll(d.at("f.txt")))
	}
	// Two calls on one file are undone in the other order only.
	first := change()
	d.does("file_write", arguments{"path": "f.txt", "content": "three\n"})
	second := d.lastCall()
	if err := d.files.Undo(t.Context(), first); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("the first before the second: %v", err)
	}
	d.ok(d.files.Undo(t.Context(), second))
	d.ok(d.files.Undo(t.Context(), first))
	d.holds("f.txt", "one\n")
	// A link in the way of a folder leads nowhere.
	d.does("file_write", arguments{"path": "sub/g.txt", "content": "x\n"})
	call := d.lastCall()
	outside := t.TempDir()
	d.ok(os.WriteFile(outside+"/g.txt", []byte("x\n"), 0o644))
	d.ok(os.RemoveAll(d.at("sub")))
	d.ok(os.Symlink(outside, d.at("sub")))
	if err := d.files.Undo(t.Context(), call); agent.CodeOf(err) != agent.CodeDenied {
		t.Errorf("through a link: %v", err)
	}
	if _, err := os.Stat(outside + "/g.txt"); err != nil {
		t.Error("the file outside is gone")
	}
}

func TestWhatIsTooLargeToKeep(t *testing.T) {
	d := newDesk(t)
	d.put("f.txt", strings.Repeat("0123456\n", 5<<17)+"end\n")
	contains(t, d.does("file_edit", edits("end", "over")), "cannot be undone: the file has 5.0 MB")
	err := d.files.Undo(t.Context(), d.lastCall())
	if agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("undo: %v", err)
	}
	d.put("f.txt", strings.Repeat("0123456\n", 5<<17))
	d.does("file_write", arguments{"path": "f.txt", "content": "short\n"})
	d.ok(d.files.Undo(t.Context(), d.lastCall()))
	d.holds("f.txt", strings.Repeat("0123456\n", 5<<17))
}

// Whatever part fails, all is as it was.
func TestWhatFailsChangesNothing(t *testing.T) {
	for name, fail := range map[string]func(d *desk){
		"the record of its origin cannot be written": func(d *desk) { d.records.broken = errors.New("disk on fire") },
		"the version cannot be kept":                 func(d *desk) { d.ok(d.store.Close()) },
	} {
		d := newDesk(t)
		d.put("f.txt", "one\n")
		d.env.Labels = tool.Untrusted("example.org")
		fail(d)
		for _, a := range []arguments{{"path": "f.txt", "content": "two\n"}, {"path": "new/g.txt", "content": "two\n"}} {
			if _, _, err := d.call("file_write", a); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		d.holds("f.txt", "one\n")
		d.absent("new")
		d.clean()
	}
	d := newDesk(t)
	d.put("f.txt", "one\n")
	d.ok(d.records.Wrote(t.Context(), d.root, "f.txt", hashOf("one\n"), tool.Untrusted("first.example")))
	d.env.Labels = tool.Untrusted("example.org")
	d.records.broken = errors.New("disk on fire")
	_, _, err := d.call("file_write", arguments{"path": "f.txt", "content": "two\n"})
	if err == nil {
		t.Error("no error")
	}
	failed := d.lastCall()
	d.records.broken = nil
	if _, out, err := d.call("file_read", arguments{"path": "f.txt"}); err != nil || !strings.Contains(fmt.Sprint(out.Labels), "first.example") {
		t.Errorf("what is there still has labels %v (%v)", out.Labels, err)
	}
	// So has what stays because something else changes the file.
	d.records.wrote = func(string, string) { d.records.wrote = nil; d.put("f.txt", "other\n") }
	d.refuses(agent.CodeConflict, "changed", "file_write", arguments{"path": "f.txt", "content": "two\n"})
	d.put("f.txt", "one\n")
	if _, out, err := d.call("file_read", arguments{"path": "f.txt"}); err != nil || !strings.Contains(fmt.Sprint(out.Labels), "first.example") {
		t.Errorf("what is there still has labels %v (%v)", out.Labels, err)
	}
	// What bears nothing of a stranger's is written though its record fails: it counts as unknown then.
	d.env.Labels, d.records.broken = nil, errors.New("disk on fire")
	d.does("file_write", arguments{"path": "f.txt", "content": "three\n"})
	d.records.broken = nil
	if all, err := d.files.Changes(t.Context(), failed); err != nil || len(all) != 0 {
		t.Errorf("versions of what never happened: %v %v", all, err)
	}
}
