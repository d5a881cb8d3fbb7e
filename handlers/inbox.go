package handlers

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// inboxSize is how many entries the inbox shows at once, the longest waiting first.
const inboxSize = 50

// Inbox answers GET /inbox: all that waits for the person, anywhere.
func (h *Tools) Inbox(c echo.Context) error {
	ctx := c.Request().Context()
	since := h.Latest()
	entries, err := h.Frame.inbox(ctx, h.present(c))
	if err != nil {
		return err
	}
	page, err := h.page(c, "Waiting for you", layouts.Inbox, "/inbox/events", since)
	if err != nil {
		return err
	}
	page.Stream += "&shown=" + shownOf(entries)
	calls, err := h.Reader.CountWaiting(ctx)
	if err != nil {
		return err
	}
	shown := pages.Inbox{Page: page, Entries: entries, More: max(calls-len(entries), 0)}
	if h.Memory != nil {
		if shown.Proposals, shown.MoreProposals, err = h.Memory.waitingList(h.presentMemory(c)); err != nil {
			return err
		}
		shown.Page.Stream += "&proposals=" + proposalsShown(shown.Proposals)
	}
	return render(c, http.StatusOK, shown.Show())
}

// inbox presents the calls that wait.
func (f *Frame) inbox(ctx context.Context, p presenter) ([]components.InboxEntry, error) {
	calls, err := f.Reader.WaitingCalls(ctx, inboxSize)
	if err != nil {
		return nil, err
	}
	p.place = components.PlaceInbox
	entries := make([]components.InboxEntry, 0, len(calls))
	for _, call := range calls {
		e, err := f.entry(ctx, p, call)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// entry presents a call with where it comes from.
func (f *Frame) entry(ctx context.Context, p presenter, call agent.ToolCall) (components.InboxEntry, error) {
	e := components.InboxEntry{Call: p.call(call), Thread: call.Thread, Created: p.at(call.Created), Since: waited(f.Now().Sub(call.Created))}
	t, err := f.Reader.Summary(ctx, call.Thread)
	if err != nil {
		return e, err
	}
	e.Title = t.Title
	for depth := 0; t.ParentCall != "" && depth < laneDepth; depth++ {
		if e.Helper == "" {
			e.Helper = t.Title
		}
		above, err := f.Reader.Call(ctx, t.ParentCall)
		if err != nil {
			return e, err
		}
		if t, err = f.Reader.Summary(ctx, above.Thread); err != nil {
			return e, err
		}
		e.Title = t.Title
	}
	return e, nil
}

// inboxEntry is what changes in the inbox when a call has been decided: it leaves. One that was decided elsewhere
// stays on the page as it is now, so that the person sees what became of it.
func (h *Messages) inboxEntry(c echo.Context, call agent.ToolCall) ([]templ.Component, error) {
	if call.State != agent.CallWaiting && call.Decision != nil && c.Response().Header().Get("HX-Reswap") == "" {
		return []templ.Component{components.StreamInboxGone(components.InboxID(call.ID))}, nil
	}
	p := h.present(c)
	p.place = components.PlaceInbox
	e, err := h.entry(c.Request().Context(), p, call)
	if err != nil {
		return nil, err
	}
	return []templ.Component{components.StreamComponent(e.ID(), components.SwapReplace, components.InboxItem(e))}, nil
}

// waited says in words how long something has waited.
func waited(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return components.Plural(int(d.Minutes()), "minute", "minutes") + " ago"
	case d < 48*time.Hour:
		return components.Plural(int(d.Hours()), "hour", "hours") + " ago"
	}
	return components.Plural(int(d.Hours()/24), "day", "days") + " ago"
}

// shownOf names the entries that a page shows, each with what it shows of it, for the stream's address.
func shownOf(entries []components.InboxEntry) string {
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, components.Short(e.Call.ID)+"."+face(e.Call))
	}
	return strings.Join(names, ",")
}

// face tells apart what a card shows that asks.
func face(c components.Call) string {
	h := fnv.New32a()
	fmt.Fprint(h, c.Binding, c.Why, c.Sources) // writing to a hash does not fail
	return fmt.Sprintf("%x", h.Sum32())
}
