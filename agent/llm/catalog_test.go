package llm

import (
	"testing"

	"ash/agent"
)

func TestCatalogData(t *testing.T) {
	c, err := embeddedCatalog()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range c.entries {
		id := e.vendor + "/" + e.name
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		if _, known := VendorOf(e.vendor); !known || e.info.ContextWindow == 0 || e.info.MaxOutput > e.info.ContextWindow {
			t.Errorf("%s: %+v", id, e.info)
		}
		if p := e.info.Price; (p.Input == 0) != (p.Output == 0) || p.CacheRead > p.Input || p.Output < p.Input {
			t.Errorf("%s has an odd price %+v", id, p)
		}
	}
	for _, vendor := range []string{"openai", "anthropic", "gemini", "mistral", "groq", "cerebras", "deepseek", "xai"} {
		if vendor != "anthropic" && len(c.Names(vendor)) == 0 {
			t.Errorf("no models of %s", vendor)
		}
	}
}

func TestCatalogFind(t *testing.T) {
	c, err := embeddedCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		vendor, model string
		found         bool
		window        int
		input         agent.MicroDollars
		vision        bool
	}{
		"exact":                         {"openai", "gpt-4o-mini", true, 128000, 150_000, true},
		"dated variant has no price":    {"openai", "gpt-4o-2024-08-06", true, 128000, 0, true},
		"family with a price":           {"anthropic", "claude-sonnet-4-5-20250929", true, 200000, 3_000_000, true},
		"not the family of another":     {"anthropic", "claude-sonnet-4-20250514", true, 200000, 3_000_000, true},
		"name with a slash":             {"groq", "openai/gpt-oss-120b", true, 131072, 0, false},
		"longest family":                {"ollama", "qwen3-vl:8b", true, 16384, 0, true},
		"openrouter looks at the maker": {"openrouter", "anthropic/claude-sonnet-4.5", true, 200000, 0, true},
		"openrouter and google":         {"openrouter", "google/gemini-2.5-pro", true, 1048576, 0, true},
		"openrouter without a maker":    {"openrouter", "auto", false, 0, 0, false},
		"unknown model":                 {"openai", "nope", false, 0, 0, false},
		"unknown vendor":                {"nope", "gpt-4o", false, 0, 0, false},
		"characters of a pattern":       {"openai", "gpt-[", false, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := c.Find(tc.vendor, tc.model)
			if ok != tc.found || m.ContextWindow != tc.window || m.Price.Input != tc.input || m.Vision != tc.vision {
				t.Errorf("got %v %+v", ok, m)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	c, err := embeddedCatalog()
	if err != nil {
		t.Fatal(err)
	}
	ref := func(name string) agent.ModelRef { return agent.ModelRef{Provider: "p", Name: name} }
	for name, tc := range map[string]struct {
		s     Settings
		model string
		said  agent.ModelInfo
		want  agent.ModelInfo
	}{
		"unknown in the cloud":   {Settings{Name: "p", Kind: "openai", BaseURL: "https://x.example"}, "nope", agent.ModelInfo{}, agent.ModelInfo{Ref: ref("nope"), Tools: true, ContextWindow: unknownWindow}},
		"unknown on the machine": {Settings{Name: "p", Kind: "lmstudio", BaseURL: "http://localhost:1234/v1"}, "nope", agent.ModelInfo{}, agent.ModelInfo{Ref: ref("nope"), Tools: true, Local: true, ContextWindow: unknownWindowLocal}},
		"the server knows best": {Settings{Name: "p", Kind: "vllm", BaseURL: "http://[::1]:8000/v1"}, "x", agent.ModelInfo{ContextWindow: 4096, Vision: true},
			agent.ModelInfo{Ref: ref("x"), Local: true, Vision: true, ContextWindow: 4096}},
		"the person knows better": {Settings{Name: "p", Kind: "ollama", BaseURL: "http://127.0.0.1:11434", Amend: func(_ string, m agent.ModelInfo) agent.ModelInfo {
			m.ContextWindow, m.Vision, m.Tools, m.Thinking = 9999, true, false, false
			return m
		}}, "qwen3:8b",
			agent.ModelInfo{}, agent.ModelInfo{Ref: ref("qwen3:8b"), Local: true, ContextWindow: 9999, Vision: true}},
		"a price of one's own": {Settings{Name: "p", Kind: "mistral", Amend: func(_ string, m agent.ModelInfo) agent.ModelInfo {
			m.Price = agent.Price{Input: 5, Output: 6}
			return m
		}}, "codestral-x",
			agent.ModelInfo{}, agent.ModelInfo{Ref: ref("codestral-x"), Tools: true, ContextWindow: 131072, Price: agent.Price{Input: 5, Output: 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.describe(tc.s, tc.model, tc.said); got != tc.want {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestParseCatalogRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"not JSON":        `{`,
		"no vendor":       `{"models":[{"name":"x"}]}`,
		"unknown ability": `{"models":[{"vendor":"a","name":"x","can":"fly"}]}`,
		"broken pattern":  `{"models":[{"vendor":"a","name":"x["}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseCatalog([]byte(data)); agent.CodeOf(err) != agent.CodeInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}
