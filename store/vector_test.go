package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"
	_ "modernc.org/sqlite/vec" // the baseline

	"ash/agent"
	"ash/agent/memory/embed"
)

// wordsModel is an embedder whose texts are numbers: the vector is made from the number, near to those of the same hundred.
type wordsModel struct {
	name string
	dims int
	fail atomic.Pointer[error]
	hold chan struct{} // each call of Documents takes one, when set
}

func (m *wordsModel) Space(context.Context) (embed.Space, error) {
	return embed.Space{Name: m.name, Dimensions: m.dims}, nil
}

func (m *wordsModel) Query(_ context.Context, text string) ([]float32, error) {
	if err := m.fail.Load(); err != nil {
		return nil, *err
	}
	return m.vector(text), nil
}

func (m *wordsModel) Documents(ctx context.Context, texts []string) ([][]float32, error) {
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var out [][]float32
	for _, t := range texts {
		v, err := m.Query(ctx, t)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (m *wordsModel) vector(text string) []float32 {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return make([]float32, m.dims)
	}
	topic, own := rand.New(rand.NewPCG(uint64(n/100), 1)), rand.New(rand.NewPCG(uint64(n), 2))
	v := make([]float32, m.dims)
	for i := range v {
		v[i] = float32(topic.NormFloat64() + 0.6*own.NormFloat64() + 0.2)
	}
	return v
}

// addItems stores recall items whose texts are numbers from first on.
func addItems(t testing.TB, s *Store, first, n int) {
	t.Helper()
	err := s.write(t.Context(), func(ctx context.Context, tx bun.IDB) error {
		for i := first; i < first+n; i++ {
			_, err := fixed(tx, "INSERT INTO recall_items (kind, ref, part, time, weight, body, context, text) VALUES ('fact', ?, 0, 0, 0, '', '', ?)",
				fmt.Sprint("f", i), fmt.Sprint(i)).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (m *wordsModel) mustSync(t testing.TB, x *embed.Index) {
	t.Helper()
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func vectorStore(t testing.TB) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ash.db")
	lay(t, path)
	return openAt(t, path)
}

func nearest(t testing.TB, x *embed.Index, query, k int) []int64 {
	t.Helper()
	near, err := x.Nearest(t.Context(), fmt.Sprint(query), k)
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for _, n := range near {
		out = append(out, n.Item)
	}
	return out
}

func TestNearest(t *testing.T) {
	s := vectorStore(t)
	addItems(t, s, 0, 300)
	x := embed.NewIndex(s, embed.Options{Batch: 50})
	if near, err := x.Nearest(t.Context(), "7", 3); near != nil || err != nil {
		t.Fatal("without an embedder:", near, err)
	}
	m := &wordsModel{name: "one", dims: 96}
	x.Use(m)
	m.mustSync(t, x)
	st := x.Status()
	if st.Have != 300 || st.Pending != 0 || st.Indexing || st.Problem != "" || st.Space.Name != "one" {
		t.Fatalf("%+v", st)
	}
	for _, n := range []int{0, 57, 142, 299} {
		got := nearest(t, x, n, 3)
		if len(got) != 3 || got[0] != int64(n+1) || (got[1]-1)/100 != int64(n/100) {
			t.Errorf("nearest to %d: %v", n, got)
		}
	}
	t.Run("changed, removed and new items", func(t *testing.T) {
		for _, text := range []string{"UPDATE recall_items SET text = '1042' WHERE ref = 'f57'", "DELETE FROM recall_items WHERE ref = 'f142'",
			"UPDATE recall_items SET text = 'no number' WHERE ref = 'f99'"} {
			if _, err := s.writer.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		if got := nearest(t, x, 57, 1); slices.Contains(got, 58) {
			t.Error("what an item no longer says is found")
		}
		if got := nearest(t, x, 142, 3); slices.Contains(got, 143) {
			t.Error("a removed item is found")
		}
		addItems(t, s, 300, 1)
		m.mustSync(t, x)
		if got := nearest(t, x, 1042, 1); got[0] != 58 {
			t.Error("changed item:", got)
		}
		if got := nearest(t, x, 300, 1); got[0] != 301 {
			t.Error("new item:", got)
		}
		if st := x.Status(); st.Have != 299 || st.Pending != 0 {
			t.Errorf("%+v", st)
		}
	})
	t.Run("restart", func(t *testing.T) {
		again := embed.NewIndex(s, embed.Options{})
		again.Use(&wordsModel{name: "one", dims: 96, hold: make(chan struct{})}) // whose Documents would wait for ever
		m.mustSync(t, again)
		if got := nearest(t, again, 300, 1); got[0] != 301 {
			t.Error(got)
		}
	})
}

// Changing the embedder remakes the vectors; searching goes on, over those that are done, and nothing of the old space is found.
func TestReindex(t *testing.T) {
	s := vectorStore(t)
	addItems(t, s, 0, 200)
	var told []embed.Status
	x := embed.NewIndex(s, embed.Options{Batch: 10, OnStatus: func(s embed.Status) { told = append(told, s) }})
	one, two := &wordsModel{name: "one", dims: 64}, &wordsModel{name: "two", dims: 128, hold: make(chan struct{})}
	x.Use(one)
	one.mustSync(t, x)
	told = nil
	x.Use(two)
	ended := make(chan error)
	go func() { ended <- x.Sync(t.Context()) }()
	for range 4 {
		two.hold <- struct{}{}
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, pending, err := s.CountVectors(t.Context(), embed.Space{Name: "two", Dimensions: 128}); pending != 160; _, pending, err = s.CountVectors(t.Context(), embed.Space{Name: "two", Dimensions: 128}) {
		if err != nil || time.Now().After(deadline) {
			t.Fatal(pending, err)
		}
		time.Sleep(time.Millisecond)
	}
	if got := nearest(t, x, 199, 100); len(got) > 40 || got[0] != 200 { // newest first
		t.Errorf("%d found, first %v", len(got), got[0])
	}
	close(two.hold)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := nearest(t, x, 3, 1); got[0] != 4 {
		t.Error(got)
	}
	if len(told) < 2 || !told[0].Indexing || told[0].Pending == 0 || told[len(told)-1].Have != 200 || told[len(told)-1].Indexing {
		t.Errorf("progress %+v", told)
	}
	// Back to the first: nothing of the second is compared with it.
	x.Use(one)
	one.mustSync(t, x)
	if got := nearest(t, x, 77, 1); got[0] != 78 {
		t.Error(got)
	}
	var spaces int
	if err := s.reader.NewRaw("SELECT count(DISTINCT space) FROM recall_vectors").Scan(t.Context(), &spaces); err != nil || spaces != 1 {
		t.Error(spaces, err)
	}
}

func TestEmbedderFails(t *testing.T) {
	s := vectorStore(t)
	addItems(t, s, 0, 50)
	x := embed.NewIndex(s, embed.Options{Batch: 10, Rest: time.Millisecond})
	m := &wordsModel{name: "one", dims: 64}
	x.Use(m)
	dead := error(agent.Errorf(agent.CodeUnavailable, "Nobody answers."))
	m.fail.Store(&dead)
	if err := x.Sync(t.Context()); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Fatal(err)
	}
	if _, err := x.Nearest(t.Context(), "1", 1); !errors.Is(err, dead) {
		t.Fatal(err)
	}
	if st := x.Status(); st.Problem != "Nobody answers." || st.Since.IsZero() || st.Indexing {
		t.Errorf("%+v", st)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { x.Run(ctx); close(ended) }()
	m.fail.Store(nil)
	for deadline := time.Now().Add(10 * time.Second); x.Status().Have != 50; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Run does not try again: %+v", x.Status())
		}
	}
	stop()
	<-ended
	if st := x.Status(); st.Problem != "" {
		t.Errorf("%+v", st)
	}
}

// changing returns vectors of another length from some time on, as a server whose model was replaced.
type changing struct{ dims *atomic.Int64 }

func (c changing) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m := wordsModel{dims: int(c.dims.Load())}
	var out [][]float32
	for _, t := range texts {
		if t == "dimensions" {
			t = "1"
		}
		out = append(out, m.vector(t))
	}
	return out, nil
}
func (c changing) Dimensions() int { return 0 }

func TestDimensionsChange(t *testing.T) {
	s := vectorStore(t)
	addItems(t, s, 0, 120)
	dims := &atomic.Int64{}
	dims.Store(64)
	x := embed.NewIndex(s, embed.Options{})
	x.Use(embed.NewRemote(embed.RemoteOptions{Name: "here/m", Open: func() (agent.Embedder, error) { return changing{dims}, nil }}))
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	dims.Store(96)
	if _, err := x.Nearest(t.Context(), "5", 1); agent.CodeOf(err) != agent.CodeConflict || !strings.Contains(agent.PublicOf(err), "96 numbers instead of 64") {
		t.Fatal(err)
	}
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := x.Status(); st.Space.Dimensions != 96 || st.Have != 120 {
		t.Errorf("%+v", st)
	}
	if got := nearest(t, x, 5, 1); got[0] != 6 {
		t.Error(got)
	}
}

func TestMeaning(t *testing.T) {
	x := embed.NewIndex(vectorStore(t), embed.Options{})
	if v, space, err := x.Meaning(t.Context(), "1"); v != nil || space != "" || err != nil {
		t.Error(v, space, err)
	}
	x.Use(&wordsModel{name: "one", dims: 64})
	a, space, err := x.Meaning(t.Context(), "1")
	if err != nil || space != "one:64" {
		t.Fatal(space, err)
	}
	same, _, _ := x.Meaning(t.Context(), "2")
	other, _, _ := x.Meaning(t.Context(), "950")
	if full := embed.Similarity(a, a); math.Abs(full-1) > 1e-6 || embed.Similarity(a, same) < 0.5 || embed.Similarity(a, other) > 0.5 || embed.Similarity(a, nil) != 0 {
		t.Error(full, embed.Similarity(a, same), embed.Similarity(a, other))
	}
}

// filled is a store of n items with vectors of 768 dimensions.
func filled(b testing.TB, n int) (*Store, *embed.Index, *wordsModel) {
	s := vectorStore(b)
	addItems(b, s, 0, n)
	m := &wordsModel{name: "bench", dims: 768}
	x := embed.NewIndex(s, embed.Options{Batch: 500})
	x.Use(m)
	m.mustSync(b, x)
	return s, x, m
}

// BenchmarkNearest says how long a search takes without the embedder's own time, how much is found of what comparing every vector
// exactly would find, and what it all weighs.
func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{6_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, x, m := filled(b, n)
			var took []time.Duration
			for b.Loop() {
				q := rand.IntN(n)
				began := time.Now()
				nearest(b, x, q, 20)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(x.Status().Resident)/(1<<20), "resident-MB")
			b.ReportMetric(float64(onDisk(b, s))/(1<<20), "disk-MB")
			b.ReportMetric(found(b, x, m, n), "found-share")
		})
	}
}

func onDisk(b testing.TB, s *Store) int64 {
	var bytes int64
	err := s.reader.NewRaw("SELECT sum(pgsize) FROM dbstat WHERE name IN ('recall_codes', 'recall_vectors', 'recall_pending', 'recall_spaces')").Scan(context.Background(), &bytes)
	if err != nil {
		b.Log("dbstat:", err)
	}
	return bytes
}

// found is the share of the exact ten nearest that are found.
func found(b testing.TB, x *embed.Index, m *wordsModel, n int) float64 {
	type scored struct {
		item  int64
		score float64
	}
	hits, total := 0, 0
	for _, q := range []int{n / 2, n / 3, n / 7} {
		query := m.vector(fmt.Sprint(q))
		all := make([]scored, n)
		for i := range n {
			all[i] = scored{int64(i + 1), exact(query, m.vector(fmt.Sprint(i)))}
		}
		slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
		got := nearest(b, x, q, 10)
		for _, want := range all[:10] {
			total++
			if slices.Contains(got, want.item) {
				hits++
			}
		}
	}
	return float64(hits) / float64(total)
}

// BenchmarkSQLiteVec is the baseline of BenchmarkNearest: the same number of codes in a vec0 table of sqlite-vec, searched for as many
// candidates, without ranking them.
func BenchmarkSQLiteVec(b *testing.B) {
	const n, words = 100_000, 12
	db := openAside(filepath.Join(b.TempDir(), "vec.db"))
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(b.Context(), "CREATE VIRTUAL TABLE codes USING vec0 (code bit[768])"); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	code := func() []byte {
		var out []byte
		for range words {
			out = binary.LittleEndian.AppendUint64(out, random.Uint64())
		}
		return out
	}
	err := transact(b.Context(), db, "BEGIN", func(ctx context.Context, tx bun.IDB) error {
		for range n {
			if _, err := fixed(tx, "INSERT INTO codes (code) VALUES (vec_bit(?))", code()).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var found []int64
		if err := fixed(db, "SELECT rowid FROM codes WHERE code MATCH vec_bit(?) AND k = 400", code()).Scan(b.Context(), &found); err != nil || len(found) != 400 {
			b.Fatal(len(found), err)
		}
	}
}

func exact(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb)
}
