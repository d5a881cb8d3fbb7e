package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"ash/agent"
)

// reader builds a Config layer by layer and gathers what is wrong.
type reader struct {
	schema    *schema
	home      string
	config    Config
	providers map[string]*Provider
	catalog   []*CatalogEntry
	rows      map[string]*CatalogEntry // of catalog, by ref
	texts     map[string][]string      // canonical key → value, for keys that a layer sets
	origins   map[string]Origin
	problems  Problems
}

func newReader(s *schema, home string) *reader {
	r := &reader{
		schema: s, home: home,
		providers: make(map[string]*Provider),
		rows:      make(map[string]*CatalogEntry),
		texts:     make(map[string][]string),
		origins:   make(map[string]Origin),
	}
	root := reflect.ValueOf(&r.config).Elem()
	for _, sec := range s.sections {
		if sec.shape == plain {
			sec.fillDefaults(root.Field(sec.index), home)
		}
	}
	return r
}

// put sets one key from one layer.
func (r *reader) put(p place, items []string, from Origin) {
	dst := r.row(p).Field(p.field.index)
	if err := p.field.assign(dst, items, r.home); err != nil {
		r.problem(from, p.String(), err.Error(), p.field.Allowed)
		return
	}
	key := p.String()
	r.texts[key] = items
	r.origins[key] = from
}

func (r *reader) problem(from Origin, key, text, allowed string) {
	r.problems = append(r.problems, Problem{Source: from.Source, Line: from.Line, Key: key, Text: text, Allowed: allowed})
}

// row returns the struct that holds the section of p, making it when it is a
// provider or catalog entry not seen before.
func (r *reader) row(p place) reflect.Value {
	switch p.section.shape {
	case named:
		if r.providers[p.name] == nil {
			provider := r.schema.defaultProvider()
			r.providers[p.name] = &provider
		}
		return reflect.ValueOf(r.providers[p.name]).Elem()
	case listed:
		if r.rows[p.name] == nil {
			entry := new(CatalogEntry)
			r.rows[p.name] = entry
			r.catalog = append(r.catalog, entry)
		}
		return reflect.ValueOf(r.rows[p.name]).Elem()
	}
	return reflect.ValueOf(&r.config).Elem().Field(p.section.index)
}

// finish returns the whole Config.
func (r *reader) finish() Config {
	c := r.config
	c.Providers = make(map[string]Provider, len(r.providers))
	for name, p := range r.providers {
		c.Providers[name] = *p
	}
	for _, e := range r.catalog {
		c.Catalog = append(c.Catalog, *e)
	}
	return c
}

// readFile takes in what the document says. path names it in messages.
func (r *reader) readFile(d *document, path string) {
	f := &fileReader{reader: r, doc: d, path: path, refs: make(map[int]string)}
	f.findRefs()
	for i := range d.headers {
		if len(r.problems) >= maxJudged {
			return
		}
		f.header(d.headers[i])
	}
	for i := range d.items {
		if len(r.problems) >= maxJudged {
			return
		}
		f.item(d.items[i])
	}
}

// maxJudged bounds the problems looked for in a file: something that is no settings file at
// all has as many as lines.
const maxJudged = 200

// fileReader is the part of reading that knows of lines.
type fileReader struct {
	*reader
	doc    *document
	path   string
	refs   map[int]string // of the catalog entries, by their index
	judged [][]string     // paths a problem was reported for: silence for what is below
}

func (f *fileReader) at(offset int) Origin {
	return Origin{Layer: LayerFile, Source: f.path, Line: f.doc.line(offset)}
}

// findRefs learns what the catalog entries are called: every other key of an
// entry is placed by its ref, wherever that stands.
func (f *fileReader) findRefs() {
	seen := make(map[string]bool)
	ref := func(index, offset int) {
		if _, ok := f.refs[index]; ok {
			return
		}
		text, _ := f.doc.value([]string{"catalog", "ref"}, index).(string)
		parsed, err := parseRef(text)
		text = parsed.String()
		switch {
		case err != nil:
			f.problem(f.at(offset), "catalog", "an entry needs a ref that names the model", `ref = "provider/model"`)
		case seen[text]:
			f.problem(f.at(offset), "catalog", "a second entry for "+shown(text), "one entry for each model")
			text = ""
		}
		seen[text] = true
		f.refs[index] = text
	}
	for _, h := range f.doc.headers {
		if h.list && slices.Equal(h.path, []string{"catalog"}) {
			ref(h.index, h.line.start)
		}
	}
	for _, it := range f.doc.items {
		if len(it.path) == 2 && it.path[0] == "catalog" && it.index >= 0 {
			ref(it.index, it.key.start)
		}
	}
}

// header judges a [section] line: one without keys would not be noticed otherwise.
func (f *fileReader) header(h header) {
	if len(h.path) == 0 {
		return
	}
	f.section(h.path, h.list, h.line.start)
}

// section checks that a table may stand at path, and makes the provider it names.
func (f *fileReader) section(path []string, list bool, offset int) {
	if f.silenced(path) {
		return
	}
	sec := f.schema.section(path[0])
	depth := 1
	if sec != nil && sec.shape == named {
		depth = 2
	}
	switch {
	case sec == nil || len(path) > depth:
		f.stranger(path, offset, "unknown section")
	case sec.shape == listed && !list:
		f.judge(path, offset, "one section where there is a list of them", "[["+sec.name+"]]")
	case sec.shape != listed && list:
		f.judge(path, offset, "a list of sections where there is one", "["+strings.Join(path, ".")+"]")
	case sec.shape == named && len(path) == 2:
		if err := checkProviderName(path[1]); err != nil {
			f.judge(path, offset, err.Error(), "")
			return
		}
		f.row(place{section: sec, name: path[1]})
	}
}

func (f *fileReader) item(it item) {
	if f.silenced(it.path) {
		return
	}
	sec := f.schema.section(it.path[0])
	switch {
	case sec == nil:
		f.stranger(it.path, it.key.start, "unknown key")
	case len(it.path) < sec.depth():
		f.container(sec, it)
	default:
		f.leaf(sec, it)
	}
}

// depth is the length of the path of a key.
func (s *section) depth() int {
	if s.shape == named {
		return 3
	}
	return 2
}

// container judges a value that stands where a section belongs.
func (f *fileReader) container(sec *section, it item) {
	isTable := it.kind == unstable.InlineTable
	isList := it.kind == unstable.Array && sec.shape == listed
	if !isTable && !isList {
		f.judge(it.path, it.key.start, "a value where a section belongs", "")
		return
	}
	if entries, _ := f.doc.value(it.path, it.index).([]any); slices.ContainsFunc(entries, notTable) {
		f.judge(it.path, it.key.start, "a value where a section belongs", "[["+sec.name+"]]")
		return
	}
	f.section(it.path, isList, it.key.start)
}

func notTable(v any) bool {
	_, ok := v.(map[string]any)
	return !ok
}

func (f *fileReader) leaf(sec *section, it item) {
	if sec.shape == named {
		// A dotted key makes a section too.
		f.section(it.path[:2], false, it.key.start)
		if f.silenced(it.path) {
			return
		}
	}
	p := place{section: sec, field: sec.field(it.path[sec.depth()-1])}
	if p.field == nil || len(it.path) > sec.depth() {
		f.stranger(it.path, it.key.start, "unknown key")
		return
	}
	switch sec.shape {
	case named:
		p.name = it.path[1]
	case listed:
		if p.name = f.refs[it.index]; p.name == "" {
			return // reported with the entry
		}
	}
	from := f.at(it.key.start)
	items, err := p.field.fromTOML(f.doc.value(it.path, it.index))
	if err != nil {
		f.problem(from, p.String(), err.Error(), p.field.Allowed)
		f.judged = append(f.judged, it.path)
		return
	}
	f.put(p, items, from)
}

// stranger reports something that does not exist.
func (f *fileReader) stranger(path []string, offset int, what string) {
	key := strings.Join(path, ".")
	leaf := strings.ToLower(path[len(path)-1])
	sep := func(word string) bool { return strings.Contains(leaf, word) }
	if slices.ContainsFunc([]string{"key", "token", "secret", "password"}, sep) && len(path) > 1 && path[0] == "providers" {
		what += "; keys do not stand in this file: name the secret of the vault in key_secret, the variable in key_env or the file in key_file"
	} else {
		what += didYouMean(f.schema.suggest(key))
	}
	parts := make([]string, len(path))
	for i, part := range path {
		parts[i] = bareOrShown(part)
	}
	f.problem(f.at(offset), strings.Join(parts, "."), what, "")
	f.judged = append(f.judged, path)
}

func (f *fileReader) judge(path []string, offset int, text, allowed string) {
	f.problem(f.at(offset), strings.Join(path, "."), text, allowed)
	f.judged = append(f.judged, path)
}

// silenced reports whether a problem was already reported for path or what holds it.
func (f *fileReader) silenced(path []string) bool {
	return slices.ContainsFunc(f.judged, func(j []string) bool {
		return len(j) <= len(path) && slices.Equal(j, path[:len(j)])
	})
}

// readEnv takes in the variables of environ ("NAME=value") that name settings.
// An empty one counts as not set.
func (r *reader) readEnv(environ []string) {
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || value == "" {
			continue
		}
		from := Origin{Layer: LayerEnv, Source: name}
		p, known, ours := r.schema.placeOfEnv(name)
		switch {
		case known:
			r.put(p, p.field.split(value), from)
		case ours:
			r.problem(from, "", "no setting has this variable"+didYouMean(r.schema.suggestEnv(name)), "")
		}
	}
}

// placeOfEnv finds the setting of a variable. ours reports whether the name could be
// meant for Ash's settings at all: other programs may use the prefix too.
func (s *schema) placeOfEnv(name string) (p place, known, ours bool) {
	for _, sec := range s.sections {
		prefix := envName(sec.name) + "_"
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || sec.shape == listed {
			continue
		}
		ours = true
		for _, f := range sec.fields {
			if sec.shape == plain && name == f.Env {
				return place{section: sec, field: f}, true, true
			}
			id, ok := strings.CutSuffix(rest, "_"+strings.ToUpper(f.leaf))
			if sec.shape != named || !ok {
				continue
			}
			id = strings.ToLower(strings.ReplaceAll(id, "_", "-"))
			if checkProviderName(id) == nil {
				return place{section: sec, name: id, field: f}, true, true
			}
		}
	}
	return place{}, false, ours
}

func (s *schema) suggestEnv(name string) string {
	var names []string
	for _, sec := range s.sections {
		for _, f := range sec.fields {
			names = append(names, f.Env)
		}
	}
	return nearest(name, names)
}

// Override is a value given on the command line.
type Override struct {
	Key   string // such as "server.listen"
	Value string // in text form
	Flag  string // what the person typed, such as "--listen"
}

// readFlags takes in the overrides. A key that does not exist is a defect of the caller, and reported as such.
func (r *reader) readFlags(overrides []Override) error {
	for _, o := range overrides {
		p, err := r.schema.resolve(o.Key)
		if err == nil && p.field == nil {
			err = fmt.Errorf("%s is a whole section", o.Key)
		}
		if err != nil {
			return agent.Wrap(agent.CodeInternal, err, "The flag %s stands for a setting that does not exist.", o.Flag)
		}
		r.put(p, p.field.split(o.Value), Origin{Layer: LayerFlag, Source: o.Flag})
	}
	return nil
}
