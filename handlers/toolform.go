package handlers

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/pages"
)

// property is what a JSON Schema says of one argument, as far as a form needs it.
type property struct {
	Type        schemaType        `json:"type"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Items       *property         `json:"items"`
}

// schemaType is "type": one name, or several of which null says nothing here.
type schemaType string

// UnmarshalJSON implements json.Unmarshaler.
func (t *schemaType) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = schemaType(one)
		return nil
	}
	var several []string
	if err := json.Unmarshal(raw, &several); err != nil {
		return err
	}
	several = slices.DeleteFunc(several, func(s string) bool { return s == "null" })
	if len(several) == 1 {
		*t = schemaType(several[0])
	}
	return nil
}

// schemaArguments reads the arguments of a tool from its schema, in their order. A part that cannot be read is given as JSON.
func schemaArguments(schema json.RawMessage) []pages.Argument {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	all, _ := members(s.Properties)
	var out []pages.Argument
	for _, m := range all {
		a := pages.Argument{Name: m.name, Type: "JSON", Input: pages.InputJSON, Required: slices.Contains(s.Required, m.name)}
		var p property
		if json.Unmarshal(m.raw, &p) == nil {
			a.About = p.Description
			p.describe(&a)
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b pages.Argument) int {
		switch {
		case a.Required && !b.Required:
			return -1
		case b.Required && !a.Required:
			return 1
		}
		return 0
	})
	return out
}

// longTexts are arguments that have lines, by name: a schema does not say.
var longTexts = [...]string{"command", "content", "text", "task", "old", "new", "body", "message"}

func (p property) describe(a *pages.Argument) {
	for _, e := range p.Enum {
		var s string
		if json.Unmarshal(e, &s) == nil {
			a.Choices = append(a.Choices, s)
		}
	}
	switch {
	case len(a.Choices) > 0:
		a.Type, a.Input = "one of "+strings.Join(a.Choices, ", "), pages.InputChoice
	case p.Type == "string":
		a.Type, a.Input = "text", pages.InputText
		if slices.Contains(longTexts[:], a.Name) {
			a.Input = pages.InputLong
		}
	case p.Type == "boolean":
		a.Type, a.Input = "yes or no", pages.InputYesNo
	case p.Type == "integer":
		a.Type, a.Input = "whole number", pages.InputNumber
	case p.Type == "number":
		a.Type, a.Input = "number", pages.InputNumber
	case p.Type == "array" && p.Items != nil && p.Items.Type == "string":
		a.Type, a.Input = "list of texts", pages.InputLines
	case p.Type == "array":
		a.Type = "list"
	}
}

// tried makes arguments of the form that the Tools page has for them. What is left empty is left out, unless it is required.
func tried(c echo.Context, arguments []pages.Argument) (json.RawMessage, error) {
	var all []member
	for _, a := range arguments {
		value, err := text(c, a.Field())
		if err != nil {
			return nil, err
		}
		if len(value) > maxToolField {
			return nil, agent.Errorf(agent.CodeInvalid, "“%s” is too long.", a.Name)
		}
		if value == "" && (!a.Required || a.Input != pages.InputText && a.Input != pages.InputLong) {
			continue // a required one is missed by the tool itself, in its own words
		}
		raw, err := argumentValue(a, value)
		if err != nil {
			return nil, err
		}
		all = append(all, member{a.Name, raw})
	}
	return object(all)
}

func argumentValue(a pages.Argument, value string) (json.RawMessage, error) {
	switch a.Input {
	case pages.InputText, pages.InputLong, pages.InputChoice:
		return json.Marshal(value)
	case pages.InputLines:
		var lines []string
		for l := range strings.Lines(value) {
			if l = strings.TrimSuffix(l, "\n"); l != "" {
				lines = append(lines, l)
			}
		}
		return json.Marshal(lines)
	}
	value = strings.TrimSpace(value)
	if !json.Valid([]byte(value)) {
		if a.Input == pages.InputNumber {
			return nil, agent.Errorf(agent.CodeInvalid, "“%s” is a number. Nothing was run.", a.Name)
		}
		return nil, agent.Errorf(agent.CodeInvalid, "What stands for “%s” is not JSON. Nothing was run.", a.Name)
	}
	return json.RawMessage(value), nil
}
