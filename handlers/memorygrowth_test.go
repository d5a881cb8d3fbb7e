package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"ash/agent"
)

// The page of growth shows each kind week by week, the sizes over the days, and the same as a table.
func TestMemoryGrowth(t *testing.T) {
	h, thread := remembering(t)
	now := time.Now()
	for i := range 12 {
		f := agent.Fact{Text: fmt.Sprintf("Jar number %d holds cumin.", i), Said: now, Created: now.AddDate(0, 0, -7*i), Kind: []agent.FactKind{agent.FactCore, agent.FactPlain, agent.FactPattern}[i%3]}
		if kept := h.mind.keep(f); i == 11 {
			_, err := h.mind.book.Retire(context.Background(), kept.ID)
			h.must(err)
		}
	}
	h.hazelnuts(thread)
	p := h.browser.Get("/memory/growth").Is(200).Says("12 facts hold now. In this time 13 were learned, 1 replaced or let go.").Says("From tomorrow on").Says("Database")
	for _, band := range []string{"band-0", "band-1", "band-2"} {
		if d := p.Attr("svg.growth path."+band, "d"); !strings.HasPrefix(d, "M") || !strings.HasSuffix(d, "Z") {
			t.Errorf("%s is drawn as %q", band, d)
		}
	}
	cells := func(row *goquery.Selection) string {
		return strings.Join(row.Find("td").Map(func(_ int, cell *goquery.Selection) string { return cell.Text() }), " ")
	}
	rows := p.Find(".growth-table tbody tr")
	if got := cells(rows.First()); got != "4 5 3 2 1" { // this week: one of the jars, the hazelnuts, and the jar that was let go
		t.Errorf("the newest line of the table is %q", got)
	}
	if got := cells(rows.Last()); got != "0 0 0 0 0" {
		t.Errorf("at first it held %q", got)
	}
	if strings.Contains(p.Body, "style=") {
		t.Error("the page has inline styles, which its policy forbids")
	}

	_, err := h.store.MeasureMemory(context.Background(), now.AddDate(0, 0, -40))
	h.must(err)
	p = h.browser.Get("/memory/growth?span=3m").Is(200).Lacks(".empty-note")
	if n := p.Find("svg.growth").Length(); n != 2 {
		t.Errorf("%d charts, want facts and sizes", n)
	}
	h.browser.Get("/memory/growth?span=3y").Is(200)
	h.browser.Get("/memory/growth?span=x").Is(422)
}
