package llm

import "ash/agent"

// embeddings is what clients of providers with embedding models can do.
type embeddings interface {
	// Embeddings returns a fresh embedder of that model.
	Embeddings(model string) agent.Embedder
}

// Embedder returns a fresh embedder of one of the providers' models. Errors: CodeInvalid for a provider that there is not, or that
// has no embedding models.
func (p *Providers) Embedder(ref agent.ModelRef) (agent.Embedder, error) {
	c, err := p.Client(ref.Provider)
	if err != nil {
		return nil, err
	}
	e, ok := c.(embeddings)
	if !ok {
		return nil, agent.Errorf(agent.CodeInvalid, "The provider %s has no embedding models.", ref.Provider)
	}
	return e.Embeddings(ref.Name), nil
}
