package handlers

import (
	"cmp"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// record is the page of one call's full record.
func (f *Frame) record(c echo.Context, call agent.ToolCall) (pages.Record, error) {
	ctx := c.Request().Context()
	p := f.present(c)
	p.place = components.PlaceRun
	entry, err := f.entry(ctx, p, call)
	if err != nil {
		return pages.Record{}, err
	}
	m, err := f.Reader.Message(ctx, call.Message)
	if err != nil {
		return pages.Record{}, err
	}
	page, err := f.plain(c, cmp.Or(entry.Call.Title, call.Name), layouts.Tools)
	if err != nil {
		return pages.Record{}, err
	}
	r := pages.Record{Page: page, Call: entry.Call, Entry: entry, CallName: call.Name, Labels: sources(call.Labels), Asked: f.moment(call.Created)}
	if m.Model.Name != "" {
		r.Model = m.Model.String()
	}
	if !call.Started.IsZero() {
		r.Started = f.moment(call.Started)
	}
	if !call.Finished.IsZero() {
		r.Ended = f.moment(call.Finished)
	}
	if entry.Call.Duration > 0 {
		r.Times = components.Seconds(entry.Call.Duration)
	}
	return r, nil
}

// moment writes a time of a record, to the second.
func (f *Frame) moment(t time.Time) string { return t.In(f.Zone).Format("2 January 2006, 15:04:05") }

// Record answers GET /tools/runs/{call}.
func (h *Tools) Record(c echo.Context) error {
	id, err := param(c, "call")
	if err != nil {
		return err
	}
	call, err := h.Reader.Call(c.Request().Context(), id)
	if err != nil {
		return err
	}
	page, err := h.record(c, call)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}
