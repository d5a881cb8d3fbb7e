package store

import (
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/memory"
)

// Two facts of one sentence: forgetting one takes its words out of what the other quotes, in its run too, and taking that back gives them back.
func TestForgettingMasksWhatOthersQuote(t *testing.T) {
	k := newKeeper(t)
	const said = "My dentist is called Xanadu and I play the cello."
	question, _ := k.exchange(said, "Noted.")
	source := agent.Provenance{Kind: agent.SourceMessage, Thread: k.thread, Message: question.ID, Quote: said}
	secret := k.told("The dentist is called Xanadu", func(f *agent.Fact) { f.Source = source })
	cello, err := k.book.Ready(agent.Fact{Owner: k.owner, Text: "Plays the cello", Source: source})
	k.ok(err)
	run := agent.MemoryRun{ID: agent.NewID(), Kind: agent.RunLearn, Thread: k.thread}
	_, err = k.book.Apply(k.ctx, memory.Step{Run: &run, Changes: []agent.MemoryChange{{Fact: cello.ID, After: &cello}}})
	k.ok(err)
	quotes := func() string {
		f, err := k.Fact(k.ctx, cello.ID)
		k.ok(err)
		r, err := k.MemoryRun(k.ctx, run.ID)
		k.ok(err)
		return f.Source.Quote + "\n" + r.Changes[0].After.Source.Quote
	}
	forget := func() agent.ID {
		t.Helper()
		act, err := k.book.Forget(k.ctx, memory.Target{Fact: secret.ID}, nil)
		k.ok(err)
		if got := quotes(); strings.Contains(got, "Xanadu") {
			t.Errorf("hidden, and still quoted: %s", got)
		}
		return act.ID
	}
	k.ok(k.book.Restore(k.ctx, forget()))
	if got := quotes(); got != said+"\n"+said {
		t.Errorf("taken back: %s", got)
	}
	k.ok(k.book.Finish(k.ctx, forget()))
	if got := quotes(); strings.Contains(got, "Xanadu") {
		t.Errorf("final, and still quoted: %s", got)
	}
	if n := k.onDisk("Xanadu"); n != 0 {
		t.Errorf("%d times on the disk", n)
	}
	out, _ := k.out()
	if strings.Contains(string(unzipped(t, out)), "Xanadu") {
		t.Error("it is in the export")
	}
}
