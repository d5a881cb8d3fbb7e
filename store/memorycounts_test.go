package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
	"ash/migrations"
)

// kept are the figures that are kept as facts change, and counted the same figures counted anew: each as lines to compare.
var figures = map[string]struct{ kept, counted string }{
	"facts by sort": {
		`SELECT owner || kind || status || pinned || untrusted || ' ' || n || ' ' || bytes FROM fact_counts WHERE n <> 0 ORDER BY 1`,
		`SELECT owner || kind || status || pinned || (labels LIKE '%"untrusted"%') || ' ' || count(*) || ' ' || sum(octet_length(text)) FROM facts
			GROUP BY owner, kind, status, pinned, labels LIKE '%"untrusted"%' ORDER BY 1`,
	},
	"days": {
		`SELECT day || kind || learned || ' ' || ended FROM fact_days WHERE learned <> 0 OR ended <> 0 ORDER BY 1`,
		`SELECT day || kind || sum(l) || ' ' || sum(e) FROM (SELECT created / 86400000000 AS day, kind, 1 AS l, 0 AS e FROM facts
			UNION ALL SELECT updated / 86400000000, kind, 0, 1 FROM facts WHERE status <> 'current') GROUP BY day, kind ORDER BY 1`,
	},
	"about": {
		`SELECT name || ' ' || about FROM entities ORDER BY 1`,
		`SELECT name || ' ' || (SELECT count(*) FROM fact_entities l JOIN facts f ON f.id = l.fact WHERE l.entity = e.id AND f.status = 'current')
			FROM entities e ORDER BY 1`,
	},
	"places in lists": {
		`SELECT fact || entity || status || said || ' ' || seq FROM fact_entities ORDER BY 1`,
		`SELECT l.fact || l.entity || f.status || f.said || ' ' || f.seq FROM fact_entities l JOIN facts f ON f.id = l.fact ORDER BY 1`,
	},
	"links": {
		`SELECT a || b || facts FROM entity_links ORDER BY 1`,
		`SELECT x.entity || y.entity || count(*) FROM fact_entities x JOIN fact_entities y ON y.fact = x.fact AND x.entity < y.entity
			JOIN facts f ON f.id = x.fact AND f.status = 'current' GROUP BY x.entity, y.entity ORDER BY 1`,
	},
}

// figured fails when a figure is not what counting says.
func (f *fixture) figured(after string) {
	f.t.Helper()
	for name, q := range figures {
		var kept, counted []string
		f.ok(f.reader.NewRaw(q.kept).Scan(f.ctx, &kept))
		f.ok(f.reader.NewRaw(q.counted).Scan(f.ctx, &counted))
		if fmt.Sprint(kept) != fmt.Sprint(counted) {
			f.t.Fatalf("%s after %s: kept\n%q\ncounted\n%q", name, after, kept, counted)
		}
	}
}

// Whatever happens to facts and names, the figures that pages show are what counting would say.
func TestFiguresAreKept(t *testing.T) {
	f := newFixture(t)
	random := rand.New(rand.NewPCG(7, 11))
	book := memory.New(f.Store, memory.Options{Window: time.Hour})
	names := []string{"Anna", "Bo", "Cy", "Dee", "Eli", "Rome"}
	var hidden []agent.ID
	pick := func() (agent.Fact, bool) {
		list, _, err := f.Facts(f.ctx, agent.FactFilter{Limit: 200})
		f.ok(err)
		if len(list) == 0 {
			return agent.Fact{}, false
		}
		return list[random.IntN(len(list))], true
	}
	some := func() (out []agent.Entity) {
		for _, n := range names {
			if random.IntN(3) == 0 {
				out = append(out, agent.Entity{Name: n})
			}
		}
		return out
	}
	steps := map[string]func() error{
		"remembering": func() error {
			x := agent.Fact{Text: fmt.Sprintf("Item %d is blue", random.IntN(1e6)), Owner: f.owner, Entities: some(), Kind: []agent.FactKind{agent.FactCore, agent.FactPlain, agent.FactPattern}[random.IntN(3)]}
			x.Said = time.Now().AddDate(0, 0, -random.IntN(900))
			x.Created = x.Said
			if random.IntN(4) == 0 {
				x.Labels = agent.Labels{{Source: "mail", Kind: agent.LabelUntrusted}}
			}
			_, err := book.Remember(f.ctx, x, true)
			return err
		},
		"correcting": func() error {
			x, ok := pick()
			if !ok {
				return nil
			}
			_, err := book.Correct(f.ctx, x.ID, time.Time{}, agent.Fact{Text: fmt.Sprintf("Item %d is red", random.IntN(1e6)), Entities: some()})
			return err
		},
		"retiring": func() error {
			x, ok := pick()
			if !ok {
				return nil
			}
			_, err := book.Retire(f.ctx, x.ID)
			return err
		},
		"reviving": func() error {
			x, ok := pick()
			if !ok {
				return nil
			}
			_, err := book.Revive(f.ctx, x.ID)
			return err
		},
		"pinning": func() error {
			x, ok := pick()
			if !ok {
				return nil
			}
			_, err := book.Pin(f.ctx, x.ID, !x.Pinned)
			return err
		},
		"forgetting": func() error {
			x, ok := pick()
			if !ok {
				return nil
			}
			g, err := book.Forget(f.ctx, memory.Target{Fact: x.ID}, nil)
			if err == nil {
				hidden = append(hidden, g.ID)
			}
			return err
		},
		"taking back": func() error {
			if len(hidden) == 0 {
				return nil
			}
			return book.Restore(f.ctx, hidden[random.IntN(len(hidden))])
		},
		"forgetting for good": func() error {
			if len(hidden) == 0 {
				return nil
			}
			return book.Finish(f.ctx, hidden[random.IntN(len(hidden))])
		},
		"merging names": func() error {
			list, _, err := f.Entities(f.ctx, agent.EntityFilter{Owner: f.owner, Limit: 200})
			if err != nil || len(list) < 2 || random.IntN(4) > 0 {
				return err
			}
			return f.MergeEntities(f.ctx, list[random.IntN(len(list))].ID, list[random.IntN(len(list))].ID)
		},
	}
	order := []string{"remembering", "remembering", "remembering", "correcting", "retiring", "reviving", "pinning", "forgetting", "taking back", "forgetting for good", "merging names"}
	done := map[string]int{}
	for range 300 {
		name := order[random.IntN(len(order))]
		switch err := steps[name](); agent.CodeOf(err) {
		case "":
			done[name]++
		case agent.CodeConflict, agent.CodeNotFound, agent.CodeInvalid: // it holds no longer, or the name is the same
		default:
			t.Fatalf("%s: %v", name, err)
		}
		f.figured(name)
	}
	for name := range steps {
		if done[name] == 0 {
			t.Errorf("%s never happened", name)
		}
	}

	// A home of before has them counted when it is upgraded.
	all, err := migrations.All()
	f.ok(err)
	i := 5
	f.ok(f.write(f.ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, script := range []string{all[i].Down, all[i].Up} {
			if _, err := tx.NewRaw(script).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	f.figured("the upgrade")
}
