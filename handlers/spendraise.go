package handlers

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/spend"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// Offer answers GET /chat/{thread}/messages/{message}/spending: how the cap that stopped an answer can be raised, in the place
// of the answer or as a page.
func (h *Spending) Offer(c echo.Context) error {
	raise, err := h.offer(c)
	if err != nil {
		return err
	}
	if ByHTMX(c) {
		return render(c, http.StatusOK, components.RaiseCap(raise))
	}
	return h.raisePage(c, http.StatusOK, raise)
}

// raisePage is the form as a page of its own.
func (h *Spending) raisePage(c echo.Context, status int, raise components.Raise) error {
	page, err := h.plain(c, "A spending cap is reached", layouts.Chat)
	if err != nil {
		return err
	}
	return render(c, status, pages.RaiseCap{Page: page, Raise: raise}.Show())
}

func (h *Spending) offer(c echo.Context) (components.Raise, error) {
	t, id, err := h.stopped(c)
	if err != nil {
		return components.Raise{}, err
	}
	raise := components.Raise{Thread: t.ID, Message: id, CSRF: Token(c)}
	a, ok, err := h.Book.Hindering(c.Request().Context(), t.ID)
	if err != nil || !ok {
		return raise, err
	}
	raise.Cap = presentCap(a)
	raise.Words, raise.Until = a.Cap.Name(), untilWords(a)
	raise.Once, raise.Good = suggestOnce(a), suggestGood(a)
	return raise, nil
}

// stopped reads the conversation and the message at its end; CodeConflict when it has moved on.
func (h *Spending) stopped(c echo.Context) (agent.Thread, agent.ID, error) {
	t, err := openThread(c, h.Thread)
	if err != nil {
		return t, "", err
	}
	id, err := param(c, "message")
	if err != nil || id != t.Head {
		return t, "", agent.Errorf(agent.CodeConflict, "The conversation has moved on since this page was made. Reload to see how.")
	}
	return t, id, nil
}

func untilWords(a spend.Allowance) string {
	switch a.Cap {
	case spend.CapMonth:
		return "this month"
	case spend.CapThread:
		return "in this conversation"
	}
	return "today"
}

const (
	dollar agent.MicroDollars = 1_000_000
	cent   agent.MicroDollars = 10_000
)

// suggestOnce is a fifth of the cap, a dollar at the least.
func suggestOnce(a spend.Allowance) string { return plainDollars(max(a.Limit/5, dollar)) }

// suggestGood is twice the cap, and in any case more than is spent.
func suggestGood(a spend.Allowance) string { return plainDollars(max(2*a.Limit, a.Spent+a.Spent/2)) }

// plainDollars is an amount as it is typed, rounded up to cents.
func plainDollars(m agent.MicroDollars) string {
	return strconv.FormatFloat(float64((m+cent-1)/cent)/100, 'f', 2, 64)
}

// Raise answers POST /chat/{thread}/messages/{message}/spending: the cap is raised, once or for good, and the answer goes on.
func (h *Spending) Raise(c echo.Context) error {
	t, _, err := h.stopped(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := h.raise(c, t.ID); err != nil {
		return h.refusedRaise(c, err)
	}
	if _, err := h.Turns.Continue(ctx, t.ID); err != nil {
		return err
	}
	return done(c, chatPath(t.ID))
}

func (h *Spending) raise(c echo.Context, thread agent.ID) error {
	how, err := line(c, "how", 10)
	if err != nil {
		return err
	}
	much, err := amount(c, "amount")
	if err != nil {
		return err
	}
	switch how {
	case "once":
		return h.Book.Allow(c.Request().Context(), thread, much)
	case "good":
		return h.raiseForGood(c, thread, much)
	}
	return agent.Errorf(agent.CodeInvalid, "A cap is raised once or for good.")
}

// refusedRaise shows the form anew, with what was typed and why it was refused beside it.
func (h *Spending) refusedRaise(c echo.Context, cause error) error {
	if !theirs(cause) {
		return cause
	}
	raise, err := h.offer(c)
	if err != nil {
		return err
	}
	typed, err := line(c, "amount", 20)
	if err != nil {
		typed = ""
	}
	raise.Way, raise.Wrong = "once", agent.PublicOf(cause)
	if how, err := line(c, "how", 10); err == nil && how == "good" {
		raise.Way, raise.Good = "good", typed
	} else {
		raise.Once = typed
	}
	if ByHTMX(c) {
		return refusedInPlace(c, raise.ID(), components.RaiseCap(raise))
	}
	return h.raisePage(c, http.StatusUnprocessableEntity, raise)
}

// raiseForGood writes another cap into the settings: that which the answer reached.
func (h *Spending) raiseForGood(c echo.Context, thread agent.ID, much agent.MicroDollars) error {
	a, ok, err := h.Book.Hindering(c.Request().Context(), thread)
	if err != nil || !ok {
		return err
	}
	if much <= a.Limit || much+a.Raised <= a.Spent {
		return agent.Errorf(agent.CodeInvalid, "That is not more than %s has already: %s of %s is spent. Name a larger amount.", a.Cap.Name(), spend.Dollars(a.Spent), spend.Dollars(a.Allowed()))
	}
	key := map[spend.Cap]string{spend.CapDay: "spend.daily", spend.CapMonth: "spend.monthly", spend.CapThread: "spend.thread"}[a.Cap]
	_, err = h.Config.Edit(c.Request().Context(), "", []config.Change{{Key: key, Value: plainDollars(much)}})
	return err
}
