package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"ash/agent"
)

// maxTextTokens bounds how many tokens of a text count, as Model2Vec does.
const maxTextTokens = 512

// Static is a model in the Model2Vec format (https://github.com/MinishLab/model2vec): a text's vector is the mean of its tokens'
// vectors, which are looked up in the file. Only the vocabulary and a token's weight and row are in memory; rows are
// read where they lie (not mapped: a file that is cut while it is mapped would end the process).
type Static struct {
	space     Space
	tokens    *tokenizer
	file      *os.File
	vectors   tensor
	weights   []float32 // by token; empty for none
	mapping   []int32   // token → row; empty for none
	normalize bool

	mu     sync.RWMutex // held for reading while file is
	closed bool
}

// OpenStatic opens the model in a folder: tokenizer.json, model.safetensors and config.json (which may be missing).
// Errors: CodeNotFound without such a folder, CodeInvalid for one that holds no model Ash can use.
func OpenStatic(dir string) (*Static, error) {
	text, err := readFile(filepath.Join(dir, "tokenizer.json"), maxTokenizer)
	if err != nil {
		return nil, err
	}
	s := &Static{}
	if s.tokens, err = parseTokenizer(text); err != nil {
		return nil, err
	}
	config, err := readFile(filepath.Join(dir, "config.json"), maxHeader)
	if err != nil && agent.CodeOf(err) != agent.CodeNotFound {
		return nil, err
	}
	if len(config) > 0 {
		var c struct {
			Normalize *bool `json:"normalize"`
		}
		if err := json.Unmarshal(config, &c); err != nil {
			return nil, agent.Wrap(agent.CodeInvalid, err, "The embedding model's config.json is not valid JSON.")
		}
		s.normalize = c.Normalize != nil && *c.Normalize
	}
	if s.file, err = os.Open(filepath.Join(dir, "model.safetensors")); err != nil {
		return nil, modelError(err, "model.safetensors")
	}
	if err := s.load(filepath.Base(dir), text, config); err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// load reads the header and the small tensors, and names the space.
func (s *Static) load(name string, seen ...[]byte) error {
	info, err := s.file.Stat()
	if err != nil {
		return modelError(err, "model.safetensors")
	}
	tensors, err := readHeader(s.file, info.Size())
	if err != nil {
		return err
	}
	var ok bool
	if s.vectors, ok = tensors["embeddings"]; !ok {
		if s.vectors, ok = tensors["embedding.weight"]; !ok { // as sentence-transformers names it
			return agent.Errorf(agent.CodeInvalid, "The model file holds no tensor named embeddings: it is no static embedding model.")
		}
	}
	s.vectors.file = s.file
	dims := s.vectors.columns()
	if len(s.vectors.shape) != 2 || dims == 0 || dims > MaxDimensions || s.vectors.kind == "I64" || s.vectors.kind == "I32" {
		return agent.Errorf(agent.CodeInvalid, "The model's embeddings have the shape %v of %s, which cannot be used.", s.vectors.shape, s.vectors.kind)
	}
	if err := s.loadTables(tensors); err != nil {
		return err
	}
	hash, err := s.fingerprint(info.Size(), seen)
	if err != nil {
		return err
	}
	s.space = Space{Name: "static/" + agent.Clip(name, 100) + "-" + hash, Dimensions: dims}
	return nil
}

// loadTables reads weights and mapping and checks that every token has a row.
func (s *Static) loadTables(tensors map[string]tensor) error {
	limit := int64(s.tokens.tokens)
	if t, ok := tensors["weights"]; ok {
		var err error
		if s.weights, err = s.column(t, limit); err != nil {
			return err
		}
		for _, w := range s.weights {
			if math.IsNaN(float64(w)) || math.IsInf(float64(w), 0) {
				return damagedModel(errors.New("a weight is no number"))
			}
		}
	}
	t, ok := tensors["mapping"]
	if !ok {
		if s.vectors.rows() < limit {
			return damagedModel(fmt.Errorf("%d vectors for %d tokens", s.vectors.rows(), limit))
		}
		return nil
	}
	rows, err := s.column(t, limit)
	if err != nil {
		return err
	}
	s.mapping = make([]int32, len(rows))
	for i, r := range rows {
		if r < 0 || int64(r) >= s.vectors.rows() {
			return damagedModel(fmt.Errorf("token %d is mapped to row %g of %d", i, r, s.vectors.rows()))
		}
		s.mapping[i] = int32(r)
	}
	return nil
}

// column reads a tensor of one dimension, with a number for each of the first n tokens.
func (s *Static) column(t tensor, n int64) ([]float32, error) {
	if len(t.shape) == 0 || t.columns() != 1 || t.rows() < n || t.rows() > 4*maxTokens {
		return nil, damagedModel(fmt.Errorf("a column of the shape %v for %d tokens", t.shape, n))
	}
	raw := make([]byte, n*width(t.kind))
	if _, err := s.file.ReadAt(raw, t.start); err != nil {
		return nil, damagedModel(err)
	}
	out := make([]float32, n) // row numbers are below 2^24, so each is exact
	decode(t.kind, raw, out)
	return out, nil
}

// fingerprint tells models apart without reading all of a large file: the small files, its size, and samples of it.
func (s *Static) fingerprint(size int64, seen [][]byte) (string, error) {
	h := sha256.New()
	for _, b := range seen {
		_, _ = fmt.Fprintf(h, "%d\n", len(b))
		_, _ = h.Write(b)
	}
	_, _ = fmt.Fprintf(h, "%d\n", size)
	const samples, sample = 32, 4096
	buffer := make([]byte, sample)
	for i := range int64(samples) {
		n, err := s.file.ReadAt(buffer, max(size-sample, 0)*i/(samples-1))
		if err != nil && !errors.Is(err, io.EOF) {
			return "", damagedModel(err)
		}
		_, _ = h.Write(buffer[:n])
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// Close gives the file back. What is asked later fails.
func (s *Static) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.file.Close()
}

// Space implements Embedder.
func (s *Static) Space(context.Context) (Space, error) { return s.space, nil }

// Query implements Embedder.
func (s *Static) Query(ctx context.Context, text string) ([]float32, error) {
	found, err := s.Documents(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Documents implements Embedder.
func (s *Static) Documents(ctx context.Context, texts []string) ([][]float32, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, agent.Errorf(agent.CodeUnavailable, "The embedding model was closed.")
	}
	out := make([][]float32, len(texts))
	row := make([]float32, s.space.Dimensions)
	buffer := make([]byte, width(s.vectors.kind)*int64(len(row)))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := s.vector(agent.Clip(text, maxText), buffer, row)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// vector returns the mean of the tokens' rows; zeros for a text without known tokens.
func (s *Static) vector(text string, buffer []byte, row []float32) ([]float32, error) {
	sum := make([]float32, len(row))
	ids := s.tokens.encode(text, maxTextTokens)
	for _, id := range ids {
		at := int64(id)
		if len(s.mapping) > 0 {
			at = int64(s.mapping[id])
		}
		if err := s.vectors.row(at, buffer, row); err != nil {
			return nil, err
		}
		weight := float32(1)
		if len(s.weights) > 0 {
			weight = s.weights[id]
		}
		for i, x := range row {
			sum[i] += weight * x
		}
	}
	if len(ids) == 0 {
		return sum, nil
	}
	scale := 1 / float32(len(ids))
	if s.normalize {
		length := 0.0
		for _, x := range sum {
			length += float64(x) * float64(x)
		}
		scale = float32(1 / (math.Sqrt(length) + 1e-32))
	}
	for i := range sum {
		sum[i] *= scale
		if x := float64(sum[i]); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, damagedModel(errors.New("a vector holds no numbers"))
		}
	}
	return sum, nil
}

// readFile reads a small file of a model whole.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, modelError(err, filepath.Base(path))
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, modelError(err, filepath.Base(path))
	}
	if int64(len(text)) > limit {
		return nil, agent.Errorf(agent.CodeInvalid, "%s of the embedding model is larger than %d MB.", filepath.Base(path), limit>>20)
	}
	return text, nil
}

func modelError(err error, file string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return agent.Wrap(agent.CodeNotFound, err, "The folder of the embedding model has no %s. Check memory.static_model in Settings.", file)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "%s of the embedding model cannot be read. Check its owner and mode.", file)
}
