package files

import (
	"fmt"
	"strings"

	"ash/agent"
)

// maxEdits is how many passages one call may change.
const maxEdits = 100

// Edit replaces a passage of a file.
type Edit struct {
	Old string `json:"old" jsonschema:"the passage to replace, exactly as it stands in the file, without line numbers; it must occur exactly once unless replace_all is set"`
	New string `json:"new" jsonschema:"what takes its place; empty removes it"`
	All bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
}

// apply makes the edits one after the other, each on what the one before left, and returns the text and how many
// passages were replaced. crlf says that the text has LF where its file has CR LF. Errors are for the model; they name lines of
// the text but hold none of it.
func apply(text string, crlf bool, edits []Edit) (string, int, error) {
	switch {
	case len(edits) == 0:
		return "", 0, agent.Errorf(agent.CodeInvalid, "There is nothing to change: give at least one edit.")
	case len(edits) > maxEdits:
		return "", 0, agent.Errorf(agent.CodeInvalid, "At most %d edits can be made at once. Make several calls.", maxEdits)
	}
	total := 0
	for i, e := range edits {
		after, n, err := applyOne(text, crlf, e)
		if err != nil {
			return "", 0, about(err, i, len(edits))
		}
		text, total = after, total+n
	}
	return text, total, nil
}

// about says which of several edits an error is about.
func about(err error, i, n int) error {
	if n == 1 {
		return err
	}
	before := "none of the edits was made"
	return agent.Wrap(agent.CodeOf(err), err, "Edit %d of %d (%s): %s", i+1, n, before, agent.PublicOf(err))
}

func applyOne(text string, crlf bool, e Edit) (string, int, error) {
	e = e.fit(text, crlf)
	switch {
	case e.Old == "":
		return "", 0, agent.Errorf(agent.CodeInvalid, "old is empty. Say which passage to replace; to fill an empty file or replace a whole one, use file_write.")
	case e.Old == e.New:
		return "", 0, agent.Errorf(agent.CodeInvalid, "old and new are the same: nothing would change.")
	case strings.IndexByte(e.New, 0) >= 0:
		return "", 0, errNUL()
	}
	first := strings.Index(text, e.Old)
	if first < 0 {
		return "", 0, agent.Errorf(agent.CodeInvalid, "old does not occur in the file. %s", nearMiss(text, e.Old))
	}
	if !e.All {
		if more := occurrences(text, e.Old, first); len(more) > 1 {
			return "", 0, agent.Errorf(agent.CodeInvalid, "old occurs more than once, in lines %s. Take more of the surrounding lines into old so that it is unique, or set replace_all.", numbers(more))
		}
		if len(text)-len(e.Old)+len(e.New) > MaxText {
			return "", 0, errTooLong()
		}
		return text[:first] + e.New + text[first+len(e.Old):], 1, nil
	}
	n := strings.Count(text, e.Old)
	if grown := int64(len(text)) + int64(n)*int64(len(e.New)-len(e.Old)); grown > MaxText {
		return "", 0, errTooLong()
	}
	return strings.ReplaceAll(text, e.Old, e.New), n, nil
}

// fit brings the line ends of an edit to those of the text: models send LF, whatever the file has.
func (e Edit) fit(text string, crlf bool) Edit {
	lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	if crlf || !strings.Contains(text, "\r\n") {
		e.Old, e.New = lf(e.Old), lf(e.New)
		return e
	}
	// Mixed line ends: as it was sent, or as a passage whose lines all end in CR LF.
	if !strings.Contains(text, e.Old) {
		with := func(s string) string { return strings.ReplaceAll(lf(s), "\n", "\r\n") }
		if strings.Contains(text, with(e.Old)) {
			e.Old, e.New = with(e.Old), with(e.New)
		}
	}
	return e
}

// maxNamed is how many places an error names.
const maxNamed = 8

// occurrences returns the lines in which old begins, overlapping ones included, at most maxNamed and one more.
func occurrences(text, old string, first int) []int {
	var lines []int
	line, at := 1, 0
	for i := first; len(lines) <= maxNamed; {
		line += strings.Count(text[at:i], "\n")
		at = i
		lines = append(lines, line)
		next := strings.Index(text[i+1:], old)
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return lines
}

// numbers writes line numbers for an error.
func numbers(lines []int) string {
	var b strings.Builder
	for i, n := range lines {
		if i == maxNamed {
			b.WriteString(" and more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

func errTooLong() error {
	return agent.Errorf(agent.CodeInvalid, "The file would become too large: at most %s.", bytesOf(MaxText))
}

func errNUL() error {
	return agent.Errorf(agent.CodeInvalid, "The text contains a NUL character; only text can be written.")
}
