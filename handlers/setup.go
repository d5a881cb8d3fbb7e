package handlers

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/views/pages"
)

// Setup is the first run: find a model, test it with a real call, use it, or skip.
type Setup struct {
	*Frame
	Config    Config
	Providers Providers
	Prober    Prober
	Skipped   SkipMark
	Own       func() []string // addresses of this server, which is no model server
}

// Prober tries providers that are not configured yet.
type Prober interface {
	Discover(ctx context.Context, skip ...string) []llm.Found
	TestAt(ctx context.Context, s llm.Settings, model string) (llm.Report, error)
	ListModelsAt(ctx context.Context, s llm.Settings) ([]agent.ModelInfo, error)
}

// SkipMark is the path of an empty file that says: the first run was skipped.
type SkipMark string

func (m SkipMark) is() bool {
	_, err := os.Stat(string(m))
	return err == nil
}

func (m SkipMark) set() error {
	f, err := os.OpenFile(string(m), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "That could not be remembered: the home of Ash cannot be written to.")
	}
	return f.Close()
}

// Home answers GET /: the first run, or the conversations.
func (h *Setup) Home(c echo.Context) error {
	if len(h.Config.Current().Config().Models.Order) == 0 && !h.Skipped.is() {
		return c.Redirect(http.StatusSeeOther, "/setup")
	}
	return c.Redirect(http.StatusSeeOther, "/chat")
}

// Show answers GET /setup. The search for servers runs in a request of its own.
func (h *Setup) Show(c echo.Context) error {
	page := h.setup(c)
	page.Looking = true
	return render(c, http.StatusOK, page.Show())
}

// Found answers GET /setup/found: what was found on this machine.
func (h *Setup) Found(c echo.Context) error {
	page := h.setup(c)
	page.Found = h.discover(c.Request().Context())
	if ByHTMX(c) {
		return render(c, http.StatusOK, page.Offers())
	}
	return render(c, http.StatusOK, page.Show())
}

// Test answers POST /setup/test: one real call, and when it goes well the model is in use, and its key kept.
func (h *Setup) Test(c echo.Context) error {
	chosen, s, err := h.chosen(c)
	if err != nil {
		return err
	}
	p, err := readPasted(c)
	defer p.wipe()
	if err != nil {
		return err
	}
	result, err := h.try(c.Request().Context(), s, chosen.Model, p)
	if err != nil {
		return err
	}
	switch {
	case ByHTMX(c):
		return render(c, http.StatusOK, pages.SetupOutcome(chosen, result, Token(c)))
	case result.OK:
		return see(c, "/chat/new")
	}
	page := h.setup(c)
	page.Test, page.Chosen = &result, chosen
	page.Found = h.discover(c.Request().Context())
	return render(c, http.StatusUnprocessableEntity, page.Show())
}

// try makes the call, with the pasted key if there is one. What the person can put right is in the result, not in the error.
func (h *Setup) try(ctx context.Context, s llm.Settings, model string, p pasted) (pages.TestResult, error) {
	refused := func(err error) (pages.TestResult, error) {
		if theirs(err) {
			return pages.TestResult{Text: agent.PublicOf(err)}, nil
		}
		return pages.TestResult{}, err
	}
	if len(p.key) == 0 {
		result := tested(h.Prober.TestAt(ctx, s, model))
		if !result.OK {
			return result, nil
		}
		return result, h.use(ctx, s, model)
	}
	if err := h.Keys.ready(ctx, p); err != nil {
		return refused(err)
	}
	if err := h.Providers.Keys().Paste(s.Name, string(p.key)); err != nil {
		return refused(err)
	}
	result := tested(h.Prober.TestAt(ctx, s, model))
	if !result.OK {
		h.Keys.forget(s.Name)
		return result, nil
	}
	if err := h.use(ctx, s, model); err != nil {
		h.Keys.forget(s.Name)
		return pages.TestResult{}, err
	}
	if err := h.Keys.keep(ctx, s, p); err != nil {
		return refused(err)
	}
	return result, nil
}

// Skip answers POST /setup/skip.
func (h *Setup) Skip(c echo.Context) error {
	if err := h.Skipped.set(); err != nil {
		return err
	}
	return see(c, "/chat/new")
}

// chosen reads what is to be tested: something found, or what was typed in.
func (h *Setup) chosen(c echo.Context) (f pages.FoundModel, s llm.Settings, err error) {
	var kind string
	for _, x := range []struct {
		field string
		into  *string
	}{{"provider", &f.Provider}, {"model", &f.Model}, {"base_url", &f.BaseURL}, {"kind", &kind}} {
		if *x.into, err = line(c, x.field, 8000); err != nil {
			return f, s, err
		}
	}
	if f.Provider == "" || f.Model == "" {
		return f, s, agent.Errorf(agent.CodeInvalid, "Choose a model first.")
	}
	s = llm.Settings{Name: f.Provider, Kind: f.Provider, BaseURL: f.BaseURL}
	if f.Provider == "other" {
		s.Kind = kind
		s.Name = h.freeName(kind, f.BaseURL)
	}
	return f, s, nil
}

// freeName returns kind, or kind-2 and so on, when a provider at another address has that name.
func (h *Setup) freeName(kind, base string) string {
	name := kind
	taken := h.Config.Current().Config().Providers
	for i := 2; ; i++ {
		p, ok := taken[name]
		if !ok || p.BaseURL == base {
			return name
		}
		name = kind + "-" + strconv.Itoa(i)
	}
}

// use writes a provider into the settings and makes its model the default.
func (h *Setup) use(ctx context.Context, s llm.Settings, model string) error {
	now := h.Config.Current().Config()
	changes := []config.Change{order(ahead(agent.ModelRef{Provider: s.Name, Name: model}, now.Models.Order))}
	if _, ok := now.Providers[s.Name]; !ok {
		changes = append(providerChanges(s.Name, s.Kind, s.BaseURL), changes...)
	}
	_, err := h.Config.Edit(ctx, "", changes)
	return err
}

func (h *Setup) setup(c echo.Context) pages.Setup {
	page := pages.Setup{Kinds: kinds(), Place: h.Keys.place(c.Request().Context())}
	page.Title, page.CSRF, page.Theme = "Welcome", Token(c), h.theme()
	return page
}

// discover looks around and presents what it found. A vendor's models are asked for with the key that was found.
func (h *Setup) discover(ctx context.Context) []pages.FoundModel {
	var out []pages.FoundModel
	for _, f := range h.Prober.Discover(ctx, h.Own()...) {
		p := pages.FoundModel{Provider: f.Settings.Name, Title: f.Vendor.Title, BaseURL: f.Settings.BaseURL, Local: f.Settings.Local(), Where: f.Settings.BaseURL}
		if f.Key.Place != llm.KeyNone {
			p.Where = "key in " + f.Key.Name
		}
		models := f.Models
		if !p.Local && len(models) == 0 {
			var err error
			if models, err = h.ask(ctx, f.Settings); err != nil {
				p.Note = agent.PublicOf(err)
			}
		}
		for _, m := range models {
			p.Models = append(p.Models, m.Ref.Name)
		}
		switch {
		case len(p.Models) > 0:
			p.Model = suggest(models)
		case p.Note == "" && f.Vendor.Kind == "ollama":
			p.Note = "No model is installed yet. In a terminal: ollama pull qwen3"
		case p.Note == "":
			p.Note = "It offers no model yet. Load one there, then look again."
		}
		out = append(out, p)
	}
	return out
}

// suggest picks the model to begin with: of those the catalog knows by name, the one in
// the middle by price, neither the weakest nor the dearest; else the first that is no embedding model.
func suggest(models []agent.ModelInfo) string {
	known := slices.DeleteFunc(slices.Clone(models), func(m agent.ModelInfo) bool { return m.Title == "" || !m.Tools })
	if len(known) > 0 {
		sort.SliceStable(known, func(i, j int) bool { return known[i].Price.Output < known[j].Price.Output })
		return known[len(known)/2].Ref.Name
	}
	i := slices.IndexFunc(models, func(m agent.ModelInfo) bool { return !strings.Contains(strings.ToLower(m.Ref.Name), "embed") })
	return models[max(i, 0)].Ref.Name
}

func (h *Setup) ask(ctx context.Context, s llm.Settings) ([]agent.ModelInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	return h.Prober.ListModelsAt(ctx, s)
}
