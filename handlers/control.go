package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers/sse"
	"ash/views/components"
)

// Control is the API of the command line, served on the unix socket in the home
// only: JSON in, JSON and event streams out. All but Halt, Places, Memory and Book are required.
type Control struct {
	Engine  ControlEngine
	Threads ControlReader
	Feed    agent.Feed
	Owner   agent.ID
	Version string
	Address string                      // where the browser finds this server; "" when it serves none
	Halt    func(context.Context) error // ends what runs beside the turns (the sandbox); nil: nothing does
	Places  ControlPlaces               // nil: conversations stay in Ash's own folder
	Memory  ControlMemory               // nil: nothing is recalled or imported
	Book    *ControlMemories            // nil: ash memory finds nothing
	Tokens  ControlTokens               // nil: programs have none
	Doctor  ControlDoctor               // nil: nobody looks
	Audit   ControlAudit                // nil: nobody looks
	Doors   ControlDoors                // nil: ash doors and ash pair find nothing
	Reach   func() []string             // where other devices reach this server, the best first; nil: nowhere
	Vault   ControlVault                // nil: there is none
	Keyring ControlKeyring              // nil: there is none
	// Kept has the settings follow what lies in the vault: secrets that were added, and that are gone. nil: they do not.
	Kept func(ctx context.Context, kept, gone []string) error
}

// ControlEngine is what the command line asks of the engine.
type ControlEngine interface {
	ControlDecider
	CreateThread(ctx context.Context, o agent.Origin) (agent.Thread, error)
	PatchThread(ctx context.Context, id agent.ID, p agent.ThreadPatch) (agent.Thread, error)
	Post(ctx context.Context, m agent.NewMessage) (agent.Posted, error)
	Continue(ctx context.Context, thread agent.ID) (agent.Turn, error)
	Stop(ctx context.Context, thread agent.ID) error
}

// ControlDecider is what the command line decides.
type ControlDecider interface {
	Decide(ctx context.Context, call agent.ID, d agent.Decision) (agent.ToolCall, error)
	Halt(ctx context.Context) (agent.Halted, error)
}

// ControlReader is what the command line reads.
type ControlReader interface {
	Thread(ctx context.Context, id agent.ID) (agent.Thread, error)
	Threads(ctx context.Context, f agent.ThreadFilter) ([]agent.ThreadSummary, string, error)
	Call(ctx context.Context, id agent.ID) (agent.ToolCall, error)
	WaitingCalls(ctx context.Context, limit int) ([]agent.ToolCall, error)
}

// Register adds the API's routes to g.
func (h Control) Register(g *echo.Group) {
	g.GET("/status", h.status)
	g.GET("/threads", h.list)
	g.POST("/threads", h.create)
	g.POST("/threads/:thread/messages", h.post)
	g.POST("/threads/:thread/continue", h.goOn)
	g.POST("/threads/:thread/stop", h.stop)
	g.GET("/threads/:thread/events", h.events)
	g.GET("/threads/:thread/waiting", h.waiting)
	g.GET("/waiting", h.waiting)
	g.POST("/calls/:call/decide", h.decide)
	g.POST("/stop", h.halt)
	g.GET("/places", h.place)
	g.POST("/places", h.own)
	h.memory(g)
	h.tokens(g)
	h.doctor(g)
	h.audit(g)
	h.doors(g)
	h.vaultRoutes(g)
	if h.Book != nil {
		h.Book.register(g)
	}
}

// The wire forms. The command line decodes the same types.
type (
	// ControlStatus describes the server behind the socket.
	ControlStatus struct {
		Version string `json:"version"`
		Address string `json:"address,omitempty"`
	}
	// ControlThread is a thread.
	ControlThread struct {
		ID      agent.ID  `json:"id"`
		Title   string    `json:"title"`
		Updated time.Time `json:"updated"`
		Root    string    `json:"root,omitempty"` // "" is Ash's own folder
	}
	// ControlNewThread is what a new thread begins with.
	ControlNewThread struct {
		Root string `json:"root,omitempty"` // absolute folder it works in
		Dir  string `json:"dir,omitempty"`  // where commands begin, relative to Root
	}
	// ControlMessage is a message to post.
	ControlMessage struct {
		Text  string `json:"text"`
		Form  string `json:"form,omitempty"`
		Model string `json:"model,omitempty"` // for the thread from here on
	}
	// ControlPosted tells what became of it.
	ControlPosted struct {
		Message agent.ID           `json:"message"`
		Turn    agent.ID           `json:"turn"`
		State   agent.MessageState `json:"state"`
		Answer  agent.ID           `json:"answered,omitempty"` // it was the answer to this waiting question: there is no message
	}
	// ControlError is every error of the API, and of a reply.
	ControlError struct {
		Code  agent.Code `json:"code"`
		Error string     `json:"error"`
	}
	// ControlEvent is one event of a thread. Only the fields of its kind are set.
	ControlEvent struct {
		ID       string        `json:"id"`
		Kind     string        `json:"kind"`
		Time     time.Time     `json:"time"`
		Turn     agent.ID      `json:"turn,omitempty"`
		Message  agent.ID      `json:"message,omitempty"`
		Call     agent.ID      `json:"call,omitempty"`
		Tool     string        `json:"tool,omitempty"`
		State    string        `json:"state,omitempty"`
		Text     string        `json:"text,omitempty"`
		Thinking bool          `json:"thinking,omitempty"`
		Model    string        `json:"model,omitempty"`
		Usage    *ControlUsage `json:"usage,omitempty"`
		Error    *ControlError `json:"error,omitempty"`
		Resync   bool          `json:"resync,omitempty"`
		Detail   *ControlCall  `json:"call_detail,omitempty"` // of tool_call, tool_result, confirm_request and confirm_response
	}
	// ControlUsage is what a reply took.
	ControlUsage struct {
		Input            int   `json:"input_tokens"`
		Output           int   `json:"output_tokens"`
		CacheRead        int   `json:"cached_tokens,omitempty"`
		MicroDollars     int64 `json:"cost_micro_dollars"`
		FirstTokenMillis int64 `json:"first_token_ms"`
		DurationMillis   int64 `json:"duration_ms"`
	}
)

func (h Control) status(c echo.Context) error {
	return c.JSON(http.StatusOK, ControlStatus{Version: h.Version, Address: h.Address})
}

func (h Control) list(c echo.Context) error {
	page, _, err := h.Threads.Threads(c.Request().Context(), agent.ThreadFilter{Limit: 50})
	if err != nil {
		return err
	}
	out := make([]ControlThread, 0, len(page))
	for _, t := range page {
		out = append(out, controlThread(t.Thread))
	}
	return c.JSON(http.StatusOK, out)
}

func (h Control) create(c echo.Context) error {
	ctx := c.Request().Context()
	var in ControlNewThread
	if err := readControl(c, &in); err != nil {
		return err
	}
	root, err := h.root(in.Root)
	if err != nil {
		return err
	}
	if in.Dir = filepath.ToSlash(filepath.Clean(in.Dir)); in.Dir == "." || root == "" {
		in.Dir = ""
	} else if !filepath.IsLocal(in.Dir) || len(in.Dir) > 4096 {
		return agent.Errorf(agent.CodeInvalid, "The working folder must be inside the conversation's folder.")
	}
	t, err := h.Engine.CreateThread(ctx, agent.Origin{Channel: "cli", Person: h.Owner})
	if err == nil && root != "" {
		t, err = h.Engine.PatchThread(ctx, t.ID, agent.ThreadPatch{Root: &root, WorkDir: &in.Dir})
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, controlThread(t))
}

func controlThread(t agent.Thread) ControlThread {
	return ControlThread{ID: t.ID, Title: t.Title, Updated: t.Updated, Root: t.Root}
}

func (h Control) post(c echo.Context) error {
	ctx := c.Request().Context()
	thread, err := param(c, "thread")
	if err != nil {
		return err
	}
	var m ControlMessage
	if err := readControl(c, &m); err != nil {
		return err
	}
	text, err := m.check()
	if err == nil && m.Model != "" {
		_, err = h.Engine.PatchThread(ctx, thread, agent.ThreadPatch{Model: &m.Model})
	}
	if err != nil {
		return err
	}
	posted, err := h.Engine.Post(ctx, agent.NewMessage{
		Thread: thread, Author: h.Owner, Form: m.Form,
		Parts: []agent.Part{agent.Text{Text: strings.TrimSpace(text)}},
	})
	if err != nil {
		return err
	}
	out := ControlPosted{Message: posted.Message.ID, Turn: posted.Turn.ID, State: posted.Message.State}
	if posted.Answered != nil {
		out.Answer = posted.Answered.ID
	}
	return c.JSON(http.StatusOK, out)
}

// readControl reads a request's JSON.
func readControl(c echo.Context, into any) error {
	if err := json.NewDecoder(c.Request().Body).Decode(into); err != nil {
		return agent.Wrap(agent.CodeInvalid, err, "The request is not the JSON this API takes.")
	}
	return nil
}

// check holds a message to the bounds of the composer's form, and returns its text.
func (m ControlMessage) check() (string, error) {
	text, err := clean(m.Text)
	switch {
	case err != nil:
		return "", err
	case len(text) > maxText:
		return "", agent.Errorf(agent.CodeInvalid, "The message is too long: at most %s.", components.Bytes(maxText))
	case len(m.Form) > 64 || len(m.Model) > 200:
		return "", agent.Errorf(agent.CodeInvalid, "The request is not the JSON this API takes.")
	}
	return text, nil
}

func (h Control) goOn(c echo.Context) error {
	thread, err := param(c, "thread")
	if err != nil {
		return err
	}
	turn, err := h.Engine.Continue(c.Request().Context(), thread)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlPosted{Turn: turn.ID})
}

func (h Control) stop(c echo.Context) error {
	thread, err := param(c, "thread")
	if err == nil {
		err = h.Engine.Stop(c.Request().Context(), thread)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// events streams a thread as JSON, from ?since= or Last-Event-ID, else from now.
func (h Control) events(c echo.Context) error {
	ctx := c.Request().Context()
	thread, err := param(c, "thread")
	if err == nil {
		_, err = h.Threads.Thread(ctx, thread)
	}
	if err != nil {
		return err
	}
	since := lastSeen(c)
	if since == (agent.EventID{}) {
		since = h.Feed.Last()
	}
	out, err := sse.NewWriter(c.Response())
	if err != nil {
		return err
	}
	for b := range h.Feed.Subscribe(ctx, thread, since) {
		if err := writeControl(out, b); err != nil {
			return nil // the reader left: nobody is there to be told
		}
	}
	return nil
}

func writeControl(out *sse.Writer, b agent.Batch) error {
	if b.Resync {
		if err := sendControl(out, ControlEvent{ID: b.Last.String(), Kind: "resync", Resync: true}); err != nil {
			return err
		}
	}
	for _, e := range b.Events {
		if ev, ok := controlEvent(e); ok {
			if err := sendControl(out, ev); err != nil {
				return err
			}
		}
	}
	if len(b.Events) == 0 && !b.Resync {
		return out.Beat()
	}
	return nil
}

func sendControl(out *sse.Writer, e ControlEvent) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return out.Send(e.ID, "", data)
}

// controlEvent gives the wire form of the events the command line shows.
func controlEvent(e agent.Envelope) (ControlEvent, bool) {
	out := ControlEvent{ID: e.ID.String(), Kind: e.Event.Kind(), Time: e.Time, Turn: e.Turn}
	switch ev := e.Event.(type) {
	case agent.UserEvent:
		out.Message, out.State, out.Text = ev.Message.ID, string(ev.Message.State), ev.Message.Text()
	case agent.AssistantDelta:
		out.Message, out.Text, out.Thinking = ev.Message, ev.Text, ev.Thinking
	case agent.AssistantEvent:
		m := ev.Message
		out.Message, out.State, out.Model = m.ID, string(m.State), m.Model.String()
		if m.State != agent.MessageOpen {
			out.Text, out.Usage, out.Error = m.Text(), controlUsage(m.Usage), controlFault(m.Error)
		}
	case agent.ToolCallEvent:
		out.call(ev.Call)
	case agent.ToolResultEvent:
		out.call(ev.Call)
	case agent.ToolProgress:
		out.Call, out.Text = ev.Call, ev.Text
	case agent.ConfirmRequest:
		out.call(ev.Call)
		out.Text = ev.Call.Why
	case agent.ConfirmResponse:
		out.call(ev.Call)
	case agent.ProgressEvent:
		out.Message, out.Text = ev.Message, ev.Text
		if ev.Attempt != nil {
			out.Model, out.Error = ev.Attempt.Model.String(), controlFault(ev.Attempt.Failed)
		}
	case agent.ErrorEvent:
		out.Error = controlFault(&ev.Failure)
	case agent.TurnEvent:
		out.State = string(ev.Turn.State)
	default:
		return ControlEvent{}, false
	}
	return out, true
}

func controlUsage(u agent.Usage) *ControlUsage {
	return &ControlUsage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, MicroDollars: int64(u.Cost),
		FirstTokenMillis: u.FirstToken.Milliseconds(), DurationMillis: u.Duration.Milliseconds(),
	}
}

func controlFault(f *agent.Failure) *ControlError {
	if f == nil {
		return nil
	}
	return &ControlError{Code: f.Code, Error: f.Public}
}

// lastSeen returns the event a reader saw last: what the browser or the command line sends when it
// comes back, else what its page was made with.
func lastSeen(c echo.Context) agent.EventID {
	if id := agent.ParseEventID(c.Request().Header.Get("Last-Event-ID")); id != (agent.EventID{}) {
		return id
	}
	return agent.ParseEventID(c.QueryParam("since"))
}
