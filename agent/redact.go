package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// redact takes secrets out of text before it is written or told.
func (e *Engine) redact(text string) string {
	if e.Redact == nil || text == "" {
		return text
	}
	return e.Redact(text)
}

// Sieve takes secrets out of a text that arrives in pieces, wherever they are cut. It is for one text and one goroutine.
type Sieve interface {
	// Pass takes the next piece and returns what can be told by now; what may be the beginning of a secret waits.
	Pass(piece string) string
	// Rest returns what still waits, at the end of the text.
	Rest() string
}

// sieve returns one for a text that begins now.
func (e *Engine) sieve() Sieve {
	if e.Sieve == nil {
		return through{}
	}
	return e.Sieve()
}

// through is a sieve that lets everything through.
type through struct{}

func (through) Pass(piece string) string { return piece }
func (through) Rest() string             { return "" }

// fail makes a failure of err as it is stored and shown: it may quote what a server said.
func (e *Engine) fail(err error) *Failure {
	f := FailureOf(err)
	f.Public = e.redact(f.Public)
	return &f
}

// redactAttempt takes secrets out of what a server said when it failed.
func (e *Engine) redactAttempt(a *Attempt) *Attempt {
	if a == nil || a.Failed == nil {
		return a
	}
	clean, failed := *a, *a.Failed
	failed.Public = e.redact(failed.Public)
	clean.Failed = &failed
	return &clean
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
		case Thinking:
			if clean := e.Redact(p.Text); clean != p.Text {
				p.Text, p.Signature = clean, "" // it is no longer what was signed
			}
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

// redactJSON takes secrets out of arguments, in whatever way a model escapes its strings. What it leaves is what the person is shown and what runs; a
// text that is no JSON without its secret is dropped whole.
func (e *Engine) redactJSON(raw json.RawMessage) json.RawMessage {
	if e.Redact == nil {
		return raw
	}
	if strings.Contains(string(raw), `\u`) {
		raw = e.redactEscaped(raw)
	}
	out := json.RawMessage(e.redact(string(raw)))
	if !json.Valid(out) {
		return json.RawMessage(`"[a secret was left out of these arguments]"`)
	}
	return out
}

// redactEscaped writes raw anew without escapes of single characters, if a secret stands in one of its strings; otherwise it is left as it is.
func (e *Engine) redactEscaped(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	found := false
	var clean func(v any) any
	clean = func(v any) any {
		switch v := v.(type) {
		case string:
			c := e.redact(v)
			found = found || c != v
			return c
		case []any:
			for i := range v {
				v[i] = clean(v[i])
			}
		case map[string]any:
			for k, x := range maps.Clone(v) {
				delete(v, k)
				c := e.redact(k)
				found = found || c != k
				v[c] = clean(x)
			}
		}
		return v
	}
	out, err := json.Marshal(clean(v))
	if err != nil || !found {
		return raw
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
