package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

var _ memory.Trail = (*Store)(nil)

// Saying implements memory.Trail: the newest come first. Messages are found by their text, and by the arguments, results and
// effects of their calls.
func (s *Store) Saying(ctx context.Context, words []string, limit int) ([]agent.Message, bool, error) {
	if len(words) == 0 || limit < 1 {
		return nil, false, nil
	}
	var list []agent.Message
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		var seqs []int64
		err := tx.NewRaw(`SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rowid DESC LIMIT ?`,
			sayingMatch(words), limit+1).Scan(ctx, &seqs)
		if err != nil {
			return err
		}
		called, err := callsSaying(ctx, tx, words)
		if err != nil {
			return err
		}
		var rows []messageRow
		err = tx.NewSelect().Model(&rows).Where("seq IN (?) OR id IN (?)", bun.List(append(seqs, -1)), bun.List(append(called, ""))).
			Order("seq DESC").Limit(int64(limit + 1)).Scan(ctx)
		if err != nil {
			return err
		}
		list, err = complete(ctx, tx, rows)
		return err
	})
	if len(list) > limit {
		return list[:limit], true, err
	}
	return list, false, err
}

// sayingMatch is the full-text query for texts with two of the words, or with all when there is one.
func sayingMatch(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		one := `"` + strings.ReplaceAll(searchable(clean(w)), `"`, " ") + `"`
		if !strings.ContainsFunc(w, spaceless) {
			one += "*"
			if strings.Contains(w, "ss") { // the index keeps ß
				one = "(" + one + ` OR "` + strings.ReplaceAll(w, "ss", "ß") + `"*)`
			}
		}
		quoted[i] = one
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	var pairs []string
	for i, a := range quoted {
		for _, b := range quoted[i+1:] {
			pairs = append(pairs, "("+a+" AND "+b+")")
		}
	}
	return strings.Join(pairs, " OR ")
}

// callsSaying returns the messages whose calls have two of the words (one, when there is no other).
func callsSaying(ctx context.Context, db bun.IDB, words []string) ([]agent.ID, error) {
	var rows []struct {
		Message                     agent.ID
		Arguments, Result, Effect   string
		Decision, Findings, Because string
	}
	// What has letters beyond ASCII may be written in ways that LIKE does not see: it is looked at below.
	const texts = `c.arguments || ' ' || c.result || ' ' || coalesce(c.effect, '') || ' ' || coalesce(c.decision, '')`
	q := db.NewSelect().TableExpr("tool_calls AS c").ColumnExpr(`message, arguments, result, coalesce(effect, '') AS effect,
		coalesce(decision, '') AS decision, coalesce(findings, '') AS findings, why AS because`).
		WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			q = q.Where("("+texts+") GLOB ?", `*[^ -~]*`).WhereOr("instr("+texts+", ?) > 0", `\u`)
			for _, w := range words {
				q = q.WhereOr("("+texts+") LIKE ?", "%"+clean(w)+"%")
			}
			return q
		})
	if err := q.Scan(ctx, &rows); err != nil {
		return nil, err
	}
	var found []agent.ID
	for _, row := range rows {
		said := strings.Join([]string{spoken(row.Arguments), spoken(row.Result), spoken(row.Effect), spoken(row.Decision), spoken(row.Findings), row.Because}, "\n")
		if memory.Mentions(said, words) >= min(2, len(words)) && !slices.Contains(found, row.Message) {
			found = append(found, row.Message)
		}
	}
	return found, nil
}

// spoken returns the strings inside JSON, one a line.
func spoken(text string) string {
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		token, err := d.Token()
		if err != nil {
			return b.String() // the end, or what is no JSON: the column holds nothing else
		}
		if s, ok := token.(string); ok {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
}

// Around implements memory.Trail: by the order in which they were stored.
func (s *Store) Around(ctx context.Context, message agent.ID, n int) ([]agent.Message, error) {
	var list []agent.Message
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		var rows []messageRow
		err := fixed(tx, `SELECT * FROM (
				SELECT m.* FROM messages m, messages o WHERE o.id = ?1 AND m.thread = o.thread AND m.seq <= o.seq ORDER BY m.seq DESC LIMIT ?2 + 1)
			UNION ALL SELECT * FROM (
				SELECT m.* FROM messages m, messages o WHERE o.id = ?1 AND m.thread = o.thread AND m.seq > o.seq ORDER BY m.seq LIMIT ?2)`,
			message, max(n, 0)).Scan(ctx, &rows)
		if err != nil {
			return err
		}
		list, err = complete(ctx, tx, rows)
		return err
	})
	return list, err
}

// ThreadMessages implements memory.Trail.
func (s *Store) ThreadMessages(ctx context.Context, thread agent.ID) ([]agent.Message, error) {
	var list []agent.Message
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		var rows []messageRow
		if err := fixed(tx, `SELECT * FROM messages WHERE thread = ?1 ORDER BY seq`, thread).Scan(ctx, &rows); err != nil {
			return err
		}
		var err error
		list, err = complete(ctx, tx, rows)
		return err
	})
	return list, err
}

// Derived implements memory.Trail. It reads all of them: there are few beside the messages they were made of.
func (s *Store) Derived(ctx context.Context, words []string, facts []agent.ID) (memory.Derived, error) {
	var d memory.Derived
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		for _, find := range []func() error{
			func() error { return derivedFacts(ctx, tx, words, &d) },
			func() error { return derivedEpisodes(ctx, tx, words, &d) },
			func() error { return derivedSummaries(ctx, tx, words, &d) },
			func() error { return derivedTitles(ctx, tx, words, &d) },
			func() error { return derivedProposals(ctx, tx, words, facts, &d) },
			func() error { return derivedVersions(ctx, tx, words, &d) },
			func() error {
				if len(facts) == 0 {
					return nil
				}
				return tx.NewRaw(`SELECT DISTINCT message FROM receipts WHERE kind = 'fact' AND ref IN (?)`, bun.List(facts)).Scan(ctx, &d.Receipts)
			},
		} {
			if err := find(); err != nil {
				return err
			}
		}
		return nil
	})
	return d, err
}

func derivedFacts(ctx context.Context, tx bun.IDB, words []string, d *memory.Derived) error {
	var texts []struct {
		Seq         int64
		Text, Quote string
	}
	if err := tx.NewRaw(`SELECT seq, text, quote FROM facts`).Scan(ctx, &texts); err != nil {
		return err
	}
	var hits []int64
	for _, t := range texts {
		if memory.Mentions(t.Text+"\n"+t.Quote, words) > 0 {
			hits = append(hits, t.Seq)
		}
	}
	if len(hits) == 0 {
		return nil
	}
	var rows []factRow
	if err := tx.NewSelect().Model(&rows).Where("seq IN (?)", bun.List(hits)).Order("seq").Scan(ctx); err != nil {
		return err
	}
	var err error
	d.Facts, err = completeFacts(ctx, tx, rows)
	return err
}

func derivedEpisodes(ctx context.Context, tx bun.IDB, words []string, d *memory.Derived) error {
	var rows []episodeRow
	if err := tx.NewSelect().Model(&rows).Scan(ctx); err != nil {
		return err
	}
	for _, row := range rows {
		if memory.Mentions(row.Text+"\n"+row.Entities, words) == 0 {
			continue
		}
		e, err := fromEpisode(row)
		if err != nil {
			return err
		}
		d.Episodes = append(d.Episodes, e)
	}
	return nil
}

func derivedSummaries(ctx context.Context, tx bun.IDB, words []string, d *memory.Derived) error {
	var rows []summaryRow
	if err := tx.NewSelect().Model(&rows).Scan(ctx); err != nil {
		return err
	}
	for _, row := range rows {
		if memory.Mentions(row.Text, words) == 0 {
			continue
		}
		sum, err := fromSummary(row)
		if err != nil {
			return err
		}
		d.Summaries = append(d.Summaries, sum)
	}
	return nil
}

func derivedTitles(ctx context.Context, tx bun.IDB, words []string, d *memory.Derived) error {
	var rows []threadRow
	if err := tx.NewSelect().Model(&rows).Where("title <> ''").Scan(ctx); err != nil {
		return err
	}
	for _, row := range rows {
		if memory.Mentions(row.Title, words) == 0 {
			continue
		}
		t, err := fromThread(row)
		if err != nil {
			return err
		}
		d.Threads = append(d.Threads, t)
	}
	return nil
}

func derivedProposals(ctx context.Context, tx bun.IDB, words []string, facts []agent.ID, d *memory.Derived) error {
	var rows []proposalRow
	if err := tx.NewSelect().Model(&rows).Scan(ctx); err != nil {
		return err
	}
	for _, row := range rows {
		p, err := fromProposal(row)
		if err != nil {
			return err
		}
		about := slices.Contains(facts, p.Fact.ID) || slices.ContainsFunc(p.Fact.Supersedes, func(id agent.ID) bool { return slices.Contains(facts, id) })
		if about || memory.Mentions(p.Fact.Text+"\n"+p.Fact.Source.Quote+"\n"+p.Why, words) > 0 {
			d.Proposals = append(d.Proposals, p)
		}
	}
	return nil
}

func derivedVersions(ctx context.Context, tx bun.IDB, words []string, d *memory.Derived) error {
	var rows []struct {
		versionRow
		Newest bool
	}
	err := tx.NewRaw(`SELECT v.*, v.seq = (SELECT max(seq) FROM identity_versions n WHERE n.file = v.file) AS newest
		FROM identity_versions v ORDER BY v.seq`).Scan(ctx, &rows)
	for _, row := range rows {
		if memory.Mentions(row.Text, words) > 0 {
			d.Versions = append(d.Versions, memory.Version{ID: row.ID, File: row.File, Text: row.Text, Newest: row.Newest, Created: fromMicros(row.Created)})
		}
	}
	return err
}

// Snapshots implements memory.Trail. Copies that somebody made elsewhere are not known.
func (s *Store) Snapshots(_ context.Context, since time.Time) ([]memory.Snapshot, error) {
	entries, err := os.ReadDir(backupFolder(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.translate(err)
	}
	var list []memory.Snapshot
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, s.translate(err)
		}
		if !info.ModTime().Before(since) {
			list = append(list, memory.Snapshot{Name: e.Name(), Size: info.Size(), Created: info.ModTime().UTC()})
		}
	}
	return list, nil
}
