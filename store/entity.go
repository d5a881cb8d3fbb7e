package store

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/memory"
)

// maxName bounds the name of an entity, in bytes.
const maxName = 120

type entityRow struct {
	bun.BaseModel `bun:"table:entities,alias:e"`

	Seq   int64            `bun:"seq,pk,autoincrement"`
	ID    agent.ID         `bun:"id"`
	Owner agent.ID         `bun:"owner"`
	Kind  agent.EntityKind `bun:"kind"`
	Name  string           `bun:"name"`
	Fold  string           `bun:"fold"`
	About int              `bun:"about"` // current facts about it, kept by triggers
}

type aliasRow struct {
	bun.BaseModel `bun:"table:entity_aliases,alias:a"`

	Entity agent.ID `bun:"entity"`
	Alias  string   `bun:"alias"`
	Fold   string   `bun:"fold"`
}

func fromEntity(r entityRow) agent.Entity { return agent.Entity{ID: r.ID, Name: r.Name, Kind: r.Kind} }

// linkEntities makes the entities of a fact those that f names, found by name or alias or made, and returns them.
func linkEntities(ctx context.Context, tx bun.IDB, f agent.Fact) ([]agent.Entity, error) {
	if _, err := fixed(tx, `DELETE FROM fact_entities WHERE fact = ?1`, f.ID).Exec(ctx); err != nil {
		return nil, err
	}
	var list []agent.Entity
	for _, e := range f.Entities {
		found, err := findOrMake(ctx, tx, f.Owner, e)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(x agent.Entity) bool { return x.ID == found.ID }) {
			continue
		}
		if _, err := fixed(tx, `INSERT INTO fact_entities (fact, entity) VALUES (?1, ?2)`, f.ID, found.ID).Exec(ctx); err != nil {
			return nil, err
		}
		list = append(list, found)
	}
	return list, nil
}

// findOrMake returns the entity of an owner that has the name of e as name or alias, made when there is none.
func findOrMake(ctx context.Context, tx bun.IDB, owner agent.ID, e agent.Entity) (agent.Entity, error) {
	name := agent.Clip(clean(e.Name), maxName)
	fold := memory.FoldName(name)
	if fold == "" {
		return agent.Entity{}, agent.Errorf(agent.CodeInvalid, "A person, place, project or thing needs a name.")
	}
	var rows []entityRow
	err := fixed(tx, `SELECT * FROM entities WHERE owner = ?1 AND fold = ?2
		UNION ALL SELECT e.* FROM entity_aliases a JOIN entities e ON e.id = a.entity WHERE a.fold = ?2 AND e.owner = ?1 LIMIT 1`, owner, fold).Scan(ctx, &rows)
	if err != nil {
		return agent.Entity{}, err
	}
	if len(rows) > 0 {
		return fromEntity(rows[0]), nil
	}
	row := entityRow{ID: agent.NewID(), Owner: owner, Kind: e.Kind, Name: name, Fold: fold}
	if row.Kind == "" {
		row.Kind = agent.EntityThing
	}
	if err := insertRow(ctx, tx, &row); err != nil {
		return agent.Entity{}, err
	}
	made := fromEntity(row)
	for _, alias := range e.Aliases {
		if err := addAlias(ctx, tx, owner, made.ID, alias); err != nil {
			return agent.Entity{}, err
		}
	}
	return made, nil
}

// addAlias gives an entity another name. One that somebody has already stays theirs.
func addAlias(ctx context.Context, tx bun.IDB, owner, entity agent.ID, alias string) error {
	alias = agent.Clip(clean(alias), maxName)
	fold := memory.FoldName(alias)
	if fold == "" {
		return nil
	}
	_, err := fixed(tx, `INSERT INTO entity_aliases (entity, alias, fold) SELECT ?2, ?3, ?4
		WHERE NOT EXISTS (SELECT 1 FROM entities WHERE owner = ?1 AND fold = ?4)
		AND NOT EXISTS (SELECT 1 FROM entity_aliases a JOIN entities e ON e.id = a.entity WHERE e.owner = ?1 AND a.fold = ?4)`,
		owner, entity, alias, fold).Exec(ctx)
	return err
}

// entitiesOf returns the entities of facts, by name.
func entitiesOf(ctx context.Context, db bun.IDB, facts []agent.ID) (map[agent.ID][]agent.Entity, error) {
	asked, err := toJSON(facts)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		entityRow
		Fact agent.ID
	}
	err = fixed(db, `SELECT e.*, l.fact FROM fact_entities l JOIN entities e ON e.id = l.entity
		WHERE l.fact IN (SELECT value FROM json_each(?1)) ORDER BY l.fact, e.name`, asked).Scan(ctx, &rows)
	of := map[agent.ID][]agent.Entity{}
	for _, row := range rows {
		of[row.Fact] = append(of[row.Fact], fromEntity(row.entityRow))
	}
	return of, err
}

// Entity returns one entity with its aliases and how many current facts are about it.
func (s *Store) Entity(ctx context.Context, id agent.ID) (agent.Entity, error) {
	var row entityRow
	if err := fixed(s.reader, `SELECT * FROM entities WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return agent.Entity{}, s.translate(err)
	}
	list, err := completeEntities(ctx, s.reader, []entityRow{row})
	if err != nil {
		return agent.Entity{}, s.translate(err)
	}
	return list[0], nil
}

// EntityNamed returns the entity of an owner that has a name or alias, ignoring case. CodeNotFound when nobody has it.
func (s *Store) EntityNamed(ctx context.Context, owner agent.ID, name string) (agent.Entity, error) {
	var id agent.ID
	err := fixed(s.reader, `SELECT id FROM entities WHERE owner = ?1 AND fold = ?2
		UNION ALL SELECT e.id FROM entity_aliases a JOIN entities e ON e.id = a.entity WHERE a.fold = ?2 AND e.owner = ?1 LIMIT 1`,
		owner, memory.FoldName(name)).Scan(ctx, &id)
	if err != nil {
		return agent.Entity{}, s.translate(err)
	}
	return s.Entity(ctx, id)
}

// Entities returns a page of entities; next is "" on the last one. A page costs the same however many there are: an index has their order.
func (s *Store) Entities(ctx context.Context, f agent.EntityFilter) ([]agent.Entity, string, error) {
	limit := min(max(f.Limit, 1), maxPage)
	var rows []entityRow
	q := s.reader.NewSelect().Model(&rows).OrderExpr("e.about DESC, e.seq DESC").Limit(int64(limit + 1))
	if f.Owner != "" {
		q = q.Where("e.owner = ?", f.Owner)
	}
	if f.Kind != "" {
		q = q.Where("e.kind = ?", f.Kind)
	}
	if fold := memory.FoldName(f.Name); fold != "" {
		// Names that begin with it stand side by side in their indexes.
		q = q.Where(`e.id IN (SELECT id FROM entities WHERE owner = ?2 AND fold >= ?0 AND fold < ?1
			UNION SELECT entity FROM entity_aliases WHERE fold >= ?0 AND fold < ?1)`, fold, fold+string(utf8.MaxRune), f.Owner)
	}
	if f.After != "" {
		at, err := parsePlace(f.After)
		if err != nil {
			return nil, "", err
		}
		q = q.Where("(e.about, e.seq) < (?, ?)", at.order, at.seq)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, "", s.translate(err)
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = listPlace{int64(rows[limit-1].About), rows[limit-1].Seq}.String()
	}
	list, err := completeEntities(ctx, s.reader, rows)
	return list, next, s.translate(err)
}

func completeEntities(ctx context.Context, db bun.IDB, rows []entityRow) ([]agent.Entity, error) {
	list := make([]agent.Entity, len(rows))
	ids := make([]agent.ID, len(rows))
	for i, row := range rows {
		list[i], ids[i] = fromEntity(row), row.ID
		list[i].Facts = row.About
	}
	asked, err := toJSON(ids)
	if err != nil {
		return nil, err
	}
	var aliases []aliasRow
	err = fixed(db, `SELECT * FROM entity_aliases WHERE entity IN (SELECT value FROM json_each(?1)) ORDER BY alias`, asked).Scan(ctx, &aliases)
	for _, a := range aliases {
		i := slices.Index(ids, a.Entity)
		list[i].Aliases = append(list[i].Aliases, a.Alias)
	}
	return list, err
}
