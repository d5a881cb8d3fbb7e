package pages

import (
	"ash/views/components"
	"ash/views/layouts"
)

// Search is the page of search results.
type Search struct {
	layouts.Page
	Query  string
	Hits   []components.Hit
	Capped bool // there are more than shown
}
