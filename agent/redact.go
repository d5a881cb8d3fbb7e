package agent

import (
	"context"
	"encoding/json"
	"slices"
)

// redact takes secrets out of text before it is written or told.
func (e *Engine) redact(text string) string {
	if e.Redact == nil || text == "" {
		return text
	}
	return e.Redact(text)
}

// redactParts returns parts without secrets, for their first write; parts itself stays as it is.
func (e *Engine) redactParts(parts []Part) []Part {
	if e.Redact == nil {
		return parts
	}
	out := make([]Part, len(parts))
	for i, p := range parts {
		switch p := p.(type) {
		case Text:
			p.Text = e.Redact(p.Text)
			out[i] = p
		case File:
			p.Extract = e.redact(p.Extract)
			out[i] = p
		default:
			out[i] = p
		}
	}
	return out
}

// inspectParts has the texts of files looked through for orders to the assistant: what somebody attached was often written by
// somebody else. What the person types is not: it is meant as an order.
func (e *Engine) inspectParts(ctx context.Context, thread ID, parts []Part) []Part {
	if e.Inspect == nil {
		return parts
	}
	out := slices.Clone(parts)
	for i, p := range out {
		if f, ok := p.(File); ok && f.Extract != "" {
			f.Findings = e.Inspect(ctx, thread, f.Extract)
			out[i] = f
		}
	}
	return out
}

// redactJSON takes secrets out of arguments. What it leaves is what the person is shown and what runs; a
// text that is no JSON without its secret is dropped whole.
func (e *Engine) redactJSON(raw json.RawMessage) json.RawMessage {
	out := json.RawMessage(e.redact(string(raw)))
	if !json.Valid(out) {
		return json.RawMessage(`"[a secret was left out of these arguments]"`)
	}
	return out
}

// redactEffect takes secrets out of what a call would do, as it is stored and shown: a diff quotes the file it changes.
func (e *Engine) redactEffect(f *Effect) *Effect {
	if f == nil || e.Redact == nil {
		return f
	}
	out := *f
	out.Target, out.Text, out.Diff = e.redact(f.Target), e.redact(f.Text), e.redact(f.Diff)
	out.Private = slices.Clone(f.Private)
	for i, p := range out.Private {
		out.Private[i] = e.redact(p)
	}
	return &out
}
