package handlers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// BenchmarkOpenThread opens a conversation over HTTP: what the server does must not depend on its
// length. The short one is the baseline.
func BenchmarkOpenThread(b *testing.B) {
	for _, exchanges := range []int{20, 2000} {
		b.Run(fmt.Sprintf("messages=%d", 2*exchanges), func(b *testing.B) {
			h := open(b)
			url := h.base + "/chat/" + string(h.fill(exchanges))
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
				h.must(err)
				res, err := http.DefaultClient.Do(req)
				h.must(err)
				n, err := io.Copy(io.Discard, res.Body)
				h.must(err)
				h.must(res.Body.Close())
				if res.StatusCode != http.StatusOK || n < 20_000 {
					b.Fatalf("status %d, %d bytes", res.StatusCode, n)
				}
			}
		})
	}
}

// fill stores a conversation of so many exchanges without a model.
func (h *house) fill(exchanges int) agent.ID {
	ctx := context.Background()
	t, err := h.engine.CreateThread(ctx, agent.Origin{Channel: "web"})
	h.must(err)
	for i := range exchanges {
		posted, err := h.store.Post(ctx, agent.NewMessage{Thread: t.ID, Parts: []agent.Part{agent.Text{Text: fmt.Sprintf("question %d", i)}}})
		h.must(err)
		m := agent.Message{
			ID: agent.NewID(), Thread: t.ID, Parent: posted.Message.ID, Turn: posted.Turn.ID,
			Role: agent.RoleAssistant, State: agent.MessageOpen, Created: time.Now().UTC(),
		}
		h.must(h.store.OpenReply(ctx, m))
		m.State = agent.MessageComplete
		m.Parts = []agent.Part{agent.Text{Text: strings.Repeat("An *answer* with `code`. ", 20) + "\n\n- one\n- two\n"}}
		h.must(h.store.CloseReply(ctx, m))
		_, err = h.store.EndTurn(ctx, posted.Turn, agent.TurnDone)
		h.must(err)
	}
	return t.ID
}
