package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers"
)

// idLength is how many characters of 5 bits name a request. Every line of the log is searched for secrets, and the
// shortest of them has 14: a longer id would be looked at each time, and now and then be taken for the beginning of a key.
const idLength = 12

// identify gives the request an id of our own making; one sent by the client
// is not believed.
func identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := rand.Text()[:idLength]
		handlers.SetRequestID(c, id)
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		return next(c)
	}
}

// access writes one line for each request, what only reads at level debug: the route
// rather than the address, and never a query, which may hold what was searched for.
func access(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := time.Now()
			if err := next(c); err != nil {
				c.Error(err) // answered here, so that the line has the status
			}
			r := c.Request()
			level := slog.LevelDebug
			switch {
			case c.Response().Status >= 500:
				level = slog.LevelWarn
			case !safe(r.Method):
				level = slog.LevelInfo
			}
			log.LogAttrs(r.Context(), level, "request",
				slog.String("request", handlers.RequestID(c)),
				slog.String("method", r.Method),
				slog.String("route", c.Path()),
				slog.Int("status", c.Response().Status),
				slog.Int64("bytes", c.Response().Size),
				slog.Duration("took", time.Since(start)))
			return nil
		}
	}
}

// recovering turns a panic into an error of the request, and logs where.
func recovering(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) (err error) {
			defer func() {
				p := recover()
				if p == nil {
					return
				}
				if abort, ok := p.(error); ok && errors.Is(abort, http.ErrAbortHandler) {
					panic(p) // the way to break a connection off on purpose
				}
				log.LogAttrs(c.Request().Context(), slog.LevelError, "panic",
					slog.String("request", handlers.RequestID(c)),
					slog.String("route", c.Path()),
					slog.Any("panic", p),
					slog.String("stack", string(debug.Stack())))
				err = agent.Wrap(agent.CodeInternal, fmt.Errorf("panic: %v", p), "%s", agent.PublicOf(nil))
			}()
			return next(c)
		}
	}
}
