package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// MaxFile is the size, in bytes, beyond which config.toml is refused.
const MaxFile = 256 << 10

// span is a range of bytes [start, end) of a document.
type span struct{ start, end int }

// document is a parsed config.toml: what it says and where it says it.
type document struct {
	data     []byte // without a byte order mark
	tree     map[string]any
	headers  []header // headers[0] stands for the part before the first one
	items    []item
	comments []comment
	refused  *syntaxError // set when a bound below is passed
}

// Bounds of a document. Settings need paths of three; without a bound a small file
// could make paths of gigabytes.
const (
	maxDepth = 16     // length of a key's path
	maxKeys  = 10_000 // headers and keys together
)

// within refuses the document when a key at offset passes a bound.
func (d *document) within(depth, offset int) bool {
	switch {
	case depth > maxDepth:
		d.refused = &syntaxError{line: d.line(offset), text: "sections or keys are nested too deep"}
	case len(d.headers)+len(d.items) > maxKeys:
		d.refused = &syntaxError{line: d.line(offset), text: fmt.Sprintf("the file holds more than %d keys", maxKeys)}
	}
	return d.refused == nil
}

// header is a [table] or [[table]] line.
type header struct {
	path  []string
	list  bool // [[table]]
	index int  // which one of its list, from 0
	line  span // the whole line with its end
}

// item is a key with its value: on a line of its own or within an inline table.
type item struct {
	path   []string // from the root of the document
	header int      // index of the header it stands under
	parent int      // index of the item whose inline table holds it; -1 for none
	index  int      // which element, within a list of tables
	key    span     // the key as written, possibly dotted
	value  span
	kind   unstable.Kind // of the value
}

// comment is a line of its own that is a comment.
type comment struct {
	span
	header int
}

// syntaxError is what keeps a document from being read as TOML at all.
type syntaxError struct {
	line int // 0 when unknown
	text string
}

func (e *syntaxError) Error() string { return e.text }

const byteOrderMark = "\xef\xbb\xbf"

// parseDocument reads data as TOML. The error is a *syntaxError.
func parseDocument(data []byte) (*document, error) {
	if err := checkBytes(data); err != nil {
		return nil, err
	}
	d := &document{data: bytes.TrimPrefix(data, []byte(byteOrderMark)), headers: []header{{}}}
	var p unstable.Parser
	p.KeepComments = true
	p.Reset(d.data)
	lists := make(map[string]int)
	for d.refused == nil && p.NextExpression() {
		d.add(p.Expression(), lists)
	}
	if d.refused != nil {
		return nil, d.refused
	}
	if err := p.Error(); err != nil {
		return nil, d.parserError(err)
	}
	// The parser knows where things stand; the decoder knows the rules of the whole (no key
	// twice, dates that exist). It is quadratic in the number of keys, hence the bound on them.
	if err := toml.Unmarshal(d.data, &d.tree); err != nil {
		return nil, asSyntaxError(err)
	}
	return d, nil
}

func checkBytes(data []byte) error {
	if len(data) > MaxFile {
		return &syntaxError{text: fmt.Sprintf("the file is larger than %d KiB", MaxFile>>10)}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return &syntaxError{line: lineAt(data, i), text: "the file holds a NUL byte; it is damaged or not a text"}
	}
	if utf8.Valid(data) {
		return nil
	}
	good := data
	for len(good) > 0 {
		r, size := utf8.DecodeRune(good)
		if r == utf8.RuneError && size <= 1 {
			break
		}
		good = good[size:]
	}
	return &syntaxError{line: lineAt(data, len(data)-len(good)), text: "the file is not valid UTF-8; save it with that encoding"}
}

func asSyntaxError(err error) *syntaxError {
	e := &syntaxError{text: "this is not valid TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.line, _ = at.Position()
	}
	return e
}

// parserError places an error of the parser, which points into the document.
func (d *document) parserError(err error) *syntaxError {
	e := asSyntaxError(err)
	var at *unstable.ParserError
	if errors.As(err, &at) {
		// Highlight is a part of the document: what lies behind it tells where.
		if offset := cap(d.data) - cap(at.Highlight); offset >= 0 && offset <= len(d.data) {
			e.line = d.line(offset)
		}
	}
	return e
}

// lineAt returns the number, from 1, of the line that holds offset.
func lineAt(data []byte, offset int) int {
	return bytes.Count(data[:offset], []byte("\n")) + 1
}

func (d *document) line(offset int) int { return lineAt(d.data, offset) }

// add notes what the parser found next. lists counts the headers of each list.
func (d *document) add(n *unstable.Node, lists map[string]int) {
	current := len(d.headers) - 1
	switch n.Kind {
	case unstable.Comment:
		d.comments = append(d.comments, comment{spanOf(n.Raw), current})
	case unstable.Table, unstable.ArrayTable:
		keys, where := keysOf(n)
		if !d.within(len(keys), where.start) {
			return
		}
		h := header{path: keys, list: n.Kind == unstable.ArrayTable, line: d.lineAround(where.start)}
		if h.list {
			name := strings.Join(keys, "\x00")
			h.index = lists[name]
			lists[name]++
		}
		d.headers = append(d.headers, h)
	case unstable.KeyValue:
		h := d.headers[current]
		d.addItem(n, item{path: h.path, header: current, parent: -1, index: h.index})
	}
}

// addItem notes a key and, if its value is an inline table or a list of those, the
// keys within. in says where it stands.
func (d *document) addItem(n *unstable.Node, in item) {
	keys, where := keysOf(n)
	if !d.within(len(in.path)+len(keys), where.start) {
		return
	}
	in.path = slices.Concat(in.path, keys)
	in.key = where
	in.kind = n.Value().Kind
	in.value = span{d.valueStart(where.end), int(n.Raw.Offset + n.Raw.Length)}
	d.items = append(d.items, in)
	in.parent = len(d.items) - 1
	switch in.kind {
	case unstable.InlineTable:
		d.addInline(n.Value(), in)
	case unstable.Array:
		in.index = -1
		for it := n.Value().Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			in.index++
			if it.Node().Kind == unstable.InlineTable {
				d.addInline(it.Node(), in)
			}
		}
	}
}

func (d *document) addInline(table *unstable.Node, in item) {
	for it := table.Children(); it.Next(); {
		if it.Node().Kind == unstable.KeyValue {
			d.addItem(it.Node(), in)
		}
	}
}

// valueStart returns where the value begins of a key that ends at offset: the
// parser gives no range for lists and inline tables.
func (d *document) valueStart(offset int) int {
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	for blank(d.data[offset]) {
		offset++
	}
	offset++ // the equals sign
	for blank(d.data[offset]) {
		offset++
	}
	return offset
}

func keysOf(n *unstable.Node) (keys []string, where span) {
	where.start = -1
	for it := n.Key(); it.Next(); {
		keys = append(keys, string(it.Node().Data))
		s := spanOf(it.Node().Raw)
		if where.start < 0 {
			where.start = s.start
		}
		where.end = s.end
	}
	return keys, where
}

func spanOf(r unstable.Range) span {
	return span{int(r.Offset), int(r.Offset + r.Length)}
}

// lineAround returns the line that holds offset, with its end.
func (d *document) lineAround(offset int) span {
	return span{bytes.LastIndexByte(d.data[:offset], '\n') + 1, d.lineEnd(offset)}
}

// lineEnd returns where the line after the one with offset begins.
func (d *document) lineEnd(offset int) int {
	if i := bytes.IndexByte(d.data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(d.data)
}

// value returns the decoded value at a path, following list element index where
// the path leads into a list of tables.
func (d *document) value(path []string, index int) any {
	var v any = d.tree
	for _, key := range path {
		if list, ok := v.([]any); ok {
			if index >= len(list) {
				return nil
			}
			v = list[index]
		}
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[key]
	}
	return v
}
