package embed

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What is in memory after adding, replacing and dropping is what a plain map would hold, and the nearest are those of a full sort.
func TestCodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const dims = 100
	vector := func() []float32 {
		v := make([]float32, dims)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	c, want := newCodes(dims), map[int64][]byte{}
	for range 30 {
		var batch []Vector
		for range 700 {
			v := Vector{Item: random.Int64N(9000), Code: codeOf(vector())}
			if _, twice := want[v.Item]; !twice || !slices.ContainsFunc(batch, func(o Vector) bool { return o.Item == v.Item }) {
				batch = append(batch, v)
				want[v.Item] = v.Code
			}
		}
		c.put(append(batch, Vector{Item: 99999})) // one without meaning
		gone := map[int64]bool{123456: true}
		for range 200 {
			item := random.Int64N(9000)
			gone[item] = true
			delete(want, item)
		}
		c.drop(gone)
	}
	if c.len() != len(want) {
		t.Fatalf("%d codes, want %d", c.len(), len(want))
	}
	q := vector()
	code := make([]uint64, c.words)
	c.write(code, codeOf(q))
	var all []candidate
	for item, k := range want {
		other := make([]uint64, c.words)
		c.write(other, k)
		all = append(all, candidate{item, hamming(code, other)})
	}
	slices.SortFunc(all, func(a, b candidate) int { return a.distance - b.distance })
	got := c.nearest(q, 50)
	if len(got) < 50 || len(got) > 100 {
		t.Fatal(len(got))
	}
	for i, g := range got {
		if g.distance != all[i].distance || hammingOf(c, q, want[g.item]) != g.distance {
			t.Fatalf("%d: %+v, want the distance %d", i, g, all[i].distance)
		}
	}
	everything := map[int64]bool{}
	for item := range want {
		everything[item] = true
	}
	if c.drop(everything); c.len() != 0 || len(c.nearest(q, 5)) != 0 {
		t.Error(c.len())
	}
}

func hammingOf(c *codes, q []float32, code []byte) int {
	a, b := make([]uint64, c.words), make([]uint64, c.words)
	c.write(a, codeOf(q))
	c.write(b, code)
	return hamming(a, b)
}

// 100,000 codes of 768 dimensions take at most 12 MB.
func TestResident(t *testing.T) {
	c := newCodes(768)
	code := make([]byte, 96)
	for at := 0; at < 100_000; at += 500 {
		batch := make([]Vector, 500)
		for i := range batch {
			batch[i] = Vector{Item: int64(at + i), Code: code}
		}
		c.put(batch)
	}
	if c.len() != 100_000 || c.resident() > 12_000_000 {
		t.Errorf("%d codes in %d bytes", c.len(), c.resident())
	}
}

func BenchmarkHamming(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	c := newCodes(768)
	for i := range 100_000 {
		code := make([]byte, 96)
		for j := range code {
			code[j] = byte(random.Uint32())
		}
		c.add(Vector{Item: int64(i), Code: code})
	}
	q := make([]float32, 768)
	for i := range q {
		q[i] = float32(random.NormFloat64())
	}
	for b.Loop() {
		c.nearest(q, candidates)
	}
}
