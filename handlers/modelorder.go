package handlers

import (
	"slices"
	"strings"

	"ash/agent"
	"ash/agent/config"
)

// order is the change that makes refs the models in use.
func order(refs []agent.ModelRef) config.Change {
	var words []string
	for _, r := range refs {
		if !slices.Contains(words, r.String()) {
			words = append(words, r.String())
		}
	}
	return config.Change{Key: "models.order", Value: strings.Join(words, ", "), Remove: len(words) == 0}
}

// ahead puts first before the others.
func ahead(first agent.ModelRef, refs []agent.ModelRef) []agent.ModelRef {
	return append([]agent.ModelRef{first}, slices.DeleteFunc(slices.Clone(refs), func(r agent.ModelRef) bool { return r == first })...)
}

// byProvider gathers the models of each provider, in the order of their first.
func byProvider(refs []agent.ModelRef) [][]agent.ModelRef {
	var blocks [][]agent.ModelRef
	for _, r := range refs {
		i := slices.IndexFunc(blocks, func(b []agent.ModelRef) bool { return b[0].Provider == r.Provider })
		if i < 0 {
			blocks = append(blocks, []agent.ModelRef{r})
		} else {
			blocks[i] = append(blocks[i], r)
		}
	}
	return blocks
}

func names(refs []agent.ModelRef) string {
	var out []string
	for _, r := range refs {
		out = append(out, r.Name)
	}
	return strings.Join(out, ", ")
}

func firstModel(refs []agent.ModelRef, provider string) string {
	i := slices.IndexFunc(refs, func(r agent.ModelRef) bool { return r.Provider == provider })
	if i < 0 {
		return ""
	}
	return refs[i].Name
}
