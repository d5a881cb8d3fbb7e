package pages

import (
	"ash/views/components"
	"ash/views/layouts"
)

// Inbox is everything that waits for the person, anywhere.
type Inbox struct {
	layouts.Page
	Entries []components.InboxEntry
	More    int // further ones that are not on the page

	Proposals     []components.Proposal // what would be remembered
	MoreProposals int
}

// Record is the full record of one tool call.
type Record struct {
	layouts.Page
	Call     components.Call
	Entry    components.InboxEntry // where it comes from
	Model    string
	Asked    string // when the model asked
	Started  string // "" when it never did
	Ended    string
	Times    string // waiting and running time
	Labels   []string
	CallName string
}
