package handlers_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm/llmtest"
	"ash/agent/prompt"
	"ash/agent/spend"
	"ash/handlers"
	"ash/web/webtest"
)

// openSpending opens the book of what models cost over the store of the house.
func (h *house) openSpending(zone *time.Location) {
	if zone == nil {
		zone = time.UTC
	}
	h.spend = spend.New(spend.Options{
		Store: h.store, Zone: zone, Size: prompt.Size, Tokens: prompt.Tokens, Now: func() time.Time { return h.now() },
		Settings: func() spend.Settings {
			c := h.config.Current().Config().Spend
			return spend.Settings{PerCap: spend.PerCap{Day: c.Daily, Month: c.Monthly, Thread: c.Thread, Background: c.Background}}
		},
	})
}

// spendingPage is the page with the clock of the book.
func (h *house) spendingPage(settings handlers.Settings) *handlers.Spending {
	frame := *settings.Frame
	frame.Now = func() time.Time { return h.now() }
	settings.Frame = &frame
	return &handlers.Spending{Settings: &settings, Book: h.spend, Usage: h.spend, Turns: h.engine, Thread: h.store}
}

// spent counts a call of a day.
func (h *house) spent(day spend.Day, thread agent.ID, model string, purpose agent.Purpose, u agent.Usage) {
	h.t.Helper()
	h.must(h.store.SettleSpend(h.t.Context(), []spend.Taken{{Usage: u, Call: spend.Call{
		ID: agent.NewID(), Day: day, Thread: thread, Purpose: purpose, Free: true, Model: agent.ModelRef{Provider: "p", Name: model},
	}}}))
}

func TestSpendingOfNothing(t *testing.T) {
	h := open(t)
	p := h.browser.Get("/settings/spending").Is(200).Says("No model was asked anything").Says("A forecast follows after a whole day").Lacks(".growth").Lacks(".spend-table").Has(".caps")
	if strings.Contains(p.Body, "NaN") || strings.Contains(p.Body, "Inf") {
		t.Error("a share of nothing is no number")
	}
	for _, span := range []string{"month", "3m", "year"} {
		h.browser.Get("/settings/spending?span=" + span).Is(200).Has(`nav.seg a[aria-current]`)
	}
	h.browser.Get("/settings/spending?span=decade").Is(422)
	if rows := h.table("/settings/spending.csv"); len(rows) != 1 || rows[0][0] != "day" {
		t.Errorf("the export of nothing: %v", rows)
	}
}

func TestSpendingIsDrawn(t *testing.T) {
	h := open(t)
	h.now = func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }
	drawn := func(span string, steps int, top, rows string) {
		t.Helper()
		p := h.browser.Get("/settings/spending" + span).Is(200)
		for _, path := range p.Find("svg.growth path").EachIter() {
			if n := strings.Count(path.AttrOr("d", ""), " ") / 4; n != steps {
				t.Errorf("%q: %d steps are drawn, want %d", span, n, steps)
			}
		}
		if got := p.Text(".growth-top"); got != top {
			t.Errorf("%q: the highest is %s, want %s", span, got, top)
		}
		got := p.Find(".growth-table tbody tr").Map(func(_ int, s *goquery.Selection) string {
			return s.Find("time").AttrOr("datetime", "") + strings.Join(strings.Fields(" "+s.Find("td").Text()), " ")
		})
		if all := strings.Join(got, "\n"); all != rows {
			t.Errorf("%q: beside the chart stands\n%s\nwant\n%s", span, all, rows)
		}
		svg, err := p.Find(".growth-of").Html()
		h.must(err)
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || strings.Contains(svg, `="-`) {
			t.Errorf("%q: the chart: %s", span, svg)
		}
	}
	// A model on this machine alone: counted, and free.
	h.spent("2026-11-20", "", "local", agent.PurposeChat, agent.Usage{Input: 12_345, Output: 678})
	p := h.browser.Get("/settings/spending").Is(200).Lacks("svg.growth").Says("1 call in this time, and none").Says("12,345").Says("p/local")
	if cost := strings.TrimSpace(p.Find(".spend-table tbody td").First().Text()); !strings.HasPrefix(cost, "$0") {
		t.Errorf("a free model cost %q", cost)
	}
	// One day that cost something, in two colours.
	h.spent("2026-11-20", "", "dear", agent.PurposeChat, agent.Usage{Input: 10, Output: 10, Cost: 2_500_000})
	h.spent("2026-11-20", "", "dear", agent.PurposeMemory, agent.Usage{Input: 10, Output: 10, Cost: 500_000})
	drawn("", 30, "$3.00", "2026-11-22$0$0$0\n2026-11-21$0$0$0\n2026-11-20$2.50$0.500$0\n2026-10-24$0$0$0")
	drawn("?span=month", 22, "$3.00", "2026-11-22$0$0$0\n2026-11-21$0$0$0\n2026-11-20$2.50$0.500$0\n2026-11-01$0$0$0")
	drawn("?span=year", 53, "$3.00", "2026-11-22$0$0$0\n2026-11-15$2.50$0.500$0\n2025-11-23$0$0$0")
	// The first and the last day of the 30 are in, the days around them are not.
	for _, day := range []spend.Day{"2026-10-23", "2026-10-24", "2026-11-22", "2026-11-23"} {
		h.spent(day, "", "edge", agent.PurposeTitle, agent.Usage{Input: 1, Cost: 1_000_000})
	}
	drawn("", 30, "$3.00", "2026-11-22$0$0$1.00\n2026-11-21$0$0$0\n2026-11-20$2.50$0.500$0\n2026-10-25$0$0$0\n2026-10-24$0$0$1.00")
	h.browser.Get("/settings/spending").Says("$5.00 in all")
	// The order of models: the dearest first.
	p = h.browser.Get("/settings/spending")
	if got := p.Find(`[aria-label="By model"] tbody th`).Map(func(_ int, s *goquery.Selection) string { return strings.TrimSpace(s.Text()) }); strings.Join(got, " ") != "p/dear p/edge p/local" {
		t.Errorf("models: %v", got)
	}
}

// table reads an export as a spreadsheet would.
func (h *house) table(path string) [][]string {
	h.t.Helper()
	p := h.browser.Get(path).Is(200)
	if got := p.Header.Get("Content-Type"); got != "text/csv; charset=utf-8" {
		h.t.Errorf("%s is %q", path, got)
	}
	if got := p.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment;") || !strings.Contains(got, ".csv") {
		h.t.Errorf("%s: disposition %q", path, got)
	}
	body, ok := strings.CutPrefix(p.Body, "\uFEFF")
	if !ok {
		h.t.Error("no byte order mark: spreadsheets take the rest for something else than UTF-8")
	}
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	h.must(err)
	return rows
}

// Titles are the person's, a stranger's page may have named them: none is a formula, and none breaks out of its cell.
func TestSpendingExport(t *testing.T) {
	h := open(t)
	h.now = func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }
	titles := map[string]string{
		"plain":                            "plain",
		`=HYPERLINK("http://evil","x")`:    `'=HYPERLINK("http://evil","x")`,
		"+1+cmd|' /C calc'!A0":             "'+1+cmd|' /C calc'!A0",
		"-2+3":                             "'-2+3",
		"@SUM(A1:A9)":                      "'@SUM(A1:A9)",
		"  =1+1":                           "'  =1+1",
		`quotes " and, commas; and ümläut`: `quotes " and, commas; and ümläut`,
		"＝1+1":                             "'＝1+1",
	}
	want := map[string]bool{}
	for title, shown := range titles {
		id := agent.NewID()
		h.must(h.store.CreateThread(t.Context(), agent.Thread{ID: id, Title: title, Origin: agent.Origin{Channel: "web"}, Created: h.now(), Updated: h.now()}))
		h.spent("2026-11-20", id, "=cmd()", agent.PurposeChat, agent.Usage{Input: 1234, CacheRead: 5, CacheWrite: 6, Output: 78, Cost: 1_234_567})
		want[shown] = true
	}
	rows := h.table("/settings/spending.csv?from=2026-11-01&to=2026-11-30")
	if len(rows) != len(titles)+1 || len(rows[0]) != 14 {
		t.Fatalf("%d rows of %d columns", len(rows), len(rows[0]))
	}
	for _, r := range rows[1:] {
		if !want[r[1]] {
			t.Errorf("a conversation is called %q", r[1])
		}
		if got := strings.Join(append(r[2:13:13], r[0]), " "); got != "chat p '=cmd() 1 1234 5 6 78 1.234567 0.000000 0.000000 2026-11-20" {
			t.Errorf("a line says %s", got)
		}
	}
	for _, query := range []string{
		"from=2026-11-02&to=2026-11-01", "from=yesterday&to=2026-11-01", "from=2026-02-30&to=2026-03-01", "from=2026-11-01", "to=2026-11-01",
		"from=1900-01-01&to=2026-11-01", "from=2026-11-01%00&to=2026-11-02", "from=" + strings.Repeat("9", 5000) + "&to=2026-11-02",
	} {
		if p := h.browser.Get("/settings/spending.csv?" + query); p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusBadRequest {
			t.Errorf("%.60s: %d", query, p.Status)
		}
	}
	h.browser.Get("/settings/spending.csv?from=2024-01-01&to=2026-11-22").Is(200)
}

// A day is one of the person's own clock, also where that clock is changed.
func TestSpendingCountsDaysOfThePerson(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("the time zone Europe/Berlin is not known here: install tzdata")
	}
	h := openWith(t, plan{configured: true, zone: berlin})
	h.now = func() time.Time { return time.Date(2026, 10, 24, 22, 30, 0, 0, time.UTC) } // half past midnight on the 25th, when clocks go back
	h.must(h.spend.Begin(t.Context()))
	if got := h.spend.Today(); got != "2026-10-25" {
		t.Fatalf("today is %s", got)
	}
	h.spent(h.spend.Today(), "", "m", agent.PurposeChat, agent.Usage{Input: 1, Cost: 1_000_000})
	p := h.browser.Get("/settings/spending").Is(200).Says("CEST, UTC+02:00")
	if first := p.Attr(".growth-table tbody tr:last-child time", "datetime"); first != "2026-09-26" {
		t.Errorf("the first of 30 days is %s", first)
	}
	if last := p.Attr(".growth-table tbody tr:first-child time", "datetime"); last != "2026-10-25" {
		t.Errorf("the last of 30 days is %s", last)
	}
	h.now = func() time.Time { return time.Date(2026, 10, 25, 22, 30, 0, 0, time.UTC) } // 23:30 of the same day, 24 hours later
	h.browser.Get("/settings/spending").Is(200).Says("CET, UTC+01:00").Says("$1.00")
	if rows := h.table("/settings/spending.csv"); len(rows) != 2 || rows[1][0] != "2026-10-25" {
		t.Errorf("%v", rows)
	}
}

// Without a script, what is refused comes back to the page and the field it was typed in, with the reason beside it.
func TestRefusedInItsPlaceWithoutAScript(t *testing.T) {
	h := open(t)
	back := func(path, field, typed string, form url.Values) {
		t.Helper()
		p := h.browser.Post(path, form).Is(422).Has("main [role=alert]").Has("nav.sections")
		if strings.TrimSpace(p.Text("main [role=alert]")) == "" {
			t.Errorf("%s: it is not said why", path)
		}
		if field == "" {
			return
		}
		if got := p.Has(field).Attr(field, "value"); got != typed {
			t.Errorf("%s: %q was typed, %q stands there", path, typed, got)
		}
	}
	for _, bad := range []string{"plenty", "-1", "1e99", "0.0000001", "$", "NaN", "1,50"} {
		back("/settings/general", "#set-spend-daily [name=value]", bad, url.Values{"key": {"spend.daily"}, "value": {bad}, "place": {"spending"}})
		h.browser.Post("/settings/general", url.Values{"key": {"spend.daily"}, "value": {bad}, "place": {"spending"}}).Has(".caps").Has("#set-spend-daily [role=alert]")
	}
	for _, bad := range []string{"", "much", "0", "-1", "99999999"} {
		back("/settings/spending/background", ".raise-background [name=amount]", bad, url.Values{"amount": {bad}})
	}
	if got := h.config.Current().Config().Spend.Daily; got != 10_000_000 {
		t.Errorf("the cap became %d", got)
	}
	back("/settings/models", "#add-provider [name=base_url]", "nowhere", url.Values{"kind": {"openai"}, "name": {"home"}, "base_url": {"nowhere"}, "model": {"m"}})
	back("/settings/models", "#add-provider[open] [name=model]", "m", url.Values{"kind": {"openai"}, "name": {""}, "base_url": {""}, "model": {"m"}})
	h.browser.Post("/settings/models", url.Values{"kind": {"anthropic"}, "name": {"test"}, "base_url": {""}, "model": {"m"}}).Is(409).
		Has("#add-provider[open] [role=alert]").Has("#add-provider [name=name][value=test]").Has("#add-provider option[selected][value=anthropic]")
	back("/settings/models/default", "", "", url.Values{"model": {"no model at all"}})
	back("/settings/models/test/key", "", "", url.Values{"key": {""}})
	h.browser.Post("/settings/models/test/key", url.Values{"key": {""}}).Has("#p-test details[open] [role=alert]")
	back("/settings/theme", "", "", url.Values{"theme": {"pink"}})
	back("/settings/tokens", "[name=name]", "", url.Values{"name": {""}, "scope": {"read"}})
	back("/settings/data/delete", "#delete-word", "please", url.Values{"word": {"please"}})
	if order := h.config.Current().Config().Models.Order; len(order) != 1 {
		t.Errorf("the order of models became %v", order)
	}
	// With one, the same comes into its place.
	h.browser.HTMX().Post("/settings/models", url.Values{"kind": {"openai"}, "name": {"home"}, "base_url": {"nowhere"}, "model": {"m"}}).Is(422).Has("#add-provider[open] [role=alert]").Lacks("main")
}

// The form in the place of an answer keeps what was typed, too, with a script and without one.
func TestRaisingACapIsRefusedInItsPlace(t *testing.T) {
	h := open(t, llmtest.Text("Rusk."))
	_, err := h.config.Edit(t.Context(), "", []config.Change{{Key: "spend.daily", Value: "2.00"}})
	h.must(err)
	h.spent(h.spend.Today(), "", "m", agent.PurposeChat, agent.Usage{Input: 1, Cost: 1_900_000})
	thread := h.begin("What keeps?")
	path := "/chat/" + string(thread) + "/messages/" + string(h.thread(thread).Head) + "/spending"
	h.browser.Get(path).Is(200).Has(".raise.panel").Lacks(".raise [role=alert]")
	for _, c := range []struct{ how, amount string }{
		{"once", "a lot"}, {"once", "0"}, {"once", "-3"}, {"good", "1.50"}, {"good", "1.95e0x"}, {"good", ""}, {"ever", "5"},
	} {
		form := url.Values{"how": {c.how}, "amount": {c.amount}}
		for _, b := range []*webtest.Browser{h.browser, h.browser.HTMX()} {
			p := b.Post(path, form).Is(422).Has(".raise [role=alert]")
			way := c.how
			if way != "good" {
				way = "once"
			}
			if got := p.Attr(`.raise form:has([name=how][value=`+way+`]) [name=amount]`, "value"); got != c.amount {
				t.Errorf("%s %q: %q stands there", c.how, c.amount, got)
			}
		}
	}
	if got := h.config.Current().Config().Spend.Daily; got != 2_000_000 {
		t.Errorf("the cap became %d", got)
	}
}
