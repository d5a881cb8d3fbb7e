package store

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/memory/lexis"
	"ash/agent/memory/notes"
)

// What is looked for in memory while it is typed, and read by its names.

// beginnings bounds how many items with the beginning of a word are looked at: the newest ones.
const beginnings = 2000

// FactList returns the facts with the given ids, whatever their status, in the order of ids. Those that are gone are left out.
func (s *Store) FactList(ctx context.Context, ids []agent.ID) ([]agent.Fact, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	asked, err := toJSON(ids)
	if err != nil {
		return nil, s.translate(err)
	}
	var rows []factRow
	err = fixed(s.reader, `SELECT f.* FROM json_each(?1) j CROSS JOIN facts f ON f.id = j.value ORDER BY j.key`, asked).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list, err := completeFacts(ctx, s.reader, rows)
	return list, s.translate(err)
}

// FactsBeginning returns current facts that hold every word of a query, the last one of which may be only the beginning of a word, the
// newest first. A query without a word finds nothing.
func (s *Store) FactsBeginning(ctx context.Context, owner agent.ID, query string, limit int) ([]agent.Fact, error) {
	match := beginning(query)
	if match == "" {
		return nil, nil
	}
	var rows []factRow
	err := fixed(s.reader, `SELECT f.* FROM (SELECT rowid FROM recall_fts WHERE recall_fts MATCH ?1 ORDER BY rowid DESC LIMIT ?4) t
		CROSS JOIN recall_items i ON i.seq = t.rowid AND i.kind = 'fact'
		CROSS JOIN facts f ON f.id = i.ref AND f.status = 'current' AND f.owner = ?2 LIMIT ?3`,
		match, owner, min(max(limit, 1), maxPage), beginnings).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list, err := completeFacts(ctx, s.reader, rows)
	return list, s.translate(err)
}

// beginning is the match of a query that is still being typed. The words stand inside quotes: they can be nothing but words to SQLite.
func beginning(query string) string {
	words := lexis.Words(agent.Clip(query, 400))
	var parts []string
	for i, w := range words {
		quote := func(s string) string { return `"` + strings.ReplaceAll(clean(s), `"`, " ") + `"` }
		switch {
		case i == len(words)-1 && w.Text != "" && strings.HasSuffix(strings.TrimSpace(query), w.Raw):
			parts = append(parts, quote(w.Text)+" *")
		case !w.Stop && w.Stem != "":
			parts = append(parts, quote(w.Stem))
		}
	}
	return strings.Join(parts, " AND ")
}

// NotesTitled returns the notes whose title or path holds every word of a query, the latest changed first. Upper and lower case are
// the same, also of a word's first letter beyond ASCII.
func (s *Store) NotesTitled(ctx context.Context, query string, limit int) ([]notes.Row, error) {
	words := strings.Fields(agent.Clip(clean(query), 400))
	if len(words) == 0 {
		return nil, nil
	}
	var where strings.Builder
	var args []any
	for _, w := range words[:min(len(words), 8)] {
		if where.Len() > 0 {
			where.WriteString(" AND ")
		}
		where.WriteString(`(title LIKE ? ESCAPE '\' OR path LIKE ? ESCAPE '\' OR title LIKE ? ESCAPE '\' OR title LIKE ? ESCAPE '\')`)
		holding := func(s string) string {
			return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
		}
		first, size := utf8.DecodeRuneInString(w)
		args = append(args, holding(w), holding(w), holding(string(unicode.ToUpper(first))+w[size:]), holding(string(unicode.ToLower(first))+w[size:]))
	}
	args = append(args, min(max(limit, 1), maxPage))
	return s.noteRows(ctx, "SELECT * FROM notes WHERE "+where.String()+" ORDER BY modified DESC, path LIMIT ?", args...)
}
