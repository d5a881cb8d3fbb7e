package remember

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/tool"
)

//go:embed recall.md
var recallText string

const (
	maxQuery   = 500 // characters
	maxRecall  = 20
	mostRecall = 8        // unless the model asks for more
	maxItem    = 1200     // bytes of one memory
	maxRecalls = 16 << 10 // bytes of one result
)

// recallArguments are those of recall.
type recallArguments struct {
	Query string `json:"query" jsonschema:"what to look for, in the words of the answer"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many at most, 1 to 20; 8 unless given"`
}

type recaller struct{ kit }

func (k kit) recall() tool.Tool {
	return tool.Define(tool.Definition{
		Name: "recall", Title: "Look into memory", Description: recallText,
		About:  "Looks up facts, earlier conversations and notes.",
		Effect: agent.EffectRead, Family: tool.FamilyMemory,
	}, recaller{k})
}

func (recaller) check(a recallArguments) (query string, limit int, err error) {
	query = strings.TrimSpace(a.Query)
	switch {
	case query == "":
		return "", 0, agent.Errorf(agent.CodeInvalid, "There is nothing to look for.")
	case utf8.RuneCountInString(query) > maxQuery:
		return "", 0, agent.Errorf(agent.CodeInvalid, "The query is longer than %d characters. A few words do.", maxQuery)
	case a.Limit < 0 || a.Limit > maxRecall:
		return "", 0, agent.Errorf(agent.CodeInvalid, "limit is between 1 and %d.", maxRecall)
	case a.Limit == 0:
		return query, mostRecall, nil
	}
	return query, a.Limit, nil
}

// Plan implements tool.Handler.
func (r recaller) Plan(_ context.Context, _ tool.Env, a recallArguments) (tool.Plan, error) {
	query, _, err := r.check(a)
	return tool.Plan{Effect: agent.Effect{Kind: agent.EffectRead, Target: "memory", Text: query}}, err
}

// Run implements tool.Handler.
func (r recaller) Run(ctx context.Context, env tool.Env, a recallArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	query, limit, err := r.check(a)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	list, err := r.o.Recall.Recall(ctx, env.Thread, query, limit)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	if len(list) == 0 {
		return tool.Text("Nothing in memory matches. Other words may find it; otherwise it is not known."), nil
	}
	var b strings.Builder
	labels := tool.Private("memory")
	for i, m := range list[:min(len(list), limit)] {
		item := describe(m)
		if b.Len()+len(item) > maxRecalls {
			fmt.Fprintf(&b, "[%d more are left out: ask for less]\n", len(list)-i)
			break
		}
		b.WriteString(item)
		labels = labels.Union(m.Labels)
	}
	out := tool.Text(strings.TrimRight(b.String(), "\n"))
	out.Labels = labels
	return out, nil
}

// describe is one memory for the model.
func describe(m agent.Recollection) string {
	head := string(m.Kind)
	if m.Kind == agent.MemoryFact {
		head += " " + m.Ref
	}
	when := m.Said
	if when == "" && !m.Time.IsZero() {
		when = m.Time.Format(time.DateOnly)
	}
	for _, s := range []string{when, m.Source} {
		if s = oneLine(s); s != "" {
			head += " · " + agent.Clip(s, 160)
		}
	}
	if m.Labels.Untrusted() {
		head += " · not the person's own words"
	}
	text := m.Text
	if len(text) > maxItem {
		text = agent.Clip(text, maxItem) + " …"
	}
	return "[" + head + "]\n" + strings.TrimSpace(text) + "\n\n"
}
