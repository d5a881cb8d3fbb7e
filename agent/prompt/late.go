package prompt

import (
	"context"
	"strings"
	"time"

	"ash/agent"
)

// stampLayout is how the time of a message is written: day of the week, ISO date, minute, offset.
const stampLayout = "Mon 2006-01-02 15:04 -07:00"

// stamp is the note of when a message was sent. It depends on the message alone, so that
// it reads the same on every later turn.
func stamp(sent time.Time, zone *time.Location) string {
	if sent.IsZero() {
		return ""
	}
	return "[sent " + sent.In(zone).Format(stampLayout) + "]"
}

// maxRecall bounds the recalled items together, in bytes.
const maxRecall = 8 << 10

// late is what holds for this turn only: the clock, where the newest message is no longer new, and
// what memory recalls. It is the last text of the person's newest message. What was recalled and fits is returned with it.
func (b *Builder) late(ctx context.Context, r agent.PromptRequest, f fence) (string, []agent.Recollection, error) {
	var notes []string
	if note := b.clock(r); note != "" {
		notes = append(notes, note)
	}
	if b.options.Memory == nil {
		return strings.Join(notes, "\n\n"), nil, nil
	}
	items, err := b.options.Memory.Recall(ctx, r)
	if err != nil {
		return "", nil, err
	}
	left := min(maxRecall, window(r.Model)/2)
	var recalled []agent.Recollection
	for _, item := range items {
		text := strings.TrimSpace(b.redact(item.Text))
		if text == "" || len(text) > left {
			continue
		}
		if len(recalled) == 0 {
			notes = append(notes, "[remembered, may or may not matter here:]")
		}
		left -= len(text)
		recalled = append(recalled, item)
		notes = append(notes, f.wrap(item.Source, item.Labels, text))
	}
	return strings.Join(notes, "\n\n"), recalled, nil
}

// clock notes the present hour when the newest message was sent an hour or more ago: a turn taken up again
// after an approval, a restart, or Regenerate. To the hour, so that the rounds of one turn share it.
func (b *Builder) clock(r agent.PromptRequest) string {
	if r.Now.IsZero() {
		return ""
	}
	for i := len(r.Path) - 1; i >= 0; i-- {
		m := r.Path[i]
		if m.Role != agent.RoleUser {
			continue
		}
		if !m.Created.IsZero() && r.Now.Sub(m.Created) < time.Hour {
			return ""
		}
		return "[by now it is about " + r.Now.In(b.zone()).Truncate(time.Hour).Format(stampLayout) + "]"
	}
	return ""
}
