package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/identity"
)

type versionRow struct {
	bun.BaseModel `bun:"table:identity_versions,alias:v"`

	Seq     int64           `bun:"seq,pk,autoincrement"`
	ID      agent.ID        `bun:"id"`
	File    string          `bun:"file"`
	Hash    string          `bun:"hash"`
	Size    int             `bun:"size"`
	Source  identity.Source `bun:"source"`
	Created int64           `bun:"created"`
	Text    string          `bun:"text"`
}

func toVersion(v identity.Version) versionRow {
	return versionRow{
		ID: v.ID, File: clean(v.File), Hash: clean(v.Hash), Size: v.Size, Source: v.Source,
		Created: micros(v.Created), Text: clean(v.Text),
	}
}

func fromVersion(r versionRow) identity.Version {
	return identity.Version{
		ID: r.ID, File: r.File, Hash: r.Hash, Text: r.Text, Size: r.Size, Source: r.Source, Created: fromMicros(r.Created),
	}
}

// AddVersion implements identity.Versions.
func (s *Store) AddVersion(ctx context.Context, v identity.Version) error {
	v.Created = orNow(v.Created)
	row := toVersion(v)
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&row).Returning("NULL").Exec(ctx)
		return err
	})
}

// LatestVersion implements identity.Versions.
func (s *Store) LatestVersion(ctx context.Context, file string) (identity.Version, error) {
	var row versionRow
	err := s.reader.NewSelect().Model(&row).Where("file = ?", clean(file)).Order("seq DESC").Limit(1).Scan(ctx)
	return fromVersion(row), s.translate(err)
}

// ListVersions implements identity.Versions. limit is at least 1.
func (s *Store) ListVersions(ctx context.Context, file string, limit int) ([]identity.Version, error) {
	var rows []versionRow
	err := s.reader.NewSelect().Model(&rows).ExcludeColumn("text").Where("file = ?", clean(file)).
		Order("seq DESC").Limit(int64(max(limit, 1))).Scan(ctx)
	if err != nil {
		return nil, s.translate(err)
	}
	list := make([]identity.Version, len(rows))
	for i, row := range rows {
		list[i] = fromVersion(row)
	}
	return list, nil
}

// Version implements identity.Versions.
func (s *Store) Version(ctx context.Context, id agent.ID) (identity.Version, error) {
	var row versionRow
	err := s.reader.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx)
	return fromVersion(row), s.translate(err)
}
