package handlers

import (
	"maps"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
)

// Inbox answers GET /inbox/events: the stream of the house, with what comes to wait and what no longer does.
func (h *Events) Inbox(c echo.Context) error { return h.serve(c, "") }

// waitingView is what a tab shows of what waits: the number, and on the inbox page the entries.
type waitingView struct {
	known bool
	count int
	inbox bool
	shown map[string]string // entries by the short id of the call, each with its face
}

// openWaiting reads from the stream's address what its page shows.
func openWaiting(c echo.Context) waitingView {
	v := waitingView{inbox: c.Path() == "/inbox/events", shown: map[string]string{}}
	for name := range strings.SplitSeq(c.QueryParam("shown"), ",") {
		if short, face, ok := strings.Cut(name, "."); ok && len(v.shown) < inboxSize && plainID(short) {
			v.shown[short] = face
		}
	}
	return v
}

// plainID reports whether the short form of an id may stand in a fragment as it is.
func plainID(short string) bool {
	return len(short) == 12 && !strings.ContainsFunc(short, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// showWaiting brings the badge, and the inbox where the tab shows it, up to date after a batch that tells of conversations.
func (t *tab) showWaiting(b agent.Batch) error {
	if !b.Resync && !slices.ContainsFunc(b.Events, tellsOfThread) {
		return nil
	}
	n, err := t.counted.count(t.ctx, t.Reader, b.Last)
	if err != nil {
		return err
	}
	if !t.waiting.known || n != t.waiting.count {
		t.waiting.known, t.waiting.count = true, n
		if err := t.render(components.StreamBadge(n)); err != nil {
			return err
		}
	}
	if !t.waiting.inbox {
		return nil
	}
	return t.showInbox()
}

func tellsOfThread(e agent.Envelope) bool {
	_, ok := e.Event.(agent.ThreadEvent)
	return ok
}

// showInbox tells what changed among the entries.
func (t *tab) showInbox() error {
	entries, err := t.inbox(t.ctx, t.present)
	if err != nil {
		return err
	}
	gone := maps.Clone(t.waiting.shown)
	for _, e := range entries {
		short, face := components.Short(e.Call.ID), face(e.Call)
		was, ok := t.waiting.shown[short]
		delete(gone, short)
		if ok && was == face {
			continue // what the person may be typing into it stays
		}
		t.waiting.shown[short] = face
		if err := t.render(components.StreamInbox(e)); err != nil {
			return err
		}
		if !ok {
			if err := t.render(components.StreamAnnounce(asksFor(e.Call))); err != nil {
				return err
			}
		}
	}
	for short := range gone {
		delete(t.waiting.shown, short)
		if err := t.render(components.StreamInboxGone("w-" + short)); err != nil {
			return err
		}
	}
	return nil
}

// asksFor says that something waits, for those who hear the page.
func asksFor(c components.Call) string {
	if c.Question {
		return "Ash asks: " + c.Asked
	}
	return "Ash asks for your approval: " + c.Title
}
