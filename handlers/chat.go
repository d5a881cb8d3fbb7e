package handlers

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	windowSize = 40  // messages of a conversation that a page begins with
	seekSize   = 200 // further ones a page holds at most so that a search hit is on it
	seekAfter  = 20  // messages shown with and after a hit that lies further back
	listSize   = 50  // conversations on a page of the list
)

// Chat shows conversations.
type Chat struct {
	*Frame
	Threads interface {
		ThreadReader
		Following(ctx context.Context, thread, message agent.ID, n int) (following agent.ID, onPath bool, err error)
	}
	Tails     TailReader
	Summaries SummaryStore
}

// ThreadReader finds a thread.
type ThreadReader interface {
	Thread(ctx context.Context, id agent.ID) (agent.Thread, error)
}

// List answers GET /chat: the conversations, or the next page of them.
func (h *Chat) List(c echo.Context) error {
	since := h.Latest()
	list, err := h.list(c, "")
	if err != nil {
		return err
	}
	if ByHTMX(c) && c.QueryParam("after") != "" {
		return render(c, http.StatusOK, components.RowPage(list))
	}
	page, err := h.fresh(c, since)
	if err != nil {
		return err
	}
	page.Screen, page.List = pages.ScreenList, list
	if id, err := agent.ParseID(c.QueryParam("deleted")); err == nil {
		if t, err := h.Threads.Thread(c.Request().Context(), id); err == nil && !t.Deleted.IsZero() {
			page.Notices = append(page.Notices, deletedNotice(id, Token(c)))
		}
	}
	return render(c, http.StatusOK, page.Show())
}

// New answers GET /chat/new: a conversation in which nothing has been said.
func (h *Chat) New(c echo.Context) error {
	since := h.Latest()
	list, err := h.list(c, "")
	if err != nil {
		return err
	}
	page, err := h.fresh(c, since)
	if err != nil {
		return err
	}
	page.List = list
	return render(c, http.StatusOK, page.Show())
}

// fresh is the page of a conversation that does not exist yet.
func (h *Chat) fresh(c echo.Context, since agent.EventID) (pages.Chat, error) {
	frame, err := h.page(c, "", layouts.Chat, "/events", since)
	if err != nil {
		return pages.Chat{}, err
	}
	return pages.Chat{
		Page: frame, Screen: pages.ScreenConversation,
		Conversation: components.Conversation{CSRF: Token(c)},
		Composer:     h.composer(c, agent.Thread{}), Offline: len(h.Settings().Models.Order) == 0,
	}, nil
}

// Show answers GET /chat/{thread}: the end of the conversation, or with ?before= what came
// before a message, or with ?at= the part that holds one.
func (h *Chat) Show(c echo.Context) error {
	ctx := c.Request().Context()
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	since := h.Latest()
	before := agent.ID("")
	if q := c.QueryParam("before"); q != "" {
		if before, err = agent.ParseID(q); err != nil {
			return err
		}
	}
	nodes, earlier, err := h.Reader.Window(ctx, t.ID, before, windowSize)
	if err != nil {
		return err
	}
	if ByHTMX(c) && before != "" {
		flow, err := h.flow(ctx, h.present(c), t, nodes, earlier)
		if err != nil {
			return err
		}
		return render(c, http.StatusOK, components.EarlierPage(flow))
	}
	var notices []components.Notice
	if at, err := agent.ParseID(c.QueryParam("at")); err == nil && before == "" {
		hit := sought{nodes: nodes, earlier: earlier}
		if err := h.seek(ctx, t.ID, at, Token(c), &hit); err != nil {
			return err
		}
		nodes, earlier, notices = hit.nodes, hit.earlier, hit.notices
	}
	page, err := h.conversation(c, t, nodes, earlier, since)
	if err != nil {
		return err
	}
	page.Notices = notices
	return render(c, http.StatusOK, page.Show())
}

// sought is the part of a conversation that a page shows for a search hit.
type sought struct {
	nodes   []agent.Node
	earlier bool
	notices []components.Notice // where the page is, when that is not the end
}

// seek puts the message at into w, which begins as the end of the conversation: w grows back
// to a hit close by, and moves to one further back. For one in another variant it says how to get there.
func (h *Chat) seek(ctx context.Context, thread, at agent.ID, token string, w *sought) error {
	holds := func(n agent.Node) bool { return n.ID == at }
	if slices.ContainsFunc(w.nodes, holds) {
		return nil
	}
	if w.earlier {
		older, further, err := h.Reader.Window(ctx, thread, w.nodes[0].ID, seekSize)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(older, holds) {
			w.nodes, w.earlier = append(older, w.nodes...), further
			return nil
		}
	}
	following, onPath, err := h.Threads.Following(ctx, thread, at, seekAfter)
	if err != nil {
		return err
	}
	if !onPath {
		return h.elsewhere(ctx, thread, at, token, w)
	}
	w.notices = []components.Notice{{
		Kind: components.NoticeInfo, Text: "This is an earlier part of the conversation.",
		Link: &components.Link{Label: "Go to its end", URL: chatPath(thread)},
	}}
	w.nodes, w.earlier, err = h.Reader.Window(ctx, thread, following, windowSize)
	return err
}

// elsewhere says where a hit is that the conversation as it stands does not lead over.
func (h *Chat) elsewhere(ctx context.Context, thread, at agent.ID, token string, w *sought) error {
	n, err := h.Reader.Node(ctx, at)
	switch {
	case agent.CodeOf(err) == agent.CodeNotFound, err == nil && n.Thread != thread:
		w.notices = []components.Notice{{Kind: components.NoticeInfo, Text: "That message is not in this conversation."}}
		return nil
	case err != nil:
		return err
	}
	w.notices = []components.Notice{{
		Kind: components.NoticeInfo, Text: "That message is in another variant of this conversation.",
		Undo: &components.Undo{Label: "Show that variant", Action: chatPath(thread) + "/head", Name: "message", Value: string(at), CSRF: token, Leaves: true},
	}}
	return nil
}

// conversation is the page of a thread.
func (h *Chat) conversation(c echo.Context, t agent.Thread, nodes []agent.Node, earlier bool, since agent.EventID) (pages.Chat, error) {
	tail, err := h.Tails.Tail(c.Request().Context(), t.ID)
	if err != nil {
		return pages.Chat{}, err
	}
	list, err := h.list(c, t.ID)
	if err != nil {
		return pages.Chat{}, err
	}
	frame, err := h.page(c, t.Title, layouts.Chat, "/chat/"+string(t.ID)+"/events", since)
	if err != nil {
		return pages.Chat{}, err
	}
	summaries, err := h.Summaries.Summaries(c.Request().Context(), t.ID)
	if err != nil {
		return pages.Chat{}, err
	}
	p := h.present(c)
	flow, err := h.flow(c.Request().Context(), p, t, nodes, earlier)
	if err != nil {
		return pages.Chat{}, err
	}
	p.divide(&flow, nodes, summaries)
	p.unfinish(&flow, tail)
	composer := h.composer(c, t)
	slot := turnSlot(t.ID, tail.Turn)
	composer.Running, composer.Waiting = slot.Running, slot.Waiting
	return pages.Chat{
		Page: frame, Screen: pages.ScreenConversation, List: list, Head: p.head(t),
		Conversation: flow, Composer: composer,
		Offline: len(h.Settings().Models.Order) == 0,
	}, nil
}

// composer is where the person writes in t, or begins a conversation.
func (h *Chat) composer(c echo.Context, t agent.Thread) components.Composer {
	return components.Composer{
		Thread: t.ID, Form: string(agent.NewID()), Models: modelChoices(h.Settings(), t.Model),
		Model: t.Model, MaxFile: maxFile, CSRF: Token(c),
	}
}

// list is one page of the column of conversations.
func (h *Chat) list(c echo.Context, current agent.ID) (components.ThreadList, error) {
	after, err := clean(c.QueryParam("after"))
	if err != nil {
		return components.ThreadList{}, err
	}
	return h.rows(c, agent.ThreadFilter{Archived: c.QueryParam("archived") == "1", After: after, Limit: listSize}, current)
}

// rows reads and presents a page of conversations.
func (f *Frame) rows(c echo.Context, filter agent.ThreadFilter, current agent.ID) (components.ThreadList, error) {
	found, next, err := f.Reader.Threads(c.Request().Context(), filter)
	if err != nil {
		return components.ThreadList{}, err
	}
	p := f.present(c)
	list := components.ThreadList{Current: current, Archived: filter.Archived, Next: next, Now: p.at(f.Now())}
	for _, t := range found {
		list.Rows = append(list.Rows, p.row(t))
	}
	return list, nil
}

// openThread reads the thread in the address. A deleted one is not found.
func openThread(c echo.Context, threads ThreadReader) (agent.Thread, error) {
	id, err := param(c, "thread")
	if err != nil {
		return agent.Thread{}, err
	}
	t, err := threads.Thread(c.Request().Context(), id)
	if err == nil && !t.Deleted.IsZero() {
		err = agent.Errorf(agent.CodeNotFound, "This conversation was deleted.")
	}
	return t, err
}
