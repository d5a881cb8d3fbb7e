package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers"
)

// Routes are the parts that answer. All but Control, Memory, Notes, SignIn, Doors and API are required.
type Routes struct {
	Problem     func(echo.Context, handlers.Problem) error // how a failed request is shown
	Chat        *handlers.Chat
	Messages    *handlers.Messages
	Threads     *handlers.Threads
	Attachments *handlers.Attachments
	Search      *handlers.Search
	Identity    *handlers.Identity
	Settings    *handlers.Settings
	Spending    *handlers.Spending
	Tokens      *handlers.Tokens
	Data        *handlers.Data
	Models      *handlers.Models
	Health      *handlers.Health
	Safety      *handlers.Safety
	Setup       *handlers.Setup
	Tools       *handlers.Tools
	Memory      *handlers.Memory // nil: a page that says what will stand there
	Notes       *handlers.Notes  // nil with Memory
	Vault       *handlers.Vault
	Later       *handlers.Later
	SignIn      *handlers.SignIn  // nil: nobody can sign in
	Trust       *handlers.Trust   // with SignIn
	Doors       *handlers.Doors   // nil with SignIn
	Thread      echo.HandlerFunc  // the event stream of a page with a conversation
	House       echo.HandlerFunc  // the event stream of all other pages
	Inbox       echo.HandlerFunc  // the event stream of the page of all that waits
	Control     func(*echo.Group) // registers what the unix socket serves, below /control
	Assets      http.Handler      // the embedded files, below /static
	API         *handlers.API     // nil: there is none
}

// kind says which middleware a route gets besides that of every request.
type kind int

const (
	open      kind = iota // for everybody, without session: health and embedded files
	door                  // for everybody: signing in and pairing
	page                  // pages and forms
	upload                // forms with files
	file                  // attachments: not compressed, and long ones take their time
	slow                  // handlers that wait for a model server, or for a passphrase to be tried
	stream                // stays open
	download              // a form that is answered with more than fits into memory, for as long as it takes
	program               // the API: a token instead of session and CSRF token
	follow                // the same, and stays open
	described             // what the API says of itself: for this machine without a token
)

type route struct {
	method, path string
	kind         kind
	handle       echo.HandlerFunc
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// table is every route there is over TCP.
func (s *Server) table(r Routes) []route {
	return slices.Concat(
		s.houseRoutes(r),
		doorRoutes(r),
		chatRoutes(r),
		toolRoutes(r),
		memoryRoutes(r),
		vaultRoutes(r.Vault),
		settingsRoutes(r),
		settingsParts(r),
		spendRoutes(r.Spending),
		apiRoutes(r.API),
	)
}

func (s *Server) houseRoutes(r Routes) []route {
	return []route{
		{get, "/", page, r.Setup.Home},
		{get, "/setup", page, r.Setup.Show},
		{get, "/setup/found", page, r.Setup.Found},
		{post, "/setup/test", slow, r.Setup.Test},
		{post, "/setup/skip", page, r.Setup.Skip},

		{get, "/healthz", open, healthz},
		{get, "/readyz", open, s.readyz},
		{get, "/static/*", open, echo.WrapHandler(r.Assets)},
	}
}

func chatRoutes(r Routes) []route {
	return []route{
		{get, "/chat", page, r.Chat.List},
		{get, "/chat/new", page, r.Chat.New},
		{post, "/chat", upload, r.Messages.Begin},
		{get, "/chat/:thread", page, r.Chat.Show},
		{get, "/chat/:thread/events", stream, r.Thread},
		{get, "/events", stream, r.House},

		{post, "/chat/:thread/messages", upload, r.Messages.Post},
		{get, "/chat/:thread/messages/:message/text", page, r.Messages.Text},
		{get, "/chat/:thread/messages/:message/memories", page, r.Messages.Memories},
		{get, "/chat/:thread/messages/:message/edit", page, r.Messages.EditForm},
		{post, "/chat/:thread/messages/:message/edit", page, r.Messages.Edit},
		{post, "/chat/:thread/messages/:message/regenerate", page, r.Messages.Regenerate},
		{post, "/chat/:thread/messages/:message/continue", page, r.Messages.Continue},
		{post, "/chat/:thread/messages/:message/unlock", slow, r.Messages.Unlock},
		{post, "/chat/:thread/messages/:message/key", slow, r.Messages.Key},
		{post, "/chat/:thread/stop", upload, r.Messages.Stop}, // the composer's form, with all that is in it
		{post, "/chat/:thread/head", page, r.Messages.Head},
		{post, "/chat/:thread/messages/:message/decide", page, r.Messages.DecideAll},
		{post, "/chat/:thread/calls/:call/decide", page, r.Messages.Decide},
		{post, "/chat/:thread/calls/:call/undo", page, r.Messages.Undo},

		{get, "/chat/:thread/menu", page, r.Threads.Menu},
		{get, "/chat/:thread/export", page, r.Threads.Export},
		{post, "/chat/:thread/title", page, r.Threads.Rename},
		{post, "/chat/:thread/model", page, r.Threads.Model},
		{post, "/chat/:thread/pin", page, r.Threads.Pin},
		{post, "/chat/:thread/archive", page, r.Threads.Archive},
		{post, "/chat/:thread/delete", page, r.Threads.Delete},
		{post, "/chat/:thread/restore", page, r.Threads.Restore},
		{post, "/chat/:thread/summaries/:summary", page, r.Threads.Summary},

		{post, "/attachments", upload, r.Attachments.Upload},
		{get, "/attachments/:hash/:name", file, r.Attachments.Download},

		{get, "/search", page, r.Search.Find},
		{get, "/palette", page, r.Search.Palette},
	}
}

func toolRoutes(r Routes) []route {
	return []route{
		{get, "/inbox", page, r.Tools.Inbox},
		{get, "/inbox/events", stream, r.Inbox},
		{post, "/stop", page, r.Tools.Halt},
		{get, "/tools", page, r.Tools.Show},
		{post, "/tools/:tool/policy", page, r.Tools.Switch},
		{post, "/tools/:tool/try", page, r.Tools.Try},
		{post, "/tools/rules/:rule/revoke", page, r.Tools.Revoke},
		{post, "/tools/folders", page, r.Tools.Folders},
		{get, "/tools/sandbox/build", page, r.Tools.Building},
		{post, "/tools/sandbox/build", page, r.Tools.Build},
		{get, "/tools/runs", page, r.Tools.History},
		{get, "/tools/runs.csv", file, r.Tools.Export},
		{get, "/tools/runs/:call", page, r.Tools.Record},
	}
}

func memoryRoutes(r Routes) []route {
	h := r.Memory
	if h == nil {
		return []route{{get, "/memory", page, r.Later.Memory}}
	}
	return slices.Concat(noteRoutes(r.Notes), []route{
		{get, "/memory", page, h.Show},
		{get, "/memory/new", page, h.New},
		{post, "/memory/new", page, h.Remember},
		{get, "/memory/facts/:fact", page, h.Fact},
		{post, "/memory/facts/:fact/correct", page, h.Correct},
		{post, "/memory/facts/:fact/expire", page, h.Expire},
		{post, "/memory/facts/:fact/pin", page, h.Pin},
		{post, "/memory/facts/:fact/retire", page, h.Retire},
		{post, "/memory/facts/:fact/revive", page, h.Revive},
		{get, "/memory/entities", page, h.EntityList},
		{get, "/memory/entities/:entity", page, h.Entity},
		{get, "/memory/entities/:entity/edit", page, h.NameForm},
		{post, "/memory/entities/:entity/edit", page, h.Rename},
		{get, "/memory/entities/:entity/merge", page, h.MergeForm},
		{post, "/memory/entities/:entity/merge", page, h.Merge},
		{post, "/memory/proposals/:proposal", page, h.Decide},
		{get, "/memory/forget", page, h.ForgetForm},
		{post, "/memory/forget", page, h.Forget},
		{post, "/memory/forgettings/:forgetting/undo", page, h.Unforget},
		{post, "/memory/forgettings/:forgetting/finish", page, h.Finish},
		{get, "/memory/runs", page, h.RunList},
		{get, "/memory/runs/:run", page, h.Run},
		{post, "/memory/runs/:run/undo", page, h.UndoRun},
		{get, "/memory/growth", page, h.Growth},
	})
}

func noteRoutes(h *handlers.Notes) []route {
	if h == nil {
		return nil
	}
	return []route{
		{get, "/memory/notes", page, h.List},
		{post, "/memory/notes/new", page, h.New},
		{get, "/memory/notes/file", page, h.Show},
		{post, "/memory/notes/file", upload, h.Save}, // a note may be longer than other forms
		{post, "/memory/notes/preview", upload, h.Preview},
		{get, "/memory/notes/link", page, h.Link},
		{post, "/memory/notes/rename", page, h.Rename},
		{post, "/memory/notes/delete", page, h.Delete},
		{post, "/memory/notes/restore", page, h.Restore},
		{post, "/memory/notes/vouch", page, h.Vouch},
		{post, "/memory/notes/whose", slow, h.Declare}, // every note of the folder is read
		{post, "/memory/notes/purge", page, h.Purge},
		{get, "/memory/notes/state", page, h.State},
	}
}

func vaultRoutes(h *handlers.Vault) []route {
	return []route{
		{get, "/vault", page, h.Show},
		{post, "/vault/unlock", slow, h.Open},
		{post, "/vault/lock", page, h.Lock},
		{get, "/vault/new", page, h.New},
		{post, "/vault/new", slow, h.Add},
		{get, "/vault/secret", page, h.One},
		{post, "/vault/rotate", slow, h.Rotate},
		{post, "/vault/confirm", page, h.Confirm},
		{post, "/vault/revert", page, h.Revert},
		{post, "/vault/bind", page, h.Bind},
		{post, "/vault/delete", page, h.Delete},
		{get, "/vault/phrase", page, h.Phrase},
		{post, "/vault/phrase", page, h.NewPhrase},
		{get, "/vault/phrase/check", page, h.CheckForm},
		{post, "/vault/phrase/check", page, h.Check},
		{post, "/vault/phrase/later", page, h.Postpone},
		{get, "/vault/recover", page, h.RecoverForm},
		{post, "/vault/recover", slow, h.Recover},
		{get, "/vault/keys", page, h.Keys},
		{post, "/vault/passphrase", slow, h.ChangePassphrase},
		{post, "/vault/identity", slow, h.RotateIdentity},
		{post, "/vault/export", slow, h.Export},
		{get, "/vault/import", page, h.ImportForm},
		{post, "/vault/import/env", slow, h.Preview}, // no larger than what is held in memory: no part of it goes to the disk
		{post, "/vault/import/choose", slow, h.Choose},
		{post, "/vault/import/copy", upload, h.ImportCopy},
		{post, "/vault/mend", slow, h.Mend},
		{get, "/vault/log", page, h.Log},
	}
}

func settingsRoutes(r Routes) []route {
	return []route{
		{get, "/identity/:slug", page, r.Identity.Show},
		{post, "/identity/:slug", page, r.Identity.Save},
		{post, "/identity/:slug/preview", page, r.Identity.Preview},
		{get, "/identity/:slug/versions/:version", page, r.Identity.Version},
		{post, "/identity/:slug/restore", page, r.Identity.Restore},

		{get, "/settings", page, r.Models.Show},
		{get, "/settings/models", page, r.Models.Show},
		{post, "/settings/models", page, r.Models.Add},
		{post, "/settings/models/default", page, r.Models.Default},
		{post, "/settings/models/:name/move", page, r.Models.Move},
		{post, "/settings/models/:name/remove", page, r.Models.Remove},
		{post, "/settings/models/:name/test", slow, r.Models.Test},
		{post, "/settings/models/:name/key", page, r.Models.Key},
		{get, "/settings/identity", page, r.Settings.Identity},
		{get, "/settings/general", page, r.Settings.General},
		{post, "/settings/general", page, r.Settings.Change},
		{get, "/settings/appearance", page, r.Settings.Appearance},
		{post, "/settings/theme", page, r.Settings.Theme},
		{get, "/settings/health", page, r.Health.Show},
		{post, "/settings/health", page, r.Health.Begin},
		{get, "/settings/health/state", page, r.Health.State},
		{get, "/settings/safety", page, r.Safety.Show},
		{post, "/settings/safety", page, r.Safety.Begin},
		{get, "/settings/safety/state", page, r.Safety.State},
		{post, "/settings/safety/fix", page, r.Safety.Fix},
		{get, "/settings/about", page, r.Settings.About},
	}
}

func apiRoutes(h *handlers.API) []route {
	if h == nil {
		return nil
	}
	var list []route
	for _, x := range h.Routes() {
		k := program
		switch {
		case x.Open:
			k = described
		case x.Stream:
			k = follow
		}
		list = append(list, route{x.Method, x.Address(), k, x.Handle})
	}
	return list
}

// register puts the table and the socket's group into Echo.
func (s *Server) register(r Routes, table []route) {
	form := func(limit int64, more ...echo.MiddlewareFunc) []echo.MiddlewareFunc {
		return append([]echo.MiddlewareFunc{limitBody(limit), compress(), s.sessions.open, guardForms}, more...)
	}
	stacks := map[kind][]echo.MiddlewareFunc{
		open:   nil,
		door:   form(maxDoor, within(pageTimeout)),
		page:   form(maxForm, within(pageTimeout)),
		upload: form(maxUpload, within(slowTimeout)),
		file:   {limitBody(0), within(slowTimeout)},
		slow:   form(maxForm, within(slowTimeout)),
		stream: {limitBody(0), s.sessions.open, s.streaming},

		download: {limitBody(maxForm), s.sessions.open, guardForms, s.streaming},
	}
	if r.API != nil {
		stacks[follow] = []echo.MiddlewareFunc{bearer(r.API.Tokens), limitBody(0), s.streaming}
		stacks[program] = []echo.MiddlewareFunc{bearer(r.API.Tokens), limitBody(maxAPI), within(pageTimeout)}
		stacks[described] = []echo.MiddlewareFunc{s.strangers(bearer(r.API.Tokens)), limitBody(0)}
		s.echo.RouteNotFound(handlers.APIPrefix+"/*", r.API.NotFound, stacks[program]...)
		s.public[handlers.APIPrefix+"/*"] = true // answered as all of the API is: by token
	}
	for _, x := range table {
		switch x.kind {
		case open, door, program, follow, described: // they ask for themselves, or need not
			s.public[x.method+" "+x.path] = true
		}
		s.echo.Add(x.method, x.path, x.handle, stacks[x.kind]...)
	}
	s.echo.RouteNotFound("/*", func(echo.Context) error { return echo.ErrNotFound }, stacks[page]...)
	if r.Control != nil {
		r.Control(s.echo.Group("/control", socketOnly, limitBody(maxUpload)))
	}
}

// strangers applies a middleware to those who are let in by nothing else.
func (s *Server) strangers(only echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		guarded := only(next)
		return func(c echo.Context) error {
			if s.lets(handlers.VisitorOf(c)) {
				return next(c)
			}
			return guarded(c)
		}
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

// readyz says whether Ash can work, and to who may come in, if not, why.
func (s *Server) readyz(c echo.Context) error {
	if s.ready != nil {
		if err := s.ready(c.Request().Context()); err != nil {
			if !s.lets(handlers.VisitorOf(c)) {
				return c.String(http.StatusServiceUnavailable, "not ready\n")
			}
			return c.String(http.StatusServiceUnavailable, agent.PublicOf(err)+"\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}
