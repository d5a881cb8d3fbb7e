package markdown

import "bytes"

// advance cuts off the blocks that have ended.
func (s *Stream) advance() {
	for {
		if s.cut.kind == kindHidden {
			if !s.skipHidden() {
				return
			}
			continue
		}
		end, complete := len(s.src), false
		if i := bytes.IndexByte(s.src[s.scan:], '\n'); i >= 0 {
			end, complete = s.scan+i, true
		}
		if !s.decided && (complete || end > s.line) {
			if l, ok := s.classify(end, complete); ok {
				s.decided = s.beginLine(l)
				continue
			}
		}
		s.scan = end
		if !complete {
			return
		}
		s.endLine(end)
	}
}

// classify tells what the current line, which is here up to end, begins.
func (s *Stream) classify(end int, complete bool) (line, bool) {
	switch s.cut.kind {
	case kindFence, kindRest:
		return line{}, true // whatever it looks like, it is code
	case kindMath:
		text := s.src[s.line:min(end, s.line+maxStart)]
		if len(bytes.TrimLeft(text, " \t")) == 0 && len(text) < maxStart {
			return line{class: lineBlank}, complete
		}
		return line{}, true
	}
	return classify(string(s.src[s.line:min(end, s.line+maxStart+1)]), complete)
}

// beginLine places the current line in the open block, or ends that and begins a new one. It answers false if the line, or its
// beginning, is gone: blank lines between blocks and model markup are dropped.
func (s *Stream) beginLine(l line) bool {
	if s.cut.kind != kindNone && s.cut.breaksBefore(l) {
		s.finish(s.line)
	}
	if s.cut.kind == kindNone {
		switch l.class {
		case lineBlank:
			s.drop(bytes.IndexByte(s.src, '\n') + 1)
			return false
		case lineModel:
			s.drop(l.size)
			if l.tag != "" {
				s.cut.begin(l)
			}
			return false
		}
		s.begin(l)
	}
	s.cut.beginLine(l)
	return true
}

func (s *Stream) begin(l line) {
	s.cut.begin(l)
	if s.past >= maxSource {
		s.cut.kind = kindRest
	}
	s.open = openBlock{}
	if s.cut.kind != kindNote {
		s.open.id = s.doc.blockID(s.next)
		s.next++
	}
}

// endLine ends the current line, which is complete, and with it perhaps the block.
func (s *Stream) endLine(end int) {
	text := s.src[s.line:end]
	if s.cut.kind == kindParagraph && s.cut.lines == 2 && s.beginsTable(text) {
		s.open.head = end + 1
	}
	ended := s.cut.endLine(string(text))
	s.line, s.scan, s.decided = end+1, end+1, false
	if ended {
		s.finish(s.line)
	}
}

// beginsTable says whether the second line of a paragraph makes it a table, to be shown row by row.
func (s *Stream) beginsTable(second []byte) bool {
	columns := len(parseDelimiterRow(second))
	return columns > 0 && columns <= maxColumns && len(splitRow(s.src[:s.line])) == columns
}

// skipHidden drops model markup. It answers false if its end is not here yet.
func (s *Stream) skipHidden() bool {
	if i := indexFold(string(s.src), s.cut.tag); i >= 0 {
		s.drop(i + len(s.cut.tag))
		s.cut = cutter{}
		return true
	}
	if n := len(s.src) - len(s.cut.tag) + 1; n > 0 {
		s.drop(n)
	}
	return false
}
