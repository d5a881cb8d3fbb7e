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
	"ash/agent/memory/archive"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// Markdown makes safe HTML. prefix begins the ids in it, so that two texts on a
// page never clash.
type Markdown interface {
	HTML(prefix, source string) string
}

// Reader is what pages read of conversations and of what tools did in them.
type Reader interface {
	agent.Reader
	TalkReader
	Call(ctx context.Context, id agent.ID) (agent.ToolCall, error)
	// HelperThread returns the thread of the helper that a call began; CodeNotFound when it began none.
	HelperThread(ctx context.Context, call agent.ID) (agent.Thread, error)
	// WaitingCalls returns the calls that wait for the person anywhere, the oldest first, at most limit.
	WaitingCalls(ctx context.Context, limit int) ([]agent.ToolCall, error)
	// CountWaiting counts them.
	CountWaiting(ctx context.Context) (int, error)
}

// TalkReader reads what is shown of a conversation beside its messages.
type TalkReader interface {
	Summary(ctx context.Context, thread agent.ID) (agent.ThreadSummary, error)
	// Voices returns who said messages, and when, as an import has it. It leaves out what was said here.
	Voices(ctx context.Context, messages []agent.ID) (map[agent.ID]archive.Voice, error)
}

// Undoer takes back what a finished call changed.
type Undoer interface {
	// Undo is CodeConflict when what the call wrote has changed since.
	Undo(ctx context.Context, call agent.ID) error
	Undoable(ctx context.Context, call agent.ID) bool
}

// Redoer is an Undoer that knows what was taken back: Undo then brings it again.
type Redoer interface {
	Undone(ctx context.Context, call agent.ID) bool
}

// Frame is what every page needs: the handlers of all resources share one.
type Frame struct {
	Markdown Markdown
	Reader   Reader
	Undoer   Undoer               // nil: nothing that tools changed can be taken back
	Settings func() config.Config // as they are now
	Latest   func() agent.EventID // the newest event; pages tell the stream where to begin
	// Proposals counts the changes of memory that wait for the person; nil: there is no memory.
	Proposals func(ctx context.Context) (int, error)
	Keys      *KeyKeeper // nil: a failed answer is not helped with keys
	// Lock tells every page how the vault is; nil: there is none.
	Lock func(ctx context.Context) (components.VaultMark, error)
	Now  func() time.Time
	Zone *time.Location // of the times shown
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
	if f.Lock != nil {
		if p.Lock, err = f.Lock(c.Request().Context()); err != nil {
			return p, err
		}
	}
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

// waiting counts what waits for the person anywhere: approvals, questions, changes of memory.
func (f *Frame) waiting(ctx context.Context) (int, error) {
	n, err := f.Reader.CountWaiting(ctx)
	if err != nil || f.Proposals == nil {
		return n, err
	}
	proposals, err := f.Proposals(ctx)
	return n + proposals, err
}

// present returns the maker of views' structs for this request.
func (f *Frame) present(c echo.Context) presenter {
	p := presenter{
		markdown: f.Markdown, zone: f.Zone, token: Token(c), model: defaultModel(f.Settings()),
		helpers: helpers{ctx: c.Request().Context(), reader: f.Reader, undoer: f.Undoer},
	}
	if f.Keys != nil {
		p.help = func(m *components.Message, n agent.Message) { f.help(c.Request().Context(), m, n, Token(c)) }
		p.unlock = func(call agent.ToolCall) *components.Unlock {
			return f.Keys.unlock(c.Request().Context(), call, Token(c))
		}
	}
	return p
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

// refusedInPlace answers a refused form with the form, and what was wrong in it. id is of the page's making and needs no quotes.
func refusedInPlace(c echo.Context, id string, form templ.Component) error {
	return refusedAs(c, http.StatusUnprocessableEntity, id, form)
}

// refusedStatus is what a form is answered with that cannot be taken.
func refusedStatus(cause error) int {
	if agent.CodeOf(cause) == agent.CodeConflict {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

func refusedAs(c echo.Context, status int, id string, form templ.Component) error {
	c.Response().Header().Set("HX-Reswap", "none") // the fragment addresses its place itself; of other refusals pages show no content
	return render(c, status, components.StreamComponent(id, components.SwapReplace, form))
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
	if p.Status == http.StatusUnauthorized { // a stranger: nothing of the house is shown
		if !strings.Contains(c.Request().Header.Get(echo.HeaderAccept), "text/html") {
			return c.String(p.Status, p.Public+"\n")
		}
		return render(c, p.Status, pages.NotSignedIn{Page: f.bare(c, "Not signed in"), Public: p.Public}.Show())
	}
	page := layouts.Page{Title: http.StatusText(p.Status), Theme: f.theme(), CSRF: Token(c)}
	failed := pages.Failure{Page: page, Status: p.Status, Public: p.Public, Trace: p.RequestID}
	failed.Next, failed.URL = wayBack(c.Request().URL.Path)
	return render(c, p.Status, failed.Show())
}

// wayBack is where an error page leads: to the part of Ash that the address is of. "" is the conversations.
func wayBack(path string) (label, url string) {
	for _, part := range []struct{ at, label string }{
		{"/memory/notes", "Back to your notes"}, {"/memory/entities", "Back to people and things"}, {"/memory", "Back to Memory"},
		{"/inbox", "Back to the inbox"}, {"/tools", "Back to Tools"}, {"/vault", "Back to the vault"}, {"/settings", "Back to Settings"},
	} {
		if strings.HasPrefix(path, part.at+"/") {
			return part.label, part.at
		}
	}
	return "", ""
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
