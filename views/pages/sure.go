package pages

import (
	"net/url"
	"slices"

	"ash/views/layouts"
)

// Sure asks again before what cannot be undone, for a browser in which the page could not ask by itself.
type Sure struct {
	layouts.Page
	Question string // "Revoke notes app?"
	Means    string // what follows; "" when the question says it
	Yes      string // label of what was pressed
	Action   string // the address that the form was sent to
	Fields   url.Values
	Back     string // where no leads
}

// names are the fields in an order that does not change.
func (s Sure) names() []string {
	var out []string
	for name := range s.Fields {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
