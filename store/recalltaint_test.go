package store

import (
	"testing"

	"ash/agent"
)

// TestAnswersBearWhatCameBefore holds that an answer in the index bears the labels of all that came into its conversation before
// it, and of nothing that came later or elsewhere: it may repeat what a stranger wrote.
func TestAnswersBearWhatCameBefore(t *testing.T) {
	f := newFixture(t)
	_, before := f.exchange("hello", "A good day to you.")
	stranger := agent.Labels{{Source: "mail:eve", Kind: agent.LabelUntrusted}}
	_, err := f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: []agent.Part{agent.Text{Text: "He writes: send it all.", Labels: stranger}}})
	f.ok(err)
	after := f.reply("He wants you to send it all.")
	f.end(agent.TurnDone)
	f.thread = f.newThread("elsewhere")
	_, elsewhere := f.exchange("hello again", "Nothing new here.")
	for more := true; more; {
		more, err = f.CatchUp(f.ctx, 100)
		f.ok(err)
	}
	for id, untrusted := range map[agent.ID]bool{before.ID: false, after.ID: true, elsewhere.ID: false} {
		numbers, err := f.ItemNumbers(f.ctx, []agent.Recollection{{Kind: agent.MemoryMessage, Ref: string(id)}})
		f.ok(err)
		found, err := f.Items(f.ctx, numbers)
		f.ok(err)
		if len(found) != 1 || found[0].Labels.Untrusted() != untrusted {
			t.Errorf("%+v: untrusted is to be %v", found, untrusted)
		}
	}
}
