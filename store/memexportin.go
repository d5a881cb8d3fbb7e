package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/archive"
)

// errDry takes a trial back.
var errDry = errors.New("a trial")

// ImportMemory takes in an archive of memory, but its notes' files, in one transaction. What is there stays: a fact that is known is changed only when
// the archive has a newer state of it, one that says the same as a current one becomes history of that, and what was forgotten here after the archive
// was made is left out. Doing it again changes nothing.
func (s *Store) ImportMemory(ctx context.Context, m *archive.Memory, o archive.Intake) (archive.Taken, error) {
	in := &intake{out: o, memory: m, at: now(), keys: s.graves.Load(), entity: map[agent.ID]agent.ID{}, gone: map[agent.ID]bool{}}
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		in.tx = tx
		for _, step := range []func(context.Context) error{
			in.begin, in.tombstones, in.sift, in.entities, in.facts, in.conversations, in.episodes, in.runs, in.proposals, in.records,
		} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		if o.Dry {
			return errDry
		}
		return nil
	})
	if errors.Is(err, errDry) {
		return in.taken, nil
	}
	if err != nil {
		return archive.Taken{}, err
	}
	return in.taken, s.translate(s.loadGraveKeys(ctx))
}

// intake is one archive being taken in.
type intake struct {
	out    archive.Intake
	memory *archive.Memory
	tx     bun.IDB
	at     time.Time
	keys   *graveKeys
	owner  agent.ID
	taken  archive.Taken

	known  map[agent.ID]knownFact
	same   map[string]agent.ID // current facts that were there, by what they say
	entity map[agent.ID]agent.ID
	gone   map[agent.ID]bool // facts that were forgotten here
	check  bool              // there are tombstones that the archive does not know
	theirs map[agent.ID]bool // tombstones it knows
}

// knownFact is what is there.
type knownFact struct {
	ID      agent.ID
	Updated int64
	Status  agent.FactStatus
	Fold    string
	Text    string
}

func (in *intake) begin(ctx context.Context) error {
	if err := fixed(in.tx, `SELECT id FROM persons WHERE owner = ?1`, 1).Scan(ctx, &in.owner); err != nil {
		return err
	}
	var rows []knownFact
	if err := fixed(in.tx, `SELECT id, updated, status, fold, text FROM facts WHERE owner = ?1`, in.owner).Scan(ctx, &rows); err != nil {
		return err
	}
	in.known, in.same = make(map[agent.ID]knownFact, len(rows)), map[string]agent.ID{}
	for _, r := range rows {
		in.known[r.ID] = r
		if r.Status == agent.FactCurrent {
			in.same[r.Fold] = r.ID
		}
	}
	var stones []agent.ID
	if err := fixed(in.tx, `SELECT id FROM tombstones WHERE ?1`, 1).Scan(ctx, &stones); err != nil {
		return err
	}
	in.theirs = make(map[agent.ID]bool, len(in.memory.Tombstones))
	for _, t := range in.memory.Tombstones {
		in.theirs[t.ID] = true
	}
	for _, id := range stones {
		in.check = in.check || !in.theirs[id]
	}
	return nil
}

// UnknownTombstones reports whether something was forgotten here that an archive knows nothing of: then what comes back with it is to be looked at.
func (s *Store) UnknownTombstones(ctx context.Context, m *archive.Memory) (bool, error) {
	var ids []agent.ID
	if err := fixed(s.reader, `SELECT id FROM tombstones WHERE ?1`, 1).Scan(ctx, &ids); err != nil {
		return false, s.translate(err)
	}
	for _, t := range m.Tombstones {
		ids = slices.DeleteFunc(ids, func(id agent.ID) bool { return id == t.ID })
	}
	return len(ids) > 0, nil
}

// forgotten reports whether a text, or a sentence of it, was forgotten here. A tombstone that the archive has, too, says nothing against
// what stands beside it there.
func (in *intake) forgotten(ctx context.Context, text string) (bool, error) {
	if !in.check || in.out.Buried == nil || text == "" {
		return false, nil
	}
	for _, one := range append([]string{text}, memory.Sentences(text)...) {
		under, err := in.out.Buried(ctx, one)
		if err != nil {
			return false, err
		}
		for _, id := range under {
			if !in.theirs[id] {
				return true, nil
			}
		}
	}
	return false, nil
}

// tombstones buries what was forgotten elsewhere, unless it is remembered here: then it was told again.
func (in *intake) tombstones(ctx context.Context) error {
	if in.out.Stranger != "" {
		return nil // a stranger does not say what may be learned here
	}
	have := map[string]archive.Key{in.keys.own.ID: in.keys.own}
	for _, k := range in.keys.others {
		have[k.ID] = k
	}
	for _, k := range in.memory.Keys {
		if _, ok := have[k.ID]; ok {
			continue
		}
		have[k.ID] = k
		if err := insertRow(ctx, in.tx, &graveKeyRow{ID: k.ID, Key: k.Key}); err != nil {
			return err
		}
	}
	said := map[string]map[string]bool{} // hashes of the statements that hold here, by key
	for _, t := range in.memory.Tombstones {
		var there bool
		if err := fixed(in.tx, `SELECT EXISTS (SELECT 1 FROM tombstones WHERE id = ?1)`, t.ID).Scan(ctx, &there); err != nil {
			return err
		}
		if there {
			continue
		}
		k, ok := have[t.Key]
		if !ok {
			in.taken.Keyless++
		} else if said[t.Key] == nil {
			said[t.Key] = in.statements(k)
		}
		if ok && anyHash(t.Hashes, said[t.Key]) {
			in.taken.ToldAgain++
			continue
		}
		if err := in.bury(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// statements are the hashes of what holds here.
func (in *intake) statements(k archive.Key) map[string]bool {
	out := make(map[string]bool, len(in.same))
	for _, id := range in.same {
		out[string(keyed(k, memory.StatementOf(in.known[id].Text)))] = true
	}
	return out
}

func anyHash(hashes [][]byte, in map[string]bool) bool {
	for _, h := range hashes {
		if in[string(h)] {
			return true
		}
	}
	return false
}

func (in *intake) bury(ctx context.Context, t archive.Tombstone) error {
	row := tombstoneRow{ID: t.ID, Space: clean(t.Space), Created: micros(t.Created), Vector: t.Vector, Key: t.Key}
	if row.Key == in.keys.own.ID {
		row.Key = ""
	}
	if err := insertRow(ctx, in.tx, &row); err != nil {
		return err
	}
	in.taken.Tombstones++
	return insertHashes(ctx, in.tx, t.Tombstone)
}

// conversations makes what episodes hang on: threads without messages, out of the way among the archived ones.
func (in *intake) conversations(ctx context.Context) error {
	for _, c := range in.memory.Conversations {
		var there bool
		if err := fixed(in.tx, `SELECT EXISTS (SELECT 1 FROM threads WHERE id = ?1)`, c.ID).Scan(ctx, &there); err != nil {
			return err
		}
		if there {
			continue
		}
		t := agent.Thread{
			ID: c.ID, Title: c.Title, Created: c.Created, Updated: c.Updated, Archived: orAt(c.Updated, in.at),
			Origin: agent.Origin{Channel: importChannel, Person: in.owner},
		}
		forgotten, err := in.forgotten(ctx, c.Title)
		if err != nil {
			return err
		}
		if forgotten {
			t.Title = ""
		}
		if t.Title != "" {
			t.TitleSource = agent.TitleWords
		}
		row, err := toThread(t)
		if err != nil {
			return err
		}
		if err := insertRow(ctx, in.tx, &row); err != nil {
			return err
		}
	}
	return nil
}

// episodes stores those that are newer than what is there.
func (in *intake) episodes(ctx context.Context) error {
	for _, e := range in.memory.Episodes {
		var rows []episodeRow
		if err := fixed(in.tx, `SELECT * FROM episodes WHERE thread = ?1`, e.Thread).Scan(ctx, &rows); err != nil {
			return err
		}
		if len(rows) > 0 && (rows[0].Created >= micros(e.Created) || in.out.Stranger != "") {
			continue
		}
		forgotten, err := in.forgotten(ctx, e.Text)
		if err != nil {
			return err
		}
		if forgotten {
			in.taken.Forgotten++
			continue
		}
		e.Labels = in.labels(e.Labels)
		row, err := toEpisode(e)
		if err != nil {
			return err
		}
		row.Created = micros(e.Created)
		if err := dropEpisode(ctx, in.tx, e.Thread); err != nil {
			return err
		}
		if err := insertRow(ctx, in.tx, &row); err != nil {
			return err
		}
		in.taken.Episodes++
	}
	return nil
}

// labels are those of the archive, and that of a stranger when the archive is one's.
func (in *intake) labels(l agent.Labels) agent.Labels {
	if in.out.Stranger == "" {
		return l
	}
	return l.Union(agent.Labels{{Source: agent.Clip(clean(in.out.Stranger), 256), Kind: agent.LabelUntrusted}})
}

// runs stores those that are not there, without what they did to facts that were forgotten here.
func (in *intake) runs(ctx context.Context) error {
	for _, r := range in.memory.Runs {
		var there bool
		if err := fixed(in.tx, `SELECT EXISTS (SELECT 1 FROM memory_runs WHERE id = ?1)`, r.ID).Scan(ctx, &there); err != nil {
			return err
		}
		if there || in.out.Stranger != "" { // a stranger's diff is not one to be undone here
			continue
		}
		var left []agent.MemoryChange
		for _, c := range r.Changes {
			keep, err := in.change(ctx, &c)
			if err != nil {
				return err
			}
			if keep {
				left = append(left, c)
			}
		}
		if len(left) == 0 {
			continue
		}
		created := r.Created
		r.Changes, r.Created = left, created
		if err := insertRun(ctx, in.tx, r); err != nil {
			return err
		}
		in.taken.Runs++
	}
	return nil
}

// change makes a change this home's, and reports whether it may be kept.
func (in *intake) change(ctx context.Context, c *agent.MemoryChange) (bool, error) {
	if in.gone[c.Fact] {
		return false, nil
	}
	for _, f := range []*agent.Fact{c.Before, c.After} {
		if f == nil {
			continue
		}
		forgotten, err := in.forgotten(ctx, f.Text)
		if err != nil || forgotten {
			return false, err
		}
		if err := in.quote(ctx, f); err != nil {
			return false, err
		}
		f.Owner = in.owner
		for i, e := range f.Entities {
			if id, ok := in.entity[e.ID]; ok {
				f.Entities[i].ID = id
			}
		}
	}
	return true, nil
}

// quote takes a quote away that says what was forgotten here.
func (in *intake) quote(ctx context.Context, f *agent.Fact) error {
	forgotten, err := in.forgotten(ctx, f.Source.Quote)
	if forgotten {
		f.Source.Quote = ""
	}
	return err
}
