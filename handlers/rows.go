package handlers

import (
	"bytes"
	"context"
	"sync"

	"ash/agent"
	"ash/views/components"
)

// maxDrawn is how many conversations' rows are remembered.
const maxDrawn = 256

// drawnRows remembers how the newest row of each conversation looks in the
// list. Every open page shows it alike, but for the page of that conversation
// itself, so fifty pages draw it once. The zero value is empty.
type drawnRows struct {
	mu   sync.Mutex
	rows map[agent.ID]drawnRow
}

type drawnRow struct {
	at       agent.EventID // the event that brought it
	fragment []byte        // never changed once it is here
}

// draw returns the fragment that puts the row, as the event at brought it, in the list of a page that
// shows another conversation.
func (d *drawnRows) draw(ctx context.Context, at agent.EventID, row components.ThreadRow) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.rows[row.ID]; ok && known.at == at {
		return known.fragment, nil
	}
	var b bytes.Buffer
	if err := components.StreamThread(row, "").Render(ctx, &b); err != nil {
		return nil, err
	}
	if d.rows == nil || len(d.rows) >= maxDrawn {
		d.rows = make(map[agent.ID]drawnRow)
	}
	d.rows[row.ID] = drawnRow{at: at, fragment: b.Bytes()}
	return b.Bytes(), nil
}
