package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

// SaveEntity changes the name, kind and aliases of an entity. The old name stays as an alias unless Aliases
// leaves it out. CodeConflict when another entity has the name: merge the two. CodeInvalid without a name.
func (s *Store) SaveEntity(ctx context.Context, e agent.Entity) error {
	name := clean(e.Name)
	fold := memory.FoldName(name)
	if fold == "" || len(name) > maxName {
		return agent.Errorf(agent.CodeInvalid, "A name has 1 to %d bytes.", maxName)
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var row entityRow
		if err := fixed(tx, `SELECT * FROM entities WHERE id = ?1`, e.ID).Scan(ctx, &row); err != nil {
			return err
		}
		if err := nameFree(ctx, tx, row.Owner, e.ID, fold); err != nil {
			return err
		}
		row.Name, row.Fold = name, fold
		if e.Kind != "" {
			row.Kind = e.Kind
		}
		if err := updateRow(ctx, tx, &row, "name", "fold", "kind"); err != nil {
			return err
		}
		if _, err := fixed(tx, `DELETE FROM entity_aliases WHERE entity = ?1`, e.ID).Exec(ctx); err != nil {
			return err
		}
		for _, alias := range e.Aliases {
			if err := addAlias(ctx, tx, row.Owner, e.ID, alias); err != nil {
				return err
			}
		}
		return unlistAbout(ctx, tx, e.ID)
	})
}

// nameFree refuses a name that another entity of the owner goes by.
func nameFree(ctx context.Context, tx bun.IDB, owner, entity agent.ID, fold string) error {
	var taken bool
	err := fixed(tx, `SELECT EXISTS (SELECT 1 FROM entities WHERE owner = ?1 AND fold = ?3 AND id <> ?2)
		OR EXISTS (SELECT 1 FROM entity_aliases a JOIN entities e ON e.id = a.entity WHERE e.owner = ?1 AND a.fold = ?3 AND e.id <> ?2)`,
		owner, entity, fold).Scan(ctx, &taken)
	if err == nil && taken {
		return agent.Errorf(agent.CodeConflict, "Somebody or something else goes by that name. Merge the two instead.")
	}
	return err
}

// MergeEntities makes one entity of two: facts, name and aliases of other go to into. CodeInvalid for entities of two owners.
func (s *Store) MergeEntities(ctx context.Context, into, other agent.ID) error {
	if into == other {
		return agent.Errorf(agent.CodeInvalid, "An entity cannot be merged with itself.")
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var kept, gone entityRow
		if err := fixed(tx, `SELECT * FROM entities WHERE id = ?1`, into).Scan(ctx, &kept); err != nil {
			return err
		}
		if err := fixed(tx, `SELECT * FROM entities WHERE id = ?1`, other).Scan(ctx, &gone); err != nil {
			return err
		}
		if kept.Owner != gone.Owner {
			return agent.Errorf(agent.CodeInvalid, "Entities of two people cannot be merged.")
		}
		for _, e := range []agent.ID{into, other} { // those about into are found by the other's names from now on
			if err := unlistAbout(ctx, tx, e); err != nil {
				return err
			}
		}
		for _, statement := range []string{
			`INSERT OR IGNORE INTO fact_entities (fact, entity) SELECT fact, ?1 FROM fact_entities WHERE entity = ?2`,
			`UPDATE facts SET subject = (SELECT name FROM entities WHERE id = ?1)
				WHERE subject = (SELECT name FROM entities WHERE id = ?2) AND id IN (SELECT fact FROM fact_entities WHERE entity = ?2)`,
			`INSERT OR IGNORE INTO entity_aliases (entity, alias, fold) SELECT ?1, alias, fold FROM entity_aliases WHERE entity = ?2`,
			`INSERT OR IGNORE INTO entity_aliases (entity, alias, fold) SELECT ?1, name, fold FROM entities WHERE id = ?2`,
			`DELETE FROM entities WHERE id = ?2 AND ?1 <> ?2`,
			`DELETE FROM entity_aliases WHERE entity = ?1 AND fold = (SELECT fold FROM entities WHERE id = ?1) AND ?2 <> ?1`,
		} {
			if _, err := fixed(tx, statement, into, other).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// unlistAbout takes the facts about an entity out of what recall reads: its name is in their rows.
func unlistAbout(ctx context.Context, tx bun.IDB, entity agent.ID) error {
	_, err := fixed(tx, `DELETE FROM recall_items WHERE kind = 'fact' AND ref IN (SELECT fact FROM fact_entities WHERE entity = ?1)`, entity).Exec(ctx)
	return err
}

// EntityLinks returns which entities current facts mention together with one, the strongest first, and among those
// neighbours: what a small graph shows. At most limit neighbours.
func (s *Store) EntityLinks(ctx context.Context, entity agent.ID, limit int) (neighbours []agent.Entity, links []agent.EntityLink, err error) {
	var rows []entityRow
	err = fixed(s.reader, `SELECT e.* FROM (
			SELECT * FROM (SELECT b AS other, facts FROM entity_links WHERE a = ?1 ORDER BY facts DESC LIMIT ?2)
			UNION ALL SELECT * FROM (SELECT a, facts FROM entity_links WHERE b = ?1 ORDER BY facts DESC LIMIT ?2)
			ORDER BY facts DESC, other LIMIT ?2
		) t JOIN entities e ON e.id = t.other ORDER BY t.facts DESC, e.name`, entity, min(max(limit, 1), maxPage)).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return nil, nil, s.translate(err)
	}
	ids := []agent.ID{entity}
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	asked, err := toJSON(ids)
	if err != nil {
		return nil, nil, s.translate(err)
	}
	err = fixed(s.reader, `SELECT l.a, l.b, l.facts FROM json_each(?1) x CROSS JOIN json_each(?1) y
		CROSS JOIN entity_links l ON l.a = x.value AND l.b = y.value WHERE x.value < y.value
		ORDER BY l.facts DESC, l.a, l.b`, asked).Scan(ctx, &links)
	if err != nil {
		return nil, nil, s.translate(err)
	}
	neighbours, err = completeEntities(ctx, s.reader, rows)
	for i, n := range neighbours { // together with that one, not in all
		for _, l := range links {
			if l.A == entity && l.B == n.ID || l.B == entity && l.A == n.ID {
				neighbours[i].Facts = l.Facts
			}
		}
	}
	return neighbours, links, s.translate(err)
}
