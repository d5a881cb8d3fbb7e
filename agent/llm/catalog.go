package llm

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"
	"sync"

	"ash/agent"
)

//go:embed catalog.json
var catalogData []byte

// What an unknown model is taken for: a window that nearly every model served today has, and tools, because a server
// says so plainly when there are none, whereas a model not offered tools would seem broken.
const (
	unknownWindow      = 32_768
	unknownWindowLocal = 8_192
)

// Catalog knows models: windows, abilities and prices. It is immutable.
type Catalog struct {
	entries []entry
}

type entry struct {
	vendor, name string // a name with a star is a family
	info         agent.ModelInfo
}

// embeddedCatalog reads the embedded data once, on first use.
var embeddedCatalog = sync.OnceValues(func() (*Catalog, error) { return ParseCatalog(catalogData) })

// ParseCatalog reads catalog data in the form of catalog.json. Prices that are not
// certain are left out there and are zero here: unknown, unless the model is Local. Errors: CodeInvalid.
func ParseCatalog(data []byte) (*Catalog, error) {
	var file struct {
		Models []struct {
			Vendor  string  `json:"vendor"`
			Name    string  `json:"name"`
			Title   string  `json:"title"`
			Context int     `json:"context"`
			Output  int     `json:"output"`
			Can     string  `json:"can"`
			In      float64 `json:"in"`
			Out     float64 `json:"out"`
			Cached  float64 `json:"cached"`
			Write   float64 `json:"write"`
		} `json:"models"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "The model catalog cannot be read: %v.", err)
	}
	c := &Catalog{}
	for _, m := range file.Models {
		e := entry{vendor: m.Vendor, name: m.Name, info: agent.ModelInfo{Title: m.Title, ContextWindow: m.Context, MaxOutput: m.Output}}
		if _, err := path.Match(m.Name, ""); err != nil || m.Vendor == "" || m.Name == "" {
			return nil, agent.Errorf(agent.CodeInvalid, "The model catalog has an entry without a usable vendor and name: %q.", m.Vendor+"/"+m.Name)
		}
		for ability := range strings.FieldsSeq(m.Can) {
			if err := setAbility(&e.info, ability); err != nil {
				return nil, err
			}
		}
		e.info.Price = agent.Price{Input: micro(m.In), Output: micro(m.Out), CacheRead: micro(m.Cached), CacheWrite: micro(m.Write)}
		// A provider that names no cache price bills cached tokens like others; a zero would make them free.
		if m.Cached == 0 {
			e.info.Price.CacheRead = e.info.Price.Input
		}
		if m.Write == 0 {
			e.info.Price.CacheWrite = e.info.Price.Input
		}
		c.entries = append(c.entries, e)
	}
	return c, nil
}

func setAbility(m *agent.ModelInfo, ability string) error {
	switch ability {
	case "tools":
		m.Tools = true
	case "vision":
		m.Vision = true
	case "documents":
		m.Documents = true
	case "thinking":
		m.Thinking = true
	default:
		return agent.Errorf(agent.CodeInvalid, "The model catalog names an unknown ability %q.", ability)
	}
	return nil
}

// micro turns dollars per million tokens into micro-dollars.
func micro(dollars float64) agent.MicroDollars {
	return agent.MicroDollars(math.Round(dollars * 1e6))
}

// Find returns what the catalog knows of a vendor's model: the entry of that name, or else the longest family it belongs to. An
// OpenRouter name ("anthropic/claude-…") is looked up at the vendor it names, without the price.
func (c *Catalog) Find(vendor, name string) (agent.ModelInfo, bool) {
	if vendor == "openrouter" {
		maker, bare, ok := strings.Cut(name, "/")
		if !ok {
			return agent.ModelInfo{}, false
		}
		switch maker {
		case "google":
			maker = "gemini"
		case "x-ai":
			maker = "xai"
		case "mistralai":
			maker = "mistral"
		}
		// OpenRouter writes versions with a dot where Anthropic has a dash.
		if maker == "anthropic" {
			bare = strings.ReplaceAll(bare, ".", "-")
		}
		info, ok := c.Find(maker, strings.TrimSuffix(bare, ":free"))
		info.Price = agent.Price{}
		info.Documents = false
		return info, ok
	}
	best := -1
	for i, e := range c.entries {
		if e.vendor != vendor {
			continue
		}
		if e.name == name {
			return e.info, true
		}
		if ok, err := path.Match(slashless(e.name), slashless(name)); err == nil && ok && (best < 0 || len(e.name) > len(c.entries[best].name)) {
			best = i
		}
	}
	if best < 0 {
		return agent.ModelInfo{}, false
	}
	return c.entries[best].info, true
}

// slashless hides slashes from path.Match, whose star stops at them.
func slashless(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

// Names lists the catalog's own names of a vendor's models, families left out.
func (c *Catalog) Names(vendor string) []string {
	var names []string
	for _, e := range c.entries {
		if e.vendor == vendor && !strings.Contains(e.name, "*") {
			names = append(names, e.name)
		}
	}
	return names
}

// describe puts together what is known of a model: the person's word first, then what its server said, then the catalog, then careful defaults.
func (c *Catalog) describe(s Settings, name string, said agent.ModelInfo) agent.ModelInfo {
	info := agent.ModelInfo{}
	known, found := c.Find(s.Vendor().Kind, name)
	fill(&info, said)
	fill(&info, known)
	if !found && !abilities(said) {
		info.Tools = true
	}
	info.Local = info.Local || s.Local()
	if s.Amend != nil {
		info = s.Amend(name, info)
	}
	info.Ref = agent.ModelRef{Provider: s.Name, Name: name}
	if info.ContextWindow == 0 {
		info.ContextWindow = unknownWindow
		if info.Local {
			info.ContextWindow = unknownWindowLocal
		}
	}
	if info.Local {
		info.Price = agent.Price{}
	}
	return info
}

// fill sets the unknown fields of m from n.
func fill(m *agent.ModelInfo, n agent.ModelInfo) {
	if m.Title == "" {
		m.Title = n.Title
	}
	if m.ContextWindow == 0 {
		m.ContextWindow = n.ContextWindow
	}
	if m.MaxOutput == 0 {
		m.MaxOutput = n.MaxOutput
	}
	m.Tools = m.Tools || n.Tools
	m.Vision = m.Vision || n.Vision
	m.Documents = m.Documents || n.Documents
	m.Thinking = m.Thinking || n.Thinking
	m.Local = m.Local || n.Local
	if m.Price == (agent.Price{}) {
		m.Price = n.Price
	}
}

func abilities(m agent.ModelInfo) bool { return m.Tools || m.Vision || m.Documents || m.Thinking }

// catalogOr returns c, or the embedded catalog when c is nil.
func catalogOr(c *Catalog) (*Catalog, error) {
	if c != nil {
		return c, nil
	}
	embedded, err := embeddedCatalog()
	if err != nil {
		return nil, fmt.Errorf("embedded catalog: %w", err)
	}
	return embedded, nil
}
