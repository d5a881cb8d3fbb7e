package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers/sse"
)

// maxFollowing bounds the streams of programs that are open at once.
const maxFollowing = 64

// TokenWatch tells streams that their token has ended.
type TokenWatch interface {
	// Watch returns a channel that is closed when the token is revoked.
	Watch(ctx context.Context, token agent.ID) <-chan struct{}
}

// ThreadEvents answers GET /threads/{id}/events.
func (h *API) ThreadEvents(c echo.Context) error {
	if _, err := readQuery(c, []apiParam{{name: "since", in: "query"}}); err != nil {
		return err
	}
	t, err := h.thread(c)
	if err != nil {
		return err
	}
	defer h.following.Add(-1)
	if h.following.Add(1) > maxFollowing {
		return &StatusError{Status: http.StatusTooManyRequests, Public: "Too many programs follow conversations at once. Close one of the streams first."}
	}
	ctx, done := h.whileUsable(c)
	defer done()
	since := lastSeen(c)
	if since == (agent.EventID{}) {
		since = h.Feed.Last()
	}
	out, err := sse.NewWriter(c.Response())
	if err != nil {
		return nil // the reader left before it began
	}
	for b := range h.Feed.Subscribe(ctx, t.ID, since) {
		if ctx.Err() != nil {
			return nil // its token has ended, or it left
		}
		if err := writeControl(out, b); err != nil {
			return nil // the reader left
		}
	}
	return nil
}

// whileUsable returns a context that ends with the caller's token.
func (h *API) whileUsable(c echo.Context) (context.Context, func()) {
	token := caller(c)
	ctx, cancel := context.WithCancel(c.Request().Context())
	if !token.Expires.IsZero() {
		end := time.AfterFunc(time.Until(token.Expires), cancel)
		context.AfterFunc(ctx, func() { end.Stop() })
	}
	ended := h.Watch.Watch(ctx, token.ID)
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
