package remember

import (
	"context"
	"strings"
	"unicode"

	"ash/agent"
)

const maxStatement = 600 // bytes of a fact the model writes

// statement checks the text of a fact.
func (k kit) statement(text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return "", agent.Errorf(agent.CodeInvalid, "There is no statement to keep.")
	case len(text) > maxStatement:
		return "", agent.Errorf(agent.CodeInvalid, "The statement is longer than %d bytes. Keep one short statement for each call; longer texts belong into a note.", maxStatement)
	case strings.Contains(text, "[forgotten]"):
		return "", agent.Errorf(agent.CodeInvalid, "Something in it was forgotten at the person's wish. Leave it so.")
	case k.o.Redact(text) != text || strings.Contains(text, "[secret: "):
		return "", agent.Errorf(agent.CodeInvalid, "It holds what looks like a password or key. Those are not kept in memory: the person can put them into the vault.")
	}
	return text, nil
}

// asked returns the person's message that the call's turn answers, without what somebody else wrote; "" when there is none.
func (k kit) asked(ctx context.Context, c agent.ToolCall) (agent.Message, string) {
	if k.o.Asked == nil {
		return agent.Message{}, ""
	}
	m, err := k.o.Asked(ctx, c)
	if err != nil {
		if ctx.Err() == nil {
			k.o.Log.Warn("no message to go by", "call", c.ID, "code", agent.CodeOf(err))
		}
		return agent.Message{}, ""
	}
	if m.Role != agent.RoleUser || m.Author != k.o.Owner {
		return agent.Message{}, ""
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(agent.Text); ok && !t.Labels.Untrusted() {
			b.WriteString(t.Text + "\n")
		}
	}
	return m, b.String()
}

// source says where a statement came from, and what labels it bears: those of the prompt, unless policy found that every word
// of it is the person's own of this turn. told says that it did.
func (k kit) source(ctx context.Context, labels agent.Labels, c agent.ToolCall, statement string) (p agent.Provenance, kept agent.Labels, told bool) {
	m, said := k.asked(ctx, c)
	p = agent.Provenance{Kind: agent.SourceMessage, Thread: c.Thread, Message: c.Message}
	if said == "" {
		return p, labels, false
	}
	p.Message = m.ID
	p.Quote = agent.Clip(strings.TrimSpace(k.o.Redact(passage(said, statement))), maxStatement)
	if c.Effect != nil && c.Effect.Told {
		return p, without(labels), true
	}
	return p, labels, false
}

// without returns labels without those of strangers.
func without(labels agent.Labels) agent.Labels {
	var out agent.Labels
	for _, l := range labels {
		if l.Kind != agent.LabelUntrusted {
			out = append(out, l)
		}
	}
	return out
}

func wordsOf(text string) []string {
	text = strings.NewReplacer("'", "", "’", "").Replace(strings.ToLower(text))
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.Mn, r) })
}

// passage returns the line of text that has most words of a statement.
func passage(text, statement string) string {
	want := map[string]bool{}
	for _, w := range wordsOf(statement) {
		want[w] = len(w) > 2
	}
	best, most := "", 0
	for line := range strings.Lines(text) {
		n := 0
		for _, w := range wordsOf(line) {
			if want[w] {
				n++
			}
		}
		if n > most {
			best, most = line, n
		}
	}
	return best
}
