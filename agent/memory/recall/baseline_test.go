package recall_test

import (
	"database/sql"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"ash/agent/memory/lexis"
)

// baseline ranks by SQLite's BM25 alone, with or without the turns around.
func baseline(t testing.TB, c conversation, context bool) func(string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/b.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	must := func(q string, args ...any) {
		if _, err := db.Exec(q, args...); err != nil {
			t.Fatal(err)
		}
	}
	must(`CREATE VIRTUAL TABLE f USING fts5 (id UNINDEXED, body, around, tokenize = 'porter unicode61 remove_diacritics 2')`)
	must("BEGIN")
	for i, m := range c.turns {
		around := ""
		for j := max(0, i-1); context && j <= min(i+1, len(c.turns)-1); j++ {
			if j != i && c.turns[j].Time == m.Time {
				around += " " + c.turns[j].Text
			}
		}
		must(`INSERT INTO f VALUES (?, ?, ?)`, m.ID, m.Speaker+" "+m.Time+" "+m.Text, around)
	}
	must("COMMIT")
	return func(q string) []string {
		var words []string
		for _, w := range lexis.Words(q) {
			if !w.Stop {
				words = append(words, `"`+w.Text+`"`)
			}
		}
		rows, err := db.Query(`SELECT id FROM f WHERE f MATCH ? ORDER BY bm25(f, 1, 1, 0.4) LIMIT 10`, strings.Join(words, " OR "))
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var ids []string
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return ids
	}
}
