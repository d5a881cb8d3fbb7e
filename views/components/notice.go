package components

import "ash/agent"

// NoticeKind sets how a notice looks and whether it leaves by itself.
type NoticeKind string

// The kinds of notice. Errors and notices with an action stay until closed.
const (
	NoticeInfo  NoticeKind = "info"
	NoticeOK    NoticeKind = "ok"
	NoticeError NoticeKind = "error"
)

// Notice is a toast: what happened and, if something can be done, the one action.
type Notice struct {
	Kind NoticeKind
	Text string
	Undo *Undo
	Link *Link
}

// Link leads from a notice to another page.
type Link struct {
	Label string
	URL   string
}

// Undo is the way back, or elsewhere, offered by a notice: a form.
type Undo struct {
	Label  string // "Undo"
	Action string // URL it posts to
	Name   string // one field; "" for none
	Value  string
	CSRF   string
	Leaves bool // the answer is another page, not a change of this one
}

// Failed makes the notice for a failure.
func Failed(f agent.Failure) Notice { return Notice{Kind: NoticeError, Text: f.Public} }
