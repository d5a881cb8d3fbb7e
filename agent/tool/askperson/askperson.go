// Package askperson is the tool with which the assistant asks the person something. It never runs: its call
// waits, and the person's choice or message becomes its result (see agent/decide.go).
package askperson

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/tool"
)

//go:embed askperson.md
var description string

// Name is what the model calls the tool.
const Name = "ask_person"

// Bounds.
const (
	MaxQuestion = 4000 // characters
	MaxChoices  = 6
	MaxChoice   = 200 // characters
)

// Arguments are what the model sends.
type Arguments struct {
	Question string   `json:"question" jsonschema:"the question, in the person's language"`
	Choices  []string `json:"choices,omitempty" jsonschema:"up to 6 short answers to pick from; leave it out for an open question"`
}

// New returns the tool.
func New() tool.Tool {
	return tool.Define(tool.Definition{
		Name: Name, Title: "Ask you a question", Description: description,
		About:  "Asks you something in the conversation and waits for your answer.",
		Effect: agent.EffectAsk, Family: tool.FamilyPerson,
	}, askPerson{})
}

type askPerson struct{}

// Plan implements tool.Handler.
func (askPerson) Plan(_ context.Context, _ tool.Env, a Arguments) (tool.Plan, error) {
	question := strings.TrimSpace(a.Question)
	switch {
	case question == "":
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "There is no question.")
	case utf8.RuneCountInString(question) > MaxQuestion:
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "The question is longer than %d characters. Tell what you must before it, and ask briefly.", MaxQuestion)
	}
	choices := make([]string, 0, len(a.Choices))
	for _, c := range a.Choices {
		c = strings.Join(strings.Fields(c), " ")
		switch {
		case c == "" || slices.Contains(choices, c):
			continue
		case utf8.RuneCountInString(c) > MaxChoice:
			return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "A choice is longer than %d characters. Explain the choices in the question and keep their names short.", MaxChoice)
		}
		choices = append(choices, c)
	}
	switch {
	case len(choices) > MaxChoices:
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "There are %d choices; at most %d. Leave out the least likely: the person can write another answer.", len(choices), MaxChoices)
	case len(choices) == 1:
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "One choice is none. Name at least two, or leave choices out.")
	case len(choices) == 0:
		choices = nil
	}
	return tool.Plan{Effect: agent.Effect{Kind: agent.EffectAsk, Text: question, Choices: choices}}, nil
}

// Run implements tool.Handler. It is only reached when something let the call through that ought to have waited.
func (askPerson) Run(context.Context, tool.Env, Arguments, tool.Progress) (agent.ToolOutcome, error) {
	return agent.ToolOutcome{}, agent.Errorf(agent.CodeInternal, "This question was never put to the person. Ask it in your answer instead.")
}
