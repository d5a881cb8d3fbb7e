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
	windowSize  = 40  // messages of a conversation that a page begins with
	seekSize    = 200 // messages read at once on the way back to a search hit
	seekWindows = 5   // at most that many times
	listSize    = 50  // conversations on a page of the list
)

// Chat shows conversations.
type Chat struct {
	*Frame
	Threads   ThreadReader
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
		return render(c, http.StatusOK, components.EarlierPage(h.present(c).conversation(t, nodes, earlier, h.Now())))
	}
	var notices []components.Notice
	if at, err := agent.ParseID(c.QueryParam("at")); err == nil && before == "" {
		var found bool
		if nodes, earlier, found, err = h.seek(ctx, t.ID, at, nodes, earlier); err != nil {
			return err
		}
		if !found {
			notices = append(notices, components.Notice{Kind: components.NoticeInfo,
				Text: "That message is further back or in another variant of this conversation. Load earlier messages, or step through the variants."})
		}
	}
	page, err := h.conversation(c, t, nodes, earlier, since)
	if err != nil {
		return err
	}
	page.Notices = notices
	return render(c, http.StatusOK, page.Show())
}

// seek reads back from a window until it holds the message at. It returns the
// window unchanged when the message is not within reach.
func (h *Chat) seek(ctx context.Context, thread, at agent.ID, nodes []agent.Node, earlier bool) ([]agent.Node, bool, bool, error) {
	holds := func(n agent.Node) bool { return n.ID == at }
	if slices.ContainsFunc(nodes, holds) {
		return nodes, earlier, true, nil
	}
	all, more := nodes, earlier
	for range seekWindows {
		if !more || len(all) == 0 {
			break
		}
		older, further, err := h.Reader.Window(ctx, thread, all[0].ID, seekSize)
		if err != nil {
			return nil, false, false, err
		}
		all, more = append(older, all...), further
		if slices.ContainsFunc(older, holds) {
			return all, more, true, nil
		}
	}
	return nodes, earlier, false, nil
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
	flow := p.conversation(t, nodes, earlier, h.Now())
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
