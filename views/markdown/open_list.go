package markdown

import (
	"bytes"
	"strconv"
	"strings"
)

// openList is a list that is still arriving. Its items are added one by one, items of nested lists too, each rendered by itself;
// a list that nests or has blank lines is rendered again as a whole at the beginning of an item, when it has grown by half, which
// puts nesting and spacing right.
type openList struct {
	begun   bool
	item    int    // where in the source the open item begins
	at      int    // where in body it begins; -1 if it is not shown
	id      string // of its element
	count   int    // items so far, for ids
	nested  int    // lists it is shown in
	indents []int  // where the content of the items it is in begins
	fence   byte   // the character of the block of code it is in, 0 for none
	render  int    // bytes of the item's source at its last rendering
	dirty   bool
	rough   bool // it nests or has blank lines
}

// maxNestShown bounds the nested lists an item is shown in until the whole list is rendered.
const maxNestShown = 4

// showList shows more of a list: its source is read once, a line at a time.
func (s *Stream) showList(end int) {
	o := &s.open
	l := &o.list
	if !o.shown {
		s.beginList()
	}
	for at := o.upto; at < end; {
		stop := end
		if i := bytes.IndexByte(s.src[at:end], '\n'); i >= 0 {
			stop = at + i + 1
		}
		if at == 0 || s.src[at-1] == '\n' {
			l.rough = l.rough || s.src[at] == '\n'
			if item, ok := l.begins(s.src[at:stop]); ok {
				s.finishItem(at)
				s.growList(at)
				s.beginItem(at, item)
			}
		}
		at = stop
	}
	s.showItem(end)
}

// beginList shows the empty list.
func (s *Stream) beginList() {
	o := &s.open
	first, _ := classify(string(s.src[:min(len(s.src), maxStart)]), true)
	o.tail = "</ul>"
	open := `<ul id="` + string(appendAttr(nil, o.id)) + `">`
	if first.class == lineOrdered {
		o.tail = "</ol>"
		number := strings.TrimLeft(strings.TrimSpace(string(s.src[:min(len(s.src), 20)])), "0")
		start := number[:runDigits(number)]
		open = `<ol id="` + string(appendAttr(nil, o.id)) + `"`
		if start != "1" && start != "" {
			open += ` start="` + start + `"`
		}
		open += ">"
	}
	o.body = append(o.body[:0], open...)
	o.list = openList{at: -1}
	s.patchOpen()
}

func runDigits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// begins says whether a line begins an item, and takes note of blocks of code within items.
func (l *openList) begins(text []byte) (line, bool) {
	i, col := indentation(string(text[:min(len(text), maxStart)]))
	rest := text[i:]
	if len(rest) > 2 && (rest[0] == '`' || rest[0] == '~') && rest[1] == rest[0] && rest[2] == rest[0] {
		switch l.fence {
		case 0:
			l.fence = rest[0]
		case rest[0]:
			l.fence = 0
		}
	}
	if l.fence != 0 {
		return line{}, false
	}
	item, _ := classify(strings.TrimRight(string(rest[:min(len(rest), maxStart)]), "\n"), true)
	if item.class != lineBullet && item.class != lineOrdered {
		return line{}, false
	}
	item.content += col
	item.indent = col
	return item, true
}

// beginItem takes note of the item that begins at at.
func (s *Stream) beginItem(at int, item line) {
	l := &s.open.list
	for len(l.indents) > 0 && item.indent < l.indents[len(l.indents)-1] {
		l.indents = l.indents[:len(l.indents)-1]
	}
	l.nested = min(len(l.indents), maxNestShown)
	l.rough = l.rough || l.nested > 0
	if len(l.indents) < maxNesting {
		l.indents = append(l.indents, item.content)
	}
	l.begun, l.item, l.at, l.render, l.dirty = true, at, -1, 0, false
	l.id = s.open.id + "-" + strconv.FormatInt(int64(l.count), 36)
	l.count++
}

// source is the open item's, up to end, as if its list stood alone.
func (s *Stream) itemSource(end int) string {
	l := &s.open.list
	_, col := indentation(string(s.src[l.item:min(end, l.item+maxStart)]))
	text := strings.TrimRight(string(s.src[l.item:end]), "\n ")
	if col == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = dedent(lines[i], col)
	}
	return strings.Join(lines, "\n")
}

// finishItem shows the rest of the open item, which ends at end, and what it turned out to be.
func (s *Stream) finishItem(end int) {
	o := &s.open
	l := &o.list
	if !l.begun {
		return
	}
	rest := bytes.TrimRight(s.src[o.upto:end], "\n ")
	if l.at >= 0 && !l.dirty && !hasMarkup(rest) {
		s.addText(o.upto+len(rest), true)
	} else {
		s.putItem(end, "")
	}
	o.upto = end
}

// showItem shows the open item up to end.
func (s *Stream) showItem(end int) {
	o := &s.open
	l := &o.list
	if !l.begun || end <= o.upto {
		return
	}
	if l.at >= 0 {
		l.dirty = l.dirty || o.target == "" || hasMarkup(s.src[o.upto:end])
	}
	if l.at < 0 || l.dirty && due(l.render, end-l.item, true) {
		s.putItem(end, l.id)
		o.upto = end
		return
	}
	s.addText(end, true)
}

// putItem renders the open item up to end and shows it, for the first time or in its place. Without an id it is finished.
func (s *Stream) putItem(end int, id string) {
	o := &s.open
	l := &o.list
	r := s.renderItem(s.itemSource(end), id)
	l.render, l.dirty = end-l.item, false
	list := o.tail[len(o.tail)-len("</ul>"):]
	if l.at < 0 {
		o.body = append(o.body, o.tail[:len(o.tail)-len(list)]...)
		before := strings.Repeat(`<li class="nest"><ul>`, l.nested)
		o.body = append(o.body, before...)
		l.at = len(o.body)
		o.set(r, l.at)
		closers := strings.Repeat("</ul></li>", l.nested)
		o.tail += closers + list
		s.patch(o.id, Append, before+r.html+closers)
		return
	}
	o.set(r, l.at)
	o.tail += strings.Repeat("</ul></li>", l.nested) + list
	s.patch(l.id, Replace, r.html)
}

// growList renders the whole list again if it has grown by half; an item ends at end.
func (s *Stream) growList(end int) {
	o := &s.open
	if !o.list.rough || !due(o.rendered, end, false) {
		return
	}
	r := s.render(kindList, string(s.src[:end]), o.id, "")
	if r.plain || !strings.HasSuffix(r.html, "</ul>") && !strings.HasSuffix(r.html, "</ol>") {
		return
	}
	list := len(r.html) - len("</ul>")
	o.body = append(o.body[:0], r.html[:list]...)
	o.tail, o.target = r.html[list:], ""
	o.rendered = end
	s.patchOpen()
}
