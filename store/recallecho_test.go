package store

import (
	"testing"

	"ash/agent"
	"ash/agent/memory/recall"
)

// TestNoEchoes holds that what the built-in model says is not in the index: it quotes what is stored. Rows that an earlier Ash made
// of it go when the index is made anew.
func TestNoEchoes(t *testing.T) {
	f := newFixture(t)
	say := func(provider, question, answer string) agent.Message {
		f.post(question)
		m := f.openReply()
		m.State, m.Parts, m.Model = agent.MessageComplete, text(answer), agent.ModelRef{Provider: provider, Name: "x"}
		f.ok(f.CloseReply(f.ctx, m))
		f.end(agent.TurnDone)
		return m
	}
	real := say("ollama", "What is sourdough?", "Sourdough is bread.")
	echo := say("offline", "find sourdough", "From memory: sourdough is bread.")
	catchUp := func() {
		for more := true; more; {
			var err error
			more, err = f.CatchUp(f.ctx, 1)
			f.ok(err)
		}
	}
	indexed := func(m agent.Message) bool {
		numbers, err := f.ItemNumbers(f.ctx, []agent.Recollection{{Kind: agent.MemoryMessage, Ref: string(m.ID)}})
		f.ok(err)
		return numbers[0] != 0
	}
	catchUp()
	if !indexed(real) || indexed(echo) {
		t.Errorf("indexed: answer %v, echo %v", indexed(real), indexed(echo))
	}
	extent, err := f.Extent(f.ctx)
	f.ok(err)
	if extent.Count != 3 {
		t.Errorf("%d items of 4 messages, one an echo", extent.Count)
	}
	row, err := toRecall(recall.Item{Kind: agent.MemoryMessage, Ref: string(echo.ID), Thread: f.thread, Text: "From memory: sourdough is bread."})
	f.ok(err)
	f.ok(insertRow(f.ctx, f.writer, &row))
	f.ok(f.Reindex(f.ctx))
	catchUp()
	if !indexed(real) || indexed(echo) {
		t.Errorf("made anew: answer %v, echo %v", indexed(real), indexed(echo))
	}
}
