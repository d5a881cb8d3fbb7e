package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

type episodeRow struct {
	bun.BaseModel `bun:"table:episodes,alias:e"`

	Thread   agent.ID `bun:"thread"`
	Through  agent.ID `bun:"through"`
	Began    int64    `bun:"began"`
	Ended    int64    `bun:"ended"`
	Created  int64    `bun:"created"`
	Provider string   `bun:"provider"`
	Model    string   `bun:"model"`
	usageColumns
	Labels   string `bun:"labels"`
	Entities string `bun:"entities"`
	Text     string `bun:"text"`
}

func toEpisode(e agent.Episode) (episodeRow, error) {
	labels, err := encodeLabels(e.Labels)
	if err != nil {
		return episodeRow{}, err
	}
	entities, err := toJSON(toEntityJSON(e.Entities))
	return episodeRow{
		Thread: e.Thread, Through: e.Through, Began: micros(e.Began), Ended: micros(e.Ended), Created: micros(orNow(e.Created)),
		Provider: clean(e.Model.Provider), Model: clean(e.Model.Name), usageColumns: toUsage(e.Usage),
		Labels: labels, Entities: entities, Text: clean(e.Text),
	}, err
}

func fromEpisode(r episodeRow) (agent.Episode, error) {
	e := agent.Episode{
		Thread: r.Thread, Through: r.Through, Text: r.Text, Model: agent.ModelRef{Provider: r.Provider, Name: r.Model}, Usage: fromUsage(r.usageColumns),
		Began: fromMicros(r.Began), Ended: fromMicros(r.Ended), Created: fromMicros(r.Created),
	}
	var err error
	if e.Labels, err = decodeLabels(r.Labels); err != nil {
		return e, err
	}
	var entities []entityJSON
	err = fromJSON(r.Entities, &entities)
	e.Entities = fromEntityJSON(entities)
	return e, err
}

func fromEpisodes(rows []episodeRow) ([]agent.Episode, error) {
	list := make([]agent.Episode, len(rows))
	for i, row := range rows {
		var err error
		if list[i], err = fromEpisode(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// SaveEpisode stores what a conversation was about, in place of what was stored of it before. CodeNotFound for
// a thread that does not exist.
func (s *Store) SaveEpisode(ctx context.Context, e agent.Episode) error {
	row, err := toEpisode(e)
	if err != nil {
		return s.translate(err)
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if err := dropEpisode(ctx, tx, e.Thread); err != nil {
			return err
		}
		return insertRow(ctx, tx, &row)
	})
}

func dropEpisode(ctx context.Context, tx bun.IDB, thread agent.ID) error {
	if _, err := fixed(tx, `DELETE FROM recall_items WHERE kind = 'episode' AND ref = ?1`, thread).Exec(ctx); err != nil {
		return err
	}
	_, err := fixed(tx, `DELETE FROM episodes WHERE thread = ?1`, thread).Exec(ctx)
	return err
}

// Episode returns what a conversation was about. CodeNotFound when nothing is stored of it.
func (s *Store) Episode(ctx context.Context, thread agent.ID) (agent.Episode, error) {
	var row episodeRow
	if err := fixed(s.reader, `SELECT * FROM episodes WHERE thread = ?1`, thread).Scan(ctx, &row); err != nil {
		return agent.Episode{}, s.translate(err)
	}
	e, err := fromEpisode(row)
	return e, s.translate(err)
}

// LatestEpisodes returns the newest n conversations' episodes that are not of thread except, the newest first. Deleted
// threads are left out.
func (s *Store) LatestEpisodes(ctx context.Context, n int, except agent.ID) ([]agent.Episode, error) {
	var rows []episodeRow
	err := fixed(s.reader, `SELECT e.* FROM episodes e JOIN threads t ON t.id = e.thread AND t.deleted = 0
		WHERE e.thread <> ?1 ORDER BY e.ended DESC LIMIT ?2`, except, max(n, 0)).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list, err := fromEpisodes(rows)
	return list, s.translate(err)
}
