package vault

import (
	"context"
	"slices"
	"time"

	"ash/agent"
)

// Secret is one to be kept. The caller owns its bytes and wipes them.
type Secret struct {
	Name  string
	Value []byte   // 1 to MaxValue bytes
	Hosts []string // it may go to these (see CheckHost) and nowhere else; none: it never leaves Ash
	Users []string // the parts of Ash that may use it; none: the one that the name says
	Extra []byte   // a passphrase of its own, asked for at each use; nil: none
}

// Put adds a secret. In a locked vault it is left for the next unlock, which later is true: should there be one of that name by then, the
// new value waits for Confirm. Errors: CodeInvalid, CodeConflict for a name that is there, CodeExhausted for a full vault or disk, and those of Unlock
// for a vault that is not as it was left.
func (v *Vault) Put(ctx context.Context, s Secret) (later bool, err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionAdd, Name: known(s.Name)}, err)) }()
	l, value, err := v.prepare(ctx, s)
	if err != nil {
		return false, err
	}
	if s.Extra != nil {
		defer Wipe(value)
	}
	return v.add(ctx, l, value)
}

// add is Put after the checks; value is as it is to be stored.
func (v *Vault) add(ctx context.Context, l label, value []byte) (later bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ready() != nil {
		return true, v.leave(ctx, l, value)
	}
	if err := v.sound(); err != nil {
		return false, err
	}
	if _, there := v.index.find(l.Name); there {
		return false, agent.Errorf(agent.CodeConflict, "There is a secret %s already. Give it a new value with: ash vault rotate %s", l.Name, l.Name)
	}
	c := v.begin()
	if err := v.addTo(c, l, value); err != nil {
		return false, v.abandon(c, err)
	}
	return false, v.commit(ctx, c)
}

// prepare checks a secret and returns the label and the value as it is stored: the caller's own bytes, or encrypted to its own passphrase.
func (v *Vault) prepare(ctx context.Context, s Secret) (l label, value []byte, err error) {
	if err := CheckName(s.Name); err != nil {
		return l, nil, err
	}
	if err := checkValue(s.Value); err != nil {
		return l, nil, err
	}
	l = label{Name: s.Name, Extra: s.Extra != nil, Added: v.stamp()}
	if l.Hosts, l.Users, err = binding(s.Name, s.Hosts, s.Users); err != nil {
		return l, nil, err
	}
	value, err = v.wrap(ctx, s.Value, s.Extra)
	return l, value, err
}

func checkValue(value []byte) error {
	if len(value) == 0 {
		return agent.Errorf(agent.CodeInvalid, "The secret is empty.")
	}
	if len(value) > MaxValue {
		return agent.Errorf(agent.CodeInvalid, "The secret is longer than %d KiB.", MaxValue>>10)
	}
	return nil
}

// wrap encrypts a value to its own passphrase, if there is one.
func (v *Vault) wrap(ctx context.Context, value, extra []byte) ([]byte, error) {
	if extra == nil {
		return value, nil
	}
	if err := CheckPassphrase(extra); err != nil {
		return nil, err
	}
	done, err := v.slowly(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return sealPass(value, extra, v.o.WorkFactor)
}

func (v *Vault) stamp() time.Time { return v.o.hooks.now().UTC().Truncate(time.Second) }

// known returns a name for the access log, "" for what is none: it may be anything, even a key pasted into the wrong field.
func known(name string) string {
	if CheckName(name) != nil {
		return ""
	}
	return name
}

// sound locks an unlocked vault whose folders are not as they have to be.
func (v *Vault) sound() error {
	err := v.disk.checkFolders()
	if err != nil {
		v.drop()
	}
	return err
}

// Rotate gives a secret a new value, which is used from now on. The one before is kept until Confirm, or until Revert brings
// it back; rotating again before that keeps the one that was last confirmed. In a locked vault it is left for the next unlock (later is true) and waits there
// for Confirm before it is used. extra as in Secret. Errors: CodeNotFound and those of Put.
func (v *Vault) Rotate(ctx context.Context, name string, value, extra []byte) (later bool, err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionRotate, Name: known(name)}, err)) }()
	l, stored, err := v.prepare(ctx, Secret{Name: name, Value: value, Extra: extra})
	if err != nil {
		return false, err
	}
	if extra != nil {
		defer Wipe(stored)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ready() != nil {
		return true, v.leave(ctx, l, stored)
	}
	return false, v.edit(ctx, name, func(c *change, e *entry) error {
		was := e.Versions[e.at(current)]
		if was.Extra && !l.Extra {
			return agent.Errorf(agent.CodeInvalid, "%s has a passphrase of its own. Give one for the new value too, or delete it and add it anew.", name)
		}
		next, err := v.putSecret(c, name, version{
			Number: e.next(), Standing: current, Hosts: was.Hosts, Users: was.Users, Extra: l.Extra, Added: l.Added,
		}, stored)
		if err != nil {
			return err
		}
		e.drop(waiting)
		if e.at(former) >= 0 {
			e.drop(current) // never confirmed
		} else {
			e.Versions[e.at(current)].Standing = former
		}
		e.Versions = append(e.Versions, next)
		return nil
	})
}

// edit changes one secret of the unlocked vault; v.mu is held.
func (v *Vault) edit(ctx context.Context, name string, fn func(*change, *entry) error) error {
	if err := v.ready(); err != nil {
		return err
	}
	if err := v.sound(); err != nil {
		return err
	}
	i, there := v.index.find(name)
	if !there {
		return notThere(name)
	}
	c := v.begin()
	if err := fn(c, &c.index.Entries[i]); err != nil {
		return v.abandon(c, err)
	}
	if len(c.index.Entries[i].Versions) == 0 {
		c.index.Entries = slices.Delete(c.index.Entries, i, i+1)
	}
	return v.commit(ctx, c)
}

func notThere(name string) error {
	if CheckName(name) != nil {
		return agent.Errorf(agent.CodeNotFound, "There is no such secret in the vault.")
	}
	return agent.Errorf(agent.CodeNotFound, "There is no secret %s in the vault. Add it with: ash vault add %s", name, name)
}

// Confirm settles a secret: a value that waits becomes the one that is used; otherwise the former one is dropped.
// CodeConflict when there is nothing to settle.
func (v *Vault) Confirm(ctx context.Context, name string) error {
	return v.settle(ctx, ActionConfirm, name, func(e *entry) {
		if e.at(waiting) >= 0 {
			e.drop(former)
			e.drop(current)
			e.Versions[e.at(waiting)].Standing = current
			return
		}
		e.drop(former)
	})
}

// Revert is the other answer: a value that waits is dropped; otherwise the former one is used again. CodeConflict when there is nothing to settle.
func (v *Vault) Revert(ctx context.Context, name string) error {
	return v.settle(ctx, ActionRevert, name, func(e *entry) {
		if e.at(waiting) >= 0 {
			e.drop(waiting)
			return
		}
		e.drop(current)
		e.Versions[e.at(former)].Standing = current
	})
}

func (v *Vault) settle(ctx context.Context, action Action, name string, fn func(*entry)) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: action, Name: known(name)}, err)) }()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.edit(ctx, name, func(_ *change, e *entry) error {
		if len(e.Versions) == 1 {
			return agent.Errorf(agent.CodeConflict, "Of %s there is only one value: nothing waits for your word.", name)
		}
		fn(e)
		return nil
	})
}

// Bind changes where a secret may go and who may use it, for all its versions. Errors: CodeInvalid, CodeNotFound, CodeLocked.
func (v *Vault) Bind(ctx context.Context, name string, hosts, users []string) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionBind, Name: known(name)}, err)) }()
	hosts, users, err = binding(name, hosts, users)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.edit(ctx, name, func(c *change, e *entry) error {
		for i, ver := range e.Versions {
			value, err := v.open(name, ver)
			if err != nil {
				return err
			}
			ver.Hosts, ver.Users = hosts, users
			e.Versions[i], err = v.putSecret(c, name, ver, value)
			Wipe(value)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete removes a secret with all its versions. Copies in backups and in blocks that the disk has not yet overwritten stay encrypted to the
// identity; RotateIdentity makes those of the present passphrase worthless. Errors: CodeNotFound, CodeLocked.
func (v *Vault) Delete(ctx context.Context, name string) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionDelete, Name: known(name)}, err)) }()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.edit(ctx, name, func(_ *change, e *entry) error {
		e.Versions = nil
		return nil
	})
}
