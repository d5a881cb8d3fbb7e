package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

// attachmentRow says that a message, or a result of one of its calls, shows stored bytes.
type attachmentRow struct {
	bun.BaseModel `bun:"table:message_attachments,alias:a"`

	Message agent.ID `bun:"message,pk"`
	Hash    string   `bun:"hash,pk"`
}

// ReferencedAttachments returns the content hashes (SHA-256, lower-case hex) that any stored message
// refers to, sorted; what is not among them may be deleted. Threads that are deleted
// but not purged count: their deletion can be undone.
func (s *Store) ReferencedAttachments(ctx context.Context) ([]string, error) {
	var hashes []string
	err := s.reader.NewSelect().Model((*attachmentRow)(nil)).Distinct().Column("hash").Order("hash").Scan(ctx, &hashes)
	return hashes, s.translate(err)
}

func noteAttachments(ctx context.Context, tx bun.IDB, message agent.ID, parts []agent.Part) error {
	var rows []attachmentRow
	for _, hash := range hashesIn(parts, nil) {
		rows = append(rows, attachmentRow{Message: message, Hash: clean(hash)})
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&rows).On("CONFLICT DO NOTHING").Exec(ctx)
	return err
}

func hashesIn(parts []agent.Part, to []string) []string {
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Image:
			to = append(to, p.Attachment.Hash)
		case agent.File:
			to = append(to, p.Attachment.Hash)
		case agent.ToolResult:
			to = hashesIn(p.Content, to)
		}
	}
	return to
}
