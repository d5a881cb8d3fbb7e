package notes

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"

	"ash/agent"
)

// newText reads a text as a file would be.
func newText(s string) io.Reader { return strings.NewReader(s) }

func sameLabels(a, b agent.Labels) bool { return slices.Equal(a.Union(), b.Union()) }

// private is what every note is: the person's, not to leave the machine unasked.
func private(name string) agent.Labels {
	return agent.Labels{{Source: agent.Clip("note:"+name, 256), Kind: agent.LabelPrivate, Private: true}}
}

// above returns a path and the folders over it, each ending in a slash.
func above(name string) []string {
	out := []string{name}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		out = append(out, dir+"/")
	}
	return append(out, "/")
}

// labels returns those of a note with this content: what its record says, otherwise what that of the same content elsewhere says (it
// was moved or copied), and those of imported folders above it, unless the person vouched for this very content.
func (f *Folder) labels(ctx context.Context, name, hash string) (agent.Labels, error) {
	found, err := f.records.NoteRecords(ctx, above(name), hash)
	if err != nil {
		return nil, err
	}
	labels, known := private(name), false
	for _, r := range found {
		if r.Path != name {
			continue
		}
		if r.Own && r.Hash == hash {
			return labels, nil
		}
		labels, known = labels.Union(r.Labels), !r.Own
	}
	for _, r := range found {
		switch {
		case strings.HasSuffix(r.Path, "/"):
			labels = labels.Union(r.Labels)
		case r.Path != name && r.Hash == hash && !r.Own && !known && len(r.Labels) > 0:
			labels = labels.Union(r.Labels)
			// From here on they are its own, whatever becomes of the other and however this one is edited.
			if err := f.records.SaveNoteRecord(ctx, Record{Path: name, Hash: hash, Labels: r.Labels}); err != nil {
				return nil, err
			}
			known = true
		}
	}
	return labels, nil
}

// record notes where the text of a draft comes from, before it is written; now is the note as it is.
func (f *Folder) record(ctx context.Context, d Draft, now Note) error {
	found, err := f.records.NoteRecords(ctx, []string{d.Path}, "")
	if err != nil {
		return err
	}
	var had Record
	if len(found) > 0 {
		had = found[0]
	}
	hash := hashOf(d.Text)
	labels := agent.Labels(nil)
	for _, l := range d.Labels {
		if l.Kind == agent.LabelUntrusted && d.Ash {
			labels = labels.Union(agent.Labels{l})
		}
	}
	switch {
	case now.Missing && had.Path != "":
		// Another note of the same name: what was known of the old one stays with its content.
		if len(had.Labels) > 0 {
			if err := f.records.SaveNoteRecord(ctx, Record{Path: ".gone/" + had.Hash, Hash: had.Hash, Labels: had.Labels}); err != nil {
				return err
			}
		}
		if len(labels) == 0 {
			return f.records.DropNoteRecord(ctx, d.Path)
		}
	case len(labels) == 0 && had.Path == "":
		return nil
	default:
		labels = labels.Union(had.Labels)
	}
	own := had.Own && had.Hash == now.Hash && len(labels) == 0
	return f.records.SaveNoteRecord(ctx, Record{Path: d.Path, Hash: hash, Labels: labels, Own: own})
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
	if err := f.records.SaveNoteRecord(ctx, Record{Path: name, Hash: hash, Own: true}); err != nil {
		return err
	}
	_, err = f.Read(ctx, name)
	return err
}

// Import declares a folder's notes to be from elsewhere ("" is all of them): they are untrusted, with that source. Those the
// person vouched for are not touched. Own takes it back.
func (f *Folder) Import(ctx context.Context, folder, source string) error {
	mark, err := folderMark(folder)
	if err != nil {
		return err
	}
	labels := agent.Labels{{Source: agent.Clip(source, 256), Kind: agent.LabelUntrusted}}
	if err := f.records.SaveNoteRecord(ctx, Record{Path: mark, Labels: labels}); err != nil {
		return err
	}
	_, err = f.scan(ctx, true)
	return err
}

// Own declares that an imported folder is the person's own after all.
func (f *Folder) Own(ctx context.Context, folder string) error {
	mark, err := folderMark(folder)
	if err != nil {
		return err
	}
	if err := f.records.DropNoteRecord(ctx, mark); err != nil {
		return err
	}
	_, err = f.scan(ctx, true)
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
