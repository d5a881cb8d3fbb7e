package store

import (
	"strings"
	"testing"

	"ash/agent"
)

// plan is how SQLite would answer a query.
func (f *fixture) plan(query string) string {
	f.t.Helper()
	var rows []struct {
		ID, Parent, Notused int
		Detail              string
	}
	f.ok(f.reader.NewRaw("EXPLAIN QUERY PLAN "+query).Scan(f.ctx, &rows))
	var out strings.Builder
	for _, r := range rows {
		out.WriteString(r.Detail + "\n")
	}
	return out.String()
}

// Every list of memory is read in the order of an index: nothing is sorted, and no table is read to its end.
func TestListsOfMemoryAreReadInOrder(t *testing.T) {
	f := newFixture(t)
	current := []agent.FactStatus{agent.FactCurrent}
	for name, c := range map[string]struct {
		filter agent.FactFilter
		index  string
	}{
		"all that holds":      {agent.FactFilter{Owner: f.owner, Statuses: current}, "facts_status"},
		"a kind":              {agent.FactFilter{Owner: f.owner, Statuses: current, Kinds: []agent.FactKind{agent.FactCore}}, "facts_kind"},
		"a source":            {agent.FactFilter{Owner: f.owner, Statuses: current, Source: agent.SourceNote}, "facts_source"},
		"a source of a kind":  {agent.FactFilter{Owner: f.owner, Statuses: current, Source: agent.SourceNote, Kinds: []agent.FactKind{agent.FactCore}}, "facts_source_kind"},
		"pinned":              {agent.FactFilter{Owner: f.owner, Statuses: current, Pinned: true}, "facts_pinned"},
		"a time":              {agent.FactFilter{Owner: f.owner, Statuses: current, From: now()}, "facts_status"},
		"about somebody":      {agent.FactFilter{Owner: f.owner, Statuses: current, Entity: agent.NewID()}, "fact_entities_entity"},
		"about, and a source": {agent.FactFilter{Owner: f.owner, Statuses: current, Entity: agent.NewID(), Source: agent.SourceNote}, "facts_source"},
		"learned from":        {agent.FactFilter{Message: agent.NewID()}, "facts_message"},
		"learned in":          {agent.FactFilter{Thread: agent.NewID()}, "facts_thread"},
	} {
		t.Run(name, func(t *testing.T) {
			status := agent.FactCurrent
			var rows []factRow
			order, err := f.orderOf(f.ctx, c.filter)
			f.ok(err)
			q := factsOf(f.reader.NewSelect().Model(&rows), c.filter, status, order).Where("(?0.said, ?0.seq) < (?1, ?2)", order, 1<<50, 9).Limit(41)
			plan := f.plan(q.String())
			if !strings.Contains(plan, "USING INDEX "+c.index+" ") && !strings.Contains(plan, "USING COVERING INDEX "+c.index+" ") {
				t.Errorf("not by %s:\n%s", c.index, plan)
			}
			few := c.filter.Message != "" || c.filter.Thread != "" // sorted: there are few
			if strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") && !few {
				t.Errorf("it reads or sorts more than a page:\n%s", plan)
			}
		})
	}
	for name, query := range map[string]string{
		"a chain": strings.ReplaceAll(chainQuery, "?1", "'x'"),
	} {
		if plan := f.plan(query); strings.Contains(plan, "SCAN f") {
			t.Errorf("%s reads a table to its end:\n%s", name, plan)
		}
	}
	for name, c := range map[string]struct {
		filter agent.EntityFilter
		index  string
	}{
		"names":  {agent.EntityFilter{Owner: f.owner}, "entities_about"},
		"places": {agent.EntityFilter{Owner: f.owner, Kind: agent.EntityPlace}, "entities_kind"},
	} {
		var rows []entityRow
		q := f.reader.NewSelect().Model(&rows).OrderExpr("e.about DESC, e.seq DESC").Where("e.owner = ?", c.filter.Owner)
		if c.filter.Kind != "" {
			q = q.Where("e.kind = ?", c.filter.Kind)
		}
		if plan := f.plan(q.String()); !strings.Contains(plan, c.index) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s are not read by %s:\n%s", name, c.index, plan)
		}
	}
}
