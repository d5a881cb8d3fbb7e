package llm

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"ash/agent"
)

// Options are what New needs. Dialects is the only field that must be set.
type Options struct {
	Providers []Settings
	Order     []agent.ModelRef   // the default model first, then its fallbacks
	Dialects  map[string]Dialect // by the names Vendor.Dialect and Settings.Kind use
	Catalog   *Catalog           // nil is the embedded one
	Keys      *Keys              // nil reads the environment
	Retry     Retry
	Logger    *slog.Logger // nil is slog.Default
	Probe     []Settings   // local servers Discover looks for; nil are the usual ones
}

// Providers holds the configured providers. It implements agent.Models and is used from many goroutines.
type Providers struct {
	options Options
	catalog *Catalog
	keys    *Keys
	logger  *slog.Logger
	current atomic.Pointer[setup]
	retry   atomic.Pointer[Retry]

	mu   sync.Mutex
	said map[agent.ModelRef]agent.ModelInfo // what servers said about their models
}

// setup is one state of the settings. It is immutable: calls in flight finish on the one they began with.
type setup struct {
	providers map[string]*provider
	order     []agent.ModelRef
}

type provider struct {
	settings Settings
	client   Client
	close    func()
}

// hide takes the key of a call out of what the server said, whatever the key looks like.
func (w *worn) hide(f *Fault) *Fault {
	key := w.secret()
	if len(key) < minSecret {
		return f
	}
	own := *f
	own.Detail = strings.ReplaceAll(own.Detail, key, "[redacted]")
	if own.Err != nil && strings.Contains(own.Err.Error(), key) {
		own.Err = errors.New(strings.ReplaceAll(own.Err.Error(), key, "[redacted]"))
	}
	return &own
}

// minSecret is how many bytes a key must have to be one: local servers take any word.
const minSecret = 6

// New makes the providers. It does not touch the network. Errors: CodeInvalid for settings that cannot be used.
func New(o Options) (*Providers, error) {
	catalog, err := catalogOr(o.Catalog)
	if err != nil {
		return nil, err
	}
	p := &Providers{options: o, catalog: catalog, keys: o.Keys, logger: o.Logger, said: make(map[agent.ModelRef]agent.ModelInfo)}
	if p.keys == nil {
		p.keys = NewKeys(nil)
	}
	if p.logger == nil {
		p.logger = slog.Default()
	}
	p.SetRetry(o.Retry)
	return p, p.Reload(o.Providers, o.Order)
}

// Reload takes new settings into use at once; calls in flight finish on the old ones. On an error (CodeInvalid) the
// old settings stay.
func (p *Providers) Reload(settings []Settings, order []agent.ModelRef) error {
	next := &setup{providers: make(map[string]*provider, len(settings)), order: slices.Clone(order)}
	for _, s := range settings {
		made, err := p.provider(s)
		if err != nil {
			return err
		}
		if _, double := next.providers[made.settings.Name]; double {
			return agent.Errorf(agent.CodeInvalid, "There are two providers named %s. Give one of them another name.", made.settings.Name)
		}
		next.providers[made.settings.Name] = made
	}
	if _, ok := next.providers["offline"]; !ok && p.options.Dialects["offline"] != nil {
		made, err := p.provider(Settings{Name: "offline", Kind: "offline"})
		if err != nil {
			return err
		}
		next.providers["offline"] = made
	}
	for _, ref := range next.order {
		if next.providers[ref.Provider] == nil || ref.Name == "" {
			return agent.Errorf(agent.CodeInvalid, "The order of models names %q, but no provider of that name is set up. Models are written provider/name.", agent.Clip(ref.String(), 200))
		}
	}
	if old := p.current.Swap(next); old != nil {
		old.close()
	}
	return nil
}

// SetRetry says how patient calls are that begin from now on.
func (p *Providers) SetRetry(r Retry) {
	r = r.complete()
	p.retry.Store(&r)
}

// Close lets go of idle connections. Calls in flight go on.
func (p *Providers) Close() { p.current.Load().close() }

func (s *setup) close() {
	for _, one := range s.providers {
		one.close()
	}
}

// provider makes a client from settings.
func (p *Providers) provider(s Settings) (*provider, error) {
	s, err := s.complete()
	if err != nil {
		return nil, err
	}
	vendor, _ := VendorOf(s.Kind)
	dialect := p.options.Dialects[s.Kind]
	if dialect == nil {
		dialect = p.options.Dialects[vendor.Dialect]
	}
	if dialect == nil {
		known := slices.Sorted(maps.Keys(p.options.Dialects))
		return nil, agent.Errorf(agent.CodeInvalid, "Provider %s is of the unknown kind %q. Known are the vendors' names and %s.", s.Name, agent.Clip(s.Kind, 80), strings.Join(known, ", "))
	}
	client := newHTTPClient(s)
	made, err := dialect(Connection{
		Settings: s,
		Key: func(ctx context.Context) (string, error) {
			key, err := p.keys.key(ctx, s)
			wornBy(ctx).note(key)
			return key, err
		},
		HTTP:   client,
		Logger: p.logger,
	})
	if err != nil {
		var e *agent.Error
		if errors.As(err, &e) {
			return nil, err
		}
		return nil, agent.Wrap(agent.CodeInvalid, err, "Provider %s cannot be set up: check its settings.", s.Name)
	}
	return &provider{settings: s, client: made, close: client.CloseIdleConnections}, nil
}

// ParseRef reads "provider/name"; a bare "provider" names the model of the same name, as "offline" does.
func ParseRef(s string) agent.ModelRef {
	provider, name, ok := strings.Cut(s, "/")
	if !ok {
		name = provider
	}
	return agent.ModelRef{Provider: provider, Name: name}
}

// Pick implements agent.Models: the chain begins with ref and goes on with the order of fallback. "" is the
// default model: the first of the order, or the offline model when nothing is set up.
func (p *Providers) Pick(ctx context.Context, ref string) (agent.Model, agent.ModelInfo, error) {
	now := p.current.Load()
	refs := now.order
	switch {
	case ref != "":
		refs = append([]agent.ModelRef{ParseRef(ref)}, refs...)
	case len(refs) == 0 && now.providers["offline"] != nil:
		refs = []agent.ModelRef{ParseRef("offline")}
	case len(refs) == 0:
		return nil, agent.ModelInfo{}, agent.Errorf(agent.CodeInvalid, "No model is set up. Choose one in Settings → Models.")
	}
	c := &chain{retry: *p.retry.Load(), logger: p.logger}
	for i, r := range refs {
		if slices.Contains(refs[:i], r) {
			continue
		}
		l, err := p.link(now, r)
		if err != nil {
			return nil, agent.ModelInfo{}, err
		}
		c.links = append(c.links, l)
	}
	if l, ok := agent.LentTo(ctx); ok { // nobody lent it for others to stand in
		c.links = c.links[:1]
		if own := c.links[0].provider.settings.Name; own != l.Provider {
			return nil, agent.ModelInfo{}, agent.Errorf(agent.CodeInvalid, "The key that came with this message is for %s, but the model is one of %s.", l.Provider, own)
		}
	}
	return c, c.links[0].info, nil
}

func (p *Providers) link(now *setup, ref agent.ModelRef) (link, error) {
	one := now.providers[ref.Provider]
	if one == nil || ref.Name == "" {
		return link{}, agent.Errorf(agent.CodeInvalid, "There is no provider named %q. Choose a model in Settings → Models; models are written provider/name.", agent.Clip(ref.Provider, 80))
	}
	return link{provider: one, info: p.describe(one.settings, ref.Name)}, nil
}

func (p *Providers) describe(s Settings, name string) agent.ModelInfo {
	p.mu.Lock()
	said := p.said[agent.ModelRef{Provider: s.Name, Name: name}]
	p.mu.Unlock()
	return p.catalog.describe(s, name, said)
}

// Client returns the client of a configured provider, for abilities beyond streaming such as embeddings.
// Errors: CodeInvalid when there is none.
func (p *Providers) Client(name string) (Client, error) {
	if one := p.current.Load().providers[name]; one != nil {
		return one.client, nil
	}
	return nil, agent.Errorf(agent.CodeInvalid, "There is no provider named %q.", agent.Clip(name, 80))
}

// Order returns the default model and its fallbacks.
func (p *Providers) Order() []agent.ModelRef { return slices.Clone(p.current.Load().order) }

// Status is a provider as Settings shows it.
type Status struct {
	Settings Settings // complete; never a key
	Vendor   Vendor
	Key      KeyOrigin
}

// Status lists the providers by name.
func (p *Providers) Status() []Status {
	var out []Status
	for _, one := range p.current.Load().providers {
		out = append(out, Status{Settings: one.settings, Vendor: one.settings.Vendor(), Key: p.keys.Origin(one.settings)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Settings.Name < out[j].Settings.Name })
	return out
}

// Keys returns where the providers' keys are looked for, so that one can be pasted.
func (p *Providers) Keys() *Keys { return p.keys }
