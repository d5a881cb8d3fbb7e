package llm

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"ash/agent"
)

// ListModels asks a configured provider's server which models it has, by name, with what the catalog adds. What the
// server says is remembered for later calls. Errors: CodeInvalid for an unknown provider, otherwise around a *Fault.
func (p *Providers) ListModels(ctx context.Context, name string) ([]agent.ModelInfo, error) {
	one := p.current.Load().providers[name]
	if one == nil {
		return nil, agent.Errorf(agent.CodeInvalid, "There is no provider named %q.", agent.Clip(name, 80))
	}
	return p.list(ctx, one, one.settings.FirstToken)
}

// ListModelsAt does the same for settings that are not saved yet.
func (p *Providers) ListModelsAt(ctx context.Context, s Settings) ([]agent.ModelInfo, error) {
	one, err := p.provider(s)
	if err != nil {
		return nil, err
	}
	defer one.close()
	return p.list(ctx, one, one.settings.FirstToken)
}

func (p *Providers) list(ctx context.Context, one *provider, limit time.Duration) ([]agent.ModelInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ctx, bears := wear(ctx, "")
	models, err := one.client.Models(ctx)
	if err != nil {
		return nil, Wrap(bears.hide(TransportFault(err)), agent.ModelRef{Provider: one.settings.Name})
	}
	out := make([]agent.ModelInfo, 0, len(models))
	p.mu.Lock()
	for _, m := range models {
		p.said[agent.ModelRef{Provider: one.settings.Name, Name: m.Ref.Name}] = m
	}
	p.mu.Unlock()
	for _, m := range models {
		out = append(out, p.catalog.describe(one.settings, m.Ref.Name, m))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Ref.Name < out[j].Ref.Name })
	return out, nil
}

// Report is the outcome of a test that went well.
type Report struct {
	Model      agent.ModelInfo
	FirstToken time.Duration
	Answer     string // how the answer began
}

// Test makes one real small call to a configured model: one try, no fallback. It ends with the first
// words. Errors are those of a turn, in plain words.
func (p *Providers) Test(ctx context.Context, ref string) (Report, error) {
	l, err := p.link(p.current.Load(), ParseRef(ref))
	if err != nil {
		return Report{}, err
	}
	return p.test(ctx, l)
}

// TestAt does the same for settings that are not saved yet.
func (p *Providers) TestAt(ctx context.Context, s Settings, model string) (Report, error) {
	one, err := p.provider(s)
	if err != nil {
		return Report{}, err
	}
	defer one.close()
	return p.test(ctx, link{provider: one, info: p.describe(one.settings, model)})
}

func (p *Providers) test(ctx context.Context, l link) (Report, error) {
	c := &chain{links: []link{l}, retry: Retry{Tries: 1}.complete(), logger: p.logger}
	report := Report{Model: l.info}
	start := time.Now()
	for d, err := range c.Stream(ctx, agent.Prompt{
		Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "Reply with the single word: ready"}}}},
		// Room for a model that thinks first, yet a bound on what a test can cost.
		MaxTokens: 1024,
		Charge:    agent.Charge{Purpose: agent.PurposeCheck},
	}) {
		if err != nil {
			return Report{}, err
		}
		if content(d.Kind) {
			report.FirstToken = time.Since(start)
			report.Answer = agent.Clip(d.Text, 200)
			return report, nil
		}
	}
	return Report{}, Wrap(NewFault(FaultMalformed, "the answer was empty", nil), l.info.Ref)
}

// Found is a provider that could be used without further settings.
type Found struct {
	Settings Settings
	Vendor   Vendor
	Key      KeyOrigin         // of a cloud provider: where its key lies
	Models   []agent.ModelInfo // of a local server: what it has; may be empty
}

// discoverTimeout bounds the search for one local server.
const discoverTimeout = 700 * time.Millisecond

// Discover looks for model servers on this machine, on the usual ports and all at once, and for vendors' keys in the
// environment. skip are addresses ("http://127.0.0.1:8080") not to ask, such as Ash's own. It takes under a second.
func (p *Providers) Discover(ctx context.Context, skip ...string) []Found {
	probes := p.options.Probe
	if probes == nil {
		for _, kind := range []string{"ollama", "lmstudio", "llamacpp"} {
			probes = append(probes, Settings{Name: kind, Kind: kind})
		}
	}
	local := make([]*Found, len(probes))
	var wg sync.WaitGroup
	for i, s := range probes {
		wg.Go(func() { local[i] = p.probe(ctx, s, skip) })
	}
	wg.Wait()
	var found []Found
	for _, f := range local {
		if f != nil {
			found = append(found, *f)
		}
	}
	for _, v := range vendors() {
		s := Settings{Name: v.Kind, Kind: v.Kind, BaseURL: v.BaseURL}
		if origin := p.keys.Origin(s); !v.Local && origin.Place != KeyNone && origin.Problem == "" {
			found = append(found, Found{Settings: s, Vendor: v, Key: origin})
		}
	}
	return found
}

// probe asks one address; nil means that no model server answers there.
func (p *Providers) probe(ctx context.Context, s Settings, skip []string) *Found {
	s.Connect = discoverTimeout
	one, err := p.provider(s)
	if err != nil {
		return nil // no dialect for it: nothing Ash could use
	}
	defer one.close()
	if slices.ContainsFunc(skip, func(own string) bool { return sameServer(own, one.settings.BaseURL) }) {
		return nil
	}
	models, err := p.list(ctx, one, discoverTimeout)
	if err != nil {
		return nil // nobody there, or somebody else
	}
	v, _ := VendorOf(s.Kind)
	return &Found{Settings: Settings{Name: one.settings.Name, Kind: s.Kind, BaseURL: one.settings.BaseURL}, Vendor: v, Models: models}
}
