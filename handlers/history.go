package handlers

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	runsSize    = 50     // on a page of the history
	exportPage  = 200    // read at once for an export
	exportMost  = 20_000 // rows of one export; a filter gets at the others
	exportCell  = 30_000 // bytes of one cell: spreadsheets take 32,767 characters
	filterQuery = 200    // bytes of the text looked for
)

// History answers GET /tools/runs: everything tools were asked to do.
func (h *Tools) History(c echo.Context) error {
	filter, shown, err := h.runFilter(c)
	if err != nil {
		return err
	}
	filter.After, filter.Limit = c.QueryParam("after"), runsSize
	found, err := h.Runs.Runs(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	frame, err := h.plain(c, "Runs", layouts.Tools)
	if err != nil {
		return err
	}
	page := pages.Runs{Page: frame, Filter: shown, Tools: h.toolChoices(filter.Tool), Searched: filter.Text != ""}
	if page.Threads, err = h.threadChoices(c, filter.Thread); err != nil {
		return err
	}
	titles := map[agent.ID]string{}
	for _, call := range found.Calls {
		r := h.run(call)
		if r.Heading, err = h.heading(c, titles, call.Thread); err != nil {
			return err
		}
		page.Runs = append(page.Runs, r)
	}
	query := c.QueryParams()
	query.Del("after")
	page.Export = "/tools/runs.csv?" + query.Encode()
	if found.Next != "" {
		query.Set("after", found.Next)
		page.Next = "/tools/runs?" + query.Encode()
	}
	return render(c, http.StatusOK, page.Show())
}

// run presents a call in a history.
func (h *Tools) run(c agent.ToolCall) components.Run {
	r := components.Run{
		ID: c.ID, Tool: c.Name, State: c.State, Question: c.Question, Findings: len(c.Findings) > 0, When: c.Created.In(h.Zone),
		Duration: ran(c), Exit: c.Exit, Thread: c.Thread,
	}
	what := arguments(c.Arguments)
	if e := c.Effect; e != nil {
		r.Kind, r.Title = e.Kind, e.Title
		what = cmp.Or(e.Text, e.Target, what)
	}
	r.What = visible(agent.FirstWords(what, notifyText))
	return r
}

// heading is the title of a conversation, read once for all its calls.
func (h *Tools) heading(c echo.Context, known map[agent.ID]string, thread agent.ID) (string, error) {
	if t, ok := known[thread]; ok {
		return t, nil
	}
	t, err := h.Reader.Summary(c.Request().Context(), thread)
	if err != nil {
		return "", err
	}
	known[thread] = titled(t.Title)
	return known[thread], nil
}

// runFilter reads what the history is narrowed to. Dates are days where the person is; until is the last one meant.
func (h *Tools) runFilter(c echo.Context) (agent.RunFilter, pages.RunFilter, error) {
	shown := pages.RunFilter{
		Tool: c.QueryParam("tool"), State: c.QueryParam("state"), Text: agent.Clip(strings.TrimSpace(c.QueryParam("text")), filterQuery),
		Thread: c.QueryParam("thread"), From: c.QueryParam("from"), Until: c.QueryParam("until"),
	}
	text, err := clean(shown.Text)
	f := agent.RunFilter{Tool: shown.Tool, States: states(shown.State), Text: text}
	if err != nil {
		return f, shown, err
	}
	if shown.State != "" && f.States == nil {
		return f, shown, agent.Errorf(agent.CodeInvalid, "There is no such outcome.")
	}
	if shown.Thread != "" {
		if f.Thread, err = agent.ParseID(shown.Thread); err != nil {
			return f, shown, err
		}
	}
	if f.From, err = h.day(shown.From); err != nil {
		return f, shown, err
	}
	if f.Until, err = h.day(shown.Until); err == nil && !f.Until.IsZero() {
		f.Until = f.Until.AddDate(0, 0, 1)
	}
	return f, shown, err
}

func (h *Tools) day(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, h.Zone)
	if err != nil {
		return t, agent.Wrap(agent.CodeInvalid, err, "A date is written like 2027-03-14.")
	}
	return t, nil
}

// states are those that an entry of the form stands for; nil for none.
func states(name string) []agent.CallState {
	switch name {
	case "ok":
		return []agent.CallState{agent.CallFinished}
	case "failed":
		return []agent.CallState{agent.CallFailed}
	case "denied":
		return []agent.CallState{agent.CallDenied}
	case "waiting":
		return []agent.CallState{agent.CallWaiting}
	case "running":
		return []agent.CallState{agent.CallProposed, agent.CallApproved, agent.CallStarted}
	case "not":
		return []agent.CallState{agent.CallSuperseded, agent.CallCancelled}
	case "stopped":
		return []agent.CallState{agent.CallStopped}
	case "unknown":
		return []agent.CallState{agent.CallUnknown}
	}
	return nil
}

// toolChoices are the tools of the filter; the one chosen is among them also when it is gone.
func (h *Tools) toolChoices(chosen string) []pages.Choice {
	out := []pages.Choice{{Title: "Every tool"}}
	seen := chosen == ""
	if h.Box != nil {
		for _, t := range h.Box.Tools() {
			d := t.Definition()
			out = append(out, pages.Choice{Value: d.Name, Title: d.Title})
			seen = seen || d.Name == chosen
		}
	}
	if !seen {
		out = append(out, pages.Choice{Value: chosen, Title: chosen})
	}
	return out
}

// threadChoices offers the newest conversations, and the one chosen.
func (h *Tools) threadChoices(c echo.Context, chosen agent.ID) ([]pages.Choice, error) {
	recent, _, err := h.Reader.Threads(c.Request().Context(), agent.ThreadFilter{Limit: listSize})
	if err != nil {
		return nil, err
	}
	out := []pages.Choice{{Title: "Every conversation"}}
	seen := chosen == ""
	for _, t := range recent {
		out = append(out, pages.Choice{Value: string(t.ID), Title: titled(t.Title)})
		seen = seen || t.ID == chosen
	}
	if !seen {
		t, err := h.Reader.Summary(c.Request().Context(), chosen)
		if err != nil {
			return nil, err
		}
		out = append(out, pages.Choice{Value: string(chosen), Title: titled(t.Title)})
	}
	return out, nil
}

// columns of an export.
var columns = [...]string{
	"asked", "tool", "title", "outcome", "exit", "started", "milliseconds", "decision", "reason", "why", "arguments", "result",
	"result from", "findings", "conversation", "conversation id", "id",
}

// Export answers GET /tools/runs.csv: the same as a table, at most exportMost rows.
func (h *Tools) Export(c echo.Context) error {
	filter, _, err := h.runFilter(c)
	if err != nil {
		return err
	}
	filter.Limit = exportPage
	page, err := h.Runs.Runs(c.Request().Context(), filter)
	if err != nil {
		return err // before the first byte: it is still an error page
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	header.Set(echo.HeaderContentDisposition, disposition("attachment", "ash-runs-"+h.Now().In(h.Zone).Format(time.DateOnly)+".csv"))
	c.Response().WriteHeader(http.StatusOK)
	titles := map[agent.ID]string{}
	for rows, first := 0, true; ; first = false {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.UseCRLF = true
		if first {
			b.WriteString("\uFEFF") // spreadsheets take UTF-8 for something else without it
			_ = w.Write(columns[:]) // writing to a buffer does not fail
		}
		for _, call := range page.Calls {
			heading, err := h.heading(c, titles, call.Thread)
			if err != nil {
				return err
			}
			_ = w.Write(h.exported(call, heading))
		}
		w.Flush()
		if _, err := c.Response().Write(b.Bytes()); err != nil {
			return nil //nolint:nilerr // the reader left: there is nobody to tell
		}
		if rows += len(page.Calls); page.Next == "" || rows >= exportMost {
			return nil
		}
		filter.After = page.Next
		if page, err = h.Runs.Runs(c.Request().Context(), filter); err != nil {
			return err
		}
	}
}

// exported is a call as a row.
func (h *Tools) exported(call agent.ToolCall, heading string) []string {
	r := h.run(call)
	exit, took, decision, reason := "", "", "", ""
	if call.Exit != nil {
		exit = strconv.Itoa(*call.Exit)
	}
	if r.Duration > 0 {
		took = strconv.FormatInt(r.Duration.Milliseconds(), 10)
	}
	if d := call.Decision; d != nil {
		decision, reason = "denied", cmp.Or(d.Reason, d.Answer)
		if d.Approve {
			decision = "approved"
		}
	}
	var findings []string
	for _, f := range call.Findings {
		findings = append(findings, f.Rule)
	}
	row := []string{
		stamp(call.Created), call.Name, r.Title, string(call.State), exit, stamp(call.Started), took, decision, reason, call.Why,
		string(call.Arguments), agent.Message{Parts: call.Result}.Text(), strings.Join(sources(call.Labels), " "),
		strings.Join(findings, " "), heading, string(call.Thread), string(call.ID),
	}
	for i := range row {
		row[i] = cell(row[i])
	}
	return row
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// cell makes a text safe in a spreadsheet: what would be read as a formula begins with an apostrophe, also behind
// spaces and at the beginning of a further line (OWASP, CSV Injection).
func cell(s string) string {
	if len(s) > exportCell {
		s = agent.Clip(s, exportCell) + " […]"
	}
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		switch t := strings.TrimLeft(l, " \t\u00A0\uFEFF"); {
		case t == "":
		case strings.ContainsAny(t[:1], "=+-@|%"), strings.HasPrefix(t, "＝"), strings.HasPrefix(t, "＋"), strings.HasPrefix(t, "－"), strings.HasPrefix(t, "＠"),
			strings.HasPrefix(l, "\t"):
			if _, err := strconv.ParseFloat(t, 64); err != nil { // a number is just that
				lines[i] = "'" + l
			}
		}
	}
	return strings.Join(lines, "\n")
}
