package markdown

import (
	"hash/maphash"
	"strconv"

	"github.com/yuin/goldmark/parser"
)

// document holds what the blocks of one message know of each other: link definitions and footnotes.
type document struct {
	prefix string
	seed   maphash.Seed
	refs   map[string]parser.Reference
	// byHash has the definitions by the hash of their label, for asking which blocks a late one concerns.
	byHash  map[uint64]struct{}
	notes   map[string]*note
	defined []*note // in the order of their definitions
	cited   []*note // in the order of their first reference, which numbers them
	closing bool    // every definition is known: footnotes are resolved
}

// note is a footnote.
type note struct {
	body   string
	number int // 1… once cited
	cites  int // how often
}

func newDocument(prefix string) *document {
	return &document{prefix: prefix, seed: maphash.MakeSeed()}
}

// define keeps the link definitions of a finished block; the first of a name wins.
func (d *document) define(refs map[string]parser.Reference) {
	if len(refs) > 0 && d.refs == nil {
		d.refs = make(map[string]parser.Reference)
		d.byHash = make(map[uint64]struct{})
	}
	for label, ref := range refs {
		if _, ok := d.refs[label]; !ok {
			d.refs[label] = ref
			d.byHash[maphash.String(d.seed, label)] = struct{}{}
		}
	}
}

// defineNote keeps a footnote's definition; the first of a label wins.
func (d *document) defineNote(label, body string) {
	if d.notes == nil {
		d.notes = make(map[string]*note)
	}
	if d.notes[label] == nil {
		n := &note{body: body}
		d.notes[label] = n
		d.defined = append(d.defined, n)
	}
}

// cite counts a reference to a footnote and numbers the note at its first.
func (d *document) cite(n *note) {
	n.cites++
	if n.number == 0 {
		d.cited = append(d.cited, n)
		n.number = len(d.cited)
	}
}

// concerns says whether a definition that came after a block would change it.
func (d *document) concerns(b *block) bool {
	if b.cites && len(d.notes) > 0 {
		return true
	}
	for _, h := range b.misses {
		if _, ok := d.byHash[h]; ok {
			return true
		}
	}
	return false
}

// blockID is the id of the n-th block's element.
func (d *document) blockID(n int) string {
	return d.prefix + "-" + strconv.FormatInt(int64(n), 36)
}

// scope is one block's view of its document while it is parsed. It remembers which definitions were asked for and missing, so that
// a block is rendered again only if one of them turns up, and it bounds the work spent in one run of text.
type scope struct {
	parser.Context
	doc    *document
	refs   map[string]parser.Reference // defined in this block
	misses []uint64
	cites  bool // holds what may be a footnote's reference
	limits limits
}

func newScope(doc *document) *scope {
	return &scope{Context: parser.NewContext(), doc: doc}
}

// AddReference implements parser.Context.
func (s *scope) AddReference(ref parser.Reference) {
	label := linkLabel(ref.Label())
	if s.refs == nil {
		s.refs = make(map[string]parser.Reference)
	}
	if _, ok := s.refs[label]; !ok {
		s.refs[label] = ref
	}
}

// Reference implements parser.Context.
func (s *scope) Reference(label string) (parser.Reference, bool) {
	if ref, ok := s.doc.refs[label]; ok {
		return ref, true
	}
	if ref, ok := s.refs[label]; ok {
		return ref, true
	}
	s.misses = append(s.misses, maphash.String(s.doc.seed, label))
	return nil, false
}
