package handlers

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
)

// APIPrefix begins the addresses of the API.
const APIPrefix = "/api/v1"

// ofAPI reports whether an address is below APIPrefix.
func ofAPI(path string) bool { return path == APIPrefix || strings.HasPrefix(path, APIPrefix+"/") }

// StatusError is an error whose status says more than its code: those of HTTP itself, which only the API has a use for.
type StatusError struct {
	Status int
	Type   string // what the status alone does not tell, as "insufficient-scope"; usually ""
	Public string
	Err    error
}

// Error implements error.
func (e *StatusError) Error() string {
	text := http.StatusText(e.Status) + ": " + e.Public
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error { return e.Err }

// Problem is the error as it is answered.
func (e *StatusError) Problem() Problem {
	p := Problem{Status: e.Status, Code: agent.CodeInvalid, Public: e.Public, Type: e.Type}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		p.Code = agent.CodeDenied
	case http.StatusConflict, http.StatusPreconditionFailed, http.StatusPreconditionRequired:
		p.Code = agent.CodeConflict
	case http.StatusNotFound, http.StatusGone:
		p.Code = agent.CodeNotFound
	case http.StatusTooManyRequests:
		p.Code = agent.CodeExhausted
	}
	return p
}

// APIFailure is every error of the API: a problem of RFC 9457.
type APIFailure struct {
	Type    string     `json:"type" jsonschema:"urn:ash:problem: and what went wrong, in a word or two"`
	Title   string     `json:"title" jsonschema:"the status in words"`
	Status  int        `json:"status" jsonschema:"the status of the answer"`
	Detail  string     `json:"detail" jsonschema:"what happened and what to do next, for people"`
	Code    agent.Code `json:"code" jsonschema:"what kind of failure it is in Ash's own terms"`
	Request string     `json:"request,omitempty" jsonschema:"the id under which Ash's log has more"`
}

// IsAPI reports whether a request is one of the API's, so that its errors are answered by FailAPI.
func IsAPI(c echo.Context) bool { return ofAPI(c.Request().URL.Path) }

// FailAPI answers a failed request of the API.
func FailAPI(c echo.Context, p Problem) error {
	kind := p.Type
	if kind == "" {
		kind = strings.ReplaceAll(strings.ToLower(http.StatusText(p.Status)), " ", "-")
	}
	return answerAs(c, p.Status, "application/problem+json", APIFailure{
		Type: "urn:ash:problem:" + kind, Title: http.StatusText(p.Status), Status: p.Status, Detail: p.Public, Code: p.Code, Request: p.RequestID,
	})
}

// answer answers with JSON, which is made whole before the first byte is sent.
func answer(c echo.Context, status int, body any) error {
	return answerAs(c, status, echo.MIMEApplicationJSON, body)
}

func answerAs(c echo.Context, status int, media string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "%s", agent.PublicOf(nil))
	}
	return c.Blob(status, media, append(b, '\n'))
}
