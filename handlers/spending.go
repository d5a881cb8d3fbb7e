package handlers

import (
	"bytes"
	"context"
	"encoding/csv"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/spend"
	"ash/views/components"
	"ash/views/pages"
)

// SpendBook knows what model calls cost and what they may.
type SpendBook interface {
	Zone() *time.Location
	Today() spend.Day
	// Allowances returns how every cap stands; that of a conversation only with a thread.
	Allowances(ctx context.Context, thread agent.ID) ([]spend.Allowance, error)
	// Hindering returns the cap that an answer in a thread reaches first; ok is false when there is none.
	Hindering(ctx context.Context, thread agent.ID) (a spend.Allowance, ok bool, err error)
	// Allow lets an amount more be spent in a thread, once.
	Allow(ctx context.Context, thread agent.ID, amount agent.MicroDollars) error
	AllowBackground(ctx context.Context, amount agent.MicroDollars) error
}

// SpendReader reads what was spent.
type SpendReader interface {
	Report(ctx context.Context, from, to spend.Day) (spend.Report, error)
	Rows(ctx context.Context, from, to spend.Day) ([]spend.Row, error)
	Forecast(ctx context.Context) (spend.Forecast, error)
}

// Spending is Settings → Spending, and what a conversation offers where a cap stopped it.
type Spending struct {
	*Settings
	Book   SpendBook
	Usage  SpendReader
	Turns  TurnEngine
	Thread ThreadReader
}

// spendSpans are how far back the page looks, in days, today included; 0 is the calendar month.
func spendSpans() map[string]int { return map[string]int{"": 30, "month": 0, "3m": 91, "year": 365} }

// Show answers GET /settings/spending. ?span=month|3m|year, else 30 days.
func (h *Spending) Show(c echo.Context) error {
	return h.show(c, http.StatusOK, nil, pages.RaisedBackground{})
}

// Refused shows the page with a row that was refused.
func (h *Spending) Refused(c echo.Context, status int, refused *pages.Setting) error {
	return h.show(c, status, refused, pages.RaisedBackground{})
}

func (h *Spending) show(c echo.Context, status int, refused *pages.Setting, background pages.RaisedBackground) error {
	ctx := c.Request().Context()
	frame, err := h.settings(c, "spending", "Spending")
	if err != nil {
		return err
	}
	page := pages.Spending{
		SettingsFrame: frame, Span: c.QueryParam("span"), Groups: h.rows("spending", refused), Background: background,
		Zone: zoneWords(h.Now().In(h.Book.Zone())),
	}
	from, to, err := h.span(page.Span)
	if err != nil {
		return err
	}
	list, err := h.Book.Allowances(ctx, "")
	if err != nil {
		return err
	}
	for _, a := range list {
		page.Caps = append(page.Caps, presentCap(a))
	}
	forecast, err := h.Usage.Forecast(ctx)
	if err != nil {
		return err
	}
	page.Forecast = pages.Forecast{Spent: forecast.Spent, Total: forecast.Total, Days: forecast.Days}
	report, err := h.Usage.Report(ctx, from, to)
	if err != nil {
		return err
	}
	h.report(&page, report)
	page.Export = "/settings/spending.csv?from=" + string(from) + "&to=" + string(to)
	return render(c, status, page.Show())
}

// span turns the name of a time into its days.
func (h *Spending) span(name string) (from, to spend.Day, err error) {
	days, ok := spendSpans()[name]
	if !ok {
		return "", "", agent.Errorf(agent.CodeInvalid, "The page shows 30 days, this month, three months or a year.")
	}
	to = spend.DayOf(h.Now(), h.Book.Zone())
	if days == 0 {
		return spend.Day(to.Month() + "-01"), to, nil
	}
	return to.Add(1 - days), to, nil
}

// zoneWords names the time zone of days.
func zoneWords(now time.Time) string {
	name, _ := now.Zone()
	return name + ", UTC" + now.Format("-07:00")
}

func presentCap(a spend.Allowance) components.SpendCap {
	title := map[spend.Cap]string{
		spend.CapDay: "Today", spend.CapMonth: "This month", spend.CapThread: "This conversation", spend.CapBackground: "Background, today",
	}[a.Cap]
	return components.SpendCap{Title: title, Limit: a.Limit, Raised: a.Raised, Spent: a.Spent, Near: a.Near(), Reached: a.Limit > 0 && a.Left() <= 0}
}

// maxRows is how many conversations the page shows; the export has all.
const maxRows = 20

// report fills in chart and tables.
func (h *Spending) report(page *pages.Spending, r spend.Report) {
	page.Total = spendSum("", "", r.Total)
	page.Chart = spendChart(r)
	for _, p := range r.Purposes {
		page.Purposes = append(page.Purposes, spendSum(purposeWords(p.Purpose), "", p.Sum))
	}
	for _, m := range r.Models {
		row := spendSum(m.Model.String(), "", m.Sum)
		row.Unknown = m.Assumed > 0
		page.Models = append(page.Models, row)
	}
	for i, t := range r.Threads {
		if i == maxRows {
			page.More = r.Among - maxRows
			break
		}
		name, url := t.Title, ""
		switch {
		case t.Thread == "":
			name = "No conversation"
		case name == "":
			name = "A conversation that is gone"
		default:
			url = chatPath(t.Thread)
		}
		page.Threads = append(page.Threads, spendSum(name, url, t.Sum))
	}
}

func spendSum(name, url string, s spend.Sum) pages.SpendRow {
	return pages.SpendRow{Name: name, URL: url, Calls: s.Calls, Usage: s.Usage, Assumed: s.Assumed, Estimated: s.Estimated}
}

func purposeWords(p agent.Purpose) string {
	switch p {
	case agent.PurposeChat:
		return "Answers"
	case agent.PurposeMemory:
		return "Memory: learning, tidying, meaning"
	case agent.PurposeSummary:
		return "Summaries of long conversations"
	case agent.PurposeTitle:
		return "Titles of conversations"
	case agent.PurposeCheck:
		return "Tests of models"
	}
	return "Other background work"
}

// spendChart draws the cost of each day, or of each week of a long time, by what it was for.
func spendChart(r spend.Report) components.Growth {
	step := 1
	if len(r.Days) > 120 {
		step = 7
	}
	g := components.Growth{Title: "Cost by day", Kinds: []string{"answers", "memory", "other background work"}, Money: true}
	if step > 1 {
		g.Title = "Cost by week"
	}
	for i, d := range r.Days {
		if i%step == 0 {
			begins, err := time.Parse(time.DateOnly, string(d.Day))
			if err != nil {
				continue // they were made from times
			}
			g.Steps = append(g.Steps, components.GrowthStep{Begins: begins, Amounts: make([]int64, len(g.Kinds))})
		}
		amounts := g.Steps[len(g.Steps)-1].Amounts
		for p, cost := range d.Cost {
			switch {
			case !p.Background():
				amounts[0] += int64(cost)
			case p == agent.PurposeMemory:
				amounts[1] += int64(cost)
			default:
				amounts[2] += int64(cost)
			}
		}
	}
	g.Label = components.Money(r.Total.Usage.Cost) + " in all, " + components.Plural(r.Total.Calls, "call", "calls") + "."
	return g
}

// Export answers GET /settings/spending.csv?from=…&to=…: the sums behind the page, a line for each day, conversation, purpose and model.
func (h *Spending) Export(c echo.Context) error {
	from, to := spend.Day(c.QueryParam("from")), spend.Day(c.QueryParam("to"))
	if from == "" && to == "" {
		var err error
		if from, to, err = h.span(""); err != nil {
			return err
		}
	}
	rows, err := h.Usage.Rows(c.Request().Context(), from, to)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("\uFEFF") // spreadsheets take UTF-8 for something else without it
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.Write([]string{
		"day", "conversation", "purpose", "provider", "model", "calls", "tokens sent", "of them from cache", "of them to cache", "tokens received",
		"dollars", "of them at an assumed price", "of them estimated", "conversation id",
	}) // writing to a buffer does not fail
	for _, r := range rows {
		line := []string{
			string(r.Day), r.Title, string(r.Purpose), r.Model.Provider, r.Model.Name, strconv.Itoa(r.Calls), strconv.Itoa(r.Usage.Input),
			strconv.Itoa(r.Usage.CacheRead), strconv.Itoa(r.Usage.CacheWrite), strconv.Itoa(r.Usage.Output),
			exactDollars(r.Usage.Cost), exactDollars(r.Assumed), exactDollars(r.Estimated), string(r.Root),
		}
		for i := range line {
			line[i] = cell(line[i])
		}
		_ = w.Write(line)
	}
	w.Flush()
	c.Response().Header().Set(echo.HeaderContentDisposition, disposition("attachment", "ash-spending-"+string(from)+"-"+string(to)+".csv"))
	return c.Blob(http.StatusOK, "text/csv; charset=utf-8", b.Bytes())
}

// exactDollars writes an amount with all its digits.
func exactDollars(m agent.MicroDollars) string {
	return strconv.FormatFloat(float64(m)/1e6, 'f', 6, 64)
}

// amount reads a field of dollars.
func amount(c echo.Context, field string) (agent.MicroDollars, error) {
	s, err := line(c, field, 20)
	if err != nil {
		return 0, err
	}
	m, err := config.ParseDollars(s)
	if err != nil || m <= 0 {
		return 0, agent.Errorf(agent.CodeInvalid, "Write an amount in dollars, such as 2.50.")
	}
	return m, nil
}

// AllowBackground answers POST /settings/spending/background: more for background work, today.
func (h *Spending) AllowBackground(c echo.Context) error {
	more, err := amount(c, "amount")
	if err == nil {
		err = h.Book.AllowBackground(c.Request().Context(), more)
	}
	switch {
	case err == nil:
		return see(c, "/settings/spending")
	case !theirs(err):
		return err
	}
	typed, lineErr := line(c, "amount", 20)
	if lineErr != nil {
		typed = ""
	}
	return h.show(c, http.StatusUnprocessableEntity, nil, pages.RaisedBackground{Amount: typed, Problem: agent.PublicOf(err)})
}
