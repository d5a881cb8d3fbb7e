package config

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"ash/agent"
)

// change is a Change that was found to make sense.
type change struct {
	place
	items  []string // the new value
	remove bool
}

// splice returns data with one change made and every other byte as it was. The
// result is known to say what data says, but for the change.
func splice(data []byte, c change) ([]byte, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	e := &editor{doc: doc, eol: "\n"}
	if i := bytes.IndexByte(doc.data, '\n'); i > 0 && doc.data[i-1] == '\r' {
		e.eol = "\r\n"
	}
	if c.remove {
		e.remove(c.place)
	} else {
		e.set(c.place, c.items)
	}
	out := e.apply(data[:len(data)-len(doc.data)])
	after, err := parseDocument(out)
	if err != nil || !sameBut(doc, after, c) {
		return nil, agent.Wrap(agent.CodeInvalid, err,
			"The way %s is written in the settings file cannot be edited in place. Change it there by hand, or give it a section of its own first.", c.place)
	}
	return out, nil
}

// editor gathers the replacements that make up a change.
type editor struct {
	doc  *document
	eol  string
	cuts []cut
}

// cut replaces a range of the document by text.
type cut struct {
	span
	text string
}

func (e *editor) cut(s span, text string) { e.cuts = append(e.cuts, cut{s, text}) }

// apply makes the replacements; mark is what stands before the document.
func (e *editor) apply(mark []byte) []byte {
	slices.SortFunc(e.cuts, func(a, b cut) int { return cmp.Compare(a.start, b.start) })
	out, at := bytes.Clone(mark), 0
	for _, c := range e.cuts {
		out = append(out, e.doc.data[at:c.start]...)
		out = append(out, c.text...)
		at = c.end
	}
	return append(out, e.doc.data[at:]...)
}

// locate returns the path of a place in the document, and which element of a list it is in;
// found is false for a catalog entry that is not there.
func (d *document) locate(p place) (path []string, index int, found bool) {
	path = []string{p.section.name}
	if p.section.shape == named {
		path = append(path, p.name)
	}
	if p.field != nil {
		path = append(path, p.field.leaf)
	}
	if p.section.shape != listed {
		return path, 0, true
	}
	index = slices.Index(d.refs(), p.name)
	return path, index, index >= 0
}

// refs returns what the catalog entries are called, "" where that is not known.
func (d *document) refs() []string {
	entries, _ := d.tree["catalog"].([]any)
	refs := make([]string, len(entries))
	for i := range entries {
		text, _ := d.value([]string{"catalog", "ref"}, i).(string)
		if ref, err := parseRef(text); err == nil {
			refs[i] = ref.String()
		}
	}
	return refs
}

func (e *editor) set(p place, items []string) {
	literal := p.field.literal(items)
	path, index, found := e.doc.locate(p)
	if !found {
		e.newSection(p, literal)
		return
	}
	for _, it := range e.doc.items {
		if !it.is(path, index) {
			continue
		}
		if e.doc.says(p, items) {
			return
		}
		if it.kind == unstable.Array && p.field.Type == TypeList {
			literal = e.rewriteList(it.value, items)
		}
		e.cut(it.value, literal)
		return
	}
	if !e.insert(path, index, literal) {
		e.newSection(p, literal)
	}
}

// says reports whether the document gives the key at p this value.
func (d *document) says(p place, items []string) bool {
	path, index, found := d.locate(p)
	if !found {
		return false
	}
	now, err := p.field.fromTOML(d.value(path, index))
	return err == nil && p.field.literal(now) == p.field.literal(items)
}

func (it item) is(path []string, index int) bool {
	return it.index == index && slices.Equal(it.path, path)
}

// insert adds a key to a section that is there already, in whichever of its ways
// TOML has it written; it reports whether there was one.
func (e *editor) insert(path []string, index int, literal string) bool {
	parent, leaf := path[:len(path)-1], path[len(path)-1]
	for i, h := range e.doc.headers {
		if i > 0 && h.index == index && slices.Equal(h.path, parent) {
			e.insertUnder(i, leaf, literal)
			return true
		}
	}
	for _, it := range slices.Backward(e.doc.items) {
		inside := len(it.path) == len(path) && slices.Equal(it.path[:len(parent)], parent) && it.index == index
		switch {
		case inside && it.parent >= 0:
			e.cut(span{it.value.end, it.value.end}, ", "+leaf+" = "+literal)
			return true
		case inside:
			// Written server.listen = …, without a header: the new key goes the same way.
			key := dotted(path[len(e.doc.headers[it.header].path):])
			e.insertLine(e.doc.lineEnd(it.value.end), e.indent(it.key.start)+key+" = "+literal)
			return true
		case it.kind == unstable.InlineTable && it.is(parent, index):
			e.cut(span{it.value.start + 1, it.value.start + 1}, " "+leaf+" = "+literal+" ")
			return true
		}
	}
	return false
}

// insertUnder adds a key to the section that header number h opens: below the
// commented-out default if there is one, else after its last key.
func (e *editor) insertUnder(h int, leaf, literal string) {
	head := e.doc.headers[h]
	at, like := head.line.end, head.line.start
	for _, it := range e.doc.items {
		if it.header == h && it.parent < 0 {
			at, like = e.doc.lineEnd(it.value.end), it.key.start
		}
	}
	for _, c := range e.doc.comments {
		if c.header != h {
			continue
		}
		text := strings.TrimLeft(string(e.doc.data[c.start:c.end]), "# \t")
		if strings.HasPrefix(text, "[") {
			break // a section that is commented out: what follows is not of this one
		}
		rest, ok := strings.CutPrefix(text, leaf)
		if ok && strings.HasPrefix(strings.TrimLeft(rest, " \t"), "=") {
			at, like = e.doc.lineEnd(c.start), c.start
			break
		}
	}
	e.insertLine(at, e.indent(like)+leaf+" = "+literal)
}

// insertLine puts a line at offset, which is the beginning of a line or the end
// of a file whose last line may lack its end.
func (e *editor) insertLine(offset int, line string) {
	if offset > 0 && e.doc.data[offset-1] != '\n' {
		line = e.eol + line
	}
	e.cut(span{offset, offset}, line+e.eol)
}

// indent returns the blanks that begin the line with offset.
func (e *editor) indent(offset int) string {
	line := e.doc.data[e.doc.lineAround(offset).start:offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// newSection adds the section of p with the one key: after the last of its kind, or at the end.
func (e *editor) newSection(p place, literal string) {
	var lines []string
	switch p.section.shape {
	case plain:
		lines = append(lines, "["+p.section.name+"]")
	case named:
		lines = append(lines, "["+p.section.name+"."+p.name+"]")
	case listed:
		lines = append(lines, "[["+p.section.name+"]]")
		if p.field.leaf != "ref" {
			lines = append(lines, "ref = "+quote(p.name))
		}
	}
	lines = append(lines, p.field.leaf+" = "+literal)
	at := len(e.doc.data)
	for i, h := range slices.Backward(e.doc.headers) {
		if i > 0 && h.path[0] == p.section.name {
			at = e.blockEnd(i)
			break
		}
	}
	if at > 0 {
		lines = slices.Insert(lines, 0, "")
	}
	e.insertLine(at, strings.Join(lines, e.eol))
}

// blockEnd returns where the section of header number h ends: after its last key and the comment
// lines right below.
func (e *editor) blockEnd(h int) int {
	end := e.lastKeyEnd(h)
	for _, c := range e.doc.comments {
		if line := e.doc.lineAround(c.start); c.header == h && line.start == end {
			end = line.end
		}
	}
	return end
}

func (e *editor) lastKeyEnd(h int) int {
	end := e.doc.headers[h].line.end
	for _, it := range e.doc.items {
		if it.header == h && it.parent < 0 {
			end = e.doc.lineEnd(it.value.end)
		}
	}
	return end
}

func dotted(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = bareOrQuoted(p)
	}
	return strings.Join(parts, ".")
}
