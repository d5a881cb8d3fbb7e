package embed

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// serverModel stands in for a model server: what it does is a function.
type serverModel struct {
	embed func(ctx context.Context, texts []string) ([][]float32, error)
}

func (m serverModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embed(ctx, texts)
}
func (m serverModel) Dimensions() int { return 0 }

func vectorsOf(n, dims int, x float32) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, dims)
		out[i][0] = x
	}
	return out
}

func TestRemote(t *testing.T) {
	var asked, opens int
	var saw []string
	answer := func(_ context.Context, texts []string) ([][]float32, error) { return vectorsOf(len(texts), 3, 1), nil }
	r := NewRemote(RemoteOptions{
		Name: "here/nomic-embed-text", Prefixes: PrefixesOf("nomic-embed-text:v1.5"), Patience: 50 * time.Millisecond, Rest: 80 * time.Millisecond,
		Open: func() (agent.Embedder, error) {
			opens++
			return serverModel{func(ctx context.Context, texts []string) ([][]float32, error) {
				asked++
				saw = texts
				return answer(ctx, texts)
			}}, nil
		},
	})
	ctx := t.Context()
	if _, err := r.Query(ctx, "rose"); err != nil || saw[0] != "search_query: rose" {
		t.Fatal(saw, err)
	}
	if v, err := r.Documents(ctx, []string{"a", ""}); err != nil || len(v) != 2 || saw[0] != "search_document: a" {
		t.Fatal(v, saw, err)
	}
	space, err := r.Space(ctx)
	if err != nil || space != (Space{"here/nomic-embed-text", 3}) {
		t.Fatal(space, err)
	}
	for _, c := range []struct {
		name, says string
		answer     func(context.Context, []string) ([][]float32, error)
	}{
		{"NaN", "NaN", func(_ context.Context, texts []string) ([][]float32, error) {
			return vectorsOf(len(texts), 3, float32(math.NaN())), nil
		}},
		{"infinity", "infinity", func(_ context.Context, texts []string) ([][]float32, error) {
			return vectorsOf(len(texts), 3, float32(math.Inf(1))), nil
		}},
		{"wrong count", "vectors for", func(context.Context, []string) ([][]float32, error) { return vectorsOf(5, 3, 1), nil }},
		{"dead", "The log says why", func(context.Context, []string) ([][]float32, error) { return nil, errors.New("connection refused") }},
		{"slow", "in time", func(ctx context.Context, _ []string) ([][]float32, error) { <-ctx.Done(); return nil, ctx.Err() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			good := answer
			answer = c.answer
			began := time.Now()
			_, err := r.Query(ctx, "x")
			if agent.CodeOf(err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(err), c.says) || !strings.Contains(agent.PublicOf(err), "words goes on") {
				t.Errorf("%v", err)
			}
			answer, asked = good, 0
			if _, again := r.Query(ctx, "x"); again == nil || asked != 0 {
				t.Errorf("a server known to be down is asked: %v", again)
			}
			if since := time.Since(began); since > time.Second {
				t.Errorf("took %v", since)
			}
			time.Sleep(100 * time.Millisecond)
			r.mu.Lock()
			r.until = time.Time{} // however often it failed before
			r.mu.Unlock()
			if _, err := r.Query(ctx, "x"); err != nil {
				t.Errorf("back again: %v", err)
			}
		})
	}
	// Another model behind the same name: said, and met anew once the index asks for it.
	answer = func(_ context.Context, texts []string) ([][]float32, error) { return vectorsOf(len(texts), 5, 1), nil }
	if _, err := r.Query(ctx, "x"); !errors.Is(err, errDimensions) || agent.CodeOf(err) != agent.CodeConflict || !strings.Contains(agent.PublicOf(err), "5 numbers instead of 3") {
		t.Fatal(err)
	}
	r.forget()
	if space, err = r.Space(ctx); err != nil || space.Dimensions != 5 || opens < 2 {
		t.Fatal(space, opens, err)
	}
	// The caller who leaves says nothing of the server.
	gone, cancel := context.WithCancel(ctx)
	cancel()
	answer = func(ctx context.Context, _ []string) ([][]float32, error) { return nil, ctx.Err() }
	if _, err := r.Query(gone, "x"); err == nil || r.last != nil {
		t.Error(err, r.last)
	}
}
