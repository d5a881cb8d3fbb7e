package vault

import (
	"context"
	"path"
	"slices"
	"strings"

	"filippo.io/age"

	"ash/agent"
)

// leave encrypts a secret into the folder of what was added while locked. Whoever can write there can add too, so what
// lies there is nobody's word: see takeIn.
func (v *Vault) leave(ctx context.Context, l label, value []byte) error {
	r, _, err := v.look(ctx, false)
	if err != nil {
		return err
	}
	mark, err := v.mark(ctx)
	if err != nil {
		return err
	}
	if (mark != Mark{}) && mark.Recipient != r.Recipient {
		return agent.Errorf(agent.CodeDenied, "The vault has another key than when Ash last used it, so nothing is added to it blindly. Unlock it once: that shows whether all is well.")
	}
	to, err := age.ParseX25519Recipient(r.Recipient)
	if err != nil {
		return broken(v.disk.path(rootFile), err)
	}
	all, err := v.disk.list()
	if err != nil {
		return err
	}
	n := 0
	for _, name := range all {
		if isNewFile(name) {
			n++
		}
	}
	if n >= maxWaited {
		return agent.Errorf(agent.CodeExhausted, "%d secrets were added while the vault was locked. Unlock it before adding more.", n)
	}
	l.Vault, l.File = r.Vault, newDir+"/"+token(16)+".age"
	plain, err := encodeSecret(l, value)
	if err != nil {
		return err
	}
	defer Wipe(plain)
	sealed, err := seal(plain, to)
	if err != nil {
		return err
	}
	_, err = v.disk.write(l.File, sealed)
	return err
}

// takeIn makes secrets of what was added while locked. One under a new name counts from now on; one under a name that is
// there waits for the person's word, and keeps the hosts and users of the one that is there. A file that is not whole stays where it is, with a note.
func (v *Vault) takeIn(ctx context.Context) error {
	all, err := v.disk.list()
	if err != nil {
		return err
	}
	slices.Sort(all)
	var c *change
	var done, names []string
	for _, file := range all {
		if !isNewFile(file) {
			continue
		}
		id := strings.TrimSuffix(path.Base(file), ".age")
		if slices.Contains(v.index.Taken, id) { // a crash came before it was removed, or somebody put it back
			done = append(done, file)
			continue
		}
		l, value, err := v.readNew(file)
		if err != nil {
			v.note("Something added while the vault was locked cannot be used: " + agent.PublicOf(err))
			continue
		}
		if c == nil {
			c = v.begin()
		}
		err = v.addTo(c, l, value)
		Wipe(value)
		if err != nil {
			return v.abandon(c, err)
		}
		c.index.Taken = append(c.index.Taken, id)
		done, names = append(done, file), append(names, l.Name)
	}
	if c != nil {
		if err := v.commit(ctx, c); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := v.recordFirst(ctx, Access{Action: ActionTakeIn, Name: name, Allowed: true}); err != nil {
			v.note(agent.PublicOf(err))
		}
	}
	return v.disk.remove(done...)
}

// addTo puts what was added while locked into a change.
func (v *Vault) addTo(c *change, l label, value []byte) error {
	i, there := c.index.find(l.Name)
	ver := version{Number: 1, Standing: current, Hosts: l.Hosts, Users: l.Users, Extra: l.Extra, Added: l.Added}
	if there {
		e := &c.index.Entries[i]
		now := e.Versions[e.at(current)]
		e.drop(waiting) // the later word counts; its file goes with the commit
		ver.Number, ver.Standing, ver.Hosts, ver.Users = e.next(), waiting, now.Hosts, now.Users
	} else if len(c.index.Entries) >= MaxNames {
		return agent.Errorf(agent.CodeExhausted, "The vault holds %d secrets, which is all it can.", MaxNames)
	}
	ver, err := v.putSecret(c, l.Name, ver, value)
	if err != nil {
		return err
	}
	if !there {
		c.index.Entries = slices.Insert(c.index.Entries, i, entry{Name: l.Name})
	}
	e := &c.index.Entries[i]
	e.Versions = append(e.Versions, ver)
	return nil
}

// readNew opens what was added while locked. value is the caller's.
func (v *Vault) readNew(file string) (l label, value []byte, err error) {
	sealed, err := v.disk.read(file, maxSecret)
	if err != nil {
		return l, nil, err
	}
	plain, err := unseal(sealed, v.keys.id)
	if err != nil {
		return l, nil, damaged(v.disk.path(file), err)
	}
	defer Wipe(plain)
	l, value, err = decodeSecret(plain)
	if err == nil && (l.Vault != v.root.Vault || l.File != file || l.Version != 0) {
		err = errPayload
	}
	if err != nil {
		return l, nil, damaged(v.disk.path(file), err)
	}
	return l, slices.Clone(value), nil
}
