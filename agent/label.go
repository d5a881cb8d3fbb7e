package agent

import (
	"cmp"
	"slices"
)

// LabelKind says how far content may be trusted.
type LabelKind string

// The kinds of label. Content without any label is the person's own.
const (
	LabelUntrusted LabelKind = "untrusted" // a stranger may have written it
	LabelPrivate   LabelKind = "private"   // the person's, not to leave the machine unasked
)

// Label marks where a piece of content came from. Private and untrusted are
// independent: a private letter from a stranger carries both.
type Label struct {
	Source  string    // where from: a host, a file path, a channel; at most 256 bytes
	Kind    LabelKind // what that means
	Private bool      // repeats private text
}

// Labels is a set of labels, sorted and without doubles. The zero value is the
// empty set. Values are immutable: Union returns a new one.
type Labels []Label

// Union returns the set of all labels in l and others.
func (l Labels) Union(others ...Labels) Labels {
	n := len(l)
	for _, o := range others {
		n += len(o)
	}
	if n == 0 {
		return nil
	}
	out := make(Labels, 0, n)
	out = append(out, l...)
	for _, o := range others {
		out = append(out, o...)
	}
	slices.SortFunc(out, compareLabels)
	return slices.Compact(out)
}

// Untrusted reports whether any label says a stranger may have written this.
func (l Labels) Untrusted() bool {
	return slices.ContainsFunc(l, func(x Label) bool { return x.Kind == LabelUntrusted })
}

func compareLabels(a, b Label) int {
	if c := cmp.Compare(a.Source, b.Source); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Kind, b.Kind); c != 0 {
		return c
	}
	switch {
	case a.Private == b.Private:
		return 0
	case b.Private:
		return -1
	}
	return 1
}
