package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers"
)

// statusOf is the one table from code to status.
func statusOf(code agent.Code) int {
	switch code {
	case agent.CodeInvalid:
		return http.StatusUnprocessableEntity
	case agent.CodeNotFound:
		return http.StatusNotFound
	case agent.CodeConflict:
		return http.StatusConflict
	case agent.CodeDenied:
		return http.StatusForbidden
	case agent.CodeLocked:
		return http.StatusLocked
	case agent.CodeUnavailable:
		return http.StatusServiceUnavailable
	case agent.CodeExhausted:
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// problemOf says what a failed request is answered with. Errors of the server
// library (no such route, body too large) keep their status and get our words.
func problemOf(err error) handlers.Problem {
	var (
		public *agent.Error
		big    *http.MaxBytesError
		lib    *echo.HTTPError
		api    *handlers.StatusError
	)
	switch {
	case errors.As(err, &api):
		return api.Problem()
	case errors.As(err, &public):
	case errors.As(err, &big):
		return handlers.TooLarge(big.Limit)
	case errors.As(err, &lib):
		return problemOfStatus(lib.Code)
	}
	code := agent.CodeOf(err)
	return handlers.Problem{Status: statusOf(code), Code: code, Public: agent.PublicOf(err)}
}

func problemOfStatus(status int) handlers.Problem {
	switch status {
	case http.StatusNotFound:
		return handlers.Problem{Status: status, Code: agent.CodeNotFound, Public: "There is no such page."}
	case http.StatusMethodNotAllowed:
		return handlers.Problem{Status: status, Code: agent.CodeInvalid, Public: "That cannot be done at this address."}
	case http.StatusServiceUnavailable:
		return handlers.Problem{Status: status, Code: agent.CodeUnavailable, Public: "That took too long. Try again."}
	}
	if status >= 400 && status < 500 {
		return handlers.Problem{Status: status, Code: agent.CodeInvalid, Public: http.StatusText(status) + "."}
	}
	return handlers.Problem{Status: http.StatusInternalServerError, Code: agent.CodeInternal, Public: agent.PublicOf(nil)}
}

// fail answers a request whose handler returned err. It is Echo's error
// handler, and the only place where an error becomes a response.
func (s *Server) fail(err error, c echo.Context) {
	p := problemOf(err)
	p.RequestID = handlers.RequestID(c)
	ctx := c.Request().Context()
	gone := errors.Is(err, context.Canceled) && ctx.Err() != nil
	level := slog.LevelDebug
	if p.Status >= 500 && !gone {
		level = slog.LevelError
	}
	s.log.LogAttrs(ctx, level, "request failed",
		slog.String("request", p.RequestID), slog.String("route", c.Path()),
		slog.Int("status", p.Status), slog.String("error", err.Error()))
	if c.Response().Committed || gone {
		return
	}
	if c.Request().Method == http.MethodHead {
		err = c.NoContent(p.Status)
	} else if handlers.IsAPI(c) {
		err = handlers.FailAPI(c, p)
	} else {
		err = s.problem(c, p)
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelDebug, "answer not sent", slog.String("request", p.RequestID), slog.String("error", err.Error()))
	}
}
