package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Bounds on tables. A row shorter than the header is filled up with empty cells, so a wide header over many short rows would make
// far more HTML than there is text: such a "table" stays a paragraph.
const (
	maxColumns = 128
	freeCells  = 20000 // beyond these there must be a byte of text to every cell
)

// align is a column's alignment: "", "left", "center" or "right".
type align string

var (
	kindTable = ast.NewNodeKind("Table")
	kindRow   = ast.NewNodeKind("TableRow")
	kindCell  = ast.NewNodeKind("TableCell")
)

type tableNode struct {
	ast.BaseBlock
	kind  ast.NodeKind
	align align // cells
}

// Kind implements ast.Node.
func (n *tableNode) Kind() ast.NodeKind { return n.kind }

// Dump implements ast.Node.
func (n *tableNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// tableTransformer finds the table in a paragraph: a header, a delimiter row with as many cells, and rows up to the paragraph's end.
// What stands before the header remains a paragraph.
type tableTransformer struct{}

// Transform implements parser.ParagraphTransformer.
func (tableTransformer) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, source := p.Lines(), reader.Source()
	for i := 1; i < lines.Len(); i++ {
		delimiter := lines.At(i)
		columns := parseDelimiterRow(delimiter.Value(source))
		if columns == nil {
			continue
		}
		header := lines.At(i - 1)
		if len(splitRow(header.Value(source))) != len(columns) || !affordable(lines, i, len(columns)) {
			return
		}
		table := &tableNode{kind: kindTable}
		table.AppendChild(table, parseRow(lines.At(i-1), columns, source))
		for j := i + 1; j < lines.Len(); j++ {
			table.AppendChild(table, parseRow(lines.At(j), columns, source))
		}
		p.Parent().InsertAfter(p.Parent(), p, table)
		if i == 1 {
			p.Parent().RemoveChild(p.Parent(), p)
			return
		}
		lines.SetSliced(0, i-1)
		last := lines.At(i - 2)
		lines.Set(i-2, last.TrimRightSpace(source))
		return
	}
}

func affordable(lines *text.Segments, from, columns int) bool {
	rows := lines.Len() - from
	size := lines.At(lines.Len()-1).Stop - lines.At(from).Start
	return columns <= maxColumns && rows*columns <= max(freeCells, size)
}

// parseDelimiterRow returns the alignment of each column of | --- | :-: |, nil if the line is something else.
func parseDelimiterRow(row []byte) []align {
	dash, bar := false, false
	for _, c := range row {
		switch c {
		case '-':
			dash = true
		case '|', ':':
			bar = true
		case ' ', '\t', '\n':
		default:
			return nil
		}
	}
	if !dash || !bar {
		return nil
	}
	cells := splitRow(row)
	columns := make([]align, 0, min(len(cells), maxColumns+1))
	for _, span := range cells {
		a, ok := delimiterCell(row[span.start:span.stop])
		if !ok {
			return nil
		}
		columns = append(columns, a)
	}
	return columns
}

func delimiterCell(cell []byte) (align, bool) {
	dashes := bytes.Trim(cell, ":")
	if len(dashes) == 0 || len(cell)-len(dashes) > 2 || len(bytes.Trim(dashes, "-")) > 0 {
		return "", false
	}
	left, right := cell[0] == ':', cell[len(cell)-1] == ':'
	switch {
	case left && right:
		return "center", true
	case len(cell)-len(dashes) > 1:
		return "", false
	case left:
		return "left", true
	case right:
		return "right", true
	}
	return "", true
}

type cellSpan struct{ start, stop int }

// splitRow returns the spans of a row's cells without the space around them. A backslash keeps a bar from ending its cell.
func splitRow(row []byte) []cellSpan {
	start, stop := trimSpan(row, 0, len(row))
	if start < stop && row[start] == '|' {
		start++
	}
	if start < stop && row[stop-1] == '|' && (stop < 2 || row[stop-2] != '\\') {
		stop--
	}
	var spans []cellSpan
	for at := start; at <= stop; {
		end := at
		for end < stop && (row[end] != '|' || end > 0 && row[end-1] == '\\') {
			end++
		}
		if at == stop && len(spans) > 0 && row[at-1] != '|' { // the pipe at the end closes the last cell
			break
		}
		a, b := trimSpan(row, at, end)
		spans = append(spans, cellSpan{a, b})
		at = end + 1
	}
	return spans
}

func trimSpan(s []byte, a, b int) (int, int) {
	for a < b && (s[a] == ' ' || s[a] == '\t' || s[a] == '\n') {
		a++
	}
	for b > a && (s[b-1] == ' ' || s[b-1] == '\t' || s[b-1] == '\n') {
		b--
	}
	return a, b
}

func parseRow(line text.Segment, columns []align, source []byte) *tableNode {
	row := &tableNode{kind: kindRow}
	spans := splitRow(line.Value(source))
	for i, a := range columns {
		cell := &tableNode{kind: kindCell, align: a}
		if i < len(spans) && spans[i].start < spans[i].stop {
			at := line.Start - line.Padding
			cell.Lines().Append(text.NewSegment(at+spans[i].start, at+spans[i].stop))
		}
		row.AppendChild(row, cell)
	}
	return row
}
