package components

import (
	"strconv"
	"time"

	"ash/agent"
)

// InboxEntry is one thing that waits for the person, with where it comes from.
type InboxEntry struct {
	Call    Call // Place is PlaceInbox
	Thread  agent.ID
	Title   string // of the conversation
	Helper  string // the helper that asks, "" when the conversation itself does
	Created time.Time
	Since   string // how long it has waited, in words
}

// ID is the element of the entry.
func (e InboxEntry) ID() string { return InboxID(e.Call.ID) }

// InboxID is the element of a call's entry.
func InboxID(call agent.ID) string { return "w-" + Short(call) }

func (e InboxEntry) title() string {
	if e.Title == "" {
		return "New conversation"
	}
	return e.Title
}

func (e InboxEntry) order() string { return strconv.FormatInt(e.Created.UnixMilli(), 10) }
