package agent

import (
	"context"
	"strings"
)

// summarise stores a summary of what does not fit and builds the prompt again.
// When the model cannot summarise (offline, failing), the overflow is left out
// of this prompt and the person is told; the messages themselves stay.
func (e *Engine) summarise(ctx context.Context, tail Tail, model Model, r PromptRequest, built BuiltPrompt) (BuiltPrompt, error) {
	if r.Model.Ref.Provider == "offline" {
		return built, nil
	}
	e.publish(tail.Thread.ID, tail.Turn.ID, ProgressEvent{Text: "Summarising the older part of this conversation…"})
	s, err := e.summary(ctx, tail.Thread.ID, model, r.Model, built)
	if err != nil {
		if ctx.Err() != nil {
			return built, err
		}
		e.Logger.Warn("no summary", "thread", tail.Thread.ID, "code", CodeOf(err))
		e.Logger.Debug("no summary", "thread", tail.Thread.ID, "error", err) // may quote what was said
		e.publish(tail.Thread.ID, tail.Turn.ID, ProgressEvent{Text: "The older part of this conversation did not fit and could not be summarised: " + PublicOf(err)})
		return built, nil
	}
	r.Summaries = append([]Summary{s}, r.Summaries...)
	return e.Prompter.Build(ctx, r)
}

func (e *Engine) summary(ctx context.Context, thread ID, model Model, info ModelInfo, built BuiltPrompt) (Summary, error) {
	earlier, from := "", built.Overflow[0].ID
	if built.Summary != nil {
		earlier, from = built.Summary.Text, built.Summary.From
	}
	prompt, err := e.Prompter.Summarise(ctx, earlier, built.Overflow)
	if err != nil {
		return Summary{}, err
	}
	prompt.Charge = Charge{Thread: thread, Purpose: PurposeSummary}
	s := Summary{
		ID: NewID(), Thread: thread, From: from, To: built.Overflow[len(built.Overflow)-1].ID,
		Model: info.Ref, Created: e.Now(),
	}
	for _, m := range built.Overflow {
		s.Labels = s.Labels.Union(m.Labels())
	}
	if built.Summary != nil {
		s.Labels = s.Labels.Union(built.Summary.Labels)
	}
	var b strings.Builder
	thought := 0
	for d, err := range model.Stream(ctx, prompt) {
		if err == nil && b.Len()+thought > MaxReply {
			err = errEndless()
		}
		if err != nil {
			return Summary{}, err
		}
		switch d.Kind {
		case DeltaText:
			b.WriteString(d.Text)
		case DeltaThinking:
			thought += len(d.Text)
		case DeltaUsage:
			s.Usage = *d.Usage
		case DeltaSource:
			s.Model = d.Model.Ref
		}
	}
	s.Text = strings.TrimSpace(b.String())
	if s.Text == "" {
		return Summary{}, Errorf(CodeUnavailable, "the model answered with nothing.")
	}
	return s, e.Store.AddSummary(ctx, s)
}
