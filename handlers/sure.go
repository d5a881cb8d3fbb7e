package handlers

import (
	"maps"
	"net/http"

	"github.com/labstack/echo/v4"

	"ash/views/layouts"
	"ash/views/pages"
)

// sure reports whether the person means what cannot be undone. With JavaScript the page asked before it sent (hx-confirm). Without, the first press
// is answered with a page that asks and sends the same form again; then the answer is written, and sure is false.
func (f *Frame) sure(c echo.Context, ask pages.Sure) (bool, error) {
	if err := ParseForm(c.Request()); err != nil {
		return false, err
	}
	form := c.Request().PostForm
	if ByHTMX(c) || form.Get("sure") == "1" {
		return true, nil
	}
	ask.Page = layouts.Page{Title: ask.Question, Theme: f.theme(), CSRF: Token(c)}
	ask.Action, ask.Fields = c.Request().URL.EscapedPath(), maps.Clone(form)
	delete(ask.Fields, "_csrf")
	delete(ask.Fields, "sure")
	return false, render(c, http.StatusOK, ask.Show())
}
