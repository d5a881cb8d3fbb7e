package pages

import (
	"ash/views/components"
	"ash/views/layouts"
)

// Setup is the first run: find a model, test it, choose it, or skip.
type Setup struct {
	layouts.Page
	Found   []FoundModel // servers on their usual ports and keys in the environment
	Looking bool         // the search still runs: the page loads /setup/found itself
	Kinds   []Choice
	Test    *TestResult         // of what was chosen
	Chosen  FoundModel          // what was tested
	Place   components.KeyPlace // what the vault asks of somebody who pastes a key
}

// FoundModel is a server or key that was found.
type FoundModel struct {
	Provider string   // "ollama", "anthropic"
	Title    string   // "Ollama"
	Where    string   // "localhost:11434", "key in ANTHROPIC_API_KEY"
	Local    bool     // nothing leaves the machine
	Models   []string // it offers; the first is suggested
	Model    string   // the chosen one
	BaseURL  string
	Note     string // "no model is installed yet: ollama pull qwen3"
}
