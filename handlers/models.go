package handlers

import (
	"context"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/views/components"
	"ash/views/pages"
)

const (
	offlineName = "offline"
	askTimeout  = 5 * time.Second // for the list of models beside a test
)

// Models is Settings → Models.
type Models struct {
	*Frame
	Config    Config
	Providers Providers
}

// Providers are the configured model providers. An edit of the settings
// reaches them before Edit returns.
type Providers interface {
	Status() []llm.Status
	Keys() *llm.Keys
	Test(ctx context.Context, ref string) (llm.Report, error)
	ListModels(ctx context.Context, name string) ([]agent.ModelInfo, error)
}

// Show answers GET /settings/models, and GET /settings: there a phone shows the list of sections.
func (h *Models) Show(c echo.Context) error {
	page, err := h.models(c)
	if err != nil {
		return err
	}
	page.Listed = c.Path() == "/settings"
	return render(c, http.StatusOK, page.Show())
}

// Add answers POST /settings/models: a provider, or another model of one.
func (h *Models) Add(c echo.Context) error {
	var typed pages.AddedModel
	err := h.add(c, &typed)
	switch {
	case err == nil:
		return h.chain(c)
	case !theirs(err):
		return err
	}
	typed.Problem = agent.PublicOf(err)
	if !ByHTMX(c) {
		return h.with(c, refusedStatus(err), func(page *pages.Models) { page.Adding = typed })
	}
	status := refusedStatus(err)
	page, err := h.models(c)
	if err != nil {
		return err
	}
	page.Adding = typed
	return refusedAs(c, status, "add-provider", page.AddModel())
}

func (h *Models) add(c echo.Context, typed *pages.AddedModel) error {
	for _, f := range []struct {
		field string
		into  *string
	}{{"kind", &typed.Kind}, {"name", &typed.Name}, {"base_url", &typed.BaseURL}, {"model", &typed.Model}} {
		var err error
		if *f.into, err = line(c, f.field, 500); err != nil {
			return err
		}
	}
	if typed.Name == "" || typed.Model == "" {
		return agent.Errorf(agent.CodeInvalid, "A provider needs a name and a model.")
	}
	s := h.Config.Current().Config()
	changes := []config.Change{order(append(slices.Clone(s.Models.Order), agent.ModelRef{Provider: typed.Name, Name: typed.Model}))}
	if known, ok := s.Providers[typed.Name]; ok && typed.Kind != kindOf(typed.Name, known) {
		return agent.Errorf(agent.CodeConflict, "There is a provider %s already, and it is of another kind. Choose another name.", typed.Name)
	} else if !ok {
		changes = append(providerChanges(typed.Name, typed.Kind, typed.BaseURL), changes...)
	}
	_, err := h.Config.Edit(c.Request().Context(), "", changes)
	return err
}

// Default answers POST /settings/models/default: the model new conversations use.
func (h *Models) Default(c echo.Context) error {
	model, err := line(c, "model", 500)
	if err != nil {
		return err
	}
	first := llm.ParseRef(model)
	return h.change(c, []config.Change{order(ahead(first, h.Config.Current().Config().Models.Order))})
}

// Move answers POST /settings/models/{name}/move: the provider is tried one place earlier or later.
func (h *Models) Move(c echo.Context) error {
	direction, err := line(c, "direction", 10)
	if err != nil {
		return err
	}
	blocks := byProvider(h.Config.Current().Config().Models.Order)
	i := slices.IndexFunc(blocks, func(b []agent.ModelRef) bool { return b[0].Provider == c.Param("name") })
	to := i + 1
	if direction == "up" {
		to = i - 1
	}
	if i < 0 {
		return agent.Errorf(agent.CodeNotFound, "That provider is not in the order of fallback.")
	}
	if to >= 0 && to < len(blocks) {
		blocks[i], blocks[to] = blocks[to], blocks[i]
	}
	return h.change(c, []config.Change{order(slices.Concat(blocks...))})
}

// Remove answers POST /settings/models/{name}/remove.
func (h *Models) Remove(c echo.Context) error {
	name, s := c.Param("name"), h.Config.Current().Config()
	kept := slices.DeleteFunc(slices.Clone(s.Models.Order), func(r agent.ModelRef) bool { return r.Provider == name })
	_, configured := s.Providers[name]
	if !configured && len(kept) == len(s.Models.Order) {
		return agent.Errorf(agent.CodeNotFound, "There is no provider of that name.")
	}
	if yes, err := h.sure(c, pages.Sure{
		Question: "Remove " + name + "?", Means: "Conversations it answered stay as they are.", Yes: "Remove", Back: "/settings/models",
	}); err != nil || !yes {
		return err
	}
	var changes []config.Change
	if len(kept) != len(s.Models.Order) {
		changes = append(changes, order(kept))
	}
	if configured {
		changes = append(changes, config.Change{Key: "providers." + name, Remove: true})
	}
	if _, err := h.Config.Edit(c.Request().Context(), "", changes); err != nil {
		return h.refused(c, err)
	}
	if err := h.Providers.Keys().Paste(name, ""); err != nil {
		return err
	}
	return h.chain(c)
}

// Test answers POST /settings/models/{name}/test: one real call.
func (h *Models) Test(c echo.Context) error {
	ctx, name := c.Request().Context(), c.Param("name")
	model := firstModel(h.Config.Current().Config().Models.Order, name)
	if name == offlineName {
		model = offlineName
	}
	var result pages.TestResult
	if model == "" {
		result.Text = "No model of this provider is chosen. Add one below."
	} else {
		result = tested(h.Providers.Test(ctx, name+"/"+model))
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if offered, err := h.Providers.ListModels(ctx, name); err == nil { // a bonus: many servers have no list
		for _, m := range offered {
			result.Models = append(result.Models, m.Ref.Name)
		}
	}
	if ByHTMX(c) {
		return render(c, http.StatusOK, pages.TestOutcome(name, &result))
	}
	page, err := h.models(c)
	if err != nil {
		return err
	}
	for i := range page.Providers {
		if page.Providers[i].Name == name {
			page.Providers[i].Test = &result
		}
	}
	return render(c, http.StatusOK, page.Show())
}

// tested puts the outcome of a test into words.
func tested(r llm.Report, err error) pages.TestResult {
	if err != nil {
		return pages.TestResult{Text: agent.PublicOf(err)}
	}
	answer := agent.Clip(strings.TrimSpace(r.Answer), 80)
	return pages.TestResult{OK: true, Text: "It answers: “" + answer + "”", Duration: r.FirstToken}
}

// Key answers POST /settings/models/{name}/key: a pasted key goes into the vault, or into memory until Ash ends; an empty one there is forgotten.
func (h *Models) Key(c echo.Context) error {
	name := c.Param("name")
	s, ok := h.Keys.status(name)
	if !ok {
		return agent.Errorf(agent.CodeNotFound, "There is no provider of that name.")
	}
	p, err := readPasted(c)
	defer p.wipe()
	if err != nil {
		return err
	}
	if len(p.key) == 0 && !p.memory {
		err = agent.Errorf(agent.CodeInvalid, "Paste the key: it is empty.")
	} else {
		err = h.Keys.keep(c.Request().Context(), s.Settings, p)
	}
	switch {
	case err != nil && !theirs(err):
		return err
	case !ByHTMX(c) && err == nil:
		return see(c, "/settings/models#p-"+name)
	case !ByHTMX(c):
		return h.with(c, refusedStatus(err), func(page *pages.Models) {
			if i := slices.IndexFunc(page.Providers, func(p pages.Provider) bool { return p.Name == name }); i >= 0 {
				page.Providers[i].Wrong = agent.PublicOf(err)
			}
		})
	}
	for _, card := range h.providers() {
		if card.Name != name {
			continue
		}
		card.Place = h.Keys.place(c.Request().Context())
		if err != nil {
			card.Wrong = agent.PublicOf(err)
			return refusedInPlace(c, "p-"+name, pages.ProviderCard(card, Token(c)))
		}
		return render(c, http.StatusOK, pages.ProviderCard(card, Token(c)))
	}
	return agent.Errorf(agent.CodeNotFound, "There is no provider of that name.")
}

// change edits the settings and shows the chain of providers anew.
func (h *Models) change(c echo.Context, changes []config.Change) error {
	if _, err := h.Config.Edit(c.Request().Context(), "", changes); err != nil {
		return h.refused(c, err)
	}
	return h.chain(c)
}

// refused answers a change that was not made: a script shows a notice, a plain form the page with the words above the providers.
func (h *Models) refused(c echo.Context, cause error) error {
	if !theirs(cause) || ByHTMX(c) {
		return cause
	}
	return h.with(c, refusedStatus(cause), func(page *pages.Models) { page.Wrong = agent.PublicOf(cause) })
}

// with answers a refused form with the page, amended by the reason.
func (h *Models) with(c echo.Context, status int, amend func(*pages.Models)) error {
	page, err := h.models(c)
	if err != nil {
		return err
	}
	amend(&page)
	return render(c, status, page.Show())
}

// chain answers a change that was made with the providers as they are tried now.
func (h *Models) chain(c echo.Context) error {
	if !ByHTMX(c) {
		return see(c, "/settings/models")
	}
	page, err := h.models(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Chain())
}

func (h *Models) models(c echo.Context) (pages.Models, error) {
	frame, err := h.settings(c, "models", "Models")
	if err != nil {
		return pages.Models{}, err
	}
	page := pages.Models{SettingsFrame: frame, Providers: h.providers(), Kinds: kinds()}
	place := h.Keys.place(c.Request().Context())
	for i := range page.Providers {
		page.Providers[i].Place = place
	}
	for _, ref := range h.Config.Current().Config().Models.Order {
		page.Defaults = append(page.Defaults, components.ModelChoice{Value: ref.String(), Title: ref.String(), Group: ref.Provider})
	}
	if len(page.Defaults) > 0 {
		page.Default = page.Defaults[0].Value
	}
	return page, nil
}

// providers lists the cards: in the order of fallback, then those configured but not
// used, the offline model last.
func (h *Models) providers() []pages.Provider {
	now := h.Config.Current()
	refs := now.Config().Models.Order
	blocks := byProvider(refs)
	rank := func(s llm.Status) int {
		i := slices.IndexFunc(blocks, func(b []agent.ModelRef) bool { return b[0].Provider == s.Settings.Name })
		switch {
		case i >= 0:
			return i
		case s.Settings.Name == offlineName:
			return len(blocks) + 1
		}
		return len(blocks)
	}
	status := h.Providers.Status()
	sort.SliceStable(status, func(i, j int) bool { return rank(status[i]) < rank(status[j]) })
	fixedOrder := now.Origin("models.order").Fixed()
	var out []pages.Provider
	for _, s := range status {
		p := presentProvider(s)
		i := rank(s)
		if i < len(blocks) {
			p.Model = names(blocks[i])
		}
		p.First, p.Last = i == 0 || i >= len(blocks), i >= len(blocks)-1
		from := now.Origin("providers." + p.Name + ".kind")
		if from.Layer == config.LayerDefault {
			from = now.Origin("models.order")
		}
		p.Origin, p.ReadOnly = originWords(from), from.Fixed() || fixedOrder
		out = append(out, p)
	}
	return out
}

func presentProvider(s llm.Status) pages.Provider {
	p := pages.Provider{
		Name: s.Settings.Name, Title: s.Vendor.Title, Kind: dialectTitle(s.Vendor.Dialect), BaseURL: s.Settings.BaseURL,
		Local: s.Settings.Local(), Fixed: s.Settings.Name == offlineName,
		Key: pages.KeyState{Present: s.Key.Place != llm.KeyNone && s.Key.Problem == "", Pasted: s.Key.Place == llm.KeyPasted, Problem: s.Key.Problem},
	}
	if s.Settings.Name != s.Settings.Kind {
		p.Title = s.Settings.Name
	}
	p.Key.Source = keyWords(s.Key)
	if s.Key.Place == llm.KeyVault {
		p.Key.Secret = s.Key.Name
	}
	return p
}

func keyWords(k llm.KeyOrigin) string {
	switch k.Place {
	case llm.KeyPasted:
		return "what you pasted, in memory only"
	case llm.KeyVault:
		if k.Locked {
			return "the vault, which is locked"
		}
		return "the vault"
	case llm.KeyFile:
		return "the file " + k.Name
	case llm.KeyEnvironment:
		return "the environment variable " + k.Name
	}
	return ""
}

func dialectTitle(dialect string) string {
	switch dialect {
	case "anthropic":
		return "Anthropic"
	case "ollama":
		return "Ollama"
	case "bedrock-aws":
		return "Amazon Bedrock"
	case offlineName:
		return "Built in"
	}
	return "OpenAI-compatible"
}

// kinds lists what a provider can be.
func kinds() []pages.Choice {
	var out []pages.Choice
	for _, v := range llm.Vendors() {
		if v.Kind != offlineName {
			out = append(out, pages.Choice{Value: v.Kind, Title: v.Title})
		}
	}
	return out
}

// kindOf returns what a configured provider is, by its section or by its name.
func kindOf(name string, p config.Provider) string {
	if p.Kind != "" {
		return p.Kind
	}
	if _, known := llm.VendorOf(name); known {
		return name
	}
	return "openai"
}

// providerChanges makes the section of a new provider.
func providerChanges(name, kind, base string) []config.Change {
	changes := []config.Change{{Key: "providers." + name + ".kind", Value: kind}}
	if vendor, _ := llm.VendorOf(kind); base != "" && base != vendor.BaseURL {
		changes = append(changes, config.Change{Key: "providers." + name + ".base_url", Value: base})
	}
	return changes
}
