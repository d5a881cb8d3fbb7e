package main

import (
	"context"
	"iter"
	"log/slog"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/feed"
	"ash/agent/llm"
	"ash/agent/prompt"
	"ash/agent/spend"
	"ash/store"
)

// newSpending opens the book of what model calls cost.
func newSpending(ctx context.Context, s *store.Store, settings func() config.Config, log *slog.Logger) (*spend.Book, *announcer, error) {
	tell := &announcer{}
	book := spend.New(spend.Options{
		Store: s, Size: prompt.Size, Tokens: prompt.Tokens, Unbilled: unbilled, Tell: tell.say, Log: log,
		Settings: func() spend.Settings {
			c := settings().Spend
			return spend.Settings{
				PerCap:       spend.PerCap{Day: c.Daily, Month: c.Monthly, Thread: c.Thread, Background: c.Background},
				UnknownInput: c.UnknownInput, UnknownOutput: c.UnknownOutput,
			}
		},
	})
	return book, tell, book.Begin(ctx)
}

// announcer puts what is to be said of caps on the feed, which there is only after the providers.
type announcer struct{ feed *feed.Feed }

func (a *announcer) say(e agent.SpendEvent) {
	if a.feed != nil {
		a.feed.Publish(agent.Envelope{Path: "ash", Event: e})
	}
}

// unbilled reports whether a provider that failed like this charges nothing: it was never reached, or refused the request as a whole.
func unbilled(err error) bool {
	f := llm.FaultOf(err)
	if f == nil {
		return false
	}
	switch f.Kind {
	case llm.FaultContext, llm.FaultNoKey, llm.FaultLocked, llm.FaultKept, llm.FaultAuth, llm.FaultDenied, llm.FaultQuota, llm.FaultRateLimit, llm.FaultOverload,
		llm.FaultServer, llm.FaultModel, llm.FaultAddress, llm.FaultRequest, llm.FaultFilter, llm.FaultUnreachable, llm.FaultNotAPI:
		return true
	}
	return false
}

// metered has every request of a dialect's clients go through the book: answers, fallbacks, retries, tests and embeddings alike,
// whoever makes them. There is no other way to a model server.
func metered(d llm.Dialect, book *spend.Book) llm.Dialect {
	return func(c llm.Connection) (llm.Client, error) {
		client, err := d(c)
		if err != nil {
			return nil, err
		}
		m := meteredClient{Client: client, book: book}
		if e, ok := client.(embedding); ok {
			return meteredEmbedding{m, e, c.Settings}, nil
		}
		return m, nil
	}
}

// meteredClient is a client whose answers are paid for.
type meteredClient struct {
	llm.Client
	book *spend.Book
}

// Stream implements llm.Client.
func (m meteredClient) Stream(ctx context.Context, info agent.ModelInfo, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	deltas := m.book.Stream(ctx, info, p, func(ctx context.Context, p agent.Prompt) iter.Seq2[agent.Delta, error] {
		return m.Client.Stream(ctx, info, p)
	})
	return func(yield func(agent.Delta, error) bool) {
		for d, err := range deltas {
			if !yield(d, asFault(err)) {
				return
			}
		}
	}
}

// asFault makes a refusal of the book one that the chain of models understands: no other model is asked, and the words stay.
func asFault(err error) error {
	if agent.NeedOf(err) != agent.NeedMoney || llm.FaultOf(err) != nil {
		return err
	}
	f := llm.NewFault(llm.FaultCapped, "", err)
	f.Advice = agent.PublicOf(err)
	return f
}

// embedding is what clients with embedding models can do.
type embedding interface {
	Embeddings(model string) agent.Embedder
}

// meteredEmbedding is a client whose embeddings are paid for, too.
type meteredEmbedding struct {
	meteredClient
	embedding embedding
	settings  llm.Settings
}

// Embeddings returns a fresh embedder of that model.
func (m meteredEmbedding) Embeddings(model string) agent.Embedder {
	info := agent.ModelInfo{Local: m.settings.Local(), Price: embeddingPrice(m.settings, model)}
	if m.settings.Amend != nil {
		info = m.settings.Amend(model, info)
	}
	info.Ref = agent.ModelRef{Provider: m.settings.Name, Name: model}
	if info.Local {
		info.Price = agent.Price{}
	}
	return meteredEmbedder{m.embedding.Embeddings(model), m.book, info}
}

// embeddingPrice is what well-known embedding models cost at their makers' own servers, from their price pages; zero is unknown.
func embeddingPrice(s llm.Settings, model string) agent.Price {
	if !s.OwnServer() {
		return agent.Price{}
	}
	switch s.Vendor().Kind + "/" + model {
	case "openai/text-embedding-3-small":
		return agent.Price{Input: 20_000}
	case "openai/text-embedding-3-large":
		return agent.Price{Input: 130_000}
	case "openai/text-embedding-ada-002", "mistral/mistral-embed":
		return agent.Price{Input: 100_000}
	case "gemini/gemini-embedding-001":
		return agent.Price{Input: 150_000}
	}
	return agent.Price{}
}

// meteredEmbedder is an embedder that is paid for.
type meteredEmbedder struct {
	agent.Embedder
	book *spend.Book
	info agent.ModelInfo
}

// Embed implements agent.Embedder.
func (m meteredEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.book.Embed(ctx, m.info, texts, func(ctx context.Context) ([][]float32, error) { return m.Embedder.Embed(ctx, texts) })
}
