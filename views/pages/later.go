package pages

import (
	"ash/views/components"
	"ash/views/layouts"
)

// Later is a page whose part of Ash is not built yet: it says what it will be
// for and offers the one thing that helps today.
type Later struct {
	layouts.Page
	Icon     components.Icon
	Headline string
	Purpose  string   // what it is for
	Points   []string // what it will hold
	Today    string   // what can be done already
	Next     string   // label of the one next step
	URL      string
}

// MemoryLater is the Memory page of today.
func MemoryLater(p layouts.Page) Later {
	return Later{
		Page: p, Icon: components.IconBrain, Headline: "Memory",
		Purpose: "What Ash knows about you, where each thing came from, and a way to correct or forget it.",
		Points: []string{
			"Facts you told it, each with the sentence it came from",
			"Notes: Markdown files you can edit with any editor",
			"Nothing is remembered from a stranger's text without your yes",
		},
		Today: "This part is not built yet: Ash remembers nothing between conversations. What it should always know about you fits into USER.md, which it reads with every message.",
		Next:  "Write USER.md", URL: "/identity/user",
	}
}
