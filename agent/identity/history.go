package identity

import (
	"context"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"ash/agent"
)

// maxHistory is the most versions History lists.
const maxHistory = 500

// History returns up to limit versions of a file, newest first, without Text.
// A limit outside 1–500 means 500. CodeNotFound for names other than Files.
func (b *Book) History(ctx context.Context, file string, limit int) ([]Version, error) {
	if _, err := b.Read(ctx, file); err != nil { // so that a change just made outside is listed
		return nil, err
	}
	if limit < 1 || limit > maxHistory {
		limit = maxHistory
	}
	return b.versions.ListVersions(ctx, file, limit)
}

// Version returns one version with its text. CodeNotFound when there is none.
func (b *Book) Version(ctx context.Context, id agent.ID) (Version, error) {
	return b.versions.Version(ctx, id)
}

// Op says what a line of a diff is.
type Op string

// The kinds of line.
const (
	Equal  Op = "equal"
	Delete Op = "delete"
	Insert Op = "insert"
)

// Line is one line of a diff. Old and New are 1-based line numbers, 0 where
// the line does not exist. Text is without its line ending.
type Line struct {
	Op       Op
	Old, New int
	Text     string
}

// Diff compares two versions; to may be "" for the file as it stands now.
// CodeInvalid when they are of different files.
func (b *Book) Diff(ctx context.Context, from, to agent.ID) ([]Line, error) {
	a, err := b.versions.Version(ctx, from)
	if err != nil {
		return nil, err
	}
	if to == "" {
		doc, err := b.Read(ctx, a.File)
		if err != nil {
			return nil, err
		}
		return Compare(a.Text, doc.Text), nil
	}
	z, err := b.versions.Version(ctx, to)
	if err != nil {
		return nil, err
	}
	if a.File != z.File {
		return nil, agent.Errorf(agent.CodeInvalid, "These are versions of two different files, %s and %s.", a.File, z.File)
	}
	return Compare(a.Text, z.Text), nil
}

// Compare returns every line of two texts, common ones included. Work is bounded: where
// texts have little in common the diff is correct but may be longer than needed.
func Compare(before, after string) []Line {
	lines := make([]Line, 0, strings.Count(before, "\n")+8)
	old, now, at := 1, 1, 0
	add := func(op Op, text string) {
		for line := range strings.Lines(text) {
			l := Line{Op: op, Text: strings.TrimRight(line, "\r\n")}
			if op != Insert {
				l.Old = old
				old++
			}
			if op != Delete {
				l.New = now
				now++
			}
			lines = append(lines, l)
		}
	}
	for _, e := range udiff.Lines(before, after) {
		add(Equal, before[at:e.Start])
		add(Delete, before[e.Start:e.End])
		add(Insert, e.New)
		at = e.End
	}
	add(Equal, before[at:])
	return lines
}
