package vault

import (
	"context"
	"errors"
	"log/slog"

	"ash/agent"
)

// change is a state of the vault in the making. Nothing of it counts until commit has replaced the root.
type change struct {
	serial uint64
	keys   *keys
	index  *index
	made   []string // files it wrote
}

// begin starts a change of the unlocked vault, under its keys. v.mu is held until commit or abandon.
func (v *Vault) begin() *change {
	return &change{serial: v.root.Serial + 1, keys: v.keys, index: v.index.clone()}
}

// put writes a file of the change.
func (v *Vault) put(c *change, name string, data []byte) (ref, error) {
	c.made = append(c.made, name)
	if _, err := v.disk.write(name, data); err != nil {
		return ref{}, err
	}
	return refer(name, data), nil
}

// putSecret encrypts a value into a new file of the change and returns the version that tells of it.
func (v *Vault) putSecret(c *change, name string, ver version, value []byte) (version, error) {
	ver.Sealed.File = secretName(c.serial)
	plain, err := encodeSecret(ver.label(c.keys.vault, name), value)
	if err != nil {
		return ver, err
	}
	defer Wipe(plain)
	sealed, err := seal(plain, c.keys.id.Recipient())
	if err != nil {
		return ver, err
	}
	ver.Sealed, err = v.put(c, ver.Sealed.File, sealed)
	return ver, err
}

// abandon removes what a change that failed has written, and returns why it failed.
func (v *Vault) abandon(c *change, why error) error {
	return errors.Join(why, v.disk.remove(c.made...))
}

// commit makes the change what the vault is: it writes the index, then replaces the root. Before that instant the old state holds,
// after it the new one. v.mu is held. After an error the old state holds, unless the vault locked itself because it cannot tell.
func (v *Vault) commit(ctx context.Context, c *change) error {
	old := v.files(v.index, v.root)
	next, placed, err := v.writeState(c)
	if err != nil && placed {
		v.drop() // the next unlock reads which it is
		return err
	}
	if err != nil {
		return v.abandon(c, err)
	}
	if v.keys == nil { // of a vault that was just made
		v.unlocks.Add(1)
	}
	if v.keys != c.keys {
		v.keys.wipe()
	}
	v.keys, v.root, v.index = c.keys, next, c.index
	v.touch()
	v.learn()
	if v.keys == nil { // learning found a file that is not as it was left
		return v.ready()
	}
	v.changed()
	v.anchor(ctx)
	keep := v.files(c.index, next)
	var gone []string
	for name := range old {
		if !keep[name] {
			gone = append(gone, name)
		}
	}
	if err := v.disk.remove(gone...); err != nil {
		v.o.Logger.WarnContext(ctx, "files that the vault no longer needs are still there", slog.Any("error", err))
		v.note("Old files of the vault could not be removed; that is tried again when it is next unlocked.")
	}
	return nil
}

// writeState writes index and root of a change. placed says whether the root may be in place.
func (v *Vault) writeState(c *change) (next root, placed bool, err error) {
	c.index.Serial = c.serial
	plain, err := c.index.encode(c.keys)
	if err != nil {
		return next, false, err
	}
	defer Wipe(plain)
	sealed, err := seal(plain, c.keys.id.Recipient())
	if err != nil {
		return next, false, err
	}
	if len(sealed) > maxIndex {
		return next, false, agent.Errorf(agent.CodeExhausted, "The vault is full.")
	}
	next = root{
		Format: format, Vault: c.keys.vault, Serial: c.serial, Recipient: c.keys.id.Recipient().String(),
		Identity: c.index.Identity, Recovery: c.index.Recovery,
	}
	if next.Index, err = v.put(c, indexName(c.serial), sealed); err != nil {
		return next, false, err
	}
	text, err := next.encode(c.keys)
	if err != nil {
		return next, false, err
	}
	placed, err = v.disk.write(rootFile, text)
	return next, placed, err
}

// files names all that a state refers to.
func (v *Vault) files(x *index, r root) map[string]bool {
	all := make(map[string]bool)
	if x == nil { // there is no state yet
		return all
	}
	all[r.Index.File], all[r.Identity.File] = true, true
	if (r.Recovery != ref{}) {
		all[r.Recovery.File] = true
	}
	for _, e := range x.Entries {
		for _, ver := range e.Versions {
			all[ver.Sealed.File] = true
		}
	}
	return all
}

// anchor tells the outside how far the vault is. It lags behind after a crash, which is harmless: the vault may be newer than its mark.
func (v *Vault) anchor(ctx context.Context) {
	if v.o.Anchor == nil {
		return
	}
	m := Mark{Vault: v.root.Vault, Serial: v.root.Serial, Recipient: v.root.Recipient}
	if err := v.o.Anchor.SetMark(context.WithoutCancel(ctx), m); err != nil {
		v.o.Logger.ErrorContext(ctx, "the vault's mark was not kept", slog.Any("error", err))
		v.note("How far the vault is could not be kept outside of it: an older copy put back would not be noticed.")
	}
}
