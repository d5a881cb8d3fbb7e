package notes

import (
	"context"
	"path"
	"slices"
	"strings"

	"ash/agent"
)

func sameLabels(a, b agent.Labels) bool { return slices.Equal(a.Union(), b.Union()) }

// private is what every note is: the person's, not to leave the machine unasked.
func private(name string) agent.Labels {
	return agent.Labels{{Source: agent.Clip("note:"+name, 256), Kind: agent.LabelPrivate, Private: true}}
}

// outside is the label of a note that another program wrote, and of which nobody has said whose words it holds.
func outside(name string) agent.Label {
	return agent.Label{Source: agent.Clip("file:notes/"+name, 256), Kind: agent.LabelUntrusted}
}

// strange is what is known of a note's strangers beyond that another program wrote it.
func strange(name string, labels agent.Labels) agent.Labels {
	var out agent.Labels
	for _, l := range labels {
		if l.Kind == agent.LabelUntrusted && l != outside(name) {
			out = append(out, l)
		}
	}
	return out
}

// Unvouched reports whether all that is known against a note is that another program wrote it.
func Unvouched(name string, labels agent.Labels) bool {
	return labels.Untrusted() && len(strange(name, labels)) == 0
}

// above returns a path and the folders over it, each ending in a slash, the nearest first.
func above(name string) []string {
	out := []string{name}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		out = append(out, dir+"/")
	}
	return append(out, "/")
}

// nearest returns the record of the folder nearest to a note.
func nearest(found []Record) (mark Record, marked bool) {
	for _, r := range found {
		if strings.HasSuffix(r.Path, "/") && (!marked || len(r.Path) > len(mark.Path)) {
			mark, marked = r, true
		}
	}
	return mark, marked
}

// labels returns those of a note with this content. What the person wrote here or vouched for is theirs. Otherwise it has what its record says, or
// that of the same content elsewhere (it was moved or copied), and what was declared of the folder it stands in; where nothing
// was declared, nobody knows who wrote it.
func (f *Folder) labels(ctx context.Context, name string, c content) (agent.Labels, error) {
	labels := private(name)
	if c.size == 0 {
		return labels, nil // nobody's words
	}
	found, err := f.records.NoteRecords(ctx, above(name), c.hash)
	if err != nil {
		return nil, err
	}
	var copied agent.Labels
	own, known := false, false
	for _, r := range found {
		switch {
		case strings.HasSuffix(r.Path, "/"):
		case r.Own && r.Hash == c.hash:
			if own = true; r.Path == name {
				return labels, nil
			}
		case r.Path == name:
			labels, known = labels.Union(r.Labels), len(r.Labels) > 0
		case !r.Own && r.Hash == c.hash:
			copied = copied.Union(r.Labels)
		}
	}
	switch {
	case known:
	case len(copied) > 0:
		// From here on they are its own, whatever becomes of the other and however this one is edited.
		if err := f.records.SaveNoteRecords(ctx, Record{Path: name, Hash: c.hash, Labels: copied}); err != nil {
			return nil, err
		}
		labels = labels.Union(copied)
	case own: // a copy of what the person wrote
		return labels, nil
	}
	mark, marked := nearest(found)
	switch {
	case marked && !mark.Own:
		labels = labels.Union(mark.Labels)
	case labels.Untrusted():
	case !marked || f.suspect(ctx, c.text):
		labels = labels.Union(agent.Labels{outside(name)})
	}
	return labels, nil
}

func (f *Folder) suspect(ctx context.Context, text string) bool {
	return f.options.Suspect != nil && f.options.Suspect(ctx, text)
}

// gone removes the row of a note that is not there any more. What was known of its content stays with that, since it may turn
// up elsewhere.
func (f *Folder) gone(ctx context.Context, rows ...Row) error {
	var list []Record
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Path
		if labels := strange(r.Path, r.Labels); len(labels) > 0 {
			list = append(list, wandering(r.Hash, labels))
		}
	}
	if len(list) > 0 {
		if err := f.records.SaveNoteRecords(ctx, list...); err != nil {
			return err
		}
	}
	return f.rows.SaveNotes(ctx, nil, names)
}

// wandering is a record of content that has no path now.
func wandering(hash string, labels agent.Labels) Record {
	return Record{Path: ".gone/" + hash, Hash: hash, Labels: labels}
}

// recordOf returns the record of a path; one without a Path when there is none.
func (f *Folder) recordOf(ctx context.Context, name string) (Record, error) {
	found, err := f.records.NoteRecords(ctx, []string{name}, "")
	if err != nil || len(found) == 0 {
		return Record{}, err
	}
	return found[0], nil
}

// record notes where the text of a draft comes from, before it is written; now is the note as it is.
func (f *Folder) record(ctx context.Context, d Draft, now Note) error {
	had, err := f.recordOf(ctx, d.Path)
	if err != nil {
		return err
	}
	list := make([]Record, 0, 2)
	if now.Missing { // another note of the same name: what was known of the old one stays with its content
		if len(had.Labels) > 0 {
			list = append(list, wandering(had.Hash, had.Labels))
		}
		had = Record{}
	}
	r := Record{Path: d.Path, Hash: hashOf(d.Text), Labels: had.Labels}
	if d.Ash {
		for _, l := range d.Labels {
			if l.Kind == agent.LabelUntrusted {
				r.Labels = r.Labels.Union(agent.Labels{l})
			}
		}
	}
	r.Own = len(r.Labels) == 0 && !now.Labels.Untrusted()
	return f.records.SaveNoteRecords(ctx, append(list, r)...)
}

// Vouch makes a note the person's own as it is now (hash as they saw it): its labels go. CodeConflict when it changed.
func (f *Folder) Vouch(ctx context.Context, name, hash string) error {
	now, err := f.Read(ctx, name)
	if err != nil {
		return err
	}
	if now.Missing || now.Hash != hash {
		return errChanged(now)
	}
	if err := f.records.SaveNoteRecords(ctx, Record{Path: name, Hash: hash, Own: true}); err != nil {
		return err
	}
	_, err = f.Read(ctx, name)
	return err
}

// Whose says what was declared of the notes of a folder.
type Whose struct {
	Folder string // where it was declared: the folder itself or one above it, "" is the top; meaningless when Unknown
	Source string // of an imported one; "" when they are the person's own
	// Unknown says that nothing was declared: notes that another program wrote are untrusted until the person vouches for each.
	Unknown bool
}

// Whose returns what counts for a folder ("" is the top).
func (f *Folder) Whose(ctx context.Context, folder string) (Whose, error) {
	mark, err := folderMark(folder)
	if err != nil {
		return Whose{}, err
	}
	found, err := f.records.NoteRecords(ctx, above(strings.TrimPrefix(mark+"x", "/")), "")
	if err != nil {
		return Whose{}, err
	}
	r, marked := nearest(found)
	w := Whose{Folder: strings.Trim(r.Path, "/"), Unknown: !marked}
	if marked && !r.Own && len(r.Labels) > 0 {
		w.Source = r.Labels[0].Source
	}
	return w, nil
}

// Import declares a folder's notes to be from elsewhere ("" is all of them): they are untrusted, with that source. Those the
// person wrote here or vouched for are not touched, nor are folders below it of which something else was declared.
func (f *Folder) Import(ctx context.Context, folder, source string) error {
	if source = strings.Join(strings.Fields(source), " "); source == "" {
		return agent.Errorf(agent.CodeInvalid, "Say where the notes come from.")
	}
	return f.declare(ctx, folder, Record{Labels: agent.Labels{{Source: agent.Clip(source, 256), Kind: agent.LabelUntrusted}}})
}

// Own declares that a folder's notes are the person's own words, also those that another program writes there later. Labels that a note bears by
// itself stay, and so does what Suspect says.
func (f *Folder) Own(ctx context.Context, folder string) error {
	return f.declare(ctx, folder, Record{Own: true})
}

func (f *Folder) declare(ctx context.Context, folder string, r Record) error {
	mark, err := folderMark(folder)
	if err != nil {
		return err
	}
	r.Path = mark
	if err := f.records.SaveNoteRecords(ctx, r); err != nil {
		return err
	}
	_, err = f.scan(ctx, pass{again: mark})
	return err
}

func folderMark(folder string) (string, error) {
	folder = strings.Trim(folder, "/")
	if folder != "" && !readable(folder) {
		return "", agent.Errorf(agent.CodeInvalid, "%q is no folder of notes.", agent.Clip(folder, 120))
	}
	if folder == "" {
		return "/", nil
	}
	return folder + "/", nil
}
