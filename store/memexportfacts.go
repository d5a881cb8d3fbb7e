package store

import (
	"context"
	"slices"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/archive"
)

// sift finds the facts that were forgotten here.
func (in *intake) sift(ctx context.Context) error {
	for _, f := range in.memory.Facts {
		if _, known := in.known[f.ID]; known {
			continue
		}
		forgotten, err := in.forgotten(ctx, f.Text)
		if err != nil {
			return err
		}
		if forgotten {
			in.gone[f.ID] = true
			in.taken.Forgotten++
		}
	}
	return nil
}

// entities finds or makes those that facts are about. One that only forgotten facts were about stays away with them.
func (in *intake) entities(ctx context.Context) error {
	about, left := map[agent.ID]int{}, map[agent.ID]int{}
	for _, f := range in.memory.Facts {
		for _, e := range f.Entities {
			about[e.ID]++
			if !in.gone[f.ID] {
				left[e.ID]++
			}
		}
	}
	for _, e := range in.memory.Entities {
		if about[e.ID] > 0 && left[e.ID] == 0 {
			continue
		}
		if err := in.oneEntity(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (in *intake) oneEntity(ctx context.Context, e agent.Entity) error {
	var rows []agent.ID
	fold := memory.FoldName(e.Name)
	err := fixed(in.tx, `SELECT id FROM entities WHERE id = ?3 AND owner = ?1
		UNION ALL SELECT id FROM entities WHERE owner = ?1 AND fold = ?2
		UNION ALL SELECT e.id FROM entity_aliases a JOIN entities e ON e.id = a.entity WHERE a.fold = ?2 AND e.owner = ?1 LIMIT 1`,
		in.owner, fold, e.ID).Scan(ctx, &rows)
	if err != nil || fold == "" {
		return err
	}
	if len(rows) == 0 {
		row := entityRow{ID: e.ID, Owner: in.owner, Kind: e.Kind, Name: clean(e.Name), Fold: fold}
		if err := insertRow(ctx, in.tx, &row); err != nil {
			return err
		}
		in.entity[e.ID] = e.ID
		in.taken.Entities++
		return in.aliases(ctx, e.ID, e.Aliases)
	}
	in.entity[e.ID] = rows[0]
	if in.out.Stranger != "" {
		return nil // a stranger does not say who somebody is
	}
	return in.aliases(ctx, rows[0], append([]string{e.Name}, e.Aliases...))
}

// aliases adds names; the facts about a thing with a new name are indexed anew.
func (in *intake) aliases(ctx context.Context, entity agent.ID, names []string) error {
	count := func() (n int, err error) {
		err = fixed(in.tx, `SELECT count(*) FROM entity_aliases WHERE entity = ?1`, entity).Scan(ctx, &n)
		return n, err
	}
	before, err := count()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := addAlias(ctx, in.tx, in.owner, entity, name); err != nil {
			return err
		}
	}
	after, err := count()
	if err != nil || before == after {
		return err
	}
	return unlistAbout(ctx, in.tx, entity)
}

func (in *intake) facts(ctx context.Context) error {
	for _, f := range in.memory.Facts {
		if in.gone[f.ID] {
			continue
		}
		if err := in.quote(ctx, &f); err != nil {
			return err
		}
		if err := in.fact(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// fact takes in one fact.
func (in *intake) fact(ctx context.Context, f agent.Fact) error {
	f.Owner, f.Labels = in.owner, in.labels(f.Labels)
	if in.out.Stranger != "" {
		f.Pinned = false
		if f.Kind == agent.FactCore {
			f.Kind = agent.FactPlain
		}
	}
	if old, known := in.known[f.ID]; known {
		if old.Updated >= micros(f.Updated) || in.out.Stranger != "" {
			in.taken.Known++
			return nil
		}
		in.taken.Changed++
		return in.put(ctx, f, true)
	}
	var elsewhere bool // an id of somebody else's memory
	if err := fixed(in.tx, `SELECT EXISTS (SELECT 1 FROM facts WHERE id = ?1)`, f.ID).Scan(ctx, &elsewhere); err != nil {
		return err
	}
	if elsewhere {
		return agent.Errorf(agent.CodeConflict, "The archive has a fact under an id that belongs to somebody else's memory here. Nothing was taken in.")
	}
	if id, ok := in.same[memory.Fingerprint(clean(f.Text))]; ok && f.Status == agent.FactCurrent {
		in.taken.Merged++
		return in.merge(ctx, id, f)
	}
	in.taken.Facts++
	return in.put(ctx, f, false)
}

// put stores a fact as it is.
func (in *intake) put(ctx context.Context, f agent.Fact, there bool) error {
	f.Created, f.Said = orAt(f.Created, in.at), orAt(f.Said, in.at)
	f.Updated = orAt(f.Updated, in.at)
	row, err := toFact(f)
	if err != nil {
		return err
	}
	if there {
		if err := updateRow(ctx, in.tx, &row, factColumns[:]...); err != nil {
			return err
		}
		if err := unlist(ctx, in.tx, f.ID); err != nil {
			return err
		}
		if _, err := fixed(in.tx, `DELETE FROM fact_entities WHERE fact = ?1`, f.ID).Exec(ctx); err != nil {
			return err
		}
	} else if err := insertRow(ctx, in.tx, &row); err != nil {
		return err
	}
	return in.link(ctx, f.ID, f.Entities)
}

func (in *intake) link(ctx context.Context, fact agent.ID, about []agent.Entity) error {
	for _, e := range about {
		id, ok := in.entity[e.ID]
		if !ok {
			made, err := findOrMake(ctx, in.tx, in.owner, e)
			if err != nil {
				return err
			}
			id = made.ID
		}
		if _, err := fixed(in.tx, `INSERT OR IGNORE INTO fact_entities (fact, entity) VALUES (?1, ?2)`, fact, id).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// merge makes a fact of the archive the history of one that says the same, which gets what it adds: so that it comes back neither
// doubled, nor as current when the one here is corrected one day.
func (in *intake) merge(ctx context.Context, into agent.ID, f agent.Fact) error {
	old, err := factByID(ctx, in.tx, into)
	if err != nil {
		return err
	}
	if !f.Labels.Untrusted() || old.Labels.Untrusted() {
		if err := in.enrich(ctx, old, f); err != nil {
			return err
		}
	}
	f.Status, f.Successor, f.Pinned, f.Updated = agent.FactSuperseded, into, false, in.at
	if f.Until.IsZero() {
		f.Until = in.at
	}
	return in.put(ctx, f, false)
}

// enrich adds to a fact what another one that says the same knows more.
func (in *intake) enrich(ctx context.Context, old, f agent.Fact) error {
	more := old
	more.Labels = old.Labels.Union(f.Labels)
	more.Confidence, more.Importance = max(old.Confidence, f.Confidence), max(old.Importance, f.Importance)
	more.Pinned = old.Pinned || f.Pinned
	if f.Kind == agent.FactCore {
		more.Kind = f.Kind
	}
	row, err := toFact(more)
	if err != nil {
		return err
	}
	row.Updated = micros(later(in.at, old.Updated))
	if err := updateRow(ctx, in.tx, &row, "labels", "confidence", "importance", "pinned", "kind", "updated"); err != nil {
		return err
	}
	if err := unlist(ctx, in.tx, old.ID); err != nil {
		return err
	}
	return in.link(ctx, old.ID, f.Entities)
}

// proposals stores those that still make sense: what they would keep is not there, what they would end is.
func (in *intake) proposals(ctx context.Context) error {
	var waiting []proposalRow
	if err := fixed(in.tx, `SELECT * FROM proposals WHERE ?1`, 1).Scan(ctx, &waiting); err != nil {
		return err
	}
	for _, p := range in.memory.Proposals {
		if in.out.Stranger != "" || slices.ContainsFunc(waiting, func(w proposalRow) bool { return w.ID == p.ID }) {
			continue // what a stranger's Ash asked is not asked here
		}
		for _, text := range []string{p.Fact.Text, p.Fact.Source.Quote, p.Why} {
			forgotten, err := in.forgotten(ctx, text)
			if err != nil {
				return err
			}
			if forgotten {
				p.ID = ""
			}
		}
		if p.ID == "" {
			in.taken.Forgotten++
			continue
		}
		sensible, err := in.sensible(ctx, p)
		if err != nil {
			return err
		}
		if !sensible {
			continue
		}
		p.Fact.Owner = in.owner
		if err := insertProposal(ctx, in.tx, p); err != nil {
			return err
		}
		in.taken.Proposals++
	}
	return nil
}

func (in *intake) sensible(ctx context.Context, p agent.Proposal) (bool, error) {
	var n int
	if p.Action == agent.ActionRetire {
		err := fixed(in.tx, `SELECT count(*) FROM facts WHERE id = ?1 AND status = 'current'`, p.Fact.ID).Scan(ctx, &n)
		return n > 0, err
	}
	err := fixed(in.tx, `SELECT count(*) FROM facts WHERE owner = ?1 AND (id = ?2 OR fold = ?3)`,
		in.owner, p.Fact.ID, memory.Fingerprint(clean(p.Fact.Text))).Scan(ctx, &n)
	return n == 0, err
}

// records adds what is known of where notes came from. Labels are added, never taken away, and what the person vouched for there counts only for what
// nothing is known of here. What is known of another text under the same name goes with that text, by its hash.
func (in *intake) records(ctx context.Context) error {
	if in.out.Stranger != "" {
		return in.strange(ctx)
	}
	for _, r := range in.memory.Records {
		var old []noteRecordRow
		if err := fixed(in.tx, `SELECT * FROM note_records WHERE path = ?1`, clean(r.Path)).Scan(ctx, &old); err != nil {
			return err
		}
		if len(old) == 0 {
			if err := in.putRecord(ctx, r); err != nil {
				return err
			}
			continue
		}
		if old[0].Hash != r.Hash {
			if err := in.apart(ctx, r.Hash, r.Labels); err != nil {
				return err
			}
			continue
		}
		labels, err := decodeLabels(old[0].Labels)
		if err != nil {
			return err
		}
		more := labels.Union(r.Labels)
		if old[0].Own || slices.Equal(more, labels.Union()) {
			continue
		}
		if err := in.putRecord(ctx, archive.Record{Path: r.Path, Hash: r.Hash, Labels: more}); err != nil {
			return err
		}
	}
	return nil
}

// strange labels the notes of a stranger's archive, before they are there, wherever they will be.
func (in *intake) strange(ctx context.Context) error {
	for _, n := range in.memory.Notes {
		if err := in.apart(ctx, n.Hash, in.labels(nil)); err != nil {
			return err
		}
	}
	return nil
}

// apart notes labels of a content, whatever its name.
func (in *intake) apart(ctx context.Context, hash string, labels agent.Labels) error {
	if hash == "" || len(labels) == 0 {
		return nil
	}
	var known bool
	if err := fixed(in.tx, `SELECT EXISTS (SELECT 1 FROM note_records WHERE path = ?1)`, ".gone/"+hash).Scan(ctx, &known); err != nil || known {
		return err
	}
	return in.putRecord(ctx, archive.Record{Path: ".gone/" + hash, Hash: hash, Labels: labels})
}

func (in *intake) putRecord(ctx context.Context, r archive.Record) error {
	labels, err := encodeLabels(r.Labels)
	if err != nil {
		return err
	}
	_, err = fixed(in.tx, `INSERT INTO note_records (path, hash, labels, own, noted) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, labels = excluded.labels, own = excluded.own, noted = excluded.noted`,
		clean(r.Path), r.Hash, labels, r.Own, micros(in.at)).Exec(ctx)
	return err
}
