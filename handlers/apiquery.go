package handlers

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"ash/agent"
)

// query are the parameters of a request, each given once at most but for those that may repeat. Unknown ones are refused: a misspelt
// filter must not look like one that filters nothing away.
type query struct{ values url.Values }

func readQuery(c echo.Context, known []apiParam) (query, error) {
	raw := c.Request().URL.RawQuery
	if len(raw) > 64<<10 {
		return query{}, agent.Errorf(agent.CodeInvalid, "The query is too long.")
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, agent.Wrap(agent.CodeInvalid, err, "The query cannot be read.")
	}
	var names []string
	for _, p := range known {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	for name, given := range values {
		if !slices.Contains(names, name) {
			there := "There are none."
			if len(names) > 0 {
				there = "There are: " + strings.Join(names, ", ") + "."
			}
			return query{}, agent.Errorf(agent.CodeInvalid, "There is no parameter %q here. %s", agent.Clip(strings.ToValidUTF8(name, "?"), 40), there)
		}
		if len(given) > 1 && name != "trace" {
			return query{}, agent.Errorf(agent.CodeInvalid, "The parameter %q is given twice.", name)
		}
		for _, v := range given {
			if !utf8.ValidString(v) || strings.Contains(v, "\x00") {
				return query{}, agent.Errorf(agent.CodeInvalid, "The parameter %q is not valid text.", name)
			}
		}
	}
	return query{values}, nil
}

func (q query) text(name string) string { return strings.TrimSpace(q.values.Get(name)) }

// number reads a whole number from 1 to most; usual when there is none.
func (q query) number(name string, usual, most int) (int, error) {
	if !q.values.Has(name) {
		return usual, nil
	}
	n, err := strconv.Atoi(q.text(name))
	if err != nil || n < 1 || n > most {
		return 0, agent.Errorf(agent.CodeInvalid, "%q is a whole number from 1 to %d.", name, most)
	}
	return n, nil
}

// flag reads true or false.
func (q query) flag(name string) (bool, error) {
	switch q.text(name) {
	case "":
		if !q.values.Has(name) {
			return false, nil
		}
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, agent.Errorf(agent.CodeInvalid, "%q is true or false.", name)
}

// moment reads a time: RFC 3339, or a day, which is its beginning in UTC.
func (q query) moment(name string) (time.Time, error) {
	s := q.text(name)
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1000 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, agent.Errorf(agent.CodeInvalid, "%q is a day like 2026-05-31, or a time like 2026-05-31T18:00:00Z.", name)
}
