package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
)

// API is the API of programs, below APIPrefix: JSON in and out, errors as problems of RFC 9457, and a token with every request. All parts but Log
// are required. Make it with NewAPI.
//
// What it does is done for the owner, by the same rules as on the pages: secrets are not kept, what was forgotten
// does not come back, two writers do not overwrite each other. A cookie counts for nothing here.
type API struct {
	APIParts
	description func() ([]byte, error)
	following   atomic.Int32 // streams open now
}

// APIParts are what an API is made of.
type APIParts struct {
	Owner     agent.ID
	Version   string
	Tokens    Authenticator
	Facts     FactReader
	Entities  EntityReader
	Recall    Recaller
	Book      MemoryBook
	Forgetter Forgetter
	Requests  APIRequests
	Engine    APIEngine
	// Conversations are read through it.
	Conversations APIThreadReader
	Feed          agent.Feed
	Watch         TokenWatch
	Redact        func(string) string
	Now           func() time.Time
	Log           *slog.Logger
}

// Authenticator checks tokens. Its place is package access.
type Authenticator interface {
	// Authenticate returns the token of a secret; *access.Refused for one that does not let anybody in.
	Authenticate(ctx context.Context, presented access.Secret, from netip.Addr) (access.Token, error)
}

// APIRequests knows which request made what, so that one that is sent twice is done once.
type APIRequests interface {
	// MadeBy returns what a request of a token with the same key made, "" for nothing, and whether its body was the same.
	MadeBy(ctx context.Context, token agent.ID, key, body string) (fact agent.ID, same bool, err error)
	NoteMade(ctx context.Context, token agent.ID, key, body string, fact agent.ID) error
}

// NewAPI makes an API.
func NewAPI(parts APIParts) *API {
	if parts.Log == nil {
		parts.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{APIParts: parts}
	a.description = sync.OnceValues(a.describe)
	return a
}

// APIRoute is one operation of the API: how it is reached, and what its description says.
type APIRoute struct {
	Method string
	Path   string // below APIPrefix, as the description writes it: /memories/{id}
	Open   bool   // needs no token
	Stream bool   // stays open
	Handle echo.HandlerFunc

	name    string // its operationId
	summary string
	about   string
	scopes  []access.Scope // one of them is needed
	params  []apiParam
	body    reflect.Type // nil: none
	answers []apiAnswer
	fails   []int // statuses besides those that every operation may have
}

// apiParam is a parameter of an operation.
type apiParam struct {
	name, in, about string
	kind            apiKind
	required        bool
}

// apiAnswer is how an operation answers when it succeeds.
type apiAnswer struct {
	status  int
	about   string
	body    reflect.Type // nil: none
	or      reflect.Type // the other body it may have; nil: none
	headers []string     // of answerHeaders
}

// Address is the route's path as the server library writes it.
func (r APIRoute) Address() string {
	return APIPrefix + strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
}

// Routes are the operations of the API. Every one is described; those with scopes check them.
func (h *API) Routes() []APIRoute {
	list := slices.Concat(h.threadRoutes(), h.readRoutes(), h.writeRoutes(), h.forgetRoutes(), []APIRoute{{
		Method: http.MethodGet, Path: "/openapi.json", Open: true, Handle: h.Describe,
		name: "describe", summary: "This description", about: "The same for everybody; needs no token.",
		answers: []apiAnswer{{status: 200, about: "OpenAPI 3.1."}},
	}})
	for i, r := range list {
		if !r.Open {
			list[i].Handle = needs(r.scopes, r.Handle)
		}
	}
	return list
}

// callerKey is the key under which web leaves the token of a request.
const callerKey = "ash.caller"

// SetCaller leaves the token of the request's caller for the handlers.
func SetCaller(c echo.Context, t access.Token) { c.Set(callerKey, t) }

// ByToken reports whether a request came in by a token of the API.
func ByToken(c echo.Context) bool { return c.Get(callerKey) != nil }

// caller returns the token of the request's caller.
func caller(c echo.Context) access.Token {
	t, _ := c.Get(callerKey).(access.Token)
	return t
}

// needs lets in callers whose token has one of the scopes (RFC 6750, 3.1).
func needs(scopes []access.Scope, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if caller(c).Allows(scopes...) {
			return next(c)
		}
		words := make([]string, len(scopes))
		for i, s := range scopes {
			words[i] = string(s)
		}
		// Several scopes in a challenge mean all of them, so the narrowest that is enough is named.
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Bearer realm="ash", error="insufficient_scope", scope="`+words[0]+`"`)
		return &StatusError{
			Status: http.StatusForbidden, Type: "insufficient-scope",
			Public: "This token may not do that: it needs the scope " + strings.Join(words, " or ") + ".",
		}
	}
}

// NotFound answers what is no operation: 405 where another method is one.
func (h *API) NotFound(c echo.Context) error {
	var allowed []string
	for _, r := range h.Routes() {
		if isPath(r.Path, strings.TrimPrefix(c.Request().URL.Path, APIPrefix)) {
			allowed = append(allowed, r.Method)
		}
	}
	if len(allowed) > 0 {
		c.Response().Header().Set(echo.HeaderAllow, strings.Join(allowed, ", "))
		return &StatusError{Status: http.StatusMethodNotAllowed, Public: "That cannot be done at this address. There is: " + strings.Join(allowed, ", ") + "."}
	}
	return agent.Errorf(agent.CodeNotFound, "There is no such address in the API. It is described at %s/openapi.json.", APIPrefix)
}

// isPath reports whether a path is one of a template.
func isPath(template, path string) bool {
	a, b := strings.Split(template, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i, part := range a {
		if part != b[i] && (!strings.HasPrefix(part, "{") || b[i] == "") {
			return false
		}
	}
	return true
}
