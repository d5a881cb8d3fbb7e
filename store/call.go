package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

type callRow struct {
	bun.BaseModel `bun:"table:tool_calls,alias:c"`

	Seq        int64           `bun:"seq,pk,autoincrement"`
	ID         agent.ID        `bun:"id"`
	Thread     agent.ID        `bun:"thread"`
	Turn       agent.ID        `bun:"turn"`
	Message    agent.ID        `bun:"message"`
	Position   int             `bun:"position"`
	ProviderID string          `bun:"provider_id"`
	Name       string          `bun:"name"`
	State      agent.CallState `bun:"state"`
	Question   bool            `bun:"question"`
	Locked     bool            `bun:"locked"`
	Why        string          `bun:"why"`
	Binding    string          `bun:"binding"`
	ExitCode   *int            `bun:"exit_code"`
	Created    int64           `bun:"created"`
	Started    int64           `bun:"started"`
	Finished   int64           `bun:"finished"`
	Labels     string          `bun:"labels"`
	Decision   string          `bun:"decision,nullzero"`
	Extra      string          `bun:"extra,nullzero"`
	Arguments  string          `bun:"arguments"`
	Result     string          `bun:"result"`
	Effect     string          `bun:"effect,nullzero"`
	Findings   string          `bun:"findings,nullzero"`
}

type decisionJSON struct {
	Approve bool      `json:"approve"`
	By      agent.ID  `json:"by,omitempty"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason,omitempty"`
	Answer  string    `json:"answer,omitempty"`
	Form    string    `json:"form,omitempty"`
	Binding string    `json:"binding,omitempty"`
	Always  string    `json:"always,omitempty"`
	Edited  bool      `json:"edited,omitempty"` // the arguments are the person's own
}

// unended is the condition for a call that may still change, as the index
// tool_calls_unended has it.
const unended = "state IN ('proposed', 'waiting', 'approved', 'started')"

func toCall(c agent.ToolCall) (callRow, error) {
	result, err := encodeParts(c.Result)
	if err != nil {
		return callRow{}, err
	}
	labels, err := encodeLabels(c.Labels)
	if err != nil {
		return callRow{}, err
	}
	arguments, err := validJSON(c.Arguments)
	if err != nil {
		return callRow{}, err
	}
	row := callRow{
		ID: c.ID, Thread: c.Thread, Turn: c.Turn, Message: c.Message, Position: c.Index,
		ProviderID: clean(c.ProviderID), Name: clean(c.Name), State: c.State, Question: c.Question, Locked: c.Locked,
		Why: clean(c.Why), Binding: clean(c.Binding), ExitCode: c.Exit,
		Created: micros(c.Created), Started: micros(c.Started), Finished: micros(c.Finished),
		Labels: labels, Arguments: arguments, Result: result,
	}
	if len(c.Extra) > 0 {
		if row.Extra, err = validJSON(c.Extra); err != nil {
			return callRow{}, err
		}
	}
	if row.Effect, err = encodeEffect(c.Effect); err != nil {
		return callRow{}, err
	}
	if row.Findings, err = encodeFindings(c.Findings); err != nil {
		return callRow{}, err
	}
	if d := c.Decision; d != nil {
		row.Decision, err = toJSON(decisionJSON{
			Approve: d.Approve, By: d.By, At: d.At.UTC(), Reason: clean(d.Reason), Answer: clean(d.Answer),
			Form: clean(d.Form), Binding: clean(d.Binding), Always: clean(d.Always), Edited: d.EditedArguments(),
		})
	}
	return row, err
}

// validJSON returns raw as it is to be stored: unchanged when it is JSON, as a JSON string otherwise.
func validJSON(raw json.RawMessage) (string, error) {
	if len(raw) > 0 && json.Valid(raw) {
		return clean(string(raw)), nil
	}
	return toJSON(clean(string(raw)))
}

func fromCall(r callRow) (agent.ToolCall, error) {
	result, err := decodeParts(r.Result)
	if err != nil {
		return agent.ToolCall{}, err
	}
	labels, err := decodeLabels(r.Labels)
	if err != nil {
		return agent.ToolCall{}, err
	}
	c := agent.ToolCall{
		ID: r.ID, Thread: r.Thread, Turn: r.Turn, Message: r.Message, Index: r.Position,
		ProviderID: r.ProviderID, Name: r.Name, Arguments: json.RawMessage(r.Arguments), State: r.State,
		Question: r.Question, Locked: r.Locked, Why: r.Why, Binding: r.Binding, Result: result, Exit: r.ExitCode, Labels: labels,
		Created: fromMicros(r.Created), Started: fromMicros(r.Started), Finished: fromMicros(r.Finished),
	}
	if r.Extra != "" {
		c.Extra = json.RawMessage(r.Extra)
	}
	if r.Decision != "" {
		var d decisionJSON
		if err := fromJSON(r.Decision, &d); err != nil {
			return agent.ToolCall{}, err
		}
		c.Decision = &agent.Decision{
			Approve: d.Approve, By: d.By, At: d.At, Reason: d.Reason, Answer: d.Answer, Form: d.Form, Binding: d.Binding, Always: d.Always,
		}
		if d.Edited {
			c.Decision.Arguments = c.Arguments
		}
	}
	if c.Effect, err = decodeEffect(r.Effect); err != nil {
		return agent.ToolCall{}, err
	}
	c.Findings, err = decodeFindings(r.Findings)
	return c, err
}

// Call implements agent.CallStore.
func (s *Store) Call(ctx context.Context, id agent.ID) (agent.ToolCall, error) {
	c, err := callByID(ctx, s.reader, id)
	return c, s.translate(err)
}

// MoveCall implements agent.CallStore. Fields that are zero in c keep their stored values; the times of
// starting and ending are set when c brings none. An approval whose binding differs from the call's is CodeConflict.
func (s *Store) MoveCall(ctx context.Context, c agent.ToolCall, from ...agent.CallState) (agent.ToolCall, error) {
	var moved agent.ToolCall
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		stored, err := callByID(ctx, tx, c.ID)
		if err != nil {
			return err
		}
		if !slices.Contains(from, stored.State) {
			return agent.Errorf(agent.CodeConflict, "This was already decided, or has gone on without you.")
		}
		if d := c.Decision; d != nil && stored.Decision == nil && d.Approve && !d.EditedArguments() && d.Binding != stored.Binding {
			return agent.Errorf(agent.CodeConflict, "What would run has changed since you were asked. Look at it again.")
		}
		if c.State == agent.CallStarted {
			if err := mayStart(ctx, tx, stored); err != nil {
				return err
			}
		}
		moved = merge(stored, c)
		if err := updateCall(ctx, tx, moved); err != nil {
			return err
		}
		return noteAttachments(ctx, tx, moved.Message, moved.Result)
	})
	return moved, err
}

// mayStart refuses the effect of a call whose turn does not run: Stop came first.
func mayStart(ctx context.Context, tx bun.IDB, c agent.ToolCall) error {
	turn, err := turnByID(ctx, tx, c.Turn)
	if err != nil {
		return err
	}
	if turn.State != agent.TurnRunning {
		return agent.Errorf(agent.CodeConflict, "The turn was stopped before this began.")
	}
	return nil
}

// merge brings what a transition says into the stored call.
func merge(stored, c agent.ToolCall) agent.ToolCall {
	stored.State = c.State
	stored.Question = stored.Question || c.Question
	if c.Why != "" {
		stored.Why = c.Why
	}
	if c.Binding != "" {
		stored.Binding = c.Binding
	}
	if c.Effect != nil {
		stored.Effect = c.Effect
	}
	if c.Decision != nil {
		stored.Decision = c.Decision
		if c.Decision.EditedArguments() {
			stored.Arguments = c.Decision.Arguments
		}
	}
	stored.Locked = c.Locked && c.State == agent.CallWaiting
	switch {
	case stored.Locked:
		stored.Started = time.Time{} // nothing came of it, and what was decided holds
	case c.State == agent.CallWaiting:
		stored.Decision = nil // asked again: what was decided before was about something else
	}
	if c.Findings != nil {
		stored.Findings = c.Findings
	}
	if c.Result != nil {
		stored.Result = cleanParts(c.Result)
	}
	if c.Exit != nil {
		stored.Exit = c.Exit
	}
	if c.Labels != nil {
		stored.Labels = c.Labels
	}
	if !stored.Locked && !c.Started.IsZero() || c.State == agent.CallStarted {
		stored.Started = orNow(c.Started)
	}
	if c.State.Ended() {
		stored.Finished = orNow(c.Finished)
	}
	return stored
}

func callByID(ctx context.Context, db bun.IDB, id agent.ID) (agent.ToolCall, error) {
	calls, err := selectCalls(ctx, db.NewSelect().Where("id = ?", id))
	if err == nil && len(calls) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return agent.ToolCall{}, err
	}
	return calls[0], nil
}

func selectCalls(ctx context.Context, q *bun.SelectQuery) ([]agent.ToolCall, error) {
	var rows []callRow
	if err := q.Model(&rows).Scan(ctx); err != nil {
		return nil, err
	}
	calls := make([]agent.ToolCall, len(rows))
	for i, row := range rows {
		c, err := fromCall(row)
		if err != nil {
			return nil, err
		}
		calls[i] = c
	}
	return calls, nil
}

// callsOf returns the calls of messages, in the order in which each asked for them.
func callsOf(ctx context.Context, db bun.IDB, messages []agent.ID) (map[agent.ID][]agent.ToolCall, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	calls, err := selectCalls(ctx, db.NewSelect().Where("message IN (?)", bun.List(messages)).Order("message", "position"))
	if err != nil {
		return nil, err
	}
	of := map[agent.ID][]agent.ToolCall{}
	for _, c := range calls {
		of[c.Message] = append(of[c.Message], c)
	}
	return of, nil
}

// insertCalls stores the calls a reply proposes.
func insertCalls(ctx context.Context, tx bun.IDB, m agent.Message) error {
	for i, c := range m.Calls {
		c.Thread, c.Turn, c.Message, c.Index, c.Created = m.Thread, m.Turn, m.ID, i, orNow(c.Created)
		row, err := toCall(c)
		if err != nil {
			return err
		}
		if err := insertRow(ctx, tx, &row); err != nil {
			return err
		}
	}
	return nil
}

// updateCall stores everything of a call that a transition may change.
func updateCall(ctx context.Context, tx bun.IDB, c agent.ToolCall) error {
	row, err := toCall(c)
	if err != nil {
		return err
	}
	return updateRow(ctx, tx, &row,
		"state", "question", "locked", "why", "binding", "exit_code", "started", "finished", "labels", "decision", "result", "arguments", "effect", "findings")
}
