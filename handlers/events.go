package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers/sse"
	"ash/views/components"
	"ash/views/markdown"
)

// Events streams what happens to one tab: the thread it shows and the house.
// What is generated elsewhere is only shown here; closing a tab stops nothing.
type Events struct {
	*Frame
	Feed      agent.Feed
	Threads   ThreadReader
	Tails     TailReader
	Summaries SummaryStore
	Memory    *Memory // nil: there are no proposals
	Stream    *markdown.Renderer
	Log       *slog.Logger

	streams atomic.Int32 // open now
	drawn   drawnRows
	counted counted
}

// maxStreams bounds the streams that are open at once: each costs memory and, with every event, work. No
// person has as many tabs.
const maxStreams = 512

// TailReader reads the end of a conversation.
type TailReader interface {
	Tail(ctx context.Context, thread agent.ID) (agent.Tail, error)
}

// Thread answers GET /chat/{thread}/events.
func (h *Events) Thread(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	return h.serve(c, t.ID)
}

// House answers GET /events: pages that show no conversation.
func (h *Events) House(c echo.Context) error { return h.serve(c, "") }

func (h *Events) serve(c echo.Context, thread agent.ID) error {
	defer h.streams.Add(-1)
	if h.streams.Add(1) > maxStreams {
		return agent.Errorf(agent.CodeUnavailable, "Too many pages of Ash are open at once. Close some of them and reload this one.")
	}
	since := lastSeen(c)
	out, err := sse.NewWriter(c.Response())
	if errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err != nil {
		return nil // the reader left before it began: nobody is there to be told
	}
	tab := &tab{Events: h, ctx: c.Request().Context(), thread: thread, present: h.present(c), open: map[agent.ID]*openReply{}, waiting: openWaiting(c)}
	for batch := range h.Feed.Subscribe(tab.ctx, thread, since) {
		err := tab.show(batch)
		if tab.ctx.Err() != nil {
			return tab.left(out)
		}
		if err != nil {
			h.Log.ErrorContext(tab.ctx, "event could not be shown", "thread", thread, "error", err)
			return nil // the browser comes back, and is told from where it was
		}
		if err := tab.flush(out, batch); err != nil {
			return nil // the reader left
		}
	}
	if tab.ctx.Err() != nil {
		return tab.left(out)
	}
	return out.Send("", "ash:bye", []byte("{}"))
}

// left ends a stream whose context has ended: the reader left and there is nobody to be told, or the device was signed out, and the
// page is told that.
func (t *tab) left(out *sse.Writer) error {
	if !errors.Is(context.Cause(t.ctx), ErrSignedOut) {
		return nil
	}
	return out.Send("", "ash:out", []byte("{}"))
}

// tab is one open stream: what its page shows of the replies being written.
type tab struct {
	*Events
	ctx     context.Context
	thread  agent.ID
	present presenter
	open    map[agent.ID]*openReply
	end     agent.Message // the last message that was told whole
	frame   bytes.Buffer  // fragments of the batch being shown
	named   []named       // events for app.js, sent after them
	waiting waitingView
	live    map[agent.ID]int // bytes of live output shown of running calls
}

// named is an event that app.js handles.
type named struct {
	event string
	data  []byte
}

// flush sends what was shown as one frame that moves the page to the batch's last id.
func (t *tab) flush(out *sse.Writer, b agent.Batch) error {
	defer func() { t.frame.Reset(); t.named = t.named[:0] }()
	switch {
	case t.frame.Len() > 0:
		if err := t.send(out, b.Last.String()); err != nil {
			return err
		}
	case len(b.Events) > 0 || b.Resync:
		if err := out.Mark(b.Last.String()); err != nil {
			return err
		}
	default:
		return out.Send("", "ash:beat", []byte("{}"))
	}
	for _, n := range t.named {
		if err := out.Send("", n.event, n.data); err != nil {
			return err
		}
	}
	return nil
}

// show renders a batch into the frame.
func (t *tab) show(b agent.Batch) error {
	if b.Resync {
		if err := t.resync(); err != nil {
			return err
		}
	}
	last := lastRows(b.Events)
	for i, e := range b.Events {
		var err error
		switch ev := e.Event.(type) {
		case agent.ThreadEvent:
			if ev.Moved || last[ev.Thread.ID] == i {
				err = t.showThread(e.ID, ev)
			}
		case agent.AssistantDelta:
			err = t.showDelta(ev)
		default:
			err = t.showEvent(e)
		}
		if err != nil {
			return err
		}
	}
	return t.showWaiting(b)
}

// lastRows finds the last event of each thread's row: earlier ones of the same batch show nothing.
func lastRows(events []agent.Envelope) map[agent.ID]int {
	var last map[agent.ID]int
	for i, e := range events {
		if ev, ok := e.Event.(agent.ThreadEvent); ok && !ev.Moved {
			if last == nil {
				last = map[agent.ID]int{}
			}
			last[ev.Thread.ID] = i
		}
	}
	return last
}

func (t *tab) render(parts ...templ.Component) error {
	for _, p := range parts {
		if err := p.Render(t.ctx, &t.frame); err != nil {
			return err
		}
	}
	return nil
}

// showEvent renders everything but threads and deltas.
func (t *tab) showEvent(e agent.Envelope) error {
	switch ev := e.Event.(type) {
	case agent.UserEvent:
		return t.showUser(e, ev)
	case agent.AssistantEvent:
		if ev.Message.State == agent.MessageOpen {
			return t.showOpened(ev)
		}
		return t.showClosed(ev.Message)
	case agent.ToolCallEvent:
		return t.showCall(ev.Call)
	case agent.ToolResultEvent:
		return t.showCall(ev.Call)
	case agent.ConfirmRequest:
		t.notify(components.Short(ev.Call.ID), "Ash asks for your approval", ev.Call.Why, true)
		return t.showCall(ev.Call)
	case agent.ConfirmResponse:
		return t.showCall(ev.Call)
	case agent.ToolProgress:
		return t.showProgressOf(e, ev)
	case agent.ProgressEvent:
		return t.showProgress(ev)
	case agent.ErrorEvent:
		return t.render(components.StreamNotice(components.Failed(ev.Failure)))
	case agent.SpendEvent:
		notice := components.Notice{Kind: components.NoticeInfo, Text: ev.Text}
		if ev.Reached { // it stays until it is closed; what is only near leaves by itself
			notice.Link = &components.Link{Label: "Spending", URL: "/settings/spending"}
		}
		return t.render(components.StreamNotice(notice))
	case agent.TurnEvent:
		return t.showTurn(ev.Turn)
	case agent.VaultEvent:
		return t.showVault()
	}
	return nil
}

// showVault says whether the vault is open. Forms that ask for its passphrase stay: what waits for it goes on by itself.
func (t *tab) showVault() error {
	if t.Lock == nil {
		return nil
	}
	mark, err := t.Lock(t.ctx)
	if err != nil {
		return err
	}
	return t.render(components.StreamVault(mark))
}

func (t *tab) append(target string, swap components.Swap, fragment string) {
	t.frame.Write(components.AppendPatch(t.frame.AvailableBuffer(), target, swap, fragment))
}

func (t *tab) showUser(e agent.Envelope, ev agent.UserEvent) error {
	node, err := t.node(ev.Message, ev.Alone)
	if err != nil {
		return err
	}
	m := t.present.message(node, false)
	if ev.Joined {
		m.At = e.Time // written before what was still being said then, it stands behind it
		t.end = node.Message
		return t.render(components.StreamJoined(m))
	}
	if ev.Follows != agent.MessageComplete {
		if err := t.demote(node.Parent); err != nil {
			return err
		}
	}
	t.end = node.Message
	return t.render(components.StreamUpsert(m))
}

// node returns a message with its place. One that is known to have no variants, and nothing that stands apart from it, is not read again.
func (t *tab) node(m agent.Message, alone bool) (agent.Node, error) {
	if alone && len(m.Recalled) == 0 && len(m.Calls) == 0 {
		return agent.Node{Message: m, Index: 1, Siblings: 1}, nil
	}
	return t.Reader.Node(t.ctx, m.ID)
}

// demote takes from a reply what only the end of a conversation offers.
func (t *tab) demote(parent agent.ID) error {
	if parent == "" || parent == t.end.ID && !offersMore(t.end) {
		return nil
	}
	node, err := t.Reader.Node(t.ctx, parent)
	if err != nil || !offersMore(node.Message) {
		return err
	}
	return t.render(components.StreamClosed(t.present.message(node, false)))
}

// offersMore reports whether a message has something on the page that only the last one has: a reply
// that was cut off offers to go on.
func offersMore(m agent.Message) bool {
	return m.Role == agent.RoleAssistant && m.State != agent.MessageComplete
}

func (t *tab) showProgress(ev agent.ProgressEvent) error {
	if ev.Attempt == nil {
		return t.render(components.StreamNotice(components.Notice{Kind: components.NoticeInfo, Text: ev.Text}))
	}
	reply := t.open[ev.Message]
	if reply == nil {
		return nil
	}
	reply.attempts = append(reply.attempts, t.present.attempt(*ev.Attempt))
	return t.showStatus(reply)
}

func (t *tab) showTurn(turn agent.Turn) error {
	data, err := json.Marshal(map[string]bool{"running": turn.State == agent.TurnRunning})
	if err != nil {
		return err
	}
	t.named = append(t.named, named{"ash:turn", data})
	return t.render(components.StreamTurn(turnSlot(t.thread, turn)))
}

func turnSlot(thread agent.ID, turn agent.Turn) components.Turn {
	return components.Turn{
		Thread:  thread,
		Running: turn.State == agent.TurnRunning || turn.State == agent.TurnStopping,
		Waiting: turn.State == agent.TurnWaiting,
	}
}

// showThread brings a row of the list up to date, as the event at says, and the conversation
// itself when its head moved.
func (t *tab) showThread(at agent.EventID, ev agent.ThreadEvent) error {
	if ev.Moved {
		return t.conversation(ev.Thread.Thread)
	}
	if ev.Thread.ParentCall != "" && ev.Thread.ID != t.thread {
		return nil // a helper's own: no list shows it
	}
	if !ev.Thread.Deleted.IsZero() || !ev.Thread.Archived.IsZero() {
		return t.render(components.StreamThreadGone(ev.Thread.ID))
	}
	if ev.Thread.Head == "" {
		return nil // nothing was said in it yet: no list shows it
	}
	row := t.present.row(ev.Thread)
	if ev.Thread.ID == t.thread {
		return t.render(components.StreamThread(row, t.thread), components.StreamHead(t.present.head(ev.Thread.Thread)))
	}
	fragment, err := t.drawn.draw(t.ctx, at, row)
	if err != nil {
		return err
	}
	_, err = t.frame.Write(fragment)
	return err
}

// conversation shows the end of the conversation anew, from the store.
func (t *tab) conversation(thread agent.Thread) error {
	nodes, earlier, err := t.Reader.Window(t.ctx, thread.ID, "", windowSize)
	if err != nil {
		return err
	}
	tail, err := t.Tails.Tail(t.ctx, thread.ID)
	if err != nil {
		return err
	}
	summaries, err := t.Summaries.Summaries(t.ctx, thread.ID)
	if err != nil {
		return err
	}
	flow, err := t.flow(t.ctx, t.present, thread, nodes, earlier)
	if err != nil {
		return err
	}
	t.present.divide(&flow, nodes, summaries)
	t.present.unfinish(&flow, tail)
	return t.render(components.StreamConversation(flow))
}

// resync puts the page in order after the stream lost track: the server was
// restarted, or the page was away for longer than the feed remembers.
func (t *tab) resync() error {
	clear(t.open)
	clear(t.live)
	if err := t.rows(); err != nil || t.thread == "" {
		return err
	}
	tail, err := t.Tails.Tail(t.ctx, t.thread)
	if err != nil {
		return err
	}
	if err := t.conversation(tail.Thread); err != nil {
		return err
	}
	return t.render(components.StreamTurn(turnSlot(t.thread, tail.Turn)), components.StreamHead(t.present.head(tail.Thread)))
}

// rows brings the beginning of the list up to date.
func (t *tab) rows() error {
	found, _, err := t.Reader.Threads(t.ctx, agent.ThreadFilter{Limit: listSize})
	if err != nil {
		return err
	}
	for _, row := range found {
		if err := t.render(components.StreamThread(t.present.row(row), t.thread)); err != nil {
			return err
		}
	}
	return nil
}

// notifyText bounds what a notification quotes, in characters.
const notifyText = 140

// notify tells app.js what a tab in the background should say.
func (t *tab) notify(key, title, text string, asks bool) {
	data, err := json.Marshal(map[string]any{
		"thread": t.thread, "key": key, "title": title,
		"text": agent.FirstWords(strings.TrimSpace(text), notifyText), "asks": asks,
	})
	if err != nil {
		t.Log.Error("notification", "error", err)
		return
	}
	t.named = append(t.named, named{"ash:done", data})
}
