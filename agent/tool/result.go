package tool

import (
	"context"
	"fmt"
	"strings"

	"ash/agent"
)

// MaxResult is how much text of one result is kept with the call, in bytes. The rest goes into a file.
const MaxResult = 64 << 10

// minRoom is how much of each text is kept however much came before it: a note at the end is not lost.
const minRoom = 2 << 10

// finish takes secrets out of what a tool gave back, bounds, scans and labels it. Only what is kept with the call is scanned: the rest
// reaches no prompt from here.
func (b *Box) finish(ctx context.Context, c agent.ToolCall, o agent.ToolOutcome) agent.ToolOutcome {
	var out []agent.Part
	left := MaxResult
	for _, p := range o.Content {
		t, ok := p.(agent.Text)
		if !ok {
			out = append(out, p)
			continue
		}
		t.Text = strings.ReplaceAll(strings.ToValidUTF8(t.Text, "\uFFFD"), "\x00", "\uFFFD")
		if b.options.Redact != nil {
			t.Text = b.options.Redact(t.Text)
		}
		var rest []agent.Part
		if room := max(left, minRoom); len(t.Text) > room {
			t.Text, rest = b.overflow(ctx, c, t.Text, room)
		}
		left -= len(t.Text)
		o.Findings = append(o.Findings, b.inspect(ctx, c, t.Text)...)
		out = append(append(out, t), rest...)
	}
	o.Content = out
	if len(o.Findings) > 0 && !o.Labels.Untrusted() {
		o.Labels = o.Labels.Union(Untrusted("result of " + c.Name)) // what tries to give orders is not the person's word
	}
	return o
}

func (b *Box) inspect(ctx context.Context, c agent.ToolCall, text string) []agent.Finding {
	if b.options.Inspector == nil {
		return nil
	}
	return b.options.Inspector.Inspect(ctx, c, text)
}

// overflow keeps the beginning and the end of a text longer than room, and the whole in a file.
func (b *Box) overflow(ctx context.Context, c agent.ToolCall, text string, room int) (string, []agent.Part) {
	head := agent.Clip(text, room*2/3)
	tail := strings.ToValidUTF8(text[len(text)-room/3:], "")
	note := fmt.Sprintf("\n\n[… %d bytes left out here …]\n\n", len(text)-len(head)-len(tail))
	short := head + note + tail
	if b.options.Files == nil {
		return short, nil
	}
	kept, err := b.options.Files.Keep(ctx, c.Name+"-output.txt", []byte(text))
	if err != nil {
		b.options.Log.Warn("a long result could not be kept whole", "tool", c.Name, "call", c.ID, "error", err)
		return short, nil
	}
	return short, []agent.Part{agent.File{Attachment: kept, Truncated: true}}
}
