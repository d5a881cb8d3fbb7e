package ollama

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"ash/agent"
	"ash/agent/llm"
)

// embedBatch bounds how many texts one request carries, so that a long list does not
// hold a small machine in one call.
const embedBatch = 64

// embedder makes vectors with one model.
type embedder struct {
	client *client
	model  string
	dims   atomic.Int64
}

// NewEmbedder returns an embedder that uses model. Texts longer than the model's window are cut by the server.
// dimensions is the length of its vectors, 0 when not known: Dimensions then returns 0 until the first Embed.
func NewEmbedder(c llm.Connection, model string, dimensions int) agent.Embedder {
	e := &embedder{client: newClient(c), model: model}
	e.dims.Store(int64(dimensions))
	return e
}

// Dimensions implements agent.Embedder.
func (e *embedder) Dimensions() int { return int(e.dims.Load()) }

// Embed implements agent.Embedder. Errors are *agent.Error around a *llm.Fault.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(len(texts), embedBatch)
		vectors, err := e.batch(ctx, texts[:n])
		if err != nil {
			return nil, e.failed(err)
		}
		out = append(out, vectors...)
		texts = texts[n:]
	}
	return out, nil
}

func (e *embedder) batch(ctx context.Context, texts []string) ([][]float32, error) {
	in := embedRequest{Model: e.model, Input: texts, Truncate: true}
	if k := e.client.conn.Settings.KeepAlive; k > 0 {
		in.KeepAlive = k.String()
	}
	var a embedAnswer
	if err := e.client.fetch(ctx, http.MethodPost, "/embed", in, &a); err != nil {
		return nil, explain(err, e.model)
	}
	if len(a.Embeddings) != len(texts) {
		return nil, llm.NewFault(llm.FaultMalformed, fmt.Sprintf("%d vectors for %d texts", len(a.Embeddings), len(texts)), nil)
	}
	for _, v := range a.Embeddings {
		e.dims.CompareAndSwap(0, int64(len(v)))
		if len(v) == 0 || len(v) != e.Dimensions() {
			return nil, llm.NewFault(llm.FaultMalformed, fmt.Sprintf("a vector of %d numbers where %d were expected", len(v), e.Dimensions()), nil)
		}
	}
	return a.Embeddings, nil
}

func (e *embedder) failed(err error) error {
	f := *llm.TransportFault(err)
	f.Model = agent.ModelRef{Provider: e.client.conn.Settings.Name, Name: e.model}
	return &agent.Error{Code: f.Code(), Public: f.Public(), Err: &f}
}

// Embeddings returns an embedder of that model whose dimensions are not known yet.
func (c *client) Embeddings(model string) agent.Embedder { return &embedder{client: c, model: model} }
