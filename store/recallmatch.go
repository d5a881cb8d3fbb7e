package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent/memory/lexis"
	"ash/agent/memory/recall"
)

// Extent implements recall.Index.
func (s *Store) Extent(ctx context.Context) (recall.Extent, error) {
	var e recall.Extent
	err := fixed(s.reader, `SELECT items AS count, (SELECT ifnull(max(seq), 0) FROM recall_items) AS last FROM recall_state WHERE ?1`, true).Scan(ctx, &e.Count, &e.Last)
	return e, s.translate(err)
}

// Outline implements recall.Index.
func (s *Store) Outline(ctx context.Context, after int64) ([]recall.Line, error) {
	var rows []recallRow
	err := fixed(s.reader, `SELECT seq, kind, thread, place, section, time, weight, words, marks, speaker FROM recall_items
		WHERE seq > ?1 ORDER BY seq`, after).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	lines := make([]recall.Line, len(rows))
	for i, r := range rows {
		lines[i] = recall.Line{
			Seq: r.Seq, Kind: r.Kind, Thread: r.Thread, Place: r.Place, Section: r.Section, Time: fromMicros(r.Time),
			Weight: r.Weight, Words: r.Words, Marks: lexis.Marks(r.Marks), Speaker: r.Speaker,
		}
	}
	return lines, nil
}

// Postings implements recall.Index. The words stand inside quotes: they can be nothing but words to SQLite.
func (s *Store) Postings(ctx context.Context, words []string, limits []int) ([][]int64, error) {
	lists := make([][]int64, len(words))
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		for i, w := range words {
			quoted := `"` + strings.ReplaceAll(clean(w), `"`, " ") + `"`
			var packed *string
			err := fixed(tx, `SELECT group_concat(rowid, ' ') FROM (SELECT rowid FROM recall_fts WHERE recall_fts MATCH ?1
				ORDER BY rowid DESC LIMIT ?2)`, quoted, limits[i]).Scan(ctx, &packed)
			if err != nil {
				return err
			}
			if packed != nil {
				if lists[i], err = unpack(*packed); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return lists, err
}

// unpack reads numbers with spaces between: one row of text costs far less than a row for each number.
func unpack(packed string) ([]int64, error) {
	list := make([]int64, 0, 1+strings.Count(packed, " "))
	for field := range strings.SplitSeq(packed, " ") {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// Items implements recall.Index.
func (s *Store) Items(ctx context.Context, seqs []int64) ([]recall.Found, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	var rows []struct {
		recallRow
		Said     string `bun:"said"`
		External string `bun:"external"`
		Archive  string `bun:"archive"`
	}
	list := make([]string, len(seqs))
	for i, n := range seqs {
		list[i] = strconv.FormatInt(n, 10)
	}
	err := fixed(s.reader, `SELECT i.seq, i.kind, i.ref, i.part, i.thread, i.time, i.speaker, i.labels, i.body, i.text,
			ifnull(o.said, '') AS said, ifnull(o.external, '') AS external, ifnull(o.archive, '') AS archive
		FROM json_each(?1) j CROSS JOIN recall_items i ON i.seq = j.value LEFT JOIN message_origins o ON i.kind = 'message' AND o.message = i.ref
		WHERE i.thread IS NULL OR NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = i.thread AND t.deleted <> 0)`,
		"["+strings.Join(list, ",")+"]").Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	found := make([]recall.Found, len(rows))
	for i, r := range rows {
		labels, err := decodeLabels(r.Labels)
		if err != nil {
			return nil, s.translate(err)
		}
		found[i] = recall.Found{
			Seq: r.Seq, Kind: r.Kind, Ref: r.Ref, Part: r.Part, Thread: r.Thread, Time: fromMicros(r.Time), Said: r.Said,
			External: r.External, Archive: strings.TrimPrefix(r.Archive, importChannel+":"), Speaker: r.Speaker, Labels: labels, Body: r.Body, Text: r.Text,
		}
	}
	return found, nil
}
