package config

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
)

func TestBook(t *testing.T) {
	ctx := context.Background()
	o := home(t, "# mine\n[log]\nlevel = \"warn\"\n")
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	cancel := b.Subscribe(func(before, now *Snapshot) {
		heard = append(heard, before.Config().Log.Level+" → "+now.Config().Log.Level)
	})
	old := b.Current()
	for _, level := range []string{"debug", "debug", "error"} {
		s, err := b.Edit(ctx, "", []Change{{Key: "log.level", Value: level}})
		if err != nil || s != b.Current() {
			t.Fatal(s, err)
		}
	}
	if _, err := b.Edit(ctx, "", []Change{{Key: "log.level", Value: "loud"}}); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("a wrong value: %v", err)
	}
	cancel()
	if _, err := b.Edit(ctx, "", []Change{{Key: "log.level", Remove: true}}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(heard, ", "); got != "warn → debug, debug → error" {
		t.Errorf("heard %s", got)
	}
	if old.Config().Log.Level != "warn" || b.Current().Config().Log.Level != "info" {
		t.Error("an old snapshot changed, or the new one did not")
	}
	write(t, o.Path(), "[log]\nlevel = 1\n")
	if err := b.Reload(); agent.CodeOf(err) != agent.CodeInvalid || b.Current().Config().Log.Level != "info" {
		t.Errorf("a broken file: %v", err)
	}
	if _, err := Open(o); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("opening a broken file: %v", err)
	}
}

// Edits of different keys at once, through two books like two processes, all arrive.
func TestConcurrentEdits(t *testing.T) {
	o := home(t, string(Example()))
	var books []*Book
	for range 2 {
		b, err := Open(o)
		must(t, err)
		books = append(books, b)
	}
	const each = 8
	var wg sync.WaitGroup
	for i, b := range books {
		for j := range each {
			wg.Go(func() {
				key := fmt.Sprintf("providers.p%d-%d.stall_timeout", i, j)
				if _, err := b.Edit(context.Background(), "", []Change{{Key: key, Value: "1s"}}); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			})
		}
	}
	wg.Wait()
	if got := len(load(t, o).Config().Providers); got != len(books)*each {
		t.Errorf("%d of %d edits arrived", got, len(books)*each)
	}
}

// Of two who decided on the same state, the second learns of it.
func TestStaleEdit(t *testing.T) {
	o := home(t, "")
	first, err := Open(o)
	must(t, err)
	second, err := Open(o)
	must(t, err)
	version := second.Current().Version()
	_, err = first.Edit(context.Background(), version, []Change{{Key: "log.level", Value: "debug"}})
	must(t, err)
	_, err = second.Edit(context.Background(), version, []Change{{Key: "log.level", Value: "error"}})
	if agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("got %v", err)
	}
}

func TestFollow(t *testing.T) {
	o := home(t, "")
	b, err := Open(o)
	must(t, err)
	changed, failed := make(chan string, 10), make(chan error, 10)
	b.Subscribe(func(_, now *Snapshot) { changed <- now.Config().Log.Level })
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { b.Follow(ctx, time.Millisecond, func(err error) { failed <- err }) })
	write(t, o.Path(), "[log]\nlevel = \"debug\"\n")
	// The file may be seen while it is written; what counts is where it ends.
	for level := ""; level != "debug"; {
		select {
		case level = <-changed:
		case <-time.After(5 * time.Second):
			t.Fatal("the change was not seen")
		}
	}
	write(t, o.Path(), "[log]\nlevel = \"loud!\"\n")
	select {
	case err := <-failed:
		if agent.CodeOf(err) != agent.CodeInvalid {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the problem was not reported")
	}
	cancel()
	wg.Wait()
	if got := b.Current().Config().Log.Level; got != "debug" && got != "info" {
		t.Errorf("level %s", got)
	}
}
