package config

import (
	"fmt"
	"strconv"
	"strings"

	"ash/agent"
)

// Type is the type of a value as a person thinks of it.
type Type string

// The types.
const (
	TypeText     Type = "text"
	TypeInteger  Type = "integer"
	TypeNumber   Type = "number"
	TypeBoolean  Type = "boolean"
	TypeDuration Type = "duration"
	TypeDollars  Type = "dollars"
	TypeList     Type = "list" // of texts
)

// Key describes one setting.
type Key struct {
	Name    string   // "server.listen"; "providers.NAME.kind" and "catalog.REF.title" stand for many
	Type    Type     // of the value
	Default string   // in text form; "" when there is none
	Unset   string   // what holds without a value, when there is no default
	Sample  string   // a value to show, in text form
	Allowed string   // what may be written, in words
	Choices []string // the allowed words, when they are few
	Doc     string   // what it means
	Env     string   // the environment variable that sets it; "" when none does
	Restart bool     // a change takes effect at the next start only
}

// Keys returns every setting there is, in the order of the annotated example.
func Keys() []Key {
	var keys []Key
	for _, s := range newSchema().sections {
		for _, f := range s.fields {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// Layer is where a value can come from.
type Layer string

// The layers, weakest first.
const (
	LayerDefault Layer = "default"
	LayerFile    Layer = "file"
	LayerEnv     Layer = "env"
	LayerFlag    Layer = "flag"
)

// Origin is where the value that holds came from.
type Origin struct {
	Layer  Layer
	Source string // path of the file, name of the variable, or the flag; "" for a default
	Line   int    // in the file; 0 otherwise
}

// Fixed reports whether saving the key to the file would change nothing,
// because the environment or a flag decides.
func (o Origin) Fixed() bool { return o.Layer == LayerEnv || o.Layer == LayerFlag }

// String returns "default", "/path/config.toml:12", "ASH_SERVER_LISTEN" or "--listen".
func (o Origin) String() string {
	switch {
	case o.Layer == LayerDefault || o.Layer == "":
		return string(LayerDefault)
	case o.Line > 0:
		return o.Source + ":" + strconv.Itoa(o.Line)
	}
	return o.Source
}

// place is a key resolved against the schema: a field of a section, or, with
// field nil, a whole provider or catalog entry.
type place struct {
	section *section
	name    string // the provider's name or the model's ref; "" in a plain section
	field   *field
}

// String returns the key in its canonical form: what a dotted TOML key would be.
func (p place) String() string {
	parts := []string{p.section.name}
	if p.section.shape != plain {
		parts = append(parts, bareOrQuoted(p.name))
	}
	if p.field != nil {
		parts = append(parts, p.field.leaf)
	}
	return strings.Join(parts, ".")
}

// resolve finds the place that key names. The middle part of providers.NAME.x and
// catalog.REF.x may be quoted and has to be only where it would be read wrongly.
// CodeNotFound, with a suggestion where there is a near one, for a key that does not exist.
func (s *schema) resolve(key string) (place, error) {
	head, rest, dotted := strings.Cut(key, ".")
	sec := s.section(head)
	if sec == nil || !dotted {
		return place{}, s.unknown(key)
	}
	if sec.shape == plain {
		if f := sec.field(rest); f != nil {
			return place{section: sec, field: f}, nil
		}
		return place{}, s.unknown(key)
	}
	name, leaf, err := cutName(sec, rest)
	if err != nil {
		return place{}, agent.Errorf(agent.CodeNotFound, "There is no setting %s: %v.", shown(key), err)
	}
	p := place{section: sec, name: name}
	if err := sec.checkName(name); err != nil {
		return place{}, agent.Errorf(agent.CodeInvalid, "%s is not a setting: %v.", shown(key), err)
	}
	if leaf == "" {
		return p, nil
	}
	if p.field = sec.field(leaf); p.field == nil {
		return place{}, s.unknown(key)
	}
	return p, nil
}

// cutName splits what follows "providers." or "catalog." into the name and the
// key within the section, which is "" for the section as a whole.
func cutName(sec *section, rest string) (name, leaf string, err error) {
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", "", fmt.Errorf("the quotes do not close")
		}
		name, err = strconv.Unquote(quoted)
		if err != nil {
			return "", "", fmt.Errorf("the quoted part cannot be read")
		}
		rest = rest[len(quoted):]
		if rest != "" && !strings.HasPrefix(rest, ".") {
			return "", "", fmt.Errorf("a dot must follow the quotes")
		}
		return name, strings.TrimPrefix(rest, "."), nil
	}
	dot := strings.LastIndexByte(rest, '.')
	// Names of models hold dots themselves, so the last part is a key only if it is one.
	if dot < 0 || sec.shape == listed && sec.field(rest[dot+1:]) == nil {
		return rest, "", nil
	}
	return rest[:dot], rest[dot+1:], nil
}

// bareOrQuoted returns a part of a dotted key as TOML has it.
func bareOrQuoted(part string) string {
	if part != "" && strings.IndexFunc(part, notBare) < 0 {
		return part
	}
	return quote(part)
}

func notBare(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
		return false
	}
	return true
}
