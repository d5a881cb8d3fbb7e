package handlers

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// Markdown makes safe HTML. prefix begins the ids in it, so that two texts on a
// page never clash.
type Markdown interface {
	HTML(prefix, source string) string
}

// Frame is what every page needs: the handlers of all resources share one.
type Frame struct {
	Markdown Markdown
	Reader   agent.Reader
	Settings func() config.Config // as they are now
	Latest   func() agent.EventID // the newest event; pages tell the stream where to begin
	Now      func() time.Time
	Zone     *time.Location // of the times shown
}

// page fills the document's frame. stream is the address of the page's event
// stream without since, "" for none. The newest event is read by the caller before
// the store, in since, so that nothing falls between page and stream.
func (f *Frame) page(c echo.Context, title string, section layouts.Section, stream string, since agent.EventID) (layouts.Page, error) {
	p := layouts.Page{Title: title, Section: section, Theme: f.theme(), CSRF: Token(c)}
	waiting, err := f.waiting(c.Request().Context())
	if err != nil {
		return p, err
	}
	p.Waiting = waiting
	if stream != "" {
		p.Stream = stream + "?since=" + since.String()
	}
	return p, nil
}

// plain is page for pages that show no conversation.
func (f *Frame) plain(c echo.Context, title string, section layouts.Section) (layouts.Page, error) {
	return f.page(c, title, section, "/events", f.Latest())
}

func (f *Frame) theme() layouts.Theme { return layouts.Theme(f.Settings().Appearance.Theme) }

// waiting counts the approvals that wait in conversations of late. One that has
// waited behind two hundred newer conversations is found in its place.
func (f *Frame) waiting(ctx context.Context) (int, error) {
	rows, _, err := f.Reader.Threads(ctx, agent.ThreadFilter{Limit: 200})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range rows {
		n += r.Waiting
	}
	return n, nil
}

// present returns the maker of views' structs for this request.
func (f *Frame) present(c echo.Context) presenter {
	return presenter{markdown: f.Markdown, zone: f.Zone, token: Token(c), model: defaultModel(f.Settings())}
}

// render writes components as one answer. They are rendered whole first, so
// that a failure halfway is still an error page.
func render(c echo.Context, status int, parts ...templ.Component) error {
	var b bytes.Buffer
	for _, p := range parts {
		if err := p.Render(c.Request().Context(), &b); err != nil {
			return agent.Wrap(agent.CodeInternal, err, "%s", agent.PublicOf(nil))
		}
	}
	return c.HTMLBlob(status, b.Bytes())
}

// Problem answers a failed request: with JSON to a program that asked for it, with
// a notice to htmx, with a page to everybody else.
func (f *Frame) Problem(c echo.Context, p Problem) error {
	if wantsJSON(c.Request()) {
		return c.JSON(p.Status, map[string]string{"code": string(p.Code), "error": p.Public, "request": p.RequestID})
	}
	failure := components.Failed(agent.Failure{Code: p.Code, Public: p.Public})
	if ByHTMX(c) {
		c.Response().Header().Set("HX-Reswap", "none") // the notice addresses its place itself
		return render(c, p.Status, components.ErrorFragment(failure))
	}
	page := layouts.Page{Title: http.StatusText(p.Status), Theme: f.theme(), CSRF: Token(c)}
	return render(c, p.Status, pages.Failure{Page: page, Status: p.Status, Public: p.Public, Trace: p.RequestID}.Show())
}

// wantsJSON reports whether the client prefers JSON: it names it and not HTML.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// done answers a change that the event stream brings to the page: with nothing
// to htmx, with a redirect to a page without it.
func done(c echo.Context, path string) error {
	if ByHTMX(c) {
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect(http.StatusSeeOther, path)
}
