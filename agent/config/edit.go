package config

import (
	"bytes"
	"context"

	"ash/agent"
)

// Change is one edit of the settings file.
type Change struct {
	// Key is a setting such as "server.listen" or "providers.groq.kind"; with Remove also a whole
	// provider ("providers.groq") or catalog entry (catalog."groq/llama-4").
	Key string
	// Value is the new value in text form, lists comma-separated. A provider or catalog entry that is not there yet is made.
	Value string
	// Remove takes the key out, so that its default holds again.
	Remove bool
}

const maxChanges = 200 // of one edit; there are fewer keys on any page

// Edit makes changes to the settings file in place, all or none, and returns what holds then. A file that does not
// exist is made. version is the [Snapshot.Version] the changes were decided on; "" makes them on whatever the file says.
//
// Errors: CodeNotFound for a key that does not exist; CodeInvalid for a wrong value, a file that has other problems, or
// one written in a way that cannot be edited; CodeConflict when the file has changed since version or
// while editing, when another edit does not end, and for a key that the environment or a flag decides;
// CodeDenied and CodeExhausted from the operating system. The file is then as it was.
func Edit(ctx context.Context, o Options, version string, changes []Change) (*Snapshot, error) {
	todo, err := judge(o, changes)
	if err != nil {
		return nil, err
	}
	var snapshot *Snapshot
	err = locked(ctx, o.Home, func() error {
		snapshot, err = edit(o, version, todo)
		return err
	})
	return snapshot, err
}

// edit is Edit below the lock.
func edit(o Options, version string, todo []change) (*Snapshot, error) {
	before, err := readConfig(o.Path())
	if err != nil {
		return nil, err
	}
	if version != "" && version != versionOf(before) {
		return nil, agent.Errorf(agent.CodeConflict, "The settings were changed elsewhere in the meantime. Look at them anew and try again; nothing was saved.")
	}
	after := before
	for _, c := range todo {
		if after, err = splice(after, c); err != nil {
			return nil, asEditError(o.Path(), err)
		}
	}
	snapshot, err := assemble(o, after)
	if err != nil || bytes.Equal(before, after) {
		return snapshot, err
	}
	// An editor takes no lock: what it saved since must not be lost.
	now, err := readConfig(o.Path())
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(now, before) {
		return nil, agent.Errorf(agent.CodeConflict, "The settings file was saved by another program at the same moment. Try again; nothing was saved.")
	}
	if err := writeFile(o.Path(), after); err != nil {
		return nil, err
	}
	return snapshot, nil
}

func asEditError(path string, err error) error {
	if agent.CodeOf(err) == agent.CodeInternal {
		return unreadable(path, err) // the file was no TOML before the edit
	}
	return err
}

// judge checks the changes by themselves, before the file is looked at.
func judge(o Options, changes []Change) ([]change, error) {
	if len(changes) > maxChanges {
		return nil, agent.Errorf(agent.CodeInvalid, "%d changes at once are too many; at most %d are possible.", len(changes), maxChanges)
	}
	s := newSchema()
	above, err := upperLayers(s, o)
	if err != nil {
		return nil, err
	}
	todo := make([]change, 0, len(changes))
	for _, c := range changes {
		p, err := s.resolve(c.Key)
		if err != nil {
			return nil, err
		}
		if key, from, fixed := above.fixed(p); fixed {
			return nil, agent.Errorf(agent.CodeConflict, "%s is set by %s, which goes before the settings file. Remove it there to change it here.", key, from)
		}
		one := change{place: p, remove: c.Remove}
		if !c.Remove {
			if one.items, err = newValue(p, c.Value, o.Home); err != nil {
				return nil, err
			}
		}
		todo = append(todo, one)
	}
	return todo, nil
}

// upperLayers returns a Snapshot of the layers above the file alone. What is wrong
// in them is reported when all layers are put together.
func upperLayers(s *schema, o Options) (*Snapshot, error) {
	r := newReader(s, o.Home)
	r.readEnv(o.Environ)
	err := r.readFlags(o.Overrides)
	return &Snapshot{schema: s, origins: r.origins}, err
}

// newValue checks the text of a new value.
func newValue(p place, text, home string) ([]string, error) {
	if p.field == nil {
		return nil, agent.Errorf(agent.CodeInvalid, "%s is a whole section; set its keys, such as %s.%s.", p, p, p.section.fields[0].leaf)
	}
	items := p.field.split(text)
	scratch := newReader(newSchema(), home)
	if err := p.field.assign(scratch.row(p).Field(p.field.index), items, home); err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "%s cannot be set: %v. Allowed: %s.", p, err, p.field.Allowed)
	}
	if p.section.shape == listed && p.field.leaf == "ref" && items[0] != p.name {
		return nil, agent.Errorf(agent.CodeInvalid, "The ref of a catalog entry is its name. Remove the entry and make another.")
	}
	return items, nil
}

// Init writes the annotated example as the settings file of o.Home. CodeConflict when there is
// a file and force is false; the other errors are those of [Edit].
func Init(ctx context.Context, o Options, force bool) error {
	return locked(ctx, o.Home, func() error {
		data, err := readConfig(o.Path())
		if err != nil && !force {
			return err
		}
		if data != nil && !force {
			return agent.Errorf(agent.CodeConflict, "%s exists. Give --force to put the annotated example in its place; what it says now is lost then.", o.Path())
		}
		return writeFile(o.Path(), Example())
	})
}
