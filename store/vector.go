package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent/memory/embed"
)

var _ embed.Vectors = (*Store)(nil)

const (
	// embedText is what of an item is embedded: who says what, clipped. A model reads words, so the index's own form of
	// them stands in only where there is no other.
	embedText = `CASE WHEN i.speaker <> '' THEN i.speaker || ': ' ELSE '' END || substr(CASE WHEN i.text <> '' THEN i.text ELSE i.body END, 1, 8192)`
	// codeBatch is how many codes are read at once.
	codeBatch = 4096
)

// UseSpace implements embed.Vectors. Marking 100,000 items takes one short transaction; their vectors are replaced one batch at
// a time.
func (s *Store) UseSpace(ctx context.Context, space embed.Space) error {
	name := clean(space.String())
	present, err := s.presentSpace(ctx, s.reader, name)
	if err != nil || present != 0 {
		return err
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if _, err := tx.ExecContext(ctx, "UPDATE recall_spaces SET present = 0 WHERE present = 1"); err != nil {
			return err
		}
		// Spaces without vectors are forgotten, so that their number does not grow.
		_, err := tx.ExecContext(ctx, "DELETE FROM recall_spaces WHERE name <> ? AND NOT EXISTS (SELECT 1 FROM recall_codes c WHERE c.space = recall_spaces.id)", name)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO recall_spaces (name, present) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET present = 1", name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM recall_pending"); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO recall_pending (item)
			SELECT i.seq FROM recall_items i LEFT JOIN recall_codes c ON c.item = i.seq
			WHERE c.space IS NOT (SELECT id FROM recall_spaces WHERE present = 1)`)
		return err
	})
}

// presentSpace returns the number of a space, 0 when it is not the present one.
func (s *Store) presentSpace(ctx context.Context, db bun.IDB, name string) (int64, error) {
	var id []int64
	err := fixed(db, "SELECT id FROM recall_spaces WHERE name = ? AND present = 1", name).Scan(ctx, &id)
	if err != nil || len(id) == 0 {
		return 0, s.translate(err)
	}
	return id[0], nil
}

type pendingRow struct {
	Seq  int64  `bun:"seq"`
	Text string `bun:"text"`
}

// PendingItems implements embed.Vectors.
func (s *Store) PendingItems(ctx context.Context, limit int) ([]embed.Item, error) {
	var rows []pendingRow
	err := fixed(s.reader, "SELECT i.seq, "+embedText+` AS text FROM recall_pending p JOIN recall_items i ON i.seq = p.item
		ORDER BY p.item DESC LIMIT ?`, limit).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	items := make([]embed.Item, len(rows))
	for i, r := range rows {
		items[i] = embed.Item(r)
	}
	return items, nil
}

// CountVectors implements embed.Vectors.
func (s *Store) CountVectors(ctx context.Context, space embed.Space) (have, pending int, err error) {
	err = s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		id, err := s.presentSpace(ctx, tx, clean(space.String()))
		if err != nil {
			return err
		}
		if err := fixed(tx, "SELECT count(*) FROM recall_codes WHERE space = ?", id).Scan(ctx, &have); err != nil {
			return err
		}
		return fixed(tx, "SELECT count(*) FROM recall_pending").Scan(ctx, &pending)
	})
	return have, pending, err
}

// SaveVectors implements embed.Vectors. Vectors of a space that is no longer the present one are left out.
func (s *Store) SaveVectors(ctx context.Context, space embed.Space, items []embed.Item, vectors []embed.Vector) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		id, err := s.presentSpace(ctx, tx, clean(space.String()))
		if err != nil || id == 0 {
			return err
		}
		for i, item := range items {
			var text []string
			err := fixed(tx, "SELECT "+embedText+" AS text FROM recall_items i WHERE i.seq = ?", item.Seq).Scan(ctx, &text)
			if err != nil {
				return err
			}
			if len(text) == 0 || text[0] != item.Text {
				continue // gone, or said otherwise by now
			}
			if err := saveVector(ctx, tx, id, vectors[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func saveVector(ctx context.Context, tx bun.IDB, space int64, v embed.Vector) error {
	if len(v.Bytes) > 0 {
		_, err := fixed(tx, `INSERT INTO recall_codes (item, space, code) VALUES (?, ?, ?)
			ON CONFLICT (item) DO UPDATE SET space = excluded.space, code = excluded.code`, v.Item, space, v.Code).Exec(ctx)
		if err != nil {
			return err
		}
		_, err = fixed(tx, `INSERT INTO recall_vectors (item, space, bytes) VALUES (?, ?, ?)
			ON CONFLICT (item) DO UPDATE SET space = excluded.space, bytes = excluded.bytes`, v.Item, space, v.Bytes).Exec(ctx)
		if err != nil {
			return err
		}
	} else {
		for _, text := range []string{"DELETE FROM recall_codes WHERE item = ?", "DELETE FROM recall_vectors WHERE item = ?"} {
			if _, err := fixed(tx, text, v.Item).Exec(ctx); err != nil {
				return err
			}
		}
	}
	_, err := fixed(tx, "DELETE FROM recall_pending WHERE item = ?", v.Item).Exec(ctx)
	return err
}

// Codes implements embed.Vectors. It reads in pages: what is stored meanwhile may or may not be among them.
func (s *Store) Codes(ctx context.Context, space embed.Space, yield func([]embed.Vector)) error {
	id, err := s.presentSpace(ctx, s.reader, clean(space.String()))
	if err != nil {
		return err
	}
	after := int64(-1 << 62)
	for {
		page, err := s.codePage(ctx, id, after)
		if err != nil {
			return s.translate(err)
		}
		if len(page) == 0 {
			return nil
		}
		yield(page)
		after = page[len(page)-1].Item
	}
}

func (s *Store) codePage(ctx context.Context, space, after int64) (page []embed.Vector, err error) {
	rows, err := s.reader.QueryContext(ctx, "SELECT item, code FROM recall_codes WHERE item > ? AND space = ? ORDER BY item LIMIT ?", after, space, codeBatch)
	if err != nil {
		return nil, err
	}
	defer func() { err = closing(rows, err) }()
	for rows.Next() {
		var v embed.Vector
		if err := rows.Scan(&v.Item, &v.Code); err != nil {
			return nil, err
		}
		page = append(page, v)
	}
	return page, rows.Err()
}

// VectorBytes implements embed.Vectors.
func (s *Store) VectorBytes(ctx context.Context, space embed.Space, items []int64) ([]embed.Vector, error) {
	found := make([]embed.Vector, 0, len(items))
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		id, err := s.presentSpace(ctx, tx, clean(space.String()))
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(items, vectorBatch) {
			if found, err = readVectors(ctx, tx, id, chunk, found); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// vectorBatch is how many vectors one statement reads; there are as many places in it.
const vectorBatch = 64

// vectorsText reads vectors of one space by their items. Its text is fixed, so that it stays prepared.
var vectorsText = "SELECT item, bytes FROM recall_vectors WHERE space = ? AND item IN (?" + strings.Repeat(", ?", vectorBatch-1) + ")"

func readVectors(ctx context.Context, tx bun.IDB, space int64, items []int64, to []embed.Vector) (_ []embed.Vector, err error) {
	args := make([]any, 0, 1+vectorBatch)
	args = append(args, space)
	for i := range vectorBatch {
		args = append(args, items[min(i, len(items)-1)]) // the last one fills the places left
	}
	conn := bound{conn: lite(tx), args: args}
	rows, err := conn.QueryContext(ctx, vectorsText)
	if err != nil {
		return to, err
	}
	defer func() { err = closing(rows, err) }()
	for rows.Next() {
		var v embed.Vector
		var kept sql.RawBytes
		if err := rows.Scan(&v.Item, &kept); err != nil {
			return to, err
		}
		v.Bytes = slices.Clone(kept)
		to = append(to, v)
	}
	return to, rows.Err()
}

// lite is the connection below bun, which takes ? for a place of its own.
func lite(db bun.IDB) bun.IConn {
	if conn, ok := db.(bun.Conn); ok {
		return conn.Conn
	}
	return db
}
