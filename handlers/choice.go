package handlers

import (
	"slices"

	"ash/agent"
	"ash/agent/config"
	"ash/views/components"
)

// modelChoices lists what the model picker offers: the default, the models in
// the order of fallback, and the one chosen, should it be none of them.
func modelChoices(s config.Config, chosen string) []components.ModelChoice {
	out := []components.ModelChoice{{Title: "Default: " + defaultModel(s)}}
	order := slices.Clone(s.Models.Order)
	slices.SortStableFunc(order, func(a, b agent.ModelRef) int { // groups follow each other
		return slices.IndexFunc(s.Models.Order, sameProvider(a)) - slices.IndexFunc(s.Models.Order, sameProvider(b))
	})
	for _, ref := range order {
		out = append(out, components.ModelChoice{Value: ref.String(), Title: ref.Name, Group: ref.Provider})
	}
	if chosen != "" && !slices.ContainsFunc(out, func(m components.ModelChoice) bool { return m.Value == chosen }) {
		out = append(out, components.ModelChoice{Value: chosen, Title: chosen})
	}
	return out
}

func sameProvider(a agent.ModelRef) func(agent.ModelRef) bool {
	return func(b agent.ModelRef) bool { return a.Provider == b.Provider }
}

// defaultModel names the model of conversations that have chosen none.
func defaultModel(s config.Config) string {
	if len(s.Models.Order) == 0 {
		return "offline"
	}
	return s.Models.Order[0].String()
}
