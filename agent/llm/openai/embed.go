package openai

import (
	"context"
	"sync/atomic"

	api "github.com/sashabaranov/go-openai"

	"ash/agent"
	"ash/agent/llm"
)

// maxBatch is how many texts one request holds; OpenAI allows 2,048, small servers less.
const maxBatch = 128

// Embedder turns texts into vectors. It implements agent.Embedder.
type Embedder struct {
	client *Client
	model  string
	dims   atomic.Int64
}

// Embedder returns an embedder of that model. dims are the dimensions of its vectors, 0 when they are
// not known: then those of the best-known models, or of the first answer.
func (c *Client) Embedder(model string, dims int) *Embedder {
	e := &Embedder{client: c, model: model}
	if dims <= 0 {
		dims = knownDimensions(model)
	}
	e.dims.Store(int64(dims))
	return e
}

// knownDimensions are from the vendors' model pages.
func knownDimensions(model string) int {
	switch model {
	case "text-embedding-3-small", "text-embedding-ada-002":
		return 1536
	case "text-embedding-3-large", "gemini-embedding-001":
		return 3072
	case "mistral-embed":
		return 1024
	}
	return 0
}

// Dimensions implements agent.Embedder. It is 0 until the first answer for a model nothing is known of.
func (e *Embedder) Dimensions() int { return int(e.dims.Load()) }

// Embed implements agent.Embedder: one vector per text, in order. Errors are *agent.Error around a *llm.Fault.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(len(texts), maxBatch)
		vectors, err := e.batch(ctx, texts[:n])
		if err != nil {
			return nil, llm.Wrap(err, agent.ModelRef{Provider: e.client.settings.Name, Name: e.model})
		}
		out = append(out, vectors...)
		texts = texts[n:]
	}
	return out, nil
}

func (e *Embedder) batch(ctx context.Context, texts []string) ([][]float32, error) {
	resp, err := e.client.api.CreateEmbeddings(ctx, api.EmbeddingRequest{Input: texts, Model: api.EmbeddingModel(e.model)})
	if err != nil {
		if f := llm.FaultOf(err); f != nil {
			return nil, f
		}
		if ctx.Err() != nil {
			return nil, llm.TransportFault(ctx.Err())
		}
		return nil, llm.NewFault(llm.FaultMalformed, "the embeddings cannot be read", err)
	}
	out := make([][]float32, len(texts))
	for _, d := range resp.Data {
		if d.Index < 0 || d.Index >= len(texts) || out[d.Index] != nil {
			return nil, llm.NewFault(llm.FaultMalformed, "the embeddings do not fit the texts", nil)
		}
		out[d.Index] = d.Embedding
		e.dims.CompareAndSwap(0, int64(len(d.Embedding)))
	}
	for _, v := range out {
		if len(v) == 0 || len(v) != e.Dimensions() {
			return nil, llm.NewFault(llm.FaultMalformed, "the embeddings are missing or of different lengths", nil)
		}
	}
	return out, nil
}

// Embeddings returns an embedder of that model whose dimensions are not known yet.
func (c *Client) Embeddings(model string) agent.Embedder { return c.Embedder(model, 0) }
