package agent

import "time"

// RunFilter selects tool calls for the history of runs, newest first. Zero fields select everything.
type RunFilter struct {
	Tool   string
	States []CallState
	Text   string // stands in the arguments, the reason or the result, in either case
	Thread ID
	From   time.Time // asked for at or after
	Until  time.Time // and before
	After  string    // cursor from the previous page; "" for the first
	Limit  int       // 1–200
}

// RunPage is a page of the history of runs.
type RunPage struct {
	Calls []ToolCall
	Next  string // cursor of the next page, "" on the last; with a Text there may be a next page though this one is short
}

// ToolHistory is how the newest calls of a tool went.
type ToolHistory struct {
	Calls int        // of this tool, ever
	Last  []ToolCall // newest first: ID, Thread, State, Exit and times only
}
