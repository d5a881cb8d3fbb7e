package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/archive"
)

// exportPage is how many facts are read in one go.
const exportPage = 500

// ExportMemory returns all that is remembered of the owner, as of one moment, but the notes' files. What is forgotten is not in it, from the moment
// it is hidden: passages that can still be taken back are masked in quotes, and the masks themselves, which hold them, stay here.
func (s *Store) ExportMemory(ctx context.Context) (*archive.Memory, error) {
	m := &archive.Memory{}
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		hidden, err := masks(ctx, tx)
		if err != nil {
			return err
		}
		e := exporting{tx: tx, out: m, hidden: hidden, keys: s.graves.Load()}
		if err := fixed(tx, `SELECT id FROM persons WHERE owner = ?1`, 1).Scan(ctx, &e.owner); err != nil {
			return err
		}
		for _, step := range []func(context.Context) error{e.facts, e.entities, e.episodes, e.runs, e.proposals, e.tombstones, e.records} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return m, err
}

// exporting reads one archive.
type exporting struct {
	tx     bun.IDB
	out    *archive.Memory
	owner  agent.ID
	hidden map[agent.ID][]agent.Mask
	keys   *graveKeys
}

// shown returns a fact as it may leave: without what is hidden in its quote, and without the ids of this home's person.
func (e *exporting) shown(f agent.Fact) agent.Fact {
	f.Owner, f.Supersedes = "", nil
	var passages []string
	for _, mask := range e.hidden[f.Source.Message] {
		if mask.Passage == "" {
			f.Source.Quote = ""
		}
		passages = append(passages, mask.Passage)
	}
	f.Source.Quote = memory.MaskedText(f.Source.Quote, passages...)
	return f
}

func (e *exporting) facts(ctx context.Context) error {
	for after := int64(0); ; {
		var rows []factRow
		err := fixed(e.tx, `SELECT * FROM facts WHERE seq > ?1 AND owner = ?2 ORDER BY seq LIMIT ?3`, after, e.owner, exportPage).Scan(ctx, &rows)
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].Seq
		list, err := completeFacts(ctx, e.tx, rows)
		if err != nil {
			return err
		}
		for _, f := range list {
			e.out.Facts = append(e.out.Facts, e.shown(f))
		}
	}
}

func (e *exporting) entities(ctx context.Context) error {
	going, err := e.going(ctx)
	if err != nil {
		return err
	}
	var rows []struct {
		ID   agent.ID
		Kind agent.EntityKind
		Name string
		Used bool
	}
	if err := fixed(e.tx, `SELECT id, kind, name, EXISTS (SELECT 1 FROM fact_entities l WHERE l.entity = e.id) AS used
		FROM entities e WHERE owner = ?1 ORDER BY seq`, e.owner).Scan(ctx, &rows); err != nil {
		return err
	}
	var names []struct {
		Entity agent.ID
		Alias  string
	}
	if err := fixed(e.tx, `SELECT entity, alias FROM entity_aliases WHERE ?1 ORDER BY alias`, 1).Scan(ctx, &names); err != nil {
		return err
	}
	of := map[agent.ID][]string{}
	for _, n := range names {
		of[n.Entity] = append(of[n.Entity], n.Alias)
	}
	for _, r := range rows {
		if r.Used || !going[r.ID] {
			e.out.Entities = append(e.out.Entities, agent.Entity{ID: r.ID, Kind: r.Kind, Name: r.Name, Aliases: of[r.ID]})
		}
	}
	return nil
}

// going are the entities that hidden facts are about: they are kept only in case forgetting is taken back.
func (e *exporting) going(ctx context.Context) (map[agent.ID]bool, error) {
	var rows []forgettingRow
	if err := fixed(e.tx, `SELECT * FROM forgettings WHERE final = ?1`, 0).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	out := map[agent.ID]bool{}
	for _, row := range rows {
		var k kept
		if err := fromJSON(row.Kept, &k); err != nil {
			return nil, err
		}
		for _, f := range k.Facts {
			for _, x := range f.Entities {
				out[x.ID] = true
			}
		}
	}
	return out, nil
}

// episodes reads those of conversations that are not deleted, and what of those conversations an episode needs.
func (e *exporting) episodes(ctx context.Context) error {
	var rows []episodeRow
	err := fixed(e.tx, `SELECT e.* FROM episodes e JOIN threads t ON t.id = e.thread WHERE t.deleted = ?1`, 0).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	if e.out.Episodes, err = fromEpisodes(rows); err != nil {
		return err
	}
	var threads []threadRow
	err = fixed(e.tx, `SELECT t.* FROM threads t JOIN episodes e ON e.thread = t.id WHERE t.deleted = ?1`, 0).Scan(ctx, &threads)
	for _, t := range threads {
		e.out.Conversations = append(e.out.Conversations, archive.Conversation{
			ID: t.ID, Title: t.Title, Created: fromMicros(t.Created), Updated: fromMicros(t.Updated),
		})
	}
	return err
}

// runs reads those that changed something: the others say only how far a conversation was read, which is of no use without it.
func (e *exporting) runs(ctx context.Context) error {
	var rows []memoryRunRow
	if err := fixed(e.tx, `SELECT * FROM memory_runs WHERE changes NOT IN ('', 'null', ?1) ORDER BY seq`, "[]").Scan(ctx, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		r, err := fromMemoryRun(row)
		if err != nil {
			return err
		}
		for i, c := range r.Changes {
			for _, f := range []**agent.Fact{&r.Changes[i].Before, &r.Changes[i].After} {
				if *f != nil {
					shown := e.shown(**f)
					shown.ID = c.Fact
					*f = &shown
				}
			}
		}
		e.out.Runs = append(e.out.Runs, r)
	}
	return nil
}

func (e *exporting) proposals(ctx context.Context) error {
	var rows []proposalRow
	if err := fixed(e.tx, `SELECT * FROM proposals WHERE ?1 ORDER BY seq`, 1).Scan(ctx, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		p, err := fromProposal(row)
		if err != nil {
			return err
		}
		replaces := p.Fact.Supersedes // of a fact that is not there yet nothing else says it
		p.Fact = e.shown(p.Fact)
		p.Fact.Supersedes = replaces
		e.out.Proposals = append(e.out.Proposals, p)
	}
	return nil
}

// tombstones reads what keeps the forgotten out, with the keys that are needed for it.
func (e *exporting) tombstones(ctx context.Context) error {
	var rows []tombstoneRow
	if err := fixed(e.tx, `SELECT * FROM tombstones WHERE ?1 ORDER BY id`, 1).Scan(ctx, &rows); err != nil {
		return err
	}
	var hashes []struct {
		Tombstone agent.ID
		Hash      []byte
	}
	if err := fixed(e.tx, `SELECT tombstone, hash FROM tombstone_hashes WHERE ?1 ORDER BY tombstone, hash`, 1).Scan(ctx, &hashes); err != nil {
		return err
	}
	of := make(map[agent.ID][][]byte, len(rows))
	for _, h := range hashes {
		of[h.Tombstone] = append(of[h.Tombstone], h.Hash)
	}
	for _, row := range rows {
		if row.Key == "" {
			row.Key = e.keys.own.ID
		}
		e.out.Tombstones = append(e.out.Tombstones, archive.Tombstone{Key: row.Key, Tombstone: agent.Tombstone{
			ID: row.ID, Hashes: of[row.ID], Vector: row.Vector, Space: row.Space, Created: fromMicros(row.Created),
		}})
	}
	for _, k := range append([]archive.Key{e.keys.own}, e.keys.others...) {
		if slices.ContainsFunc(e.out.Tombstones, func(t archive.Tombstone) bool { return t.Key == k.ID }) {
			e.out.Keys = append(e.out.Keys, k)
		}
	}
	return nil
}

// records reads what is known of where notes came from.
func (e *exporting) records(ctx context.Context) error {
	var rows []noteRecordRow
	if err := fixed(e.tx, `SELECT * FROM note_records WHERE ?1 ORDER BY path`, 1).Scan(ctx, &rows); err != nil {
		return err
	}
	for _, r := range rows {
		labels, err := decodeLabels(r.Labels)
		if err != nil {
			return err
		}
		e.out.Records = append(e.out.Records, archive.Record{Path: r.Path, Hash: r.Hash, Labels: labels, Own: r.Own})
	}
	return nil
}
