package handlers

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/llm"
)

// ChannelAPI is the origin of conversations that a program began.
const ChannelAPI = "api"

// lentHeader carries the caller's own key of the model's provider. It is held in memory for the one turn; no log shows it.
const lentHeader = "Ash-Provider-Key"

// APIEngine is what a program may do in conversations. Deciding is not among it: an approval is the owner's word.
type APIEngine interface {
	CreateThread(ctx context.Context, o agent.Origin) (agent.Thread, error)
	PatchThread(ctx context.Context, id agent.ID, p agent.ThreadPatch) (agent.Thread, error)
	Post(ctx context.Context, m agent.NewMessage) (agent.Posted, error)
	Stop(ctx context.Context, thread agent.ID) error
}

// APIThreadReader reads conversations.
type APIThreadReader interface {
	Threads(ctx context.Context, f agent.ThreadFilter) ([]agent.ThreadSummary, string, error)
	Summary(ctx context.Context, id agent.ID) (agent.ThreadSummary, error)
	Window(ctx context.Context, thread, before agent.ID, limit int) ([]agent.Node, bool, error)
}

func threadsParams() []apiParam {
	return []apiParam{
		{name: "archived", in: "query", kind: kindFlag, about: "Archived ones instead of current ones."},
		{name: "limit", in: "query", kind: kindLimit, about: "How many, 1 to 200; 50 when it is left out."},
		{name: "after", in: "query", kind: kindText, about: "next of the page before."},
	}
}

func messagesParams() []apiParam {
	return []apiParam{
		idParam(),
		{name: "limit", in: "query", kind: kindLimit, about: "How many, 1 to 200; 50 when it is left out."},
		{name: "before", in: "query", kind: kindText, about: "before of the page after."},
	}
}

func (h *API) threadRoutes() []APIRoute {
	reading, chatting := []access.Scope{access.ScopeRead, access.ScopeChat}, []access.Scope{access.ScopeChat}
	one := reflect.TypeFor[APIThread]()
	return []APIRoute{
		{
			Method: http.MethodGet, Path: "/threads", Handle: h.Threads,
			name: "listThreads", summary: "List conversations", about: "Pinned ones first, then the latest.",
			scopes: reading, params: threadsParams(), fails: []int{422},
			answers: []apiAnswer{{status: 200, about: "A page.", body: reflect.TypeFor[APIThreads]()}},
		},
		{
			Method: http.MethodPost, Path: "/threads", Handle: h.NewThread,
			name: "newThread", summary: "Begin a conversation", about: "It is empty until a message is sent.",
			scopes: chatting, body: reflect.TypeFor[APINewThread](), fails: []int{400, 413, 415, 422},
			answers: []apiAnswer{{status: 201, about: "It is made.", body: one, headers: []string{"Location"}}},
		},
		{
			Method: http.MethodGet, Path: "/threads/{id}", Handle: h.Thread,
			name: "showThread", summary: "One conversation", scopes: reading, params: []apiParam{idParam()}, fails: []int{404, 422},
			answers: []apiAnswer{{status: 200, about: "The conversation.", body: one}},
		},
		{
			Method: http.MethodGet, Path: "/threads/{id}/messages", Handle: h.ThreadMessages,
			name: "listMessages", summary: "What was said", about: "The path to the conversation's end, the latest page first, each page oldest first.",
			scopes: reading, params: messagesParams(), fails: []int{404, 422},
			answers: []apiAnswer{{status: 200, about: "A page.", body: reflect.TypeFor[APIMessages]()}},
		},
		{
			Method: http.MethodPost, Path: "/threads/{id}/messages", Handle: h.Say,
			name: "postMessage", summary: "Say something",
			about: "The answer comes over the events; 202 means the message is on the disk. With an Idempotency-Key it can be sent again and is one message. " +
				"Calls that need approval wait for the owner. With " + lentHeader + " the turn is asked with the caller's own key of the model's provider, which is neither stored nor logged; model must be given then.",
			scopes: chatting, body: reflect.TypeFor[APINewMessage](), fails: []int{400, 404, 409, 413, 415, 422},
			params: []apiParam{
				idParam(),
				{name: "Idempotency-Key", in: "header", kind: kindKey, about: "Any text of the caller's that stands for this request, as a UUID."},
				{name: lentHeader, in: "header", kind: kindKey, about: "A key of the provider that model names."},
			},
			answers: []apiAnswer{{status: 202, about: "It is kept, and will be answered.", body: reflect.TypeFor[APIPosted]()}},
		},
		{
			Method: http.MethodPost, Path: "/threads/{id}/stop", Handle: h.StopThread,
			name: "stopThread", summary: "Stop the answer that is being written", scopes: chatting, params: []apiParam{idParam()}, fails: []int{404, 415, 422},
			answers: []apiAnswer{{status: 204, about: "It is stopped, or nothing was running."}},
		},
		{
			Method: http.MethodGet, Path: "/threads/{id}/events", Stream: true, Handle: h.ThreadEvents,
			name: "followThread", summary: "Follow a conversation",
			about:  "Server-sent events (text/event-stream), each of JSON, until the caller leaves or the token ends. From since, or the header Last-Event-ID, else from now.",
			scopes: reading, fails: []int{404, 422},
			params:  []apiParam{idParam(), {name: "since", in: "query", kind: kindText, about: "The id of the last event that was seen."}},
			answers: []apiAnswer{{status: 200, about: "The stream."}},
		},
	}
}

// Threads answers GET /threads.
func (h *API) Threads(c echo.Context) error {
	q, err := readQuery(c, threadsParams())
	if err != nil {
		return err
	}
	f := agent.ThreadFilter{After: q.text("after")}
	if f.Archived, err = q.flag("archived"); err != nil {
		return err
	}
	if f.Limit, err = q.number("limit", apiPage, apiPageMost); err != nil {
		return err
	}
	page, next, err := h.Conversations.Threads(c.Request().Context(), f)
	if err != nil {
		return err
	}
	out := APIThreads{Threads: make([]APIThread, 0, len(page)), Next: next}
	for _, t := range page {
		out.Threads = append(out.Threads, apiThread(t))
	}
	return answer(c, http.StatusOK, out)
}

// NewThread answers POST /threads.
func (h *API) NewThread(c echo.Context) error {
	ctx := c.Request().Context()
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	in, _, err := readJSON[APINewThread](c.Request())
	if err != nil {
		return err
	}
	title := onOneLine(h.Redact(in.Title))
	if utf8.RuneCountInString(title) > 200 {
		return agent.Errorf(agent.CodeInvalid, "A title has at most 200 characters.")
	}
	if err := checkModel(in.Model); err != nil {
		return err
	}
	t, err := h.Engine.CreateThread(ctx, agent.Origin{Channel: ChannelAPI, Person: h.Owner})
	if err == nil && (title != "" || in.Model != "") {
		patch := agent.ThreadPatch{Model: &in.Model}
		if byCaller := agent.TitlePerson; title != "" {
			patch.Title, patch.TitleSource = &title, &byCaller
		}
		t, err = h.Engine.PatchThread(ctx, t.ID, patch)
	}
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, APIPrefix+"/threads/"+string(t.ID))
	return answer(c, http.StatusCreated, apiThread(agent.ThreadSummary{Thread: t}))
}

func checkModel(ref string) error {
	if len(ref) > 200 || ref != strings.TrimSpace(ref) {
		return agent.Errorf(agent.CodeInvalid, "A model is written provider/name, in at most 200 bytes.")
	}
	return nil
}

// Thread answers GET /threads/{id}.
func (h *API) Thread(c echo.Context) error {
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	t, err := h.thread(c)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, apiThread(t))
}

// thread finds the conversation of the address.
func (h *API) thread(c echo.Context) (agent.ThreadSummary, error) {
	id, err := param(c, "id")
	if err != nil {
		return agent.ThreadSummary{}, err
	}
	t, err := h.Conversations.Summary(c.Request().Context(), id)
	if err == nil && !t.Deleted.IsZero() {
		err = agent.Errorf(agent.CodeNotFound, "This conversation was deleted.")
	}
	return t, err
}

// ThreadMessages answers GET /threads/{id}/messages.
func (h *API) ThreadMessages(c echo.Context) error {
	q, err := readQuery(c, messagesParams())
	if err != nil {
		return err
	}
	limit, err := q.number("limit", apiPage, apiPageMost)
	if err != nil {
		return err
	}
	before := agent.ID("")
	if q.text("before") != "" {
		if before, err = agent.ParseID(q.text("before")); err != nil {
			return agent.Wrap(agent.CodeInvalid, err, "before is the id of a message.")
		}
	}
	t, err := h.thread(c)
	if err != nil {
		return err
	}
	nodes, earlier, err := h.Conversations.Window(c.Request().Context(), t.ID, before, limit)
	if err != nil {
		return err
	}
	out := APIMessages{Messages: make([]APIMessage, 0, len(nodes))}
	for _, n := range nodes {
		out.Messages = append(out.Messages, apiMessage(n))
	}
	if earlier && len(nodes) > 0 {
		out.Before = nodes[0].ID
	}
	return answer(c, http.StatusOK, out)
}

// Say answers POST /threads/{id}/messages.
func (h *API) Say(c echo.Context) error {
	ctx := c.Request().Context()
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	key, err := requestKey(c.Request())
	if err != nil {
		return err
	}
	lent, err := lentBy(c.Request())
	if err != nil {
		return err
	}
	t, err := h.thread(c)
	if err != nil {
		return err
	}
	in, _, err := readJSON[APINewMessage](c.Request())
	if err != nil {
		return err
	}
	m, err := h.newMessage(t.ID, in)
	if err != nil {
		return err
	}
	if lent != "" {
		provider, _, named := strings.Cut(in.Model, "/")
		if !named {
			return agent.Errorf(agent.CodeInvalid, "With %s, model says whose key it is: provider/name.", lentHeader)
		}
		l := agent.NewLent(provider, lent)
		m.Lent = &l
	}
	if key != "" {
		m.Form = string(idOf(caller(c).ID, string(t.ID)+"\x00"+key))
	}
	if in.Model != "" && in.Model != t.Model {
		if _, err := h.Engine.PatchThread(ctx, t.ID, agent.ThreadPatch{Model: &in.Model}); err != nil {
			return err
		}
	}
	posted, err := h.Engine.Post(ctx, m)
	if err != nil {
		return err
	}
	if posted.Again {
		c.Response().Header().Set("Idempotency-Replayed", "true")
	}
	return answer(c, http.StatusAccepted, apiPosted(t.ID, posted))
}

func apiPosted(thread agent.ID, p agent.Posted) APIPosted {
	out := APIPosted{Thread: thread, Message: p.Message.ID, Turn: p.Turn.ID, State: p.Message.State}
	if p.Answered != nil {
		out.Answered = p.Answered.ID
	}
	return out
}

// newMessage makes the message of a request. It is the owner's word but for what its labels say.
func (h *API) newMessage(thread agent.ID, in APINewMessage) (agent.NewMessage, error) {
	m := agent.NewMessage{Thread: thread, Author: h.Owner}
	words, err := clean(in.Text)
	if err != nil {
		return m, err
	}
	if words = strings.TrimSpace(words); words == "" {
		return m, agent.Errorf(agent.CodeInvalid, "text is empty.")
	}
	if err := checkModel(in.Model); err != nil {
		return m, err
	}
	labels, err := h.labels(in.Labels)
	if err != nil {
		return m, err
	}
	m.Parts = []agent.Part{agent.Text{Text: words, Labels: labels}}
	return m, nil
}

// lentBy reads the caller's own key, "" when there is none. The error does not repeat it.
func lentBy(r *http.Request) (string, error) {
	given := r.Header.Values(lentHeader)
	r.Header.Del(lentHeader) // nothing that sees the request from here on can show it
	switch len(given) {
	case 0:
		return "", nil
	case 1:
		key := strings.TrimSpace(given[0])
		return key, llm.CheckKey(key)
	}
	return "", agent.Errorf(agent.CodeInvalid, "%s is given once.", lentHeader)
}

// StopThread answers POST /threads/{id}/stop.
func (h *API) StopThread(c echo.Context) error {
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	if err := checkMedia(c.Request(), false); err != nil {
		return err
	}
	t, err := h.thread(c)
	if err == nil {
		err = h.Engine.Stop(c.Request().Context(), t.ID)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
