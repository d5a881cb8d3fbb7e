package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"ash/agent"
)

// MaxArguments bounds the arguments of a call, in bytes of JSON.
const MaxArguments = 2 << 20

// arguments derives the schema of A and reads calls by it. Both are made when they are first needed: a start needs neither.
type arguments[A any] struct {
	schema   func() json.RawMessage
	resolved func() *jsonschema.Resolved
}

// newArguments promises both.
func newArguments[A any]() arguments[A] {
	return arguments[A]{
		schema: sync.OnceValue(func() json.RawMessage {
			raw, err := json.Marshal(schemaOf[A]())
			if err != nil {
				panic(fmt.Sprintf("tool: schema of %v: %v", reflect.TypeFor[A](), err))
			}
			return raw
		}),
		resolved: sync.OnceValue(func() *jsonschema.Resolved {
			resolved, err := schemaOf[A]().Resolve(nil)
			if err != nil {
				panic(fmt.Sprintf("tool: schema of %v: %v", reflect.TypeFor[A](), err))
			}
			return resolved
		}),
	}
}

// schemaOf makes the schema of A. It panics when there is none: a mistake in the program.
func schemaOf[A any]() *jsonschema.Schema {
	s, err := jsonschema.For[A](nil)
	if err != nil {
		panic(fmt.Sprintf("tool: no schema of %v: %v", reflect.TypeFor[A](), err))
	}
	plainTypes(s)
	return s
}

// plainTypes takes "or null" out of a schema: parse drops nulls anyway, and some providers refuse a list of types.
func plainTypes(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && slices.Contains(s.Types, "null") {
		i := slices.IndexFunc(s.Types, func(t string) bool { return t != "null" })
		s.Type, s.Types = s.Types[i], nil
	}
	for _, p := range s.Properties {
		plainTypes(p)
	}
	plainTypes(s.Items)
}

// parse reads what the model sent. Errors are CodeInvalid and say what to send instead.
func (a arguments[A]) parse(raw json.RawMessage) (A, error) {
	var out A
	if len(raw) > MaxArguments {
		return out, agent.Errorf(agent.CodeInvalid, "The arguments are too long: at most %d MB.", MaxArguments>>20)
	}
	var instance any
	if err := json.Unmarshal(raw, &instance); err != nil {
		return out, a.wrong("they are not JSON")
	}
	object, ok := instance.(map[string]any)
	if !ok {
		return out, a.wrong("they are not a JSON object")
	}
	dropNulls(object)
	if err := a.resolved().Validate(instance); err != nil {
		return out, a.wrong(plain(err))
	}
	tidy, err := json.Marshal(object)
	if err != nil {
		return out, a.wrong("they cannot be read")
	}
	d := json.NewDecoder(bytes.NewReader(tidy))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return out, a.wrong(plain(err))
	}
	return out, nil
}

// dropNulls takes out what is null: some models send that for what they leave out.
func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if v == nil {
				delete(value, name)
			}
			dropNulls(v)
		}
	case []any:
		for _, v := range value {
			dropNulls(v)
		}
	}
}

func (a arguments[A]) wrong(why string) error {
	return agent.Errorf(agent.CodeInvalid, "The arguments do not fit this tool: %s. Send an object like its schema: %s", why, a.schema())
}

// plain makes the validator's words fit for a model: the innermost reason, without the path through the schema.
func plain(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "/properties/"); i >= 0 {
		text = "argument " + text[i+len("/properties/"):]
	}
	text = strings.TrimPrefix(text, "validating root: ")
	text = strings.TrimPrefix(text, "json: ")
	return strings.TrimRight(agent.Clip(text, 300), ".")
}
