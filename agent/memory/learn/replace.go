package learn

import (
	"slices"
	"strings"

	"ash/agent"
)

// replaced returns the facts a statement takes the place of, and why that has to be asked about; "" when it need not.
func (r *pass) replaced(k kept) (old []agent.Fact, ask string) {
	for _, f := range r.standing() {
		named := slices.Contains(k.replaces, f.ID)
		same := k.attribute != "" && r.l.phrases().attributeOf(f.Text) == k.attribute && sameSubject(f.Subject, k.subject)
		if !named && !same {
			continue
		}
		if named && !same && !shares(f.Text, k.text) && !shares(f.Text, k.quote) {
			ask = "It would take the place of something else: " + agent.Clip(f.Text, 200)
		}
		old = append(old, f)
	}
	if len(k.replaces) == 0 && k.attribute != "" && r.l.phrases().manyValued(k.attribute) {
		// Of a friend there may be several: only what is said to be a correction takes the place of the one there is.
		if !k.corrects || len(old) != 1 {
			old = slices.DeleteFunc(old, func(f agent.Fact) bool { return !sameText(f.Text, k.text) })
		}
	}
	for _, f := range old {
		switch {
		case f.Pinned:
			ask = "It would take the place of something pinned: " + agent.Clip(f.Text, 200)
		case f.Labels.Untrusted():
			ask = "It would take the place of something from elsewhere: " + agent.Clip(f.Text, 200)
		}
	}
	return old, ask
}

func sameSubject(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func sameText(a, b string) bool { return slices.Equal(plainWords(a), plainWords(b)) }

// swapped makes a whole statement of "not X but Y": the one fact that says X, with Y in its place. It reports whether
// there is exactly one.
func (r *pass) swapped(k *kept) bool {
	var of *agent.Fact
	for _, f := range r.standing() {
		if _, ok := locate(f.Text, k.swap.old); !ok {
			continue
		}
		if of != nil {
			return false
		}
		of = &f
	}
	if of == nil {
		return false
	}
	passage, _ := locate(of.Text, k.swap.old)
	if strings.Count(of.Text, passage) != 1 {
		return false
	}
	k.text = strings.Replace(of.Text, passage, k.swap.new, 1)
	k.kind, k.subject, k.importance = of.Kind, of.Subject, of.Importance
	k.attribute, k.replaces = "", []agent.ID{of.ID}
	for _, e := range of.Entities {
		if _, ok := locate(e.Name, k.swap.old); !ok {
			k.about = append(k.about, e)
		}
	}
	return true
}
