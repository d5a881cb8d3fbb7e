//go:build linux

package bench

import (
	"database/sql"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun/driver/sqliteshim"

	"ash/agent"
)

const (
	manyFacts    = 100_000
	manyEntities = 5_000
	manyTalks    = 1_000
)

// remember makes a home that remembers a hundred thousand facts about five thousand names, out of a thousand conversations, and
// returns the names of the one most known, of one that is hardly known, and a fact.
func remember(b *testing.B, home string, m *model) (known, hardly, fact string) {
	b.Helper()
	fill(b, home, m, manyTalks, 4)
	db, err := sql.Open(sqliteshim.ShimName, "file:"+filepath.Join(home, "ash.db")+"?_pragma=foreign_keys(1)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback() // committed by then
	w := &filler{b: b, tx: tx, random: rand.New(rand.NewPCG(3, 4))}
	var owner string
	if err := tx.QueryRow(`SELECT id FROM persons LIMIT 1`).Scan(&owner); err != nil {
		b.Fatal(err)
	}
	names := make([]string, manyEntities)
	for i := range names {
		names[i] = string(agent.NewID())
		name := fmt.Sprintf("%c%s %d", 'A'+i%26, []string{"nna", "runo", "ecilia", "agmar"}[i%4], i)
		w.exec(`INSERT INTO entities (id, owner, kind, name, fold) VALUES (?, ?, ?, ?, ?)`, names[i], owner,
			[]string{"person", "place", "project", "thing"}[i%4], name, strings.ToLower(name))
	}
	resume := w.untriggered()
	fact = w.facts(owner, names)
	resume()
	w.exec(`INSERT INTO episodes (thread, through, began, ended, created, provider, model, input_tokens, output_tokens, cache_read_tokens,
		cache_write_tokens, cost, first_token, duration, labels, entities, text)
		SELECT id, head, created, updated + seq, updated, '', '', 0, 0, 0, 0, 0, 0, 0, '[]', '[]', 'About ' || title FROM threads`)
	for i := range 300 {
		w.exec(`INSERT INTO proposals (id, action, created, why, fact) VALUES (?, 'keep', ?, 'Said.', ?)`, string(agent.NewID()), time.Now().UnixMicro(),
			fmt.Sprintf(`{"id":%q,"owner":%q,"kind":"fact","status":"current","text":"Proposal %d"}`, agent.NewID(), owner, i))
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return names[0], names[manyEntities-7], fact
}

// untriggered has the triggers of facts rest while many are written. resume does what they would have done, at once, and has them work again.
func (w *filler) untriggered() (resume func()) {
	w.b.Helper()
	rows, err := w.tx.Query(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('facts', 'fact_entities', 'entity_links')`)
	if err != nil {
		w.b.Fatal(err)
	}
	defer rows.Close()
	var names, made []string
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			w.b.Fatal(err)
		}
		names, made = append(names, name), append(made, text)
	}
	if err := rows.Err(); err != nil {
		w.b.Fatal(err)
	}
	for _, name := range names {
		w.exec("DROP TRIGGER " + name)
	}
	return func() {
		for _, text := range append([]string{
			`INSERT INTO fact_counts SELECT owner, kind, status, pinned, 0, count(*), sum(octet_length(text)) FROM facts GROUP BY 1, 2, 3, 4`,
			`INSERT INTO fact_days SELECT owner, day, kind, sum(learned), sum(ended) FROM (
				SELECT owner, created / 86400000000 AS day, kind, 1 AS learned, status <> 'current' AS ended FROM facts) GROUP BY 1, 2, 3`,
			`UPDATE fact_entities SET (status, said, seq) = (SELECT status, said, seq FROM facts WHERE id = fact)`,
			`UPDATE entities SET about = (SELECT count(*) FROM fact_entities WHERE entity = id AND status = 'current')`,
			`INSERT INTO entity_links SELECT x.entity, y.entity, count(*) FROM fact_entities x JOIN fact_entities y ON y.fact = x.fact AND x.entity < y.entity
				WHERE x.status = 'current' GROUP BY 1, 2`,
		}, made...) {
			w.exec(text)
		}
	}
}

// facts writes them, and returns one of them.
func (w *filler) facts(owner string, names []string) (fact string) {
	insert, err := w.tx.Prepare(`INSERT INTO facts (id, kind, status, owner, subject, confidence, importance, said, true_from, true_until, expires,
		pinned, successor, source, thread, message, note, run, created, updated, labels, fold, quote, text)
		VALUES (?, ?, ?, ?, '', 1, ?, ?, 0, 0, 0, ?, NULL, ?, NULL, NULL, '', NULL, ?, ?, '[]', ?, '', ?)`)
	if err != nil {
		w.b.Fatal(err)
	}
	defer insert.Close()
	link, err := w.tx.Prepare(`INSERT OR IGNORE INTO fact_entities (fact, entity) VALUES (?, ?)`)
	if err != nil {
		w.b.Fatal(err)
	}
	defer link.Close()
	now := time.Now()
	for i := range manyFacts {
		id := string(agent.NewID())
		kind, status, source := "fact", "current", "message"
		switch r := w.random.IntN(1000); {
		case r < 3:
			kind = "core"
		case r < 25:
			kind = "pattern"
		}
		switch r := w.random.IntN(100); {
		case r < 10:
			status = "superseded"
		case r < 15:
			status = "retired"
		}
		switch r := w.random.IntN(10_000); {
		case r < 3:
			source = "note"
		case r < 1500:
			source = "person"
		}
		said := now.Add(-time.Duration(w.random.Int64N(int64(3 * 365 * 24 * time.Hour)))).UnixMicro()
		text := w.prose()
		text = text[:min(len(text), 140)] + fmt.Sprint(" number ", i)
		if _, err := insert.Exec(id, kind, status, owner, w.random.Float64(), said, w.random.IntN(500) == 0 && status == "current", source, said, said, id, text); err != nil {
			w.b.Fatal(err)
		}
		for range 1 + w.random.IntN(3) { // a few are known far better than the rest
			if _, err := link.Exec(id, names[int(float64(len(names))*math.Pow(w.random.Float64(), 4))]); err != nil {
				w.b.Fatal(err)
			}
		}
		if i == manyFacts/2 {
			fact = id
		}
	}
	return fact
}

// finds reports whether the palette finds a fact. While the index is being made it may not answer in time.
func (b *browser) finds(query string) bool {
	resp, err := b.client.Get(b.url + "/palette?q=" + query)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(body), "/memory/facts/")
}

var nextPattern = regexp.MustCompile(`class="pager"><a class="btn" href="([^"]+)"`)

// BenchmarkMemoryPages is every page of memory over 100,000 facts, from request to last byte. Each is to be as quick as a conversation.
func BenchmarkMemoryPages(b *testing.B) {
	m := newModel(b, answer{})
	home := b.TempDir()
	known, hardly, fact := remember(b, home, m)
	p := ash(b, home, m)
	page := visit(b, p)
	later := "/memory?tab=facts"
	for range 3 {
		next := nextPattern.FindStringSubmatch(page.page(later))
		if next == nil {
			b.Fatal("there is no further page")
		}
		later = strings.ReplaceAll(next[1], "&amp;", "&")
	}
	measure := func(list []memoryPage) {
		for _, x := range list {
			b.Run(strings.ReplaceAll(x.name, ",", ""), func(b *testing.B) {
				page.page(x.path)
				var all samples
				for b.Loop() {
					began := time.Now()
					page.page(x.path)
					all = append(all, time.Since(began))
				}
				b.ReportMetric(all.median(), "ms/median")
				figure(b, all.at(0.95), "ms/p95", 50)
				b.ReportMetric(0, "ns/op")
			})
		}
	}
	measure([]memoryPage{
		{"first", "/memory"},
		{"facts", "/memory?tab=facts"},
		{"facts, fourth page", later},
		{"facts, three years ago", "/memory?tab=facts&until=" + time.Now().AddDate(-2, -11, 0).Format(time.DateOnly)},
		{"about me", "/memory?tab=core"},
		{"patterns", "/memory?tab=patterns"},
		{"conversations", "/memory?tab=episodes"},
		{"waiting", "/memory?tab=waiting"},
		{"rare source", "/memory?source=note"},
		{"rare source, all", "/memory?source=note&status=all"},
		{"common source, all", "/memory?source=message&status=all"},
		{"source and kind", "/memory?source=note&tab=core"},
		{"all", "/memory?status=all"},
		{"pinned", "/memory?status=pinned"},
		{"about the best known", "/memory?entity=" + known},
		{"about the best known, all", "/memory?entity=" + known + "&status=all"},
		{"about somebody, from notes", "/memory?entity=" + known + "&source=note"},
		{"about the least known", "/memory?entity=" + hardly},
		{"names", "/memory/entities"},
		{"names that begin", "/memory/entities?name=anna"},
		{"places", "/memory/entities?kind=place"},
		{"the best known", "/memory/entities/" + known},
		{"the best known, all", "/memory/entities/" + known + "?status=all"},
		{"the least known", "/memory/entities/" + hardly},
		{"a fact", "/memory/facts/" + fact},
		{"runs", "/memory/runs"},
		{"growth", "/memory/growth"},
		{"growth, three years", "/memory/growth?span=3y"},
		{"inbox", "/inbox"},
	})
	for end := time.Now().Add(15 * time.Minute); !page.finds("number+99999"); time.Sleep(time.Second) {
		if time.Now().After(end) {
			b.Fatal("the facts are not indexed after a quarter of an hour")
		}
	}
	measure([]memoryPage{
		{"search", "/memory?q=number+invoice"},
		{"search, narrowed", "/memory?q=the+invoice&tab=facts&source=person"},
		{"palette", "/palette?q=invoi"},
		{"forgetting, preview", "/memory/forget?fact=" + fact},
	})
}

type memoryPage struct{ name, path string }
