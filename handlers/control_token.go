package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
)

// ControlTokens is what the command line asks of the tokens of programs.
type ControlTokens interface {
	Create(ctx context.Context, n access.NewToken) (access.Token, access.Secret, error)
	List(ctx context.Context) ([]access.Token, error)
	Revoke(ctx context.Context, idOrName string) (access.Token, error)
}

// The wire forms of tokens.
type (
	// ControlToken is a token.
	ControlToken struct {
		ID      agent.ID       `json:"id"`
		Name    string         `json:"name"`
		Hint    string         `json:"hint"` // how its secret begins
		Scopes  []access.Scope `json:"scopes"`
		Created time.Time      `json:"created"`
		Used    time.Time      `json:"used,omitzero"`
		Expires time.Time      `json:"expires,omitzero"`
		Revoked time.Time      `json:"revoked,omitzero"`
		Secret  string         `json:"token,omitempty"` // of one that was made in this instant
	}
	// ControlNewToken is a token to make.
	ControlNewToken struct {
		Name    string    `json:"name"`
		Scopes  []string  `json:"scopes"`
		Expires time.Time `json:"expires,omitzero"`
	}
	// ControlRevoke names a token to revoke.
	ControlRevoke struct {
		Token string `json:"token"` // id or name
	}
)

func controlToken(t access.Token) ControlToken {
	return ControlToken{ID: t.ID, Name: t.Name, Hint: t.Hint, Scopes: t.Scopes, Created: t.Created, Used: t.Used, Expires: t.Expires, Revoked: t.Revoked}
}

// tokens adds the routes of tokens to g.
func (h Control) tokens(g *echo.Group) {
	if h.Tokens == nil {
		return
	}
	g.GET("/tokens", h.tokenList)
	g.POST("/tokens", h.tokenNew)
	g.POST("/tokens/revoke", h.tokenRevoke)
}

// tokenList answers GET /tokens.
func (h Control) tokenList(c echo.Context) error {
	list, err := h.Tokens.List(c.Request().Context())
	if err != nil {
		return err
	}
	out := make([]ControlToken, 0, len(list))
	for _, t := range list {
		out = append(out, controlToken(t))
	}
	return c.JSON(http.StatusOK, out)
}

// tokenNew answers POST /tokens. This is the one time that the secret is told.
func (h Control) tokenNew(c echo.Context) error {
	var in ControlNewToken
	if err := readControl(c, &in); err != nil {
		return err
	}
	t, secret, err := h.Tokens.Create(c.Request().Context(), access.NewToken{Name: in.Name, Scopes: in.Scopes, Expires: in.Expires})
	if err != nil {
		return err
	}
	out := controlToken(t)
	out.Secret = string(secret)
	return c.JSON(http.StatusCreated, out)
}

// tokenRevoke answers POST /tokens/revoke.
func (h Control) tokenRevoke(c echo.Context) error {
	var in ControlRevoke
	if err := readControl(c, &in); err != nil {
		return err
	}
	t, err := h.Tokens.Revoke(c.Request().Context(), in.Token)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, controlToken(t))
}
