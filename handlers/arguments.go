package handlers

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
)

// maxFields is how many arguments are edited in a field each; more are edited as JSON.
const maxFields = 12

// The beginnings of form fields with an argument each.
const (
	textField = "text."
	jsonField = "json."
	allField  = "arguments"
)

// arguments shows what the model asked for, exactly: the one text of an object that
// holds nothing else as it stands, other JSON indented, and what was no JSON as it came.
func arguments(raw json.RawMessage) string {
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		return *text
	}
	if all, ok := members(raw); ok && len(all) == 1 {
		if only, ok := all[0].text(); ok {
			return only
		}
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// member is one argument as it stands in the object.
type member struct {
	name string
	raw  json.RawMessage
}

func (m member) text() (string, bool) {
	var s *string
	if json.Unmarshal(m.raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// members reads an object's members in their order. ok is false for what is no object, and for one in which
// a key stands twice: as a map, it would hide one of its values.
func members(raw json.RawMessage) (all []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		name, isText := key.(string)
		var value json.RawMessage
		if err != nil || !isText || d.Decode(&value) != nil {
			return nil, false
		}
		if slices.ContainsFunc(all, func(m member) bool { return m.name == name }) {
			return nil, false
		}
		all = append(all, member{name, value})
	}
	return all, true
}

// fields makes the form in which the person edits arguments: a field each, or one with all of them as JSON.
func fields(raw json.RawMessage) []components.Field {
	all, ok := members(raw)
	if !ok || len(all) > maxFields {
		return []components.Field{{Name: allField, Value: arguments(raw), JSON: true, Tall: true}}
	}
	out := make([]components.Field, 0, len(all))
	for _, m := range all {
		f := components.Field{Name: jsonField + m.name, Label: m.name, Value: string(m.raw), JSON: true}
		if text, ok := m.text(); ok {
			f.Name, f.Value, f.JSON = textField+m.name, text, false
		}
		if len(all) == 1 && !f.JSON {
			f.Label = ""
		}
		out = append(out, f)
	}
	return out
}

// edited reads the form that fields made and returns the arguments as the person wants them, nil when they are
// as the model asked. A text that differs only in line ends, which forms do not keep, was not changed.
func edited(c echo.Context, asked json.RawMessage) (json.RawMessage, error) {
	if err := ParseForm(c.Request()); err != nil {
		return nil, err
	}
	form := c.Request().PostForm
	if form.Has(allField) {
		whole, err := text(c, allField)
		if err != nil || strings.TrimSpace(whole) == strings.TrimSpace(arguments(asked)) {
			return nil, err
		}
		if !json.Valid([]byte(whole)) {
			return nil, agent.Errorf(agent.CodeInvalid, "These arguments are not JSON. Nothing was decided.")
		}
		return json.RawMessage(whole), nil
	}
	all, ok := members(asked)
	if !ok {
		return nil, agent.Errorf(agent.CodeInvalid, "These arguments can only be edited as a whole.")
	}
	changed := false
	for i, m := range all {
		value, err := editedMember(c, m)
		if err != nil {
			return nil, err
		}
		if value != nil {
			all[i].raw, changed = value, true
		}
	}
	if !changed {
		return nil, nil
	}
	return object(all)
}

// editedMember returns the new value of an argument, nil when it is as it was.
func editedMember(c echo.Context, m member) (json.RawMessage, error) {
	form := c.Request().PostForm
	if was, ok := m.text(); ok && form.Has(textField+m.name) {
		now, err := text(c, textField+m.name)
		if plain, _ := clean(was); err != nil || now == plain {
			return nil, err
		}
		return json.Marshal(now)
	}
	if !form.Has(jsonField + m.name) {
		return nil, nil
	}
	now, err := text(c, jsonField+m.name)
	if now = strings.TrimSpace(now); err != nil || now == strings.TrimSpace(string(m.raw)) {
		return nil, err
	}
	if !json.Valid([]byte(now)) {
		return nil, agent.Errorf(agent.CodeInvalid, "What stands for “%s” is not JSON: a number, true, false, a list, or a text in quotes. Nothing was decided.", m.name)
	}
	return json.RawMessage(now), nil
}

// object writes members as JSON, in their order.
func object(all []member) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.raw)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// bindings reads what one decision covers: the calls by id, each with what was shown of it.
func bindings(c echo.Context) (map[agent.ID]string, error) {
	if err := ParseForm(c.Request()); err != nil {
		return nil, err
	}
	out := map[agent.ID]string{}
	prefix := components.BindingField("")
	for _, name := range slices.Sorted(maps.Keys(c.Request().PostForm)) {
		if call, ok := strings.CutPrefix(name, prefix); ok {
			binding, err := line(c, name, 200)
			if err != nil {
				return nil, err
			}
			out[agent.ID(call)] = binding
		}
	}
	return out, nil
}
