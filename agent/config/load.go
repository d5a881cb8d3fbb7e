package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ash/agent"
)

// FileName is the name of the settings file within the home.
const FileName = "config.toml"

// Options say where the layers are.
type Options struct {
	Home      string     // absolute, as Home returned it
	Environ   []string   // "NAME=value", as os.Environ returns it
	Overrides []Override // from flags, later ones winning
}

// Path returns the absolute path of the settings file.
func (o Options) Path() string { return filepath.Join(o.Home, FileName) }

// Snapshot is the settings at one moment: the values and where each came from.
// It never changes and may be shared.
type Snapshot struct {
	config  Config
	schema  *schema
	path    string
	version string
	texts   map[string][]string
	origins map[string]Origin
}

// Load reads all layers. Without a file the defaults hold.
//
// Errors: CodeInvalid with every problem found ([Problems]) for wrong keys and values, for a file that is too large, not
// UTF-8 or not TOML; CodeDenied for one that cannot be read or that others may write; CodeInvalid for one that is a folder or a link.
func Load(o Options) (*Snapshot, error) {
	data, err := readConfig(o.Path())
	if err != nil {
		return nil, err
	}
	return assemble(o, data)
}

// assemble makes a Snapshot of the file's content (nil: there is none) and the other layers.
func assemble(o Options, data []byte) (*Snapshot, error) {
	r := newReader(newSchema(), o.Home)
	doc, err := parseDocument(data)
	if err != nil {
		return nil, unreadable(o.Path(), err)
	}
	r.readFile(doc, o.Path())
	r.readEnv(o.Environ)
	if err := r.readFlags(o.Overrides); err != nil {
		return nil, err
	}
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	return &Snapshot{
		config: r.finish(), schema: r.schema,
		path: o.Path(), version: versionOf(data),
		texts: r.texts, origins: r.origins,
	}, nil
}

// unreadable turns a *syntaxError into the error for a person.
func unreadable(path string, err error) error {
	p := Problem{Source: path, Text: err.Error()}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		p.Line = syntax.line
	}
	return Problems{p}.err()
}

func versionOf(data []byte) string {
	if data == nil {
		return "none"
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Config returns the values.
func (s *Snapshot) Config() Config { return s.config }

// Path returns where the settings file is, or would be.
func (s *Snapshot) Path() string { return s.path }

// Version names the content of the file: an edit that gives it is refused when the file
// has changed in between.
func (s *Snapshot) Version() string { return s.version }

// Origin returns where the value of key came from; a default for a key that is not set or not known.
func (s *Snapshot) Origin(key string) Origin {
	if o, ok := s.origins[s.canonical(key)]; ok {
		return o
	}
	return Origin{Layer: LayerDefault}
}

// Setting is the value of one key.
type Setting struct {
	Key    Key    // its declaration
	Name   string // the key itself, such as "providers.groq.kind"
	Value  string // in text form; "" when it is not set and has no default
	Origin Origin
}

// Setting returns the value of one key. CodeNotFound for a key, a provider or a
// catalog entry that does not exist.
func (s *Snapshot) Setting(key string) (Setting, error) {
	p, err := s.schema.resolve(key)
	if err != nil {
		return Setting{}, err
	}
	if p.field == nil {
		return Setting{}, agent.Errorf(agent.CodeNotFound, "%s is a whole section; name one of its keys, such as %s.%s.", p, p, p.section.fields[0].leaf)
	}
	if !slices.Contains(s.names(p.section), p.name) {
		return Setting{}, agent.Errorf(agent.CodeNotFound, "Nothing is set under %s.", place{section: p.section, name: p.name})
	}
	return s.setting(p), nil
}

func (s *Snapshot) setting(p place) Setting {
	name := p.String()
	out := Setting{Key: p.field.Key, Name: name, Value: p.field.Default, Origin: Origin{Layer: LayerDefault}}
	if items, ok := s.texts[name]; ok {
		out.Value, out.Origin = join(items), s.origins[name]
	}
	return out
}

// Settings returns every key of every section with its value, those of providers
// sorted by name, those of catalog entries in the order of the file.
func (s *Snapshot) Settings() []Setting {
	var out []Setting
	for _, sec := range s.schema.sections {
		for _, name := range s.names(sec) {
			for _, f := range sec.fields {
				out = append(out, s.setting(place{section: sec, name: name, field: f}))
			}
		}
	}
	return out
}

// names returns what the sections of one kind are called; a plain section has
// one, called "".
func (s *Snapshot) names(sec *section) []string {
	var names []string
	switch sec.shape {
	case plain:
		return []string{""}
	case named:
		for name := range s.config.Providers {
			names = append(names, name)
		}
		slices.Sort(names)
	case listed:
		for _, e := range s.config.Catalog {
			names = append(names, e.Ref.String())
		}
	}
	return names
}

// canonical returns key as origins and texts have it.
func (s *Snapshot) canonical(key string) string {
	if _, ok := s.origins[key]; ok {
		return key
	}
	if p, err := s.schema.resolve(key); err == nil {
		return p.String()
	}
	return key
}

// fixed returns where the environment or a flag decides p or, for a section,
// any key of it; ok is false when neither does.
func (s *Snapshot) fixed(p place) (key string, from Origin, ok bool) {
	want := p.String()
	for name, o := range s.origins {
		below := p.field == nil && strings.HasPrefix(name, want+".")
		if o.Fixed() && (name == want || below) {
			return name, o, true
		}
	}
	return "", Origin{}, false
}

func userHome() (string, error) {
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("your home folder (~) is not known here")
	}
	return dir, nil
}
