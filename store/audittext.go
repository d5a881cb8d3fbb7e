package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/audit"
)

// What the audit reads of the database: every text a person, a model or a stranger may have put there, in pages, so that
// memory does not grow with it and no reader stays open for long.

const (
	auditRows  = 50        // of one page
	auditBytes = 1 << 20   // characters of one text; what is longer is read to there, and says so
	auditPiece = 256 << 10 // of a text that is given at once
)

// auditRow is a text with where it is.
type auditRow struct {
	Seq    int64    `bun:"seq"`
	ID     string   `bun:"id"`
	Thread agent.ID `bun:"thread"`
	Text   string   `bun:"text"`
	Cut    bool     `bun:"cut"` // it goes on
}

// AuditMessages gives the texts of all messages, thinking and attached files included, and their titles.
func (s *Store) AuditMessages(ctx context.Context, yield func(audit.Text) error) error {
	err := s.auditPages(ctx, `SELECT seq, id, thread, substr(parts, 1, ?2) AS text, `+longer("parts")+` FROM messages WHERE seq > ?1 ORDER BY seq LIMIT ?3`, func(r auditRow) error {
		return give(yield, audit.Text{Kind: audit.KindMessage, Place: "message " + r.ID, Link: threadLink(r.Thread)}, plain(r.Text, false), r.Cut)
	})
	if err != nil {
		return err
	}
	return s.auditPages(ctx, `SELECT seq, id, id AS thread, title AS text FROM threads WHERE seq > ?1 AND ?2 > 0 ORDER BY seq LIMIT ?3`, func(r auditRow) error {
		return give(yield, audit.Text{Kind: audit.KindMessage, Place: "title of conversation " + r.ID, Link: threadLink(r.Thread)}, r.Text, false)
	})
}

// AuditCalls gives what tools were given and what they answered.
func (s *Store) AuditCalls(ctx context.Context, yield func(audit.Text) error) error {
	return s.auditPages(ctx, `SELECT seq, id, thread, substr(arguments, 1, ?2) || char(10) || substr(result, 1, ?2) AS text, `+longer("arguments", "result")+` FROM tool_calls WHERE seq > ?1 ORDER BY seq LIMIT ?3`, func(r auditRow) error {
		arguments, result, _ := strings.Cut(r.Text, "\n") // JSON has no line end of its own
		return give(yield, audit.Text{Kind: audit.KindResult, Place: "tool call " + r.ID, Link: "/tools/runs/" + r.ID}, plain(arguments, true)+"\n"+plain(result, false), r.Cut)
	})
}

// AuditMemory gives facts, proposals and what conversations were summed up as.
func (s *Store) AuditMemory(ctx context.Context, yield func(audit.Text) error) error {
	for _, x := range []struct{ query, place, link string }{
		{`SELECT seq, id, substr(text, 1, ?2) || char(10) || substr(quote, 1, ?2) AS text, ` + longer("text", "quote") + ` FROM facts WHERE seq > ?1 ORDER BY seq LIMIT ?3`, "memory ", "/memory/facts/"},
		{`SELECT seq, id, substr(fact, 1, ?2) AS text, ` + longer("fact") + ` FROM proposals WHERE seq > ?1 ORDER BY seq LIMIT ?3`, "proposal ", ""},
		{`SELECT seq, id, thread, substr(text, 1, ?2) AS text, ` + longer("text") + ` FROM summaries WHERE seq > ?1 ORDER BY seq LIMIT ?3`, "summary ", ""},
		{`SELECT t.seq AS seq, e.thread AS id, e.thread AS thread, substr(e.text, 1, ?2) AS text, ` + longer("e.text") + ` FROM episodes e JOIN threads t ON t.id = e.thread WHERE t.seq > ?1 ORDER BY t.seq LIMIT ?3`, "episode of conversation ", ""},
	} {
		err := s.auditPages(ctx, x.query, func(r auditRow) error {
			link := ""
			switch {
			case x.link != "":
				link = x.link + r.ID
			case r.Thread != "":
				link = threadLink(r.Thread)
			}
			text := r.Text
			if strings.HasPrefix(text, "{") {
				text = plain(text, false)
			}
			return give(yield, audit.Text{Kind: audit.KindMemory, Place: x.place + r.ID, Link: link}, text, r.Cut)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AuditVersions gives earlier versions of the identity files and of files that tools changed.
func (s *Store) AuditVersions(ctx context.Context, yield func(audit.Text) error) error {
	err := s.auditPages(ctx, `SELECT seq, id, substr(text, 1, ?2) AS text, `+longer("text")+` FROM identity_versions WHERE seq > ?1 ORDER BY seq LIMIT ?3`, func(r auditRow) error {
		return give(yield, audit.Text{Kind: audit.KindIdentity, Place: "earlier version " + r.ID}, r.Text, r.Cut)
	})
	if err != nil {
		return err
	}
	files := `SELECT seq, path AS id, thread, CAST(substr(bytes, 1, ?2) AS TEXT) AS text, ` + longer("bytes") + ` FROM file_versions WHERE seq > ?1 AND bytes IS NOT NULL ORDER BY seq LIMIT ?3`
	return s.auditPages(ctx, files, func(r auditRow) error {
		if strings.ContainsRune(r.Text[:min(len(r.Text), 8<<10)], 0) {
			return nil // no text
		}
		return give(yield, audit.Text{Kind: audit.KindFile, Place: "earlier version of " + r.ID}, strings.ToValidUTF8(r.Text, "\uFFFD"), r.Cut)
	})
}

// longer is the column that says whether one of these goes on after ?2 characters. Counting bytes first leaves the texts of ordinary
// length unread.
func longer(columns ...string) string {
	for i, c := range columns {
		columns[i] = "octet_length(" + c + ") > ?2 AND length(" + c + ") > ?2"
	}
	return "ifnull(" + strings.Join(columns, " OR ") + ", 0) AS cut"
}

func threadLink(id agent.ID) string { return "/chat/" + string(id) }

// auditPages runs query from the beginning to the end: ?1 is the row before, ?2 the bytes of a text, ?3 the rows of a page.
func (s *Store) auditPages(ctx context.Context, query string, each func(auditRow) error) error {
	for last := int64(0); ; {
		var rows []auditRow
		err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
			return fixed(tx, query, last, auditBytes, auditRows).Scan(ctx, &rows)
		})
		if err != nil {
			return err
		}
		for i, r := range rows {
			if err := each(r); err != nil {
				return err
			}
			last = r.Seq
			rows[i] = auditRow{} // it may be long
		}
		if len(rows) < auditRows {
			return nil
		}
	}
}

// give yields a text, in pieces that overlap where it is long. cut says that it goes on.
func give(yield func(audit.Text) error, t audit.Text, text string, cut bool) error {
	const overlap = 8 << 10
	for from := 0; ; {
		to := min(from+auditPiece, len(text))
		t.Text = text[from:to]
		if t.Fresh = 0; from > 0 {
			t.Fresh = overlap
		}
		if cut && to == len(text) {
			t.Until = auditBytes
		}
		if t.Text != "" || t.Until > 0 {
			if err := yield(t); err != nil {
				return err
			}
		}
		if to == len(text) {
			return nil
		}
		from = to - overlap
	}
}

// plain takes the texts out of JSON, one a line; with names each line says whose it is, so that "password" is not lost. What is no
// JSON, or was cut off, is returned as it is.
func plain(raw string, names bool) string {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	gather(&b, v, "", names)
	return b.String()
}

// skippedName reports whether the value of that name in stored parts is an id, a hash or the name of a kind.
func skippedName(name string) bool {
	switch name {
	case "type", "call", "provider_id", "hash", "media", "signature", "provider", "model":
		return true
	}
	return false
}

func gather(b *strings.Builder, v any, name string, names bool) {
	switch x := v.(type) {
	case string:
		if !names && skippedName(name) {
			return
		}
		if names && name != "" {
			b.WriteString(name)
			b.WriteString(" = ")
		}
		b.WriteString(x)
		b.WriteByte('\n')
	case []any:
		for _, e := range x {
			gather(b, e, name, names)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) { // in one order, so that places stay the same
			gather(b, x[k], k, names)
		}
	}
}
