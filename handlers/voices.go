package handlers

import (
	"cmp"
	"context"

	"ash/agent"
	"ash/agent/memory/archive"
	"ash/views/components"
)

// maxVoice bounds the name of a speaker and the words for a time on a page, in bytes.
const maxVoice = 120

// voices are those who said messages that an import brought; everything else the person said, or Ash.
type voices map[agent.ID]archive.Voice

// of returns by what name an import has the speaker of a message, and words for the time where the day is not
// known; "" for both where the message says so itself.
func (v voices) of(message agent.ID) (name, said string) {
	x := v[message]
	if x.Undated {
		said = cmp.Or(visible(agent.Clip(onOneLine(x.Said), maxVoice)), "no date given")
	}
	return visible(agent.Clip(onOneLine(x.Name), maxVoice)), said
}

// voices reads who said messages. Ids that are "" are left out.
func (f *Frame) voices(ctx context.Context, messages []agent.ID) (voices, error) {
	return f.Reader.Voices(ctx, messages)
}

// flow presents a window of a thread, each message under the name of whoever said it.
func (f *Frame) flow(ctx context.Context, p presenter, t agent.Thread, nodes []agent.Node, earlier bool) (components.Conversation, error) {
	ids := make([]agent.ID, len(nodes))
	for i, n := range nodes {
		ids[i] = n.ID
	}
	spoke, err := f.voices(ctx, ids)
	return p.conversation(t, nodes, spoke, earlier, f.Now()), err
}

// ownWords refuses to change what an import says somebody else said.
func (f *Frame) ownWords(ctx context.Context, m agent.ID) error {
	spoke, err := f.voices(ctx, []agent.ID{m})
	if err != nil {
		return err
	}
	if name, _ := spoke.of(m); name != "" {
		return agent.Errorf(agent.CodeInvalid, "These are the words of %s. Only what you wrote yourself can be edited.", name)
	}
	return nil
}

func hitIDs(found []agent.SearchHit) []agent.ID {
	ids := make([]agent.ID, len(found))
	for i, h := range found {
		ids[i] = h.Message
	}
	return ids
}
