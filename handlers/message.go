package handlers

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	maxText        = 1 << 20 // bytes of a message's text
	maxAttachments = 20      // on one message
)

// Messages is what the person does with messages: send, edit, have answered again.
type Messages struct {
	*Frame
	Engine  MessageEngine
	Turns   TurnEngine
	Threads interface {
		ThreadReader
		Call(ctx context.Context, id agent.ID) (agent.ToolCall, error)
	}
	Files    Files
	Receipts *Receipts // nil: what answers were given is not shown
	Owner    agent.ID  // who writes: there is no sign-in yet
	Vault    *Vault
}

// MessageEngine is what sending needs of the engine.
type MessageEngine interface {
	CreateThread(ctx context.Context, o agent.Origin) (agent.Thread, error)
	PatchThread(ctx context.Context, id agent.ID, p agent.ThreadPatch) (agent.Thread, error)
	Post(ctx context.Context, m agent.NewMessage) (agent.Posted, error)
	Edit(ctx context.Context, old agent.ID, m agent.NewMessage) (agent.Posted, error)
}

// TurnEngine is what steering a turn needs of the engine.
type TurnEngine interface {
	Regenerate(ctx context.Context, thread, message agent.ID) (agent.Turn, error)
	Continue(ctx context.Context, thread agent.ID) (agent.Turn, error)
	TakeUp(ctx context.Context, thread, message agent.ID) (bool, error)
	Stop(ctx context.Context, thread agent.ID) error
	Branch(ctx context.Context, thread, message agent.ID) (agent.Thread, error)
	Decide(ctx context.Context, call agent.ID, d agent.Decision) (agent.ToolCall, error)
}

// Begin answers POST /chat: the first message makes the conversation. The form's id
// is the thread's external id, so that a form sent twice begins one.
func (h *Messages) Begin(c echo.Context) error {
	ctx := c.Request().Context()
	m, err := h.read(c)
	if err != nil {
		return err
	}
	model, err := line(c, "model", 200)
	if err != nil {
		return err
	}
	t, err := h.begin(ctx, m.Form, model)
	if err != nil {
		return err
	}
	m.Thread = t.ID
	if _, err := h.Engine.Post(ctx, m); err != nil {
		return err
	}
	return see(c, chatPath(t.ID))
}

func (h *Messages) begin(ctx context.Context, form, model string) (agent.Thread, error) {
	t, err := h.Engine.CreateThread(ctx, agent.Origin{Channel: "web", ExternalID: form, Person: h.Owner})
	switch {
	case err == nil && model != "":
		return h.Engine.PatchThread(ctx, t.ID, agent.ThreadPatch{Model: &model})
	case agent.CodeOf(err) != agent.CodeConflict:
		return t, err
	}
	recent, _, readErr := h.Reader.Threads(ctx, agent.ThreadFilter{Limit: 200})
	if readErr != nil {
		return t, readErr
	}
	i := slices.IndexFunc(recent, func(t agent.ThreadSummary) bool { return t.Origin.ExternalID == form })
	if i < 0 {
		return t, agent.Wrap(agent.CodeConflict, err, "This was already sent. Look for it in your list of conversations.")
	}
	return recent[i].Thread, nil
}

// Post answers POST /chat/{thread}/messages: the message is stored when this
// answers, and the reply comes over the stream.
func (h *Messages) Post(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	m, err := h.read(c)
	if err != nil {
		return err
	}
	m.Thread = t.ID
	posted, err := h.Engine.Post(c.Request().Context(), m)
	if err != nil {
		return err
	}
	if posted.Answered != nil { // it answered a question: no message was stored
		return h.answered(c, *posted.Answered)
	}
	if !ByHTMX(c) {
		return see(c, chatPath(t.ID)+"#m-"+string(posted.Message.ID))
	}
	bubble := components.StreamUpsert(h.present(c).alone(posted.Message, false))
	if posted.Again { // its turn may have ended long ago
		return render(c, http.StatusOK, bubble)
	}
	return render(c, http.StatusOK, bubble, components.StreamTurn(components.Turn{Thread: t.ID, Running: true}))
}

// EditForm answers GET …/edit: the form, in the place of the message or as a page.
func (h *Messages) EditForm(c echo.Context) error {
	n, err := h.node(c)
	if err != nil {
		return err
	}
	if n.Role != agent.RoleUser {
		return agent.Errorf(agent.CodeInvalid, "Only what you wrote yourself can be edited. An answer can be asked for again.")
	}
	page, err := h.plain(c, "Edit", layouts.Chat)
	if err != nil {
		return err
	}
	if err := h.ownWords(c.Request().Context(), n.ID); err != nil {
		return err
	}
	edit := pages.EditMessage{Page: page, Message: h.present(c).message(n, false), Form: string(agent.NewID())}
	if ByHTMX(c) {
		return render(c, http.StatusOK, pages.EditForm(edit))
	}
	return render(c, http.StatusOK, edit.Show())
}

// Edit answers POST …/edit: a variant of the message, with the same attachments.
func (h *Messages) Edit(c echo.Context) error {
	n, err := h.node(c)
	if err != nil {
		return err
	}
	if err := h.ownWords(c.Request().Context(), n.ID); err != nil {
		return err
	}
	m, err := h.readText(c)
	if err != nil {
		return err
	}
	for _, part := range n.Parts {
		if _, ok := part.(agent.Text); !ok {
			m.Parts = append(m.Parts, part)
		}
	}
	if err := notEmpty(m.Parts); err != nil {
		return err
	}
	m.Thread = n.Thread
	if _, err := h.Engine.Edit(c.Request().Context(), n.ID, m); err != nil {
		return err
	}
	return done(c, chatPath(n.Thread))
}

// Text answers GET …/text: the source of a message, for copying.
func (h *Messages) Text(c echo.Context) error {
	n, err := h.node(c)
	if err != nil {
		return err
	}
	return c.String(http.StatusOK, n.Text())
}

// Memories answers GET …/memories: what the answer was given, as it is now.
func (h *Messages) Memories(c echo.Context) error {
	n, err := h.node(c)
	if err != nil {
		return err
	}
	if h.Receipts == nil {
		return agent.Errorf(agent.CodeNotFound, "Ash remembers nothing here.")
	}
	r, err := h.Receipts.Of(c.Request().Context(), n.Recalled)
	if err != nil {
		return err
	}
	if ByHTMX(c) {
		return render(c, http.StatusOK, components.ReceiptOf(r))
	}
	page, err := h.plain(c, "What this answer was given", layouts.Chat)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, pages.Receipt{Page: page, Receipt: r}.Show())
}

// Regenerate answers POST …/regenerate.
func (h *Messages) Regenerate(c echo.Context) error {
	n, err := h.node(c)
	if err != nil {
		return err
	}
	if _, err := h.Turns.Regenerate(c.Request().Context(), n.Thread, n.ID); err != nil {
		return err
	}
	return done(c, chatPath(n.Thread))
}

// Continue answers POST …/continue: go on where the conversation was cut off.
func (h *Messages) Continue(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	if id, err := param(c, "message"); err != nil || id != t.Head {
		return agent.Errorf(agent.CodeConflict, "The conversation has moved on since this page was made. Reload to see how.")
	}
	if _, err := h.Turns.Continue(c.Request().Context(), t.ID); err != nil {
		return err
	}
	n, err := h.node(c)
	if err != nil {
		return err
	}
	if n.Role != agent.RoleUser || !ByHTMX(c) {
		return done(c, chatPath(t.ID))
	}
	// The stream tells of the answer only; the offer to continue stood on the question.
	return render(c, http.StatusOK, components.StreamUpsert(h.present(c).message(n, false)))
}

// Stop answers POST /chat/{thread}/stop.
func (h *Messages) Stop(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	if err := h.Turns.Stop(c.Request().Context(), t.ID); err != nil {
		return err
	}
	return done(c, chatPath(t.ID))
}

// Head answers POST /chat/{thread}/head: show the variant of a message.
func (h *Messages) Head(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	if err := ParseForm(c.Request()); err != nil {
		return err
	}
	message, err := agent.ParseID(c.Request().PostForm.Get("message"))
	if err != nil {
		return err
	}
	if _, err := h.Turns.Branch(c.Request().Context(), t.ID, message); err != nil {
		return err
	}
	return done(c, chatPath(t.ID)+"?at="+string(message)+"#m-"+string(message))
}

// node reads the message in the address; one of another thread is not found.
func (h *Messages) node(c echo.Context) (agent.Node, error) {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return agent.Node{}, err
	}
	id, err := param(c, "message")
	if err != nil {
		return agent.Node{}, err
	}
	n, err := h.Reader.Node(c.Request().Context(), id)
	if err == nil && n.Thread != t.ID {
		err = agent.Errorf(agent.CodeNotFound, "There is no such message in this conversation.")
	}
	return n, err
}

// read makes a message of the composer's form: text, attachments sent before,
// and files that come along when there is no JavaScript.
func (h *Messages) read(c echo.Context) (agent.NewMessage, error) {
	m, err := h.readText(c)
	if err != nil {
		return m, err
	}
	parts, err := h.attachments(c)
	if err != nil {
		return m, err
	}
	m.Parts = append(m.Parts, parts...)
	return m, notEmpty(m.Parts)
}

// readText reads the text and the form's id.
func (h *Messages) readText(c echo.Context) (agent.NewMessage, error) {
	m := agent.NewMessage{Author: h.Owner}
	words, err := text(c, "text")
	if err != nil {
		return m, err
	}
	if len(words) > maxText {
		return m, agent.Errorf(agent.CodeInvalid, "The message is too long: at most %s. Attach the text as a file instead.", components.Bytes(maxText))
	}
	// Spaces before the first line may be the indentation of code.
	if words = strings.TrimLeft(strings.TrimRightFunc(words, unicode.IsSpace), "\n"); words != "" {
		m.Parts = append(m.Parts, agent.Text{Text: words})
	}
	if m.Form, err = line(c, "form", 64); err != nil {
		return m, err
	}
	return m, nil
}

func notEmpty(parts []agent.Part) error {
	if len(parts) == 0 {
		return agent.Errorf(agent.CodeInvalid, "The message is empty. Write something, or attach a file.")
	}
	return nil
}

func chatPath(id agent.ID) string { return "/chat/" + string(id) }
