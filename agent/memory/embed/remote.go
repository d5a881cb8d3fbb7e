package embed

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"ash/agent"
)

// Remote is an embedding model behind a server: the agent's Embedder with everything checked.
// After a failure it does not ask again for a while, so that no recall waits for a dead server.
type Remote struct {
	o RemoteOptions

	mu    sync.Mutex
	model agent.Embedder // nil until opened
	space Space
	until time.Time // not asked before
	rest  time.Duration
	last  error
}

// RemoteOptions say which model a Remote uses.
type RemoteOptions struct {
	Name string // "provider/model"
	// Open returns a new client of the model. It is called again after the model changed its dimensions.
	Open func() (agent.Embedder, error)
	// Prefixes stand before questions and documents; PrefixesOf knows those of common models.
	Prefixes Prefixes
	// Patience is how long a question may take; 0 is 1.5 s. Documents may take forty times that.
	Patience time.Duration
	// Rest is how long the first pause after a failure is; it doubles up to 16 times. 0 is 4 s.
	Rest time.Duration
}

// Prefixes are the words a model was trained to see before a text.
type Prefixes struct{ Query, Document string }

// PrefixesOf returns those the vendors' model cards name, by the model's name.
func PrefixesOf(model string) Prefixes {
	name := strings.ToLower(model)
	for _, known := range []struct {
		part string
		Prefixes
	}{
		{"nomic-embed", Prefixes{"search_query: ", "search_document: "}},
		{"embeddinggemma", Prefixes{"task: search result | query: ", "title: none | text: "}},
		{"mxbai-embed", Prefixes{"Represent this sentence for searching relevant passages: ", ""}},
		{"snowflake-arctic-embed", Prefixes{"query: ", ""}},
		{"e5-", Prefixes{"query: ", "passage: "}},
	} {
		if strings.Contains(name, known.part) {
			return known.Prefixes
		}
	}
	return Prefixes{}
}

// NewRemote makes an embedder that asks nothing before it is used.
func NewRemote(o RemoteOptions) *Remote {
	if o.Patience <= 0 {
		o.Patience = 1500 * time.Millisecond
	}
	if o.Rest <= 0 {
		o.Rest = 4 * time.Second
	}
	return &Remote{o: o}
}

// Space implements Embedder: the length of the vectors is that of an answer, whatever the model is said to have.
func (r *Remote) Space(ctx context.Context) (Space, error) {
	r.mu.Lock()
	space := r.space
	r.mu.Unlock()
	if space.Dimensions > 0 {
		return space, nil
	}
	found, err := r.ask(ctx, []string{r.o.Prefixes.Document + "dimensions"}, r.o.Patience*40)
	if err != nil {
		return Space{}, err
	}
	dims := len(found[0])
	if dims == 0 || dims > MaxDimensions {
		return Space{}, r.failed(agent.Errorf(agent.CodeUnavailable, "%s returns vectors of %d numbers, which cannot be used (1 to %d). Choose another embedding model.", r.o.Name, dims, MaxDimensions))
	}
	if err := check(found, 1, dims, r.o.Name); err != nil {
		return Space{}, r.failed(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.space = Space{Name: agent.Clip(r.o.Name, 200), Dimensions: dims}
	return r.space, nil
}

// Query implements Embedder.
func (r *Remote) Query(ctx context.Context, text string) ([]float32, error) {
	found, err := r.checked(ctx, []string{r.o.Prefixes.Query + text}, r.o.Patience)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Documents implements Embedder.
func (r *Remote) Documents(ctx context.Context, texts []string) ([][]float32, error) {
	prefixed := make([]string, len(texts))
	for i, t := range texts {
		if prefixed[i] = r.o.Prefixes.Document + t; strings.TrimSpace(prefixed[i]) == "" {
			prefixed[i] = "." // servers refuse empty texts
		}
	}
	return r.checked(ctx, prefixed, r.o.Patience*40)
}

func (r *Remote) checked(ctx context.Context, texts []string, patience time.Duration) ([][]float32, error) {
	space, err := r.Space(ctx)
	if err != nil {
		return nil, err
	}
	found, err := r.ask(ctx, texts, patience)
	if err != nil {
		return nil, err
	}
	if err := check(found, len(texts), space.Dimensions, r.o.Name); err != nil {
		return nil, r.failed(err)
	}
	return found, nil
}

// ask sends one request, unless the server is known to be down.
func (r *Remote) ask(ctx context.Context, texts []string, patience time.Duration) ([][]float32, error) {
	model, err := r.opened()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := model.Embed(limited, texts)
	if err == nil && len(found) != len(texts) {
		err = check(found, len(texts), 0, r.o.Name)
	}
	switch {
	case err == nil:
		r.mu.Lock()
		r.until, r.rest, r.last = time.Time{}, 0, nil
		r.mu.Unlock()
		return found, nil
	case ctx.Err() != nil: // the caller left; that says nothing of the server
		return nil, agent.Wrap(agent.CodeUnavailable, ctx.Err(), "The search was broken off.")
	case limited.Err() != nil:
		err = agent.Wrap(agent.CodeUnavailable, err, "%s did not answer in time. Search by meaning rests; search by words goes on.", r.o.Name)
	default:
		err = r.explained(err)
	}
	return nil, r.failed(err)
}

// explained adds to a failure what it means for the search.
func (r *Remote) explained(err error) error {
	public := agent.PublicOf(err)
	code := agent.CodeOf(err)
	if code == agent.CodeInternal {
		code, public = agent.CodeUnavailable, "The embedding model "+r.o.Name+" cannot be used. The log says why."
	}
	return agent.Wrap(code, err, "%s Search by meaning rests; search by words goes on.", public)
}

// opened returns the client, or why it is not asked now.
func (r *Remote) opened() (agent.Embedder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && time.Now().Before(r.until) {
		return nil, r.last
	}
	if r.model == nil {
		model, err := r.o.Open()
		if err != nil {
			return nil, err
		}
		r.model = model
	}
	return r.model, nil
}

// failed notes a failure: the server is left alone for a while, and met anew after that. A model that changed is
// asked again at once.
func (r *Remote) failed(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.model = nil // a client that pinned the old dimensions would refuse the new ones for ever
	if errors.Is(err, errDimensions) {
		return err
	}
	r.rest = min(max(2*r.rest, r.o.Rest), 16*r.o.Rest)
	r.until, r.last = time.Now().Add(r.rest), err
	return err
}

// forget makes the next Space ask the model for its dimensions.
func (r *Remote) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.space, r.model = Space{}, nil
}
