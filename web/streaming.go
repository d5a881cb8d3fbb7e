package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers"
)

// streaming lets a response stay open: no deadline on the connection, and a context that ends when the server stops and
// the stream has not ended by then, and, with handlers.ErrSignedOut, as soon as its reader may no longer come in.
func (s *Server) streaming(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		ctl := http.NewResponseController(c.Response())
		if err := errors.Join(ctl.SetReadDeadline(time.Time{}), ctl.SetWriteDeadline(time.Time{})); err != nil {
			return agent.Wrap(agent.CodeInternal, err, "A stream could not be opened on this connection.")
		}
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		defer context.AfterFunc(s.open, func() { cancel(nil) })()
		if !fromSocket(r) && !handlers.ByToken(c) { // the API watches over its tokens itself
			x, err := s.watch(ctx, c)
			if err != nil {
				return err
			}
			go x.watch(ctx, cancel) // it ends with ctx
		}
		c.SetRequest(r.WithContext(ctx))
		defer c.SetRequest(r)
		return next(c)
	}
}

// reader is who reads a stream.
type reader struct {
	server   *Server
	request  *http.Request // as it arrived
	visitor  handlers.Visitor
	ended    <-chan struct{} // its device is signed out; nil where there is none
	changing <-chan struct{} // the admission changes
}

// watch begins to watch over the reader of a stream, and then looks once more whether it may come in, so that nothing falls in between.
func (s *Server) watch(ctx context.Context, c echo.Context) (*reader, error) {
	x := &reader{server: s, request: c.Request(), visitor: handlers.VisitorOf(c), changing: s.changing()}
	if id := x.visitor.Device.ID; id != "" {
		x.ended = s.doors.Watch(ctx, id)
	}
	if !x.stays() {
		return nil, errNotSignedIn(c)
	}
	return x, nil
}

// watch ends the stream when its reader may no longer come in.
func (x *reader) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	var over <-chan time.Time
	if until := x.visitor.Device.Expires; !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-over: // the page asks for the stream again, and learns whether the device was used meanwhile
			cancel(nil)
			return
		case <-x.ended:
			cancel(handlers.ErrSignedOut)
			return
		case <-x.changing:
			x.changing = x.server.changing()
			if !x.stays() {
				cancel(handlers.ErrSignedOut)
				return
			}
		}
	}
}

// stays reports whether the reader may still come in after the admission changed.
func (x *reader) stays() bool {
	now := handlers.Visitor{Here: x.visitor.Here, Device: x.visitor.Device}
	now.Login, _ = tailscaleLogin(x.request, x.server.admission())
	return x.server.lets(now)
}
