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
	asked map[string]bool   // proposals by their short id
}

// openWaiting reads from the stream's address what its page shows.
func openWaiting(c echo.Context) waitingView {
	v := waitingView{inbox: c.Path() == "/inbox/events", shown: map[string]string{}, asked: map[string]bool{}}
	for short := range strings.SplitSeq(c.QueryParam("proposals"), ",") {
		if len(v.asked) < inboxProposals && plainID(short) {
			v.asked[short] = true
		}
	}
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

// showWaiting brings the badge, and the inbox where the tab shows it, up to date after a batch that tells of conversations
// or of proposals.
func (t *tab) showWaiting(b agent.Batch) error {
	calls := b.Resync || slices.ContainsFunc(b.Events, tellsOfThread)
	proposals := b.Resync || slices.ContainsFunc(b.Events, tellsOfProposals)
	if !calls && !proposals {
		return nil
	}
	n, err := t.counted.count(t.ctx, t.Frame.waiting, b, !t.waiting.known)
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
	if calls {
		if err := t.showInbox(); err != nil {
			return err
		}
	}
	if !proposals || t.Memory == nil {
		return nil
	}
	return t.showProposals()
}

func tellsOfThread(e agent.Envelope) bool {
	_, ok := e.Event.(agent.ThreadEvent)
	return ok
}

func tellsOfProposals(e agent.Envelope) bool {
	m, ok := e.Event.(agent.MemoryEvent)
	return ok && m.Waiting
}

// showProposals tells what changed among the proposals. One that stands on the page does not change: what the person may be
// wording differently stays.
func (t *tab) showProposals() error {
	p := &memoryPresenter{Frame: t.Frame, ctx: t.ctx, token: t.present.token, titles: map[agent.ID]string{}}
	list, more, err := t.Memory.waitingList(p)
	if err != nil {
		return err
	}
	gone := maps.Clone(t.waiting.asked)
	for _, x := range list {
		short := components.Short(x.ID)
		delete(gone, short)
		if t.waiting.asked[short] {
			continue
		}
		t.waiting.asked[short] = true
		if err := t.render(components.StreamProposal(x), components.StreamAnnounce("Ash would remember: "+x.Text)); err != nil {
			return err
		}
	}
	for short := range gone {
		delete(t.waiting.asked, short)
		if err := t.render(components.StreamPatch("p-"+short, components.SwapDelete, "")); err != nil {
			return err
		}
	}
	return t.render(components.StreamComponent("proposals-more", components.SwapReplace, components.MoreProposals(more)))
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
