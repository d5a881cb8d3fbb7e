package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers"
)

// Routes are the parts that answer.
type Routes struct {
	Problem func(echo.Context, handlers.Problem) error // how a failed request is shown
	Events  echo.HandlerFunc                           // the event stream of a thread
	Home    echo.HandlerFunc                           // the event stream of pages without a thread
	Control func(*echo.Group)                          // registers what the unix socket serves, below /control
	Assets  http.Handler                               // the embedded files, below /static
}

// kind says which middleware a route gets besides that of every request.
type kind int

const (
	open   kind = iota // no session: health and embedded files
	page               // pages and forms
	upload             // forms with files
	slow               // handlers that wait for a model server
	stream             // stays open
)

type route struct {
	method, path string
	kind         kind
	handle       echo.HandlerFunc
}

// table is every route there is over TCP.
func (s *Server) table(r Routes) []route {
	return []route{
		{http.MethodGet, "/healthz", open, healthz},
		{http.MethodGet, "/readyz", open, s.readyz},
		{http.MethodGet, "/static/*", open, echo.WrapHandler(r.Assets)},
	}
}

// register puts the table and the socket's group into Echo.
func (s *Server) register(r Routes, table []route) {
	form := func(limit int64, more ...echo.MiddlewareFunc) []echo.MiddlewareFunc {
		return append([]echo.MiddlewareFunc{limitBody(limit), compress(), s.sessions.open, guardForms}, more...)
	}
	stacks := map[kind][]echo.MiddlewareFunc{
		open:   nil,
		page:   form(maxForm, within(pageTimeout)),
		upload: form(maxUpload, within(slowTimeout)),
		slow:   form(maxForm, within(slowTimeout)),
		stream: {limitBody(0), s.sessions.open, s.streaming},
	}
	for _, x := range table {
		s.echo.Add(x.method, x.path, x.handle, stacks[x.kind]...)
	}
	s.echo.RouteNotFound("/*", func(echo.Context) error { return echo.ErrNotFound }, stacks[page]...)
	if r.Control != nil {
		r.Control(s.echo.Group("/control", socketOnly, limitBody(maxForm)))
	}
}

// socketOnly hides what belongs to the command line from everything but the socket.
func socketOnly(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !fromSocket(c.Request()) {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// healthz says that the process answers.
func healthz(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// readyz says whether Ash can work, and if not, why.
func (s *Server) readyz(c echo.Context) error {
	if s.ready != nil {
		if err := s.ready(c.Request().Context()); err != nil {
			return c.String(http.StatusServiceUnavailable, agent.PublicOf(err)+"\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}
