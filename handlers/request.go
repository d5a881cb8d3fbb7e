package handlers

import (
	"errors"
	"mime/multipart"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"ash/agent"
)

// The keys under which web leaves things for handlers on the request.
const (
	tokenKey     = "ash.csrf"
	requestIDKey = "ash.request"
)

// SetToken leaves the session's CSRF token for the handlers.
func SetToken(c echo.Context, token string) { c.Set(tokenKey, token) }

// Token returns the session's CSRF token, or "" where there is no session.
func Token(c echo.Context) string {
	t, _ := c.Get(tokenKey).(string)
	return t
}

// SetRequestID leaves the request's id for the handlers.
func SetRequestID(c echo.Context, id string) { c.Set(requestIDKey, id) }

// RequestID returns the id that the log has of this request.
func RequestID(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// ByHTMX reports whether htmx asked for a fragment. A page restored from the
// history is asked for by htmx too, and is a page.
func ByHTMX(c echo.Context) bool {
	h := c.Request().Header
	return h.Get("HX-Request") == "true" && h.Get("HX-History-Restore-Request") != "true" && h.Get("HX-Boosted") != "true"
}

// spoolAbove is how much of a form with files is held in memory; the rest goes
// to a temporary file that the server removes after the request.
const spoolAbove = 1 << 20

// ParseForm reads the body as a form of either encoding; a second call does
// nothing. CodeInvalid when it is damaged, *http.MaxBytesError when too large.
func ParseForm(r *http.Request) error {
	err := r.ParseForm()
	if err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") && r.MultipartForm == nil {
		err = r.ParseMultipartForm(spoolAbove)
	}
	var big *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &big):
		return big
	case errors.Is(err, multipart.ErrMessageTooLarge): // fields other than files, or too many of them
		return &http.MaxBytesError{Limit: spoolAbove}
	}
	return agent.Wrap(agent.CodeInvalid, err, "The form arrived damaged. Reload the page and send it again.")
}

// text returns a form field with line ends as \n and without NUL, which no
// table takes and no person types. CodeInvalid when it is not UTF-8.
func text(c echo.Context, field string) (string, error) {
	if err := ParseForm(c.Request()); err != nil {
		return "", err
	}
	return clean(c.Request().PostForm.Get(field))
}

func clean(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", agent.Errorf(agent.CodeInvalid, "The text is not valid UTF-8, so part of it would be lost. Type or paste it anew; in a chat, a file keeps it as it is.")
	}
	s = strings.ReplaceAll(s, "\x00", "")
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), nil
}

// line is text for a field that has one line: trimmed, and at most limit
// characters.
func line(c echo.Context, field string, limit int) (string, error) {
	s, err := text(c, field)
	if err != nil {
		return "", err
	}
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > limit {
		return "", agent.Errorf(agent.CodeInvalid, "That is too long: at most %d characters.", limit)
	}
	return s, nil
}

// param reads an id from the address.
func param(c echo.Context, name string) (agent.ID, error) { return agent.ParseID(c.Param(name)) }

// see sends the browser to a page of ours: as a redirect, or through htmx.
func see(c echo.Context, path string) error {
	if ByHTMX(c) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusOK)
	}
	return c.Redirect(http.StatusSeeOther, path)
}
