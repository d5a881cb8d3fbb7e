package handlers

import (
	"context"

	"ash/agent"
	"ash/views/components"
)

const (
	laneSize  = 20 // messages of a helper that its lane looks at
	laneCalls = 30 // calls shown in a lane
	laneDepth = 4  // lanes within lanes, as deep as helpers may go
)

// helpers looks up what stands behind a call: the helper it began, and whether its change can be taken back.
// The zero value knows nothing.
type helpers struct {
	ctx    context.Context
	reader Reader
	undoer Undoer
	depth  int // of the lane being presented
}

// lane presents what the helper that a call began does; nil while there is none.
func (h helpers) lane(p presenter, c agent.ToolCall) *components.Lane {
	if h.reader == nil || h.depth >= laneDepth || c.State == agent.CallWaiting || c.State == agent.CallProposed {
		return nil
	}
	lane := &components.Lane{Call: c.ID, Title: "Helper", Running: c.State == agent.CallStarted}
	t, err := h.reader.HelperThread(h.ctx, c.ID)
	switch {
	case agent.CodeOf(err) == agent.CodeNotFound && lane.Running:
		return lane // it is about to begin
	case agent.CodeOf(err) == agent.CodeNotFound:
		return nil
	case err != nil:
		lane.Problem = "What this helper does cannot be shown: " + agent.PublicOf(err)
		return lane
	}
	lane.Thread = t.ID
	if t.Title != "" {
		lane.Title = t.Title
	}
	nodes, earlier, err := h.reader.Window(h.ctx, t.ID, "", laneSize)
	if err != nil {
		lane.Problem = "What this helper does cannot be shown: " + agent.PublicOf(err)
		return lane
	}
	p.place, p.helpers.depth = components.PlaceLane, h.depth+1
	for _, n := range nodes {
		if n.Role == agent.RoleAssistant && n.Text() != "" {
			lane.Said = agent.FirstWords(n.Text(), notifyText)
		}
		lane.Calls = append(lane.Calls, p.calls(n.Calls)...)
	}
	if n := len(lane.Calls); n > laneCalls {
		lane.Earlier, lane.Calls = n-laneCalls, lane.Calls[n-laneCalls:]
	} else if earlier {
		lane.Earlier = 1
	}
	return lane
}

// undoable reports whether what a call changed can be taken back now.
func (h helpers) undoable(call agent.ID) bool {
	return h.undoer != nil && h.undoer.Undoable(h.ctx, call)
}

// undone reports whether what a call changed was taken back.
func (h helpers) undone(call agent.ID) bool {
	r, ok := h.undoer.(Redoer)
	return ok && r.Undone(h.ctx, call)
}
