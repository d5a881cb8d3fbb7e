package store

import (
	"context"
	"time"

	"ash/agent"
)

// Unlearned returns conversations whose last message came after since and that no run of learning has looked at so far,
// the longest quiet first; at most limit. Those of helpers and imported ones are left out.
func (s *Store) Unlearned(ctx context.Context, since time.Time, limit int) ([]agent.ID, error) {
	var ids []agent.ID
	err := fixed(s.reader, `SELECT t.id FROM threads t
		WHERE t.deleted = 0 AND t.parent_call IS NULL AND t.channel <> 'import' AND t.head IS NOT NULL AND t.updated > ?1
			AND NOT EXISTS (SELECT 1 FROM memory_runs r WHERE r.thread = t.id AND r.kind = 'learn' AND r.through = t.head)
		ORDER BY t.updated LIMIT ?2`, micros(since), max(limit, 0)).Scan(ctx, &ids)
	return ids, s.translate(err)
}

// RecentEpisodes returns the episodes that ended after since, the newest first; at most limit. Deleted threads are left out.
func (s *Store) RecentEpisodes(ctx context.Context, since time.Time, limit int) ([]agent.Episode, error) {
	var rows []episodeRow
	err := fixed(s.reader, `SELECT e.* FROM episodes e JOIN threads t ON t.id = e.thread AND t.deleted = 0
		WHERE e.ended > ?1 ORDER BY e.ended DESC LIMIT ?2`, micros(since), max(limit, 0)).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	list, err := fromEpisodes(rows)
	return list, s.translate(err)
}

// Consolidated returns when the last consolidation without a failure was made; zero for none.
func (s *Store) Consolidated(ctx context.Context) (time.Time, error) {
	var at int64
	err := fixed(s.reader, `SELECT ifnull(max(created), 0) FROM memory_runs WHERE kind = 'consolidate' AND failure_code = ''`).Scan(ctx, &at)
	return fromMicros(at), s.translate(err)
}

// Episodes returns a page of episodes, those that ended last first; next is "" on the last one. Deleted threads are left out.
func (s *Store) Episodes(ctx context.Context, after string, limit int) ([]agent.Episode, string, error) {
	limit = min(max(limit, 1), maxPage)
	ended, thread := int64(1)<<62, agent.ID("")
	if after != "" {
		last, err := s.Episode(ctx, agent.ID(after))
		if err != nil {
			return nil, "", err
		}
		ended, thread = micros(last.Ended), last.Thread
	}
	var rows []episodeRow
	err := fixed(s.reader, `SELECT e.* FROM episodes e JOIN threads t ON t.id = e.thread AND t.deleted = 0
		WHERE e.ended < ?1 OR e.ended = ?1 AND e.thread < ?2 ORDER BY e.ended DESC, e.thread DESC LIMIT ?3`, ended, thread, limit+1).Scan(ctx, &rows)
	if err != nil {
		return nil, "", s.translate(err)
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = string(rows[limit-1].Thread)
	}
	list, err := fromEpisodes(rows)
	return list, next, s.translate(err)
}
