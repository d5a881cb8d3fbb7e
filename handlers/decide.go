package handlers

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
)

// maxReason bounds the reason of a denial, in characters.
const maxReason = 1000

// Decide answers POST …/calls/{call}/decide: the person's word on a waiting call.
func (h *Messages) Decide(c echo.Context) error {
	call, err := h.call(c)
	if err != nil {
		return err
	}
	d, err := h.decision(c, call)
	decided := call
	if err == nil {
		decided, err = h.Turns.Decide(c.Request().Context(), call.ID, d)
	}
	switch agent.CodeOf(err) {
	case "":
		return h.answered(c, decided)
	case agent.CodeConflict:
		return h.undecided(c, http.StatusConflict, call.ID, err)
	case agent.CodeInvalid:
		return h.undecided(c, http.StatusUnprocessableEntity, call.ID, err)
	}
	return err
}

// decision reads the form of a card.
func (h *Messages) decision(c echo.Context, call agent.ToolCall) (agent.Decision, error) {
	d := agent.Decision{By: h.Owner}
	word, err := line(c, "decision", 20)
	if err != nil {
		return d, err
	}
	if d.Binding, err = line(c, "binding", 200); err != nil {
		return d, err
	}
	if d.Reason, err = line(c, "reason", maxReason); err != nil {
		return d, err
	}
	if d.Answer, err = text(c, "answer"); err != nil {
		return d, err
	}
	switch word {
	case "approve":
		d.Approve = true
		if d.Answer = strings.TrimSpace(d.Answer); call.Question && d.Answer == "" {
			err = agent.Errorf(agent.CodeInvalid, "The answer is empty. Write something, or say that you would rather not.")
		}
	case "edit":
		d.Approve = true
		d.Arguments, err = edited(c, call.Arguments)
	case "always":
		d.Approve = true
		if d.Always, err = text(c, "rule"); err == nil && d.Always == "" {
			err = agent.Errorf(agent.CodeInvalid, "Say which standing permission you give.")
		}
	case "deny":
	default:
		err = agent.Errorf(agent.CodeInvalid, "Say approve or deny.")
	}
	return d, err
}

// DecideAll answers POST …/messages/{message}/decide: one decision about all calls of a reply that were shown waiting. One that
// is no longer what was shown is left as it is, and said.
func (h *Messages) DecideAll(c echo.Context) error {
	n, err := h.node(c)
	if err != nil {
		return err
	}
	word, err := line(c, "decision", 20)
	if err != nil {
		return err
	}
	if word != "approve" && word != "deny" {
		return agent.Errorf(agent.CodeInvalid, "Say approve or deny.")
	}
	shown, err := bindings(c)
	if err != nil {
		return err
	}
	var decided, left int
	var failure error
	for _, call := range n.Calls {
		binding, ok := shown[call.ID]
		if !ok || call.Question { // a question wants words, not a yes
			continue
		}
		d := agent.Decision{By: h.Owner, Approve: word == "approve", Binding: binding}
		if _, err := h.Turns.Decide(c.Request().Context(), call.ID, d); err != nil {
			left, failure = left+1, err
			continue
		}
		decided++
	}
	switch {
	case decided+left == 0:
		return agent.Errorf(agent.CodeInvalid, "Nothing of this waits any more. Reload the page to see what became of it.")
	case decided == 0 && agent.CodeOf(failure) != agent.CodeConflict:
		return failure
	}
	if !ByHTMX(c) {
		return see(c, h.back(c, n.Thread))
	}
	parts, err := h.cards(c, n.ID, slices.Collect(maps.Keys(shown))...)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if left > 0 {
		status = http.StatusConflict
		c.Response().Header().Set("HX-Reswap", "none")
		parts = append(parts, components.StreamNotice(components.Notice{Kind: components.NoticeError, Text: leftWaiting(decided, left, failure)}))
	}
	return render(c, status, parts...)
}

// leftWaiting says what one decision about several calls did not cover.
func leftWaiting(decided, left int, failure error) string {
	done := "Nothing was decided."
	if decided > 0 {
		done = components.Plural(decided, "call was decided.", "calls were decided.")
	}
	return done + " " + components.Plural(left, "was", "were") + " left as it is: " + agent.PublicOf(failure)
}

// Undo answers POST …/calls/{call}/undo: what a finished call wrote is taken back.
func (h *Messages) Undo(c echo.Context) error {
	call, err := h.call(c)
	if err != nil {
		return err
	}
	if h.Undoer == nil {
		return agent.Errorf(agent.CodeUnavailable, "Nothing can be undone here.")
	}
	was := h.present(c).helpers.undone(call.ID)
	if err := h.Undoer.Undo(c.Request().Context(), call.ID); err != nil {
		return err
	}
	if !ByHTMX(c) {
		return see(c, h.back(c, call.Thread))
	}
	parts, err := h.fragments(c, call)
	if err != nil {
		return err
	}
	notice := components.Notice{Kind: components.NoticeOK, Text: "Taken back: it is as it was before."}
	if was {
		notice.Text = "The change is there again."
	}
	return render(c, http.StatusOK, append(parts, components.StreamNotice(notice))...)
}

// answered shows what a decision made of a call, where the person decided.
func (h *Messages) answered(c echo.Context, call agent.ToolCall) error {
	if !ByHTMX(c) {
		return see(c, h.back(c, call.Thread))
	}
	parts, err := h.fragments(c, call)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, parts...)
}

// undecided says why a decision did not count, with the call as it stands now. What the person typed stays on the
// page when only that was wrong.
func (h *Messages) undecided(c echo.Context, status int, id agent.ID, cause error) error {
	call, err := h.Threads.Call(c.Request().Context(), id)
	if err != nil {
		return err
	}
	if !ByHTMX(c) {
		page, err := h.record(c, call)
		if err != nil {
			return err
		}
		page.Call.Problem = agent.PublicOf(cause)
		if status == http.StatusUnprocessableEntity {
			keepTyped(c, page.Call.Fields)
		}
		return render(c, status, page.Show())
	}
	c.Response().Header().Set("HX-Reswap", "none") // the fragments address their places themselves
	parts := []templ.Component{components.ErrorFragment(components.Failed(agent.Failure{Code: agent.CodeOf(cause), Public: agent.PublicOf(cause)}))}
	if status == http.StatusConflict {
		now, err := h.fragments(c, call)
		if err != nil {
			return err
		}
		parts = append(parts, now...)
	}
	return render(c, status, parts...)
}

// keepTyped puts what the person typed back into the form.
func keepTyped(c echo.Context, fields []components.Field) {
	for i := range fields {
		if form := c.Request().PostForm; form.Has(fields[i].Name) {
			fields[i].Value = form.Get(fields[i].Name)
		}
	}
}

// fragments is what changes on the page a form was sent from when the state of a call has.
func (h *Messages) fragments(c echo.Context, call agent.ToolCall) ([]templ.Component, error) {
	switch place(c) {
	case components.PlaceLane:
		return h.laneOf(c, call.Thread)
	case components.PlaceInbox:
		return h.inboxEntry(c, call)
	case components.PlaceRun:
		p := h.present(c)
		p.place = components.PlaceRun
		return []templ.Component{components.StreamComponent("record", components.SwapInner, components.CallCard(p.call(call)))}, nil
	}
	return h.cards(c, call.Message, call.ID)
}

// cards is the cards of some calls of a reply, and what one decision can still cover of all.
func (h *Messages) cards(c echo.Context, message agent.ID, which ...agent.ID) ([]templ.Component, error) {
	m, err := h.Reader.Message(c.Request().Context(), message)
	if err != nil {
		return nil, err
	}
	p := h.present(c)
	var parts []templ.Component
	for _, call := range m.Calls {
		if slices.Contains(which, call.ID) {
			parts = append(parts, components.StreamCall(m.ID, p.call(call)))
		}
	}
	return append(parts, components.StreamAll(p.batch(m))), nil
}

// laneOf shows a helper's lane anew, in the card of the call that began it.
func (h *Messages) laneOf(c echo.Context, thread agent.ID) ([]templ.Component, error) {
	ctx := c.Request().Context()
	t, err := h.Threads.Thread(ctx, thread)
	if err != nil || t.ParentCall == "" {
		return nil, err
	}
	above, err := h.Threads.Call(ctx, t.ParentCall)
	if err != nil {
		return nil, err
	}
	card := h.present(c).call(above)
	if card.Lane == nil {
		return nil, nil
	}
	return []templ.Component{components.StreamLane(*card.Lane)}, nil
}

// back is the page a form was sent from, for browsers without JavaScript.
func (h *Messages) back(c echo.Context, thread agent.ID) string {
	switch place(c) {
	case components.PlaceInbox:
		return "/inbox"
	case components.PlaceRun:
		return components.RunPath(agent.ID(c.Param("call")))
	case components.PlaceLane:
		return chatPath(h.root(c, thread))
	}
	return chatPath(thread)
}

// root is the conversation that a helper works for; thread itself when it is none, or its parents cannot be read.
func (h *Messages) root(c echo.Context, thread agent.ID) agent.ID {
	for range laneDepth {
		t, err := h.Threads.Thread(c.Request().Context(), thread)
		if err != nil || t.ParentCall == "" {
			break
		}
		above, err := h.Threads.Call(c.Request().Context(), t.ParentCall)
		if err != nil {
			break
		}
		thread = above.Thread
	}
	return thread
}

// place is where the card stands whose form was sent.
func place(c echo.Context) components.Place {
	if ParseForm(c.Request()) != nil {
		return components.PlaceChat // whoever reads the form's fields says that it is damaged
	}
	switch p := components.Place(c.Request().PostForm.Get("place")); p {
	case components.PlaceLane, components.PlaceInbox, components.PlaceRun:
		return p
	}
	return components.PlaceChat
}

// call reads the tool call in the address; one of another thread is not found.
func (h *Messages) call(c echo.Context) (agent.ToolCall, error) {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return agent.ToolCall{}, err
	}
	id, err := param(c, "call")
	if err != nil {
		return agent.ToolCall{}, err
	}
	call, err := h.Threads.Call(c.Request().Context(), id)
	if err == nil && call.Thread != t.ID {
		err = agent.Errorf(agent.CodeNotFound, "There is no such question in this conversation.")
	}
	return call, err
}
