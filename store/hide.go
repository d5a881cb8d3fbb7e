package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

// hiding is an act that is under way.
type hiding struct {
	act     memory.Act
	tx      bun.IDB
	kept    kept
	touched memory.Touched
}

// helpers adds the threads that calls of the act's threads began.
func (h *hiding) helpers(ctx context.Context) error {
	if len(h.act.Threads) == 0 {
		return nil
	}
	var all []agent.ID
	err := h.tx.NewRaw(`WITH RECURSIVE below (id) AS (
			SELECT id FROM threads WHERE id IN (?)
			UNION SELECT t.id FROM below JOIN tool_calls c ON c.thread = below.id JOIN threads t ON t.parent_call = c.id
		) SELECT id FROM below`, bun.List(h.act.Threads)).Scan(ctx, &all)
	h.act.Threads = all
	return err
}

// rest refuses while something is written or waits in the messages: the passage would come back with its end.
func (h *hiding) rest(ctx context.Context) error {
	messages := slices.DeleteFunc(h.messages(), func(id agent.ID) bool { return id == h.act.During })
	var busy bool
	err := h.tx.NewRaw(`SELECT EXISTS (SELECT 1 FROM messages WHERE id IN (?0) AND state IN ('open', 'queued'))
		OR EXISTS (SELECT 1 FROM tool_calls WHERE message IN (?0) AND `+unended+`)
		OR EXISTS (SELECT 1 FROM turns WHERE thread IN (?1) AND `+active+`)`,
		bun.List(append(messages, "")), bun.List(append(h.act.Threads, ""))).Scan(ctx, &busy)
	if err == nil && busy {
		return agent.Errorf(agent.CodeConflict, "In one of these conversations an answer is being written or waits for your decision. Let it end first, then forget.")
	}
	return err
}

func (h *hiding) messages() []agent.ID {
	var list []agent.ID
	for _, m := range h.act.Masks {
		if !slices.Contains(list, m.Message) {
			list = append(list, m.Message)
		}
	}
	return list
}

func (h *hiding) facts(ctx context.Context) error {
	for _, id := range h.act.Facts {
		f, err := factByID(ctx, h.tx, id)
		if err != nil {
			return err
		}
		var seq int64
		if err := fixed(h.tx, `SELECT seq FROM facts WHERE id = ?1`, id).Scan(ctx, &seq); err != nil {
			return err
		}
		h.kept.Facts = append(h.kept.Facts, keptFact{toFactJSON(f), seq})
		if err := dropFact(ctx, h.tx, id); err != nil {
			return err
		}
		h.touched.Facts = append(h.touched.Facts, id)
	}
	if len(h.act.Facts) == 0 {
		return nil
	}
	err := h.tx.NewRaw(`SELECT * FROM receipts WHERE kind = 'fact' AND ref IN (?)`, bun.List(h.act.Facts)).Scan(ctx, &h.kept.Receipts)
	if err != nil {
		return err
	}
	_, err = h.tx.NewRaw(`DELETE FROM receipts WHERE kind = 'fact' AND ref IN (?)`, bun.List(h.act.Facts)).Exec(ctx)
	return err
}

// runs takes the facts out of what runs say they changed.
func (h *hiding) runs(ctx context.Context) error {
	if len(h.act.Facts) == 0 {
		return nil
	}
	var rows []memoryRunRow
	err := h.tx.NewRaw(`SELECT r.* FROM memory_runs r WHERE EXISTS (SELECT 1 FROM json_each(r.changes) c WHERE c.value ->> 'fact' IN (?))`,
		bun.List(h.act.Facts)).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		var changes, left []changeJSON
		if err := fromJSON(row.Changes, &changes); err != nil {
			return err
		}
		for i, c := range changes {
			if slices.Contains(h.act.Facts, c.Fact) {
				h.kept.Changes = append(h.kept.Changes, keptChange{Run: row.ID, Place: i, Change: c})
			} else {
				left = append(left, c)
			}
		}
		if err := saveChanges(ctx, h.tx, row.ID, left); err != nil {
			return err
		}
	}
	return nil
}

func saveChanges(ctx context.Context, tx bun.IDB, run agent.ID, changes []changeJSON) error {
	if changes == nil {
		changes = []changeJSON{}
	}
	text, err := toJSON(changes)
	if err != nil {
		return err
	}
	_, err = fixed(tx, `UPDATE memory_runs SET changes = ?2 WHERE id = ?1`, run, text).Exec(ctx)
	return err
}

func (h *hiding) passages(ctx context.Context) error {
	for _, m := range h.act.Masks {
		row := maskRow{Message: m.Message, Passage: clean(m.Passage), Forgetting: h.act.ID, Created: micros(orNow(m.Created))}
		_, err := fixed(h.tx, `INSERT OR IGNORE INTO message_masks (message, passage, forgetting, created) VALUES (?1, ?2, ?3, ?4)`,
			row.Message, row.Passage, row.Forgetting, row.Created).Exec(ctx)
		if err != nil {
			return err
		}
	}
	h.kept.Messages = h.messages()
	h.touched.Messages = h.kept.Messages
	return remask(ctx, h.tx, h.kept.Messages)
}

// derived takes away what was made of messages.
func (h *hiding) derived(ctx context.Context) error {
	for _, thread := range h.act.Episodes {
		var rows []episodeRow
		if err := fixed(h.tx, `SELECT * FROM episodes WHERE thread = ?1`, thread).Scan(ctx, &rows); err != nil {
			return err
		}
		h.kept.Episodes = append(h.kept.Episodes, rows...)
		if err := dropEpisode(ctx, h.tx, thread); err != nil {
			return err
		}
		h.touched.Episodes = append(h.touched.Episodes, thread)
	}
	for _, id := range h.act.Summaries {
		off, err := fixed(h.tx, `UPDATE summaries SET disabled = 1 WHERE id = ?1 AND disabled = 0`, id).Exec(ctx)
		if err != nil {
			return err
		}
		if touched(off) {
			h.kept.Summaries = append(h.kept.Summaries, id)
		}
	}
	for _, id := range h.act.Proposals {
		var rows []proposalRow
		if err := fixed(h.tx, `SELECT * FROM proposals WHERE id = ?1`, id).Scan(ctx, &rows); err != nil {
			return err
		}
		h.kept.Proposals = append(h.kept.Proposals, rows...)
		if _, err := fixed(h.tx, `DELETE FROM proposals WHERE id = ?1`, id).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// titles takes the names of threads away. One without a name gets another as soon as something is said there.
func (h *hiding) titles(ctx context.Context) error {
	for _, id := range h.act.Titles {
		var rows []threadRow
		if err := fixed(h.tx, `SELECT * FROM threads WHERE id = ?1`, id).Scan(ctx, &rows); err != nil {
			return err
		}
		for _, row := range rows {
			h.kept.Titles = append(h.kept.Titles, keptTitle{Thread: id, Title: row.Title, Source: row.TitleSource})
		}
		if err := saveTitle(ctx, h.tx, id, "", agent.TitleNone); err != nil {
			return err
		}
		h.touched.Threads = append(h.touched.Threads, id)
	}
	return nil
}

func saveTitle(ctx context.Context, tx bun.IDB, thread agent.ID, title string, source agent.TitleSource) error {
	_, err := fixed(tx, `UPDATE threads SET title = ?2, title_source = ?3, search_title = ?4 WHERE id = ?1`, thread, title, source, searchable(title)).Exec(ctx)
	if err != nil {
		return err
	}
	return unlistThread(ctx, tx, thread)
}

func (h *hiding) threads(ctx context.Context) error {
	for _, id := range h.act.Threads {
		gone, err := fixed(h.tx, `UPDATE threads SET deleted = ?2 WHERE id = ?1 AND deleted = 0`, id, micros(now())).Exec(ctx)
		if err != nil {
			return err
		}
		if touched(gone) {
			h.kept.Threads = append(h.kept.Threads, id)
		}
		if err := unlistThread(ctx, h.tx, id); err != nil {
			return err
		}
		h.touched.Threads = append(h.touched.Threads, id)
	}
	return nil
}

func (h *hiding) bury(ctx context.Context) error {
	for _, t := range h.act.Tombstones {
		if err := insertTombstone(ctx, h.tx, t); err != nil {
			return err
		}
		h.kept.Tombstones = append(h.kept.Tombstones, t.ID)
	}
	return nil
}

// unhiding takes an act back.
type unhiding struct {
	id      agent.ID
	kept    kept
	tx      bun.IDB
	touched memory.Touched
}

func (u *unhiding) facts(ctx context.Context) error {
	for _, j := range u.kept.Facts {
		f := fromFactJSON(j.factJSON)
		row, err := toFact(f)
		if err != nil {
			return err
		}
		if err := insertRow(ctx, u.tx, &row); err != nil {
			return err
		}
		// Its place in lists, unless somebody has taken it.
		if _, err := fixed(u.tx, `UPDATE OR IGNORE facts SET seq = ?2 WHERE id = ?1`, f.ID, j.Seq).Exec(ctx); err != nil {
			return err
		}
		if _, err := linkEntities(ctx, u.tx, f); err != nil {
			return err
		}
		u.touched.Facts = append(u.touched.Facts, f.ID)
	}
	for _, row := range u.kept.Receipts {
		_, err := fixed(u.tx, `INSERT INTO receipts (message, n, kind, ref, score, why) SELECT ?1, ?2, ?3, ?4, ?5, ?6
			WHERE EXISTS (SELECT 1 FROM messages WHERE id = ?1)`, row.Message, row.N, row.Kind, row.Ref, row.Score, row.Why).Exec(ctx)
		if err != nil {
			return err
		}
	}
	for _, id := range u.kept.Tombstones {
		if _, err := fixed(u.tx, `DELETE FROM tombstones WHERE id = ?1`, id).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (u *unhiding) runs(ctx context.Context) error {
	for _, k := range u.kept.Changes {
		var text string
		if err := fixed(u.tx, `SELECT changes FROM memory_runs WHERE id = ?1`, k.Run).Scan(ctx, &text); err != nil {
			return err
		}
		var changes []changeJSON
		if err := fromJSON(text, &changes); err != nil {
			return err
		}
		changes = slices.Insert(changes, min(k.Place, len(changes)), k.Change)
		if err := saveChanges(ctx, u.tx, k.Run, changes); err != nil {
			return err
		}
	}
	return nil
}

func (u *unhiding) passages(ctx context.Context) error {
	if _, err := fixed(u.tx, `DELETE FROM message_masks WHERE forgetting = ?1`, u.id).Exec(ctx); err != nil {
		return err
	}
	u.touched.Messages = u.kept.Messages
	var left []agent.ID // the thread of the others may have been purged meanwhile
	err := u.tx.NewRaw(`SELECT id FROM messages WHERE id IN (?)`, bun.List(append(slices.Clone(u.kept.Messages), ""))).Scan(ctx, &left)
	if err != nil {
		return err
	}
	return remask(ctx, u.tx, left)
}

func (u *unhiding) derived(ctx context.Context) error {
	for _, row := range u.kept.Episodes {
		// A newer one may have been made since: it stays.
		var free bool
		err := fixed(u.tx, `SELECT EXISTS (SELECT 1 FROM threads WHERE id = ?1) AND NOT EXISTS (SELECT 1 FROM episodes WHERE thread = ?1)`, row.Thread).Scan(ctx, &free)
		if err != nil {
			return err
		}
		if free {
			if err := insertRow(ctx, u.tx, &row); err != nil {
				return err
			}
		}
		u.touched.Episodes = append(u.touched.Episodes, row.Thread)
	}
	for _, id := range u.kept.Summaries {
		if _, err := fixed(u.tx, `UPDATE summaries SET disabled = 0 WHERE id = ?1`, id).Exec(ctx); err != nil {
			return err
		}
	}
	for _, row := range u.kept.Proposals {
		if err := insertRow(ctx, u.tx, &row); err != nil {
			return err
		}
	}
	return nil
}

func (u *unhiding) titles(ctx context.Context) error {
	for _, t := range u.kept.Titles {
		var named bool // by somebody, since
		if err := fixed(u.tx, `SELECT EXISTS (SELECT 1 FROM threads WHERE id = ?1 AND title <> '')`, t.Thread).Scan(ctx, &named); err != nil {
			return err
		}
		if named {
			continue
		}
		if err := saveTitle(ctx, u.tx, t.Thread, t.Title, t.Source); err != nil {
			return err
		}
		u.touched.Threads = append(u.touched.Threads, t.Thread)
	}
	return nil
}

func (u *unhiding) threads(ctx context.Context) error {
	for _, id := range u.kept.Threads {
		if _, err := fixed(u.tx, `UPDATE threads SET deleted = 0 WHERE id = ?1`, id).Exec(ctx); err != nil {
			return err
		}
		if err := unlistThread(ctx, u.tx, id); err != nil {
			return err
		}
		u.touched.Threads = append(u.touched.Threads, id)
	}
	return nil
}
