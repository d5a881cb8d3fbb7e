package web

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// Bounds of a request (threats.md 15).
const (
	maxHeader     = 64 << 10          // bytes, all headers together
	maxForm       = 1 << 20           // bytes, a form's body
	maxDoor       = 16 << 10          // bytes, a form of the doors: strangers send them
	maxAPI        = 64 << 10          // bytes, a body of the API
	maxFile       = 25 << 20          // bytes, one attachment
	maxUpload     = maxFile + 512<<10 // bytes, an upload's body: the file and what is around it
	maxDrain      = 64 << 20          // bytes of a refused body that are thrown away so that the answer is read
	drainTimeout  = time.Minute
	headerTimeout = 10 * time.Second
	ioTimeout     = 3 * time.Minute // to read a request, and to write an answer that is no stream
	idleTimeout   = 2 * time.Minute
	pageTimeout   = 30 * time.Second
	slowTimeout   = 2 * time.Minute // handlers that wait for a model server
)

// limitBody bounds the body to n bytes. A larger one is refused with CodeInvalid in words, at once and without a look at it. Then what the browser
// still sends is thrown away, within maxDrain and drainTimeout: browsers read an answer only after they have sent everything.
func limitBody(n int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if r.ContentLength <= n {
				r.Body = http.MaxBytesReader(c.Response(), r.Body, n)
				return next(c)
			}
			c.Response().Header().Set("Connection", "close")
			refusal := &http.MaxBytesError{Limit: n}
			if r.ContentLength > maxDrain || r.Header.Get("Expect") != "" { // who asks before sending is told not to
				return refusal
			}
			control := http.NewResponseController(c.Response())
			if control.EnableFullDuplex() != nil { // else the first word of the answer would wait for the last of the body
				return refusal
			}
			answerWhole(c, refusal)
			if control.Flush() == nil && control.SetReadDeadline(time.Now().Add(drainTimeout)) == nil {
				_, _ = io.Copy(io.Discard, r.Body) // whatever becomes of it: it was refused
			}
			return nil
		}
	}
}

// answerWhole answers with an error, and with a length: so who reads knows the end of the answer before the handler has one.
func answerWhole(c echo.Context, err error) {
	out := c.Response().Writer
	whole := &held{ResponseWriter: out, status: http.StatusOK}
	c.Response().Writer = whole
	c.Error(err)
	c.Response().Writer = out
	out.Header().Set("Content-Length", strconv.Itoa(whole.body.Len()))
	out.WriteHeader(whole.status)
	_, _ = out.Write(whole.body.Bytes()) // who does not hear it has gone
}

// held keeps an answer back.
type held struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (h *held) WriteHeader(status int) { h.status = status }

// Write implements http.ResponseWriter.
func (h *held) Write(p []byte) (int, error) { return h.body.Write(p) }

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
