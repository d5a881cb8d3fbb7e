package store

import (
	"context"
	"strings"

	"ash/agent"
)

// FactIDs returns the ids of the owner's facts that begin with a text, at most limit of them.
func (s *Store) FactIDs(ctx context.Context, owner agent.ID, prefix string, limit int) ([]agent.ID, error) {
	var ids []agent.ID
	err := fixed(s.reader, `SELECT id FROM facts WHERE id >= ?1 AND id < ?2 AND owner = ?3 ORDER BY id LIMIT ?4`,
		prefix, prefix+"\U0010FFFF", owner, limit).Scan(ctx, &ids)
	return ids, s.translate(err)
}

// shortest is the least of an id that is shown.
const shortest = 8

// ShortIDs returns for each fact the beginning of its id that no other has.
func (s *Store) ShortIDs(ctx context.Context, ids []agent.ID) ([]string, error) {
	out := make([]string, len(ids))
	for i, id := range ids {
		var beside []agent.ID
		err := fixed(s.reader, `SELECT * FROM (SELECT id FROM facts WHERE id < ?1 ORDER BY id DESC LIMIT 1)
			UNION ALL SELECT * FROM (SELECT id FROM facts WHERE id > ?1 ORDER BY id LIMIT 1)`, id).Scan(ctx, &beside)
		if err != nil {
			return nil, s.translate(err)
		}
		n := shortest
		for _, other := range beside {
			for n < len(id) && strings.HasPrefix(string(other), string(id[:n])) {
				n++
			}
		}
		out[i] = string(id[:min(n, len(id))])
	}
	return out, nil
}

// MemorySizes is how much room memory takes.
type MemorySizes struct {
	Database int64                    // bytes of the file, free pages included
	Index    int64                    // bytes of what recall reads, words and texts
	Vectors  int64                    // bytes of meanings
	Items    map[agent.MemoryKind]int // of the index
	Notes    int
}

// MemorySizes measures. It looks at every page of the database: some seconds for a large one.
func (s *Store) MemorySizes(ctx context.Context) (MemorySizes, error) {
	out := MemorySizes{Items: map[agent.MemoryKind]int{}}
	err := fixed(s.reader, `SELECT
			(SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS "database",
			coalesce(sum(pgsize) FILTER (WHERE name LIKE 'recall\_%' ESCAPE '\' AND name NOT LIKE 'recall\_codes%' ESCAPE '\'
				AND name NOT LIKE 'recall\_vectors%' ESCAPE '\' AND name NOT LIKE 'recall\_pending%' ESCAPE '\'), 0) AS "index",
			coalesce(sum(pgsize) FILTER (WHERE name IN ('recall_codes', 'recall_vectors', 'recall_pending')), 0) AS vectors,
			(SELECT count(*) FROM notes) AS notes
		FROM dbstat WHERE aggregate = ?1`, 1).Scan(ctx, &out.Database, &out.Index, &out.Vectors, &out.Notes)
	if err != nil {
		return out, s.translate(err)
	}
	var kinds []struct {
		Kind agent.MemoryKind
		N    int
	}
	err = fixed(s.reader, `SELECT kind, count(*) AS n FROM recall_items WHERE ?1 GROUP BY kind`, 1).Scan(ctx, &kinds)
	for _, k := range kinds {
		out.Items[k.Kind] = k.N
	}
	return out, s.translate(err)
}

// IndexProgress says how many items the index has, and how many there are to be indexed.
func (s *Store) IndexProgress(ctx context.Context) (done, of int, err error) {
	var row struct{ Done, Of int }
	err = fixed(s.reader, `SELECT (SELECT items FROM recall_state) AS done,
		(SELECT count(*) FROM messages WHERE state NOT IN ('open', 'queued')) + (SELECT count(*) FROM facts WHERE status = 'current')
		+ (SELECT count(*) FROM episodes) + (SELECT count(*) FROM recall_items WHERE kind = ?1) AS of`, agent.MemoryNote).Scan(ctx, &row)
	return row.Done, row.Of, s.translate(err)
}
