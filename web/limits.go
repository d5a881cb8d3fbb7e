package web

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
)

// Bounds of a request (threats.md 15).
const (
	maxHeader     = 64 << 10          // bytes, all headers together
	maxForm       = 1 << 20           // bytes, a form's body
	maxDoor       = 16 << 10          // bytes, a form of the doors: strangers send them
	maxAPI        = 64 << 10          // bytes, a body of the API
	maxFile       = 25 << 20          // bytes, one attachment
	maxUpload     = maxFile + 512<<10 // bytes, an upload's body: the file and what is around it
	maxDrain      = 64 << 20          // bytes of a refused body that are read so that the answer arrives
	headerTimeout = 10 * time.Second
	ioTimeout     = 3 * time.Minute // to read a request, and to write an answer that is no stream
	idleTimeout   = 2 * time.Minute
	pageTimeout   = 30 * time.Second
	slowTimeout   = 2 * time.Minute // handlers that wait for a model server
)

// limitBody bounds the body to n bytes. A larger one is refused with
// CodeInvalid in words; it is read to its end (within maxDrain) first, because
// a browser that is still sending does not see an answer.
func limitBody(n int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if r.ContentLength <= n {
				r.Body = http.MaxBytesReader(c.Response(), r.Body, n)
				return next(c)
			}
			if r.ContentLength <= maxDrain {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return agent.Wrap(agent.CodeUnavailable, err, "The connection broke while sending.")
				}
			}
			return &http.MaxBytesError{Limit: n}
		}
	}
}

// within bounds the time a handler has. Unlike a timeout that answers in the
// handler's stead it buffers nothing: the context ends, and the handler says so.
func within(d time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			ctx, cancel := context.WithTimeout(r.Context(), d)
			defer cancel()
			c.SetRequest(r.WithContext(ctx))
			defer c.SetRequest(r) // an error is answered after this, and needs a context that has not ended
			return next(c)
		}
	}
}
