package prompt

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"ash/agent"
)

// offer is what a model with a window is told of tools. They are the same from prompt to prompt, so the last one is kept.
type offer struct {
	window int
	all    []agent.ToolSpec
	slim   []agent.ToolSpec
	tokens int // of slim
}

func (b *Builder) offer(tools []agent.ToolSpec, window int) *offer {
	last := b.offered.Load()
	if last == nil || last.window != window || !slices.EqualFunc(last.all, tools, sameTool) {
		fits := slim(tools, window)
		last = &offer{window: window, all: slices.Clone(tools), slim: fits, tokens: toolTokens(fits)}
		b.offered.Store(last)
	}
	return last
}

func sameTool(a, b agent.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}

// slim makes tools fit a small window: beyond a quarter of it their descriptions are cut to the first paragraph, then those of
// the arguments are left out. A conversation that is summarised after every message is worth less than a model that
// must find out how a tool works.
func slim(tools []agent.ToolSpec, window int) []agent.ToolSpec {
	room := window / 4
	if toolTokens(tools) <= room {
		return tools
	}
	out := make([]agent.ToolSpec, len(tools))
	for i, t := range tools {
		t.Description, _, _ = strings.Cut(t.Description, "\n\n")
		out[i] = t
	}
	if toolTokens(out) <= room {
		return out
	}
	for i, t := range out {
		out[i].Schema = bare(t.Schema)
	}
	return out
}

// bare is a schema without descriptions; one that is not understood stays as it is.
func bare(schema json.RawMessage) json.RawMessage {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil {
		return schema
	}
	undescribe(s)
	out, err := json.Marshal(s)
	if err != nil {
		return schema
	}
	return out
}

func undescribe(schema map[string]any) {
	delete(schema, "description")
	if items, ok := schema["items"].(map[string]any); ok {
		undescribe(items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, p := range properties { // a property may be called description
		if p, ok := p.(map[string]any); ok {
			undescribe(p)
		}
	}
}
