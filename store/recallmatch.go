package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent/memory/recall"
)

// Extent implements recall.Index.
func (s *Store) Extent(ctx context.Context) (recall.Extent, error) {
	var e recall.Extent
	err := fixed(s.reader, `SELECT items AS count, (SELECT ifnull(max(seq), 0) FROM recall_items) AS last FROM recall_state WHERE ?1`, true).Scan(ctx, &e.Count, &e.Last)
	return e, s.translate(err)
}

// Outline implements recall.Index. It reads row by row: there may be very many.
func (s *Store) Outline(ctx context.Context, after int64, each func(recall.Line)) error {
	return s.translate(s.outline(ctx, after, each))
}

func (s *Store) outline(ctx context.Context, after int64, each func(recall.Line)) (err error) {
	rows, err := bound{s.reader.DB, []any{after}}.QueryContext(ctx, `SELECT seq, kind, ifnull(thread, ''), place, section, time, weight, words, marks, speaker
		FROM recall_items WHERE seq > ?1 ORDER BY seq`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var (
		l    recall.Line
		time int64
	)
	for rows.Next() {
		if err := rows.Scan(&l.Seq, &l.Kind, &l.Thread, &l.Place, &l.Section, &time, &l.Weight, &l.Words, &l.Marks, &l.Speaker); err != nil {
			return err
		}
		l.Time = fromMicros(time)
		each(l)
	}
	return rows.Err()
}

// Postings implements recall.Index. Words with the same limit are asked for in one statement, which costs a good part less than
// one each.
func (s *Store) Postings(ctx context.Context, words []string, limits []int) ([][]int64, error) {
	lists := make([][]int64, len(words))
	same := map[int][]int{}
	for i, limit := range limits {
		same[limit] = append(same[limit], i)
	}
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		for limit, places := range same {
			if err := postings(ctx, tx, words, places, limit, lists); err != nil {
				return err
			}
		}
		return nil
	})
	return lists, err
}

// postings fills in the lists of the words at places. The words stand inside quotes: they can be nothing but words to SQLite. Without
// the inner SELECT it would make a new plan for each limit.
func postings(ctx context.Context, tx bun.IDB, words []string, places []int, limit int, lists [][]int64) error {
	quoted := make([]string, len(places))
	for i, at := range places {
		quoted[i] = `"` + strings.ReplaceAll(clean(words[at]), `"`, " ") + `"`
	}
	text, err := toJSON(quoted)
	if err != nil {
		return err
	}
	var packed []string
	err = fixed(tx, `SELECT ifnull((SELECT group_concat(rowid, ' ') FROM (SELECT rowid FROM recall_fts WHERE recall_fts MATCH j.value
			ORDER BY rowid DESC LIMIT (SELECT ?2))), '') FROM json_each(?1) j ORDER BY j.key`, text, limit).Scan(ctx, &packed)
	if err != nil {
		return err
	}
	if len(packed) != len(places) {
		return fmt.Errorf("%d postings for %d words", len(packed), len(places))
	}
	for i, at := range places {
		if lists[at], err = unpack(packed[i]); err != nil {
			return err
		}
	}
	return nil
}

// unpack reads numbers with spaces between: one row of text costs far less than a row for each number.
func unpack(packed string) ([]int64, error) {
	if packed == "" {
		return nil, nil
	}
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
