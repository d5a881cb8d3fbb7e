package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"ash/agent"
)

// seed fills a store with threads of messages each, question and answer by turns, in few
// transactions. Every message has the word "the", about one in fifty "invoice".
func seed(t testing.TB, s *Store, threads, messages int) []agent.ID {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	ids := make([]agent.ID, threads)
	ctx := context.Background()
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for i := range ids {
			ids[i] = agent.NewID()
			row, err := toThread(agent.Thread{
				ID: ids[i], Title: fmt.Sprintf("thread number %d", i), Origin: agent.Origin{Channel: "web"},
				Pinned: i%1000 == 7, Created: now(), Updated: fromMicros(int64(i/3 + 1)),
			})
			if err != nil {
				return err
			}
			if _, err := tx.NewInsert().Model(&row).Returning("NULL").Exec(ctx); err != nil {
				return err
			}
			if err := seedMessages(ctx, tx, random, ids[i], messages); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func seedMessages(ctx context.Context, tx bun.IDB, random *rand.Rand, thread agent.ID, n int) error {
	const batch = 500
	var rows []messageRow
	var head agent.ID
	for i := range n {
		m := agent.Message{
			ID: agent.NewID(), Thread: thread, Parent: head, Role: agent.RoleUser, State: agent.MessageComplete,
			Parts: text(prose(random)), Created: now(), Finished: now(),
		}
		if i%2 == 1 {
			m.Role = agent.RoleAssistant
		}
		head = m.ID
		row, err := toMessage(m)
		if err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) == batch || i == n-1 {
			if _, err := tx.NewInsert().Model(&rows).Returning("NULL").Exec(ctx); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	_, err := tx.NewUpdate().Model((*threadRow)(nil)).Set("head = ?", bun.NullZero(head)).Where("id = ?", thread).Exec(ctx)
	return err
}

// prose returns a few sentences from a vocabulary of 5,000 words.
func prose(random *rand.Rand) string {
	words := []string{"the"}
	for range 30 + random.IntN(40) {
		n := int(float64(5000) * random.Float64() * random.Float64())
		words = append(words, fmt.Sprintf("%c%cword%d", 'a'+n%26, 'a'+n/26%26, n))
	}
	if random.IntN(50) == 0 {
		words = append(words, "invoice")
	}
	return strings.Join(words, " ")
}

// seeded returns a store with 100,000 messages in 1,000 threads.
func seeded(b *testing.B) *Store {
	b.Helper()
	path := filepath.Join(b.TempDir(), "ash.db")
	s := openAt(b, path)
	seed(b, s, 1000, 100)
	return s
}
