package files

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"ash/agent"
)

// Bounds on a pattern. The time a match takes is its steps times the length of the text, and it cannot be broken off.
const (
	maxRegexp = 1000 // bytes
	maxSteps  = 2000 // instructions of its program
)

// window is how much text is matched at once, so that a search ends with its context; lines longer than
// that are searched in overlapping windows.
const (
	window = 64 << 10
	seam   = 4 << 10
)

// matcher finds lines.
type matcher struct {
	line *regexp.Regexp // matched against one line
	text *regexp.Regexp // matched against many: finds at least all lines that line does; nil when there is no such thing
	step int            // bytes of text matched at once
}

// newMatcher reads a pattern. CodeInvalid says what is wrong with it.
func newMatcher(pattern string, literal, ignoreCase bool) (*matcher, error) {
	if len(pattern) > maxRegexp {
		return nil, agent.Errorf(agent.CodeInvalid, "The pattern is too long: at most %d bytes.", maxRegexp)
	}
	if literal {
		if strings.ContainsAny(pattern, "\r\n") {
			return nil, errLines()
		}
		pattern = regexp.QuoteMeta(pattern)
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "The pattern is not an RE2 expression: %s. There is no look-around and there are no back-references; set literal to look for plain text.", agent.Clip(err.Error(), 200))
	}
	if wantsBreak(tree) {
		return nil, errLines()
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxSteps {
		return nil, agent.Wrap(agent.CodeInvalid, err, "The pattern is too complicated. Use fewer or smaller repetitions.")
	}
	m := &matcher{step: min(window, 2<<20/len(program.Inst))} // about 0.05 s at worst
	if m.line, err = regexp.Compile(pattern); err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "The pattern is not an RE2 expression.")
	}
	if !anchored(tree) {
		if m.text, err = regexp.Compile("(?m)" + pattern); err != nil {
			return nil, agent.Wrap(agent.CodeInvalid, err, "The pattern is not an RE2 expression.")
		}
	}
	return m, nil
}

func errLines() error {
	return agent.Errorf(agent.CodeInvalid, "Patterns are matched line by line and cannot span line breaks. Look for one of the lines, with context.")
}

// wantsBreak reports whether a pattern asks for a line break itself.
func wantsBreak(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), '\n') {
		return true
	}
	return slices.ContainsFunc(re.Sub, wantsBreak)
}

// anchored reports whether a pattern speaks of the beginning or end of its text: for one line that is another
// place than for many. ^ and $ do too, but (?m) gives them the same meaning, and so does tree, parsed that way.
func anchored(re *syntax.Regexp) bool {
	if re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText {
		return true
	}
	return slices.ContainsFunc(re.Sub, anchored)
}

// lines returns the numbers, from 0, of the lines of text that match. The error is the context's.
func (m *matcher) lines(ctx context.Context, text []byte) ([]int, error) {
	var out []int
	number := 0
	for len(text) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		piece := text[:min(len(text), m.step)]
		if len(piece) < len(text) { // up to the end of a line
			if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
				piece = piece[:i+1]
			} else if i := bytes.IndexByte(text[len(piece):], '\n'); i >= 0 {
				piece = text[:len(piece)+i+1]
			} else {
				piece = text
			}
		}
		text = text[len(piece):]
		found, n, err := m.piece(ctx, piece, number)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		number += n
	}
	return out, nil
}

// piece matches whole lines, the first of which has a number, and returns how many there are.
func (m *matcher) piece(ctx context.Context, piece []byte, number int) (found []int, n int, err error) {
	if m.text != nil && len(piece) <= window && bytes.IndexByte(piece, '\r') < 0 && !m.text.Match(piece) {
		return nil, bytes.Count(piece, []byte{'\n'}), nil
	}
	for len(piece) > 0 {
		line := piece
		if i := bytes.IndexByte(piece, '\n'); i >= 0 {
			line = piece[:i]
			piece = piece[i+1:]
		} else {
			piece = nil
		}
		ok, err := m.fits(ctx, bytes.TrimSuffix(line, []byte{'\r'}))
		if err != nil {
			return nil, 0, err
		}
		if ok {
			found = append(found, number+n)
		}
		n++
	}
	return found, n, nil
}

// fits reports whether one line is found. In lines longer than a step, ^ and $ also fit where windows begin and end.
func (m *matcher) fits(ctx context.Context, line []byte) (bool, error) {
	for len(line) > m.step {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if m.line.Match(line[:m.step]) {
			return true, nil
		}
		line = line[m.step-min(seam, m.step/2):]
	}
	return m.line.Match(line), nil
}
