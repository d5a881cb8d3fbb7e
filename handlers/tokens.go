package handlers

import (
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/views/pages"
)

// Tokens is Settings → Tokens: what programs may use the API.
type Tokens struct {
	*Frame
	Tokens ControlTokens
}

// tokenDays are the lifetimes that the form offers, in days; 0 is for ever.
func tokenDays() map[string]int { return map[string]int{"30": 30, "90": 90, "365": 365, "never": 0} }

// Show answers GET /settings/tokens.
func (h *Tokens) Show(c echo.Context) error {
	return h.show(c, http.StatusOK, pages.NewToken{Expires: "90"}, nil)
}

// Create answers POST /settings/tokens. Its answer is the one time that the secret is told.
func (h *Tokens) Create(c echo.Context) error {
	typed, problem := h.typed(c)
	if problem == nil {
		var made access.Token
		var secret access.Secret
		made, secret, problem = h.Tokens.Create(c.Request().Context(), access.NewToken{Name: typed.Name, Scopes: typed.Scopes, Expires: typed.At})
		if problem == nil {
			return h.show(c, http.StatusOK, pages.NewToken{Expires: "90"}, &pages.MadeToken{Name: made.Name, Secret: string(secret)})
		}
	}
	switch agent.CodeOf(problem) {
	case agent.CodeInvalid, agent.CodeConflict, agent.CodeExhausted:
	default:
		return problem
	}
	typed.Problem = agent.PublicOf(problem)
	return h.show(c, http.StatusUnprocessableEntity, typed.NewToken, nil)
}

// typedToken is what the form says.
type typedToken struct {
	pages.NewToken
	At time.Time // when it ends; zero: never
}

// typed reads the form of a new token. What could be read is returned with the error, too.
func (h *Tokens) typed(c echo.Context) (typedToken, error) {
	var out typedToken
	name, err := line(c, "name", 200)
	if err != nil {
		return out, err
	}
	out.Name, out.Scopes = agent.Clip(name, 200), c.Request().PostForm["scope"]
	if len(out.Scopes) > 2*len(access.Scopes()) {
		return out, agent.Errorf(agent.CodeInvalid, "Choose what the token is for among the scopes below.")
	}
	if out.Expires, err = line(c, "expires", 20); err != nil {
		return out, err
	}
	if out.Until, err = line(c, "until", 20); err != nil {
		return out, err
	}
	if out.Until != "" {
		day, err := time.ParseInLocation(time.DateOnly, out.Until, h.Zone)
		if err != nil {
			return out, agent.Errorf(agent.CodeInvalid, "The last day is a date such as %s.", h.Now().In(h.Zone).AddDate(0, 1, 0).Format(time.DateOnly))
		}
		out.At = day.AddDate(0, 0, 1)
		return out, nil
	}
	days, ok := tokenDays()[out.Expires]
	if !ok {
		return out, agent.Errorf(agent.CodeInvalid, "Choose how long the token is to work.")
	}
	if days > 0 {
		out.At = h.Now().AddDate(0, 0, days)
	}
	return out, nil
}

// Revoke answers POST /settings/tokens/{token}/revoke.
func (h *Tokens) Revoke(c echo.Context) error {
	id, err := param(c, "token")
	if err != nil {
		return err
	}
	if yes, err := h.sureOf(c, id); err != nil || !yes {
		return err
	}
	if _, err := h.Tokens.Revoke(c.Request().Context(), string(id)); err != nil {
		return err
	}
	if !ByHTMX(c) {
		return see(c, "/settings/tokens")
	}
	return h.show(c, http.StatusOK, pages.NewToken{Expires: "90"}, nil)
}

// sureOf asks once more about a token that works. Others are for Revoke to answer.
func (h *Tokens) sureOf(c echo.Context, id agent.ID) (bool, error) {
	list, err := h.Tokens.List(c.Request().Context())
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(list, func(t access.Token) bool { return t.ID == id && t.Revoked.IsZero() })
	if i < 0 {
		return true, nil
	}
	return h.sure(c, pages.Sure{
		Question: "Revoke " + visible(list[i].Name) + "?", Means: "What uses it is refused from now on, for good.", Yes: "Revoke", Back: "/settings/tokens",
	})
}

// show answers with the page, or the part of it that a change replaces.
func (h *Tokens) show(c echo.Context, status int, form pages.NewToken, made *pages.MadeToken) error {
	frame, err := h.settings(c, "tokens", "Tokens")
	if err != nil {
		return err
	}
	list, err := h.Tokens.List(c.Request().Context())
	if err != nil {
		return err
	}
	page := pages.Tokens{SettingsFrame: frame, New: form, Made: made}
	for _, s := range access.Scopes() {
		page.Scopes = append(page.Scopes, pages.Choice{Value: string(s), Title: scopePurpose(s)})
	}
	now := h.Now()
	for _, t := range list {
		shown := h.presentToken(t, now)
		if t.Revoked.IsZero() {
			page.Tokens = append(page.Tokens, shown)
		} else if len(page.Ended) < endedTokens {
			page.Ended = append(page.Ended, shown)
		}
	}
	switch {
	case !ByHTMX(c):
		return render(c, status, page.Show())
	case form.Problem != "":
		return render(c, status, page.Part(), pages.Announced(form.Problem))
	}
	return render(c, status, page.Part())
}

// endedTokens bounds the revoked tokens that are shown, the newest first.
const endedTokens = 50

func (h *Tokens) presentToken(t access.Token, now time.Time) pages.Token {
	in := func(at time.Time) time.Time {
		if at.IsZero() {
			return at
		}
		return at.In(h.Zone)
	}
	out := pages.Token{
		ID: t.ID, Name: t.Name, Hint: t.Hint, Created: in(t.Created), Used: in(t.Used), Expires: in(t.Expires), Revoked: in(t.Revoked),
		Over: !t.Expires.IsZero() && !now.Before(t.Expires),
	}
	for _, s := range t.Scopes {
		out.Scopes = append(out.Scopes, string(s))
	}
	return out
}

// scopePurpose says what a scope lets a program do.
func scopePurpose(s access.Scope) string {
	switch s {
	case access.ScopeRead:
		return "read memory and conversations, change nothing"
	case access.ScopeChat:
		return "write messages, and read their answers"
	case access.ScopeMemory:
		return "read and change memory"
	case access.ScopeAdmin:
		return "everything you can do yourself"
	}
	return ""
}
