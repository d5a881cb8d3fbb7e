//go:build linux

package bench

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun/driver/sqliteshim"

	"ash/agent"
)

// fill makes a home whose database has threads of messages each, question and answer by turns, and returns one of
// them. It writes rows beside the store's own code, in one transaction: through it, each
// message would be a transaction of its own, and 100,000 of them take minutes.
func fill(b *testing.B, home string, m *model, threads, messages int) (thread string) {
	b.Helper()
	p := ash(b, home, m) // makes the schema
	p.stop()
	db, err := sql.Open(sqliteshim.ShimName, "file:"+filepath.Join(home, "ash.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback() // committed by then
	w := &filler{b: b, tx: tx, random: rand.New(rand.NewPCG(1, 2))}
	for i := range threads {
		thread = w.thread(fmt.Sprintf("conversation number %d", i), messages)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return thread
}

type filler struct {
	b      *testing.B
	tx     *sql.Tx
	random *rand.Rand
}

func (w *filler) exec(query string, args ...any) {
	w.b.Helper()
	if _, err := w.tx.Exec(query, args...); err != nil {
		w.b.Fatal(err)
	}
}

func (w *filler) thread(title string, messages int) string {
	id, now := string(agent.NewID()), time.Now().UnixMicro()
	w.exec(`INSERT INTO threads (id, title, title_source, channel, model, root, work_dir, grants, budget_cost, budget_tokens,
		pinned, archived, deleted, created, updated, search_title)
		VALUES (?, ?, 'person', 'web', '', '', '', '[]', 0, 0, 0, 0, 0, ?, ?, ?)`, id, title, now, now, title)
	insert, err := w.tx.Prepare(`INSERT INTO messages (id, thread, parent, role, state, provider, model, input_tokens, output_tokens,
		cache_read_tokens, cache_write_tokens, cost, first_token, duration, stop, failure_code, failure_public, covered_boot, covered_seq,
		created, finished, preview, labels, parts, search_text)
		VALUES (?, ?, ?, ?, 'complete', '', '', 0, 0, 0, 0, 0, 0, 0, '', '', '', '', 0, ?, ?, ?, '[]', ?, ?)`)
	if err != nil {
		w.b.Fatal(err)
	}
	defer insert.Close()
	var head any
	for i := range messages {
		text, message := w.prose(), string(agent.NewID())
		parts, err := json.Marshal([]map[string]string{{"type": "text", "text": text}})
		if err != nil {
			w.b.Fatal(err)
		}
		if _, err := insert.Exec(message, id, head, [2]string{"user", "assistant"}[i%2], now, now, text[:100], string(parts), text); err != nil {
			w.b.Fatal(err)
		}
		head = message
	}
	w.exec(`UPDATE threads SET head = ? WHERE id = ?`, head, id)
	return id
}

// prose is some sentences from a vocabulary of 5,000 words; "the" is in each, "invoice" in about one of fifty.
func (w *filler) prose() string {
	text := []string{"the"}
	for range 30 + w.random.IntN(40) {
		n := int(float64(5000) * w.random.Float64() * w.random.Float64())
		text = append(text, fmt.Sprintf("%c%cword%d", 'a'+n%26, 'a'+n/26%26, n))
	}
	if w.random.IntN(50) == 0 {
		text = append(text, "invoice")
	}
	return strings.Join(text, " ")
}
