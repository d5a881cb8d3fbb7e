package prompt

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"ash/agent"
)

// Notes from Ash that join what does not follow by itself.
const (
	noteOpening  = "[the conversation begins with your own message]"
	noteExactly  = "[your message above broke off. Go on exactly where it ends, in the middle of a word if need be; repeat nothing, explain nothing]"
	noteGoOn     = "[go on]"
	noteCut      = "[your message above broke off before its end]"
	noteStopped  = "[the person stopped your message above before its end]"
	noteLeftOut  = "[earlier steps of this turn are left out here]"
	noteSummary  = "[the conversation so far, in summary:]"
	noteMessages = "[the conversation goes on below]"
)

// assembly puts blocks together so that every provider accepts the result.
type assembly struct {
	late    string // for the newest message of the person
	out     []agent.PromptMessage
	last    *block // the block added last
	trigger int    // index in out of the newest message of the person, -1 before it was added
	before  int    // messages in out before the newest message of the person
}

func newAssembly(late string) *assembly { return &assembly{late: late, trigger: -1} }

// summary opens the history with what came before it.
func (a *assembly) summary(fenced string) {
	if fenced != "" {
		a.out = append(a.out, agent.PromptMessage{Role: agent.RoleUser, Parts: []agent.Part{
			agent.Text{Text: noteSummary + "\n" + fenced + "\n" + noteMessages},
		}})
	}
}

// add appends a block. trigger marks the newest message of the person, gap that
// blocks behind it are left out.
func (a *assembly) add(b block, trigger, gap bool) {
	first := b.messages[0]
	if b.person() {
		var parts []agent.Part
		if a.last != nil && a.last.broken() && !a.last.person() {
			parts = append(parts, agent.Text{Text: brokenNote(*a.last)})
		}
		parts = append(parts, first.Parts...)
		if gap {
			parts = append(parts, agent.Text{Text: noteLeftOut})
		}
		if trigger && a.late != "" {
			parts = append(parts, agent.Text{Text: a.late})
		}
		if trigger {
			a.before = len(a.out)
		}
		a.user(parts)
		if trigger {
			a.trigger = len(a.out) - 1
			a.before = min(a.before, a.trigger)
		}
	} else {
		a.reply(b)
	}
	a.last = &b
}

// reply appends an answer and the results of its calls.
func (a *assembly) reply(b block) {
	for _, m := range b.messages {
		switch {
		case m.Role == agent.RoleUser && !onlyResults(m):
			a.user(m.Parts) // calls retold to a model without tools
		case m.Role == agent.RoleUser:
			a.out = append(a.out, m)
		case len(a.out) == 0:
			a.user([]agent.Part{agent.Text{Text: noteOpening}})
			a.out = append(a.out, m)
		case a.out[len(a.out)-1].Role == agent.RoleAssistant:
			// An answer that went on after the one before: the same words stood between them when it was asked for.
			a.user([]agent.Part{agent.Text{Text: goOn(a.last)}})
			a.out = append(a.out, m)
		default:
			a.out = append(a.out, m)
		}
	}
}

// user appends words of the user's side, to the message before if that is one too.
func (a *assembly) user(parts []agent.Part) {
	if n := len(a.out) - 1; n >= 0 && a.out[n].Role == agent.RoleUser && !onlyResults(a.out[n]) {
		a.out[n].Parts = join(append(slices.Clip(a.out[n].Parts), parts...))
		return
	}
	a.out = append(a.out, agent.PromptMessage{Role: agent.RoleUser, Parts: join(parts)})
}

// finish closes the prompt and marks where a provider may cache: after what the next turn will begin
// with (all before the person's newest message) and after everything, for the next round of this turn.
func (a *assembly) finish() []agent.PromptMessage {
	n := len(a.out)
	if n == 0 || a.out[n-1].Role == agent.RoleAssistant {
		a.user([]agent.Part{agent.Text{Text: goOn(a.last)}})
	}
	if a.before > 0 {
		a.out[a.before-1].Cache = true
	}
	a.out[len(a.out)-1].Cache = true
	return a.out
}

func brokenNote(b block) string {
	if b.message.State == agent.MessageStopped {
		return noteStopped
	}
	return noteCut
}

func goOn(b *block) string {
	if b != nil && b.broken() {
		return noteExactly
	}
	return noteGoOn
}

func onlyResults(m agent.PromptMessage) bool {
	for _, p := range m.Parts {
		if _, ok := p.(agent.ToolResult); !ok {
			return false
		}
	}
	return len(m.Parts) > 0
}

// summary fences a summary as the data it is.
func (rd *renderer) summary(s agent.Summary, tokens int) string {
	text := strings.TrimSpace(rd.redact(s.Text))
	// Three bytes to a token is little even for dense prose, so what is cut is what does not fit.
	return rd.fence.wrap(sources(s.Labels, "summary"), s.Labels, clipMarked(text, max(3*tokens, minData)))
}

// maxBytes bounds the pictures and documents of one prompt together: base64 makes a third more of
// it, and vendors take 20 to 32 MB a request.
const maxBytes = 18 << 20

// attach loads the bytes of pictures and documents, the newest first. What is
// gone, or too much, is named instead.
func (b *Builder) attach(ctx context.Context, messages []agent.PromptMessage) {
	left := int64(maxBytes)
	for i := len(messages) - 1; i >= 0; i-- {
		messages[i].Parts = b.attachParts(ctx, messages[i].Parts, &left)
	}
}

func (b *Builder) attachParts(ctx context.Context, parts []agent.Part, left *int64) []agent.Part {
	out := slices.Clone(parts)
	for i := len(out) - 1; i >= 0; i-- {
		switch p := out[i].(type) {
		case agent.Image:
			p.Data = b.blob(ctx, p.Attachment, left)
			out[i] = p
			if p.Data == nil {
				out[i] = agent.Text{Text: "[this picture is no longer at hand]", Labels: p.Labels}
			}
		case agent.File:
			p.Data = b.blob(ctx, p.Attachment, left)
			out[i] = p
			if p.Data == nil {
				out[i] = agent.Text{Text: p.Extract, Labels: p.Labels}
			}
		case agent.ToolResult:
			p.Content = b.attachParts(ctx, p.Content, left)
			out[i] = p
		}
	}
	return join(out)
}

// blob loads an attachment; nil when it cannot be had.
func (b *Builder) blob(ctx context.Context, a agent.Attachment, left *int64) []byte {
	if a.Size > *left {
		return nil
	}
	data, err := b.options.Blobs.Load(a.Hash)
	if err != nil {
		b.log.WarnContext(ctx, "attachment missing from the prompt", slog.String("hash", a.Hash), slog.Any("error", err))
		return nil
	}
	if int64(len(data)) > *left || len(data) == 0 {
		return nil
	}
	*left -= int64(len(data))
	return data
}
