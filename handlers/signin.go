package handlers

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// SignIn is where a device comes in: by the passphrase, or paired from a screen that is signed in. Its pages are open to strangers, so
// they say nothing of the person or of what there is.
type SignIn struct {
	*Frame
	Doors DoorWay
}

// DoorWay is what strangers reach of the doors. Its place is package access.
type DoorWay interface {
	// SignIn lets in whoever knows the passphrase. *access.Refused for a wrong one, and for one that is not looked at yet.
	SignIn(ctx context.Context, passphrase []byte, a access.Arrival) (access.Device, access.Secret, error)
	// Claim takes up an offer. *access.Refused for a code that is wrong, over or used, and for one that is not looked at yet.
	Claim(ctx context.Context, codeOrLink string, a access.Arrival) (access.Claim, access.Secret, error)
	// Collect turns a claim into a device once it was confirmed: *access.Unconfirmed before, CodeDenied for one that is over.
	Collect(ctx context.Context, claim access.Secret, from netip.Addr) (access.Device, access.Secret, error)
	// SignOut ends a device's session.
	SignOut(ctx context.Context, device agent.ID) error
}

// Show answers GET /sign-in?back=.
func (h *SignIn) Show(c echo.Context) error {
	back := LocalPath(c.QueryParam("back"))
	if VisitorOf(c).SignedIn() {
		return c.Redirect(http.StatusSeeOther, back)
	}
	return h.form(c, http.StatusOK, back, "")
}

func (h *SignIn) form(c echo.Context, status int, back, problem string) error {
	return render(c, status, pages.SignIn{Page: h.bare(c, "Sign in"), Back: back, Problem: problem, Again: c.QueryParam("signed-out") != ""}.Show())
}

// bare is the frame of a page for somebody who is not in.
func (f *Frame) bare(c echo.Context, title string) layouts.Page {
	return layouts.Page{Title: title, Theme: f.theme(), CSRF: Token(c), Bare: true}
}

// SignIn answers POST /sign-in: passphrase, back.
func (h *SignIn) SignIn(c echo.Context) error {
	back, err := text(c, "back")
	if err != nil {
		return err
	}
	back = LocalPath(back)
	passphrase := []byte(c.Request().PostForm.Get("passphrase"))
	defer clear(passphrase)
	if len(passphrase) == 0 {
		return h.form(c, http.StatusUnprocessableEntity, back, "Type the passphrase of this Ash.")
	}
	_, secret, err := h.Doors.SignIn(c.Request().Context(), passphrase, arrival(c, ""))
	var refused *access.Refused
	switch {
	case errors.As(err, &refused):
		status, words := refusal(c, refused, "That is not the passphrase.")
		return h.form(c, status, back, words)
	case agent.CodeOf(err) == agent.CodeInvalid:
		return h.form(c, http.StatusUnprocessableEntity, back, agent.PublicOf(err))
	case err != nil:
		return err
	}
	if err := keep(c, secret); err != nil {
		return err
	}
	return see(c, back)
}

// keep signs the browser in, under a session that nobody knew before.
func keep(c echo.Context, secret access.Secret) error {
	k, err := keeperOf(c)
	if err != nil {
		return err
	}
	return k.Keep(c, secret)
}

// refusal is how an attempt that failed is answered: wrong is said of what was looked at. What was not is 429, with when it will be.
func refusal(c echo.Context, r *access.Refused, wrong string) (status int, words string) {
	if r.Wait > 0 {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(r.Wait.Seconds()))))
	}
	switch {
	case !r.Looked:
		return http.StatusTooManyRequests, "There were too many attempts, so this one was not looked at. Try again in " + span(r.Wait) + "."
	case r.Wait > 0:
		return http.StatusUnauthorized, wrong + " The next attempt counts in " + span(r.Wait) + "."
	}
	return http.StatusUnauthorized, wrong
}

// span says a wait in words, rounded up.
func span(d time.Duration) string {
	switch {
	case d <= time.Minute:
		return components.Plural(max(1, int(math.Ceil(d.Seconds()))), "second", "seconds")
	case d <= time.Hour:
		return components.Plural(int(math.Ceil(d.Minutes())), "minute", "minutes")
	}
	return components.Plural(int(math.Ceil(d.Hours())), "hour", "hours")
}

// SignOut answers POST /sign-out: this device leaves.
func (h *SignIn) SignOut(c echo.Context) error {
	k, err := keeperOf(c)
	if err != nil {
		return err
	}
	if id := VisitorOf(c).Device.ID; id != "" {
		if err := h.Doors.SignOut(c.Request().Context(), id); err != nil && agent.CodeOf(err) != agent.CodeNotFound {
			return err
		}
	}
	if err := k.Drop(c); err != nil {
		return err
	}
	return see(c, "/sign-in")
}

// PairForm answers GET /pair and GET /pair/{link}: the device says what it is called. Opening a link does nothing by itself, so that a
// camera or a messenger that looks at it first does not use it up.
func (h *SignIn) PairForm(c echo.Context) error {
	return h.pairForm(c, http.StatusOK, pages.Pair{Link: cut(c.Param("link"), maxCode), Name: access.AgentName(c.Request().UserAgent())})
}

func (h *SignIn) pairForm(c echo.Context, status int, p pages.Pair) error {
	p.Page = h.bare(c, "Pair this device")
	return render(c, status, p.Show())
}

// maxCode bounds what is taken for a code or a link, in bytes.
const maxCode = 200

func cut(s string, n int) string { return s[:min(n, len(s))] }

// Pair answers POST /pair: code or link, name.
func (h *SignIn) Pair(c echo.Context) error {
	k, err := keeperOf(c)
	if err != nil {
		return err
	}
	given := pages.Pair{}
	for field, into := range map[string]*string{"link": &given.Link, "code": &given.Code, "name": &given.Name} {
		if *into, err = line(c, field, maxCode); err != nil {
			return err
		}
	}
	code := given.Link
	if code == "" {
		code = given.Code
	}
	if code == "" {
		given.Problem = "Type the code that the other screen shows."
		return h.pairForm(c, http.StatusUnprocessableEntity, given)
	}
	claim, secret, err := h.Doors.Claim(c.Request().Context(), code, arrival(c, given.Name))
	var refused *access.Refused
	if errors.As(err, &refused) {
		var status int
		status, given.Problem = refusal(c, refused, "That code does not work: it was mistyped, used, or is older than two minutes. Show a new one on the other screen.")
		if refused.Looked {
			given.Link = "" // a link that failed once fails again: the code can be typed
		}
		return h.pairForm(c, status, given)
	}
	if err != nil {
		return err
	}
	if err := k.KeepClaim(c, secret, claim.Check); err != nil {
		return err
	}
	return see(c, "/pair/wait")
}

// Wait answers GET /pair/wait: what the device shows until the other screen has said yes.
func (h *SignIn) Wait(c echo.Context) error { return h.wait(c, false) }

// Collect answers POST /pair/wait: the device asks whether the other screen has said yes.
func (h *SignIn) Collect(c echo.Context) error { return h.wait(c, true) }

// wait shows how far the pairing is; with collect, a confirmed one becomes a session.
func (h *SignIn) wait(c echo.Context, collect bool) error {
	k, err := keeperOf(c)
	if err != nil {
		return err
	}
	claim, check := k.Claim(c)
	if claim == "" {
		if VisitorOf(c).SignedIn() {
			return see(c, "/chat")
		}
		return see(c, "/pair")
	}
	page := pages.PairWait{Page: h.bare(c, "Pair this device"), Check: check}
	if !collect {
		return render(c, http.StatusOK, page.Show())
	}
	_, secret, err := h.Doors.Collect(c.Request().Context(), claim, VisitorOf(c).From)
	var waiting *access.Unconfirmed
	switch {
	case errors.As(err, &waiting):
		page.Name = waiting.Claim.Name
	case agent.CodeOf(err) == agent.CodeDenied:
		page.Problem = agent.PublicOf(err)
		if err := k.KeepClaim(c, "", ""); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := errors.Join(k.KeepClaim(c, "", ""), k.Keep(c, secret)); err != nil {
			return err
		}
		return see(c, "/chat")
	}
	if ByHTMX(c) {
		return render(c, http.StatusOK, page.State())
	}
	return render(c, http.StatusOK, page.Show())
}
