package store

import (
	"context"

	"ash/agent"
	"ash/agent/memory/archive"
	"ash/agent/memory/lexis"
)

// Voices returns who said messages, and when, as the import has it that brought them. Messages that were written here are
// left out; the owner has no name in it.
func (s *Store) Voices(ctx context.Context, messages []agent.ID) (map[agent.ID]archive.Voice, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	asked, err := toJSON(messages)
	if err != nil {
		return nil, err
	}
	var rows []originRow
	err = fixed(s.reader, `SELECT o.message, o.said, CASE WHEN ifnull(p.owner, 0) = 1 THEN '' ELSE o.speaker END AS speaker
		FROM json_each(?1) j JOIN message_origins o ON o.message = j.value JOIN messages m ON m.id = o.message
		LEFT JOIN persons p ON p.id = m.author`, asked).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	heard := make(map[agent.ID]archive.Voice, len(rows))
	for _, r := range rows {
		_, dated := lexis.Said(r.Said)
		heard[r.Message] = archive.Voice{Name: r.Speaker, Undated: !dated, Said: r.Said}
	}
	return heard, nil
}
