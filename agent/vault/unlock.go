package vault

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"filippo.io/age"

	"ash/agent"
)

// Create makes the vault and leaves it unlocked. Errors: CodeConflict when there is one, CodeInvalid for a passphrase
// that is too short.
func (v *Vault) Create(ctx context.Context, passphrase []byte) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionCreate}, err)) }()
	if err := CheckPassphrase(passphrase); err != nil {
		return err
	}
	if err := v.absent(ctx); err != nil {
		return err
	}
	k, err := newKeys(string(agent.NewID()))
	if err != nil {
		return err
	}
	copied, err := v.sealKeys(ctx, k.encode(), passphrase)
	if err != nil {
		k.wipe()
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.make(ctx, k, copied); err != nil {
		if v.keys != k {
			k.wipe()
		}
		return err
	}
	return nil
}

// absent refuses unless there is no vault.
func (v *Vault) absent(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _, err := v.look(ctx, false)
	if err == nil {
		return agent.Errorf(agent.CodeConflict, "There is a vault already.")
	}
	if !errors.Is(err, errNone) {
		return err
	}
	return nil
}

// make writes a first state: the sentinel, then the files, then the root.
func (v *Vault) make(ctx context.Context, k *keys, copied []byte) error {
	if _, _, err := v.look(ctx, false); err == nil {
		return agent.Errorf(agent.CodeConflict, "There is a vault already.")
	} else if !errors.Is(err, errNone) {
		return err
	}
	if err := v.disk.folders(); err != nil {
		return err
	}
	if err := v.disk.checkFolders(); err != nil {
		return err
	}
	if err := v.disk.sweep(nil); err != nil { // of a creation that was broken off
		return err
	}
	if _, err := v.disk.write(sentinelFile, sentinel{format, k.vault}.encode()); err != nil {
		return err
	}
	c := &change{serial: 1, keys: k, index: &index{Vault: k.vault, Entries: []entry{}, Taken: []string{}}}
	var err error
	if c.index.Identity, err = v.put(c, identityName(1), copied); err != nil {
		return v.abandon(c, err)
	}
	if err := v.commit(ctx, c); err != nil {
		return err
	}
	v.since = v.used
	return nil
}

// sealKeys encrypts encoded keys to a passphrase, and wipes them.
func (v *Vault) sealKeys(ctx context.Context, plain, passphrase []byte) ([]byte, error) {
	defer Wipe(plain)
	done, err := v.slowly(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return sealPass(plain, passphrase, v.o.WorkFactor)
}

// Unlock reads the keys with the passphrase; they stay in memory until Lock, Close or the end of the idle time. What was added
// while locked is taken in. Errors: CodeDenied for a wrong passphrase and for a vault that is not as it was left,
// CodeConflict for an earlier copy, CodeNotFound when there is none, CodeExhausted for one that comes too early after many wrong ones. After an error nothing has changed.
func (v *Vault) Unlock(ctx context.Context, passphrase []byte) error {
	return v.unlock(ctx, ActionUnlock, v.byPassphrase(passphrase), false)
}

// Accept is Unlock of an earlier copy that the person put back; from then on it counts as the newest.
func (v *Vault) Accept(ctx context.Context, passphrase []byte) error {
	return v.unlock(ctx, ActionAccept, v.byPassphrase(passphrase), true)
}

// Abandon forgets a vault whose folder is gone for good, so that Create can make another. CodeConflict while the folder is there.
func (v *Vault) Abandon(ctx context.Context) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionAbandon}, err)) }()
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := os.Lstat(v.disk.dir); !errors.Is(err, fs.ErrNotExist) {
		return agent.Wrap(agent.CodeConflict, err, "The folder %s is still there. Move it away first, if you mean to begin anew.", v.disk.dir)
	}
	v.drop()
	if v.o.Anchor == nil {
		return nil
	}
	if err := v.o.Anchor.SetMark(ctx, Mark{}); err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "That there was a vault could not be forgotten.")
	}
	return nil
}

// opener returns the content of one of the two copies of the keys.
type opener func(ctx context.Context, r root) ([]byte, error)

func (v *Vault) byPassphrase(passphrase []byte) opener {
	return func(ctx context.Context, r root) ([]byte, error) {
		sealed, err := v.proven(r.Identity, maxSmall)
		if err != nil {
			return nil, err
		}
		done, err := v.slowly(ctx)
		if err != nil {
			return nil, err
		}
		defer done()
		if err := v.patient(); err != nil {
			return nil, err
		}
		plain, err := unsealPass(sealed, passphrase)
		v.tried(err)
		if errors.Is(err, errWrongKey) {
			return nil, agent.Wrap(agent.CodeDenied, err, "That is not the passphrase of the vault.")
		}
		if err != nil {
			return nil, damaged(v.disk.path(r.Identity.File), err)
		}
		return plain, nil
	}
}

func (v *Vault) byPhrase(id *age.X25519Identity) opener {
	return func(_ context.Context, r root) ([]byte, error) {
		if (r.Recovery == ref{}) {
			return nil, agent.Errorf(agent.CodeNotFound, "No recovery phrase was made for this vault.")
		}
		sealed, err := v.proven(r.Recovery, maxSmall)
		if err != nil {
			return nil, err
		}
		plain, err := unseal(sealed, id)
		if errors.Is(err, errWrongKey) {
			return nil, agent.Wrap(agent.CodeDenied, err, "That is not the recovery phrase of this vault, or a newer one took its place.")
		}
		if err != nil {
			return nil, damaged(v.disk.path(r.Recovery.File), err)
		}
		return plain, nil
	}
}

// proven reads a file and refuses anything but what the reference names.
func (v *Vault) proven(r ref, limit int64) ([]byte, error) {
	data, err := v.disk.read(r.File, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(v.disk.path(r.File), err)
	}
	if err != nil {
		return nil, err
	}
	if !r.proves(data) {
		return nil, damaged(v.disk.path(r.File), errPayload)
	}
	return data, nil
}

func (v *Vault) unlock(ctx context.Context, action Action, read opener, accept bool) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: action}, err)) }()
	for range 3 {
		var moved bool
		if moved, err = v.unlockOnce(ctx, read, accept); !moved {
			return err
		}
	}
	return err
}

// unlockOnce reads the keys and takes them. moved says that it failed because others were given to the vault meanwhile.
func (v *Vault) unlockOnce(ctx context.Context, read opener, accept bool) (moved bool, err error) {
	v.mu.Lock()
	r, _, err := v.look(ctx, accept)
	v.mu.Unlock()
	if err != nil {
		return false, err
	}
	defer func() {
		if err == nil {
			return
		}
		v.mu.Lock()
		now, _, lookErr := v.look(ctx, accept)
		v.mu.Unlock()
		moved = lookErr == nil && (now.Identity != r.Identity || now.Recovery != r.Recovery)
	}()
	plain, err := read(ctx, r)
	if err != nil {
		return false, err
	}
	defer Wipe(plain)
	k, err := decodeKeys(plain)
	if err != nil {
		return false, damaged(v.disk.path(r.Identity.File), err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.admit(ctx, k, accept); err != nil {
		k.wipe()
		return false, err
	}
	if !accept {
		return false, nil
	}
	return false, v.outrun(ctx)
}

// admit believes the keys if they prove what lies on the disk, and takes them.
func (v *Vault) admit(ctx context.Context, k *keys, accept bool) error {
	r, text, err := v.look(ctx, accept)
	if err != nil {
		return err
	}
	if r.Vault != k.vault || r.Recipient != k.id.Recipient().String() || !k.proven(text) {
		return broken(v.disk.path(rootFile), errPayload)
	}
	x, err := v.readIndex(r, k)
	if err != nil {
		return err
	}
	all, err := v.disk.list()
	if err != nil {
		return err
	}
	for _, name := range all {
		if serialOf(name) > r.Serial+1 && !accept { // only a change after this state can have made it
			return older(v.disk.dir)
		}
	}
	opened := v.keys == nil
	if opened {
		v.since = v.o.hooks.now()
	}
	v.keys.wipe()
	v.keys, v.root, v.index, v.notes = k, r, x, nil
	v.touch()
	v.learn()
	if opened && v.keys != nil {
		v.unlocks.Add(1)
		v.remark = ""
		v.changed()
	}
	if v.keys == nil { // learning found a file that is not as it was left: a link, another owner
		return v.ready()
	}
	if accept { // first the mark has to be outrun
		return nil
	}
	v.anchor(ctx)
	v.tidy(ctx)
	return nil
}

func (v *Vault) readIndex(r root, k *keys) (*index, error) {
	sealed, err := v.proven(r.Index, maxIndex)
	if err != nil {
		return nil, err
	}
	plain, err := unseal(sealed, k.id)
	if err != nil {
		return nil, damaged(v.disk.path(r.Index.File), err)
	}
	defer Wipe(plain)
	x, err := decodeIndex(plain, k)
	if err == nil && (x.Serial != r.Serial || x.Identity != r.Identity || x.Recovery != r.Recovery) {
		err = errPayload
	}
	if err != nil {
		return nil, damaged(v.disk.path(r.Index.File), err)
	}
	return x, nil
}

// tidy does what only an unlocked vault can: it removes what a crash left, takes in what was added, and looks after the second copy.
func (v *Vault) tidy(ctx context.Context) {
	if err := v.disk.sweep(v.files(v.index, v.root)); err != nil {
		v.o.Logger.WarnContext(ctx, "the vault could not be tidied", slog.Any("error", err))
		v.note("Old files of the vault could not be removed: " + agent.PublicOf(err))
	}
	if (v.root.Recovery != ref{}) {
		if _, err := v.proven(v.root.Recovery, maxSmall); err != nil {
			v.note("The copy for the recovery phrase is damaged. Make a new phrase: ash vault phrase")
		}
	}
	if err := v.takeIn(ctx); err != nil {
		v.o.Logger.WarnContext(ctx, "what was added to the locked vault could not be taken in", slog.Any("error", err))
		v.note("What was added while the vault was locked could not be taken in: " + agent.PublicOf(err))
	}
}

// outrun makes an accepted state newer than anything that was before it.
func (v *Vault) outrun(ctx context.Context) error {
	if v.keys == nil {
		return v.ready()
	}
	mark, err := v.mark(ctx)
	if err != nil {
		return err
	}
	c := v.begin()
	if mark.Vault == v.root.Vault {
		c.serial = max(c.serial, mark.Serial+1)
	}
	all, err := v.disk.list()
	if err != nil {
		return err
	}
	for _, name := range all {
		c.serial = max(c.serial, serialOf(name)+1)
	}
	if err := v.commit(ctx, c); err != nil {
		return err
	}
	v.tidy(ctx)
	return nil
}
