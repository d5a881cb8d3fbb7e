package agent

import (
	"cmp"
	"context"
	"strings"
	"time"
)

const (
	maxTitle     = 60 // characters of a title Ash makes itself
	titleTimeout = 30 * time.Second
)

// titleByWords is the title of a thread before a model has named it: the first
// words said in it, so that it can be told apart at once.
func titleByWords(m NewMessage) string {
	if title := FirstWords(Message{Parts: m.Parts}.Text(), maxTitle); title != "" {
		return title
	}
	return "Attachment"
}

// nameThread asks the model for a better title after the first exchange. It
// delays nothing: it runs beside the conversation and gives up silently.
func (e *Engine) nameThread(thread ID) {
	if !e.Settings().Titles {
		return
	}
	e.owners.Go(func() {
		ctx, cancel := context.WithTimeout(e.ctx, titleTimeout)
		defer cancel()
		_, err := protected(e, "title", thread, func() (struct{}, error) { return struct{}{}, e.titleByModel(ctx, thread) })
		if err != nil && ctx.Err() == nil {
			e.Logger.Info("no title from the model", "thread", thread, "code", CodeOf(err))
			e.Logger.Debug("no title from the model", "thread", thread, "error", err) // may quote what was said
		}
	})
}

func (e *Engine) titleByModel(ctx context.Context, thread ID) error {
	t, err := e.Store.Thread(ctx, thread)
	if err != nil || t.TitleSource != TitleWords {
		return err
	}
	path, err := e.Store.Path(ctx, t.Head, 3)
	if err != nil || len(path) != 2 { // only the first exchange
		return err
	}
	model, info, err := e.Models.Pick(ctx, cmp.Or(e.Settings().TitleModel, t.Model))
	if err != nil || info.Ref.Provider == "offline" {
		return err
	}
	var b strings.Builder
	for d, err := range model.Stream(ctx, e.titlePrompt(path, thread)) {
		if err != nil {
			return err
		}
		if d.Kind == DeltaText {
			b.WriteString(d.Text)
		}
		if b.Len() > 4*maxTitle {
			break
		}
	}
	title := strings.Trim(FirstWords(e.redact(b.String()), maxTitle), ` "'“”.*#`)
	if title == "" {
		return nil
	}
	// The person may have named it meanwhile: theirs stays.
	if t, err = e.Store.Thread(ctx, thread); err != nil || t.TitleSource != TitleWords {
		return err
	}
	source := TitleModel
	_, err = e.PatchThread(ctx, thread, ThreadPatch{Title: &title, TitleSource: &source})
	return err
}

func (e *Engine) titlePrompt(path []Message, thread ID) Prompt {
	said := "Person: " + Clip(e.redact(path[0].Text()), 1500) + "\n\nAssistant: " + Clip(e.redact(path[1].Text()), 1500)
	return Prompt{
		System:    "You name conversations. Answer with a title of two to six words in the language of the conversation: no quotes, no full stop, nothing else.",
		Messages:  []PromptMessage{{Role: RoleUser, Parts: []Part{Text{Text: "Name this conversation:\n\n" + said}}}},
		MaxTokens: 64,
		Charge:    Charge{Thread: thread, Purpose: PurposeTitle},
	}
}
