package vault

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"ash/agent"
)

// Repair makes the sentinel and the root anew when they are missing or damaged, from the newest copy of the keys that the passphrase opens and the newest
// index those keys prove, and unlocks the vault. Both hold nothing that these two do not, so they come out as they were. It changes nothing
// else. Errors: CodeConflict when there is nothing to repair, CodeDenied for a wrong passphrase or when too much is gone.
func (v *Vault) Repair(ctx context.Context, passphrase []byte) (err error) {
	defer func() { v.record(ctx, outcome(Access{Action: ActionRepair}, err)) }()
	if err := v.repairable(ctx); err != nil {
		return err
	}
	all, err := v.disk.list()
	if err != nil {
		return err
	}
	if err := v.rebuild(ctx, all, passphrase); err != nil {
		return err
	}
	return v.Unlock(ctx, passphrase)
}

// repairable refuses when the two files are well, or something is wrong that Repair does not cure.
func (v *Vault) repairable(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.disk.check(); err != nil {
		return err
	}
	_, _, err := v.look(ctx, false)
	switch {
	case errors.Is(err, errNone), errors.Is(err, errOlder):
		return err
	case err == nil && v.keys != nil:
		return agent.Errorf(agent.CodeConflict, "The vault is unlocked and well: there is nothing to repair.")
	}
	return nil
}

// rebuild tries the copies of the keys, the newest first: a crash while the keys were renewed may have left one that no index belongs to.
func (v *Vault) rebuild(ctx context.Context, all []string, passphrase []byte) error {
	failed := error(agent.Errorf(agent.CodeDenied, "No copy of the vault's keys in %s opens with that passphrase.", v.disk.dir))
	for tried, name := range newestFirst(all, "identity-") {
		if tried == 4 { // a crash leaves one; each try takes a moment
			break
		}
		data, err := v.disk.read(name, maxSmall)
		if err != nil {
			return err
		}
		identity := refer(name, data)
		plain, err := v.byPassphrase(passphrase)(ctx, root{Identity: identity})
		if agent.CodeOf(err) == agent.CodeExhausted {
			return err
		}
		if err != nil {
			continue
		}
		k, err := decodeKeys(plain)
		Wipe(plain)
		if err != nil {
			continue
		}
		failed = v.rebuildWith(ctx, k, identity, all)
		k.wipe()
		if failed == nil || errors.Is(failed, errOlder) {
			break
		}
	}
	return failed
}

func newestFirst(all []string, prefix string) []string {
	var names []string
	for _, name := range all {
		if isTopFile(name) && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if serialOf(a) > serialOf(b) {
			return -1
		}
		return 1
	})
	return names
}

// rebuildWith writes sentinel and root for the newest index that the keys prove.
func (v *Vault) rebuildWith(ctx context.Context, k *keys, identity ref, all []string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	mark, err := v.mark(ctx)
	if err != nil {
		return err
	}
	for _, name := range newestFirst(all, "index-") {
		data, err := v.disk.read(name, maxIndex)
		if err != nil {
			return err
		}
		r := root{
			Format: format, Vault: k.vault, Serial: serialOf(name), Recipient: k.id.Recipient().String(), Identity: identity, Index: refer(name, data),
		}
		x, err := v.peekIndex(r, k)
		if err != nil {
			continue
		}
		r.Recovery = x.Recovery
		if (mark != Mark{}) && (mark.Vault != r.Vault || mark.Serial > r.Serial) {
			return older(v.disk.dir)
		}
		return v.writeRoot(r, k)
	}
	return agent.Wrap(agent.CodeDenied, fs.ErrNotExist, "No index of the vault in %s belongs to its keys, so it cannot be repaired. Put the folder back from a backup as a whole.", v.disk.dir)
}

// peekIndex reads an index whose root is yet to be written.
func (v *Vault) peekIndex(r root, k *keys) (*index, error) {
	sealed, err := v.proven(r.Index, maxIndex)
	if err != nil {
		return nil, err
	}
	plain, err := unseal(sealed, k.id)
	if err != nil {
		return nil, err
	}
	defer Wipe(plain)
	x, err := decodeIndex(plain, k)
	if err != nil || x.Serial != r.Serial || x.Identity != r.Identity {
		return nil, errors.Join(errPayload, err)
	}
	return x, nil
}

func (v *Vault) writeRoot(r root, k *keys) error {
	text, err := r.encode(k)
	if err != nil {
		return err
	}
	if _, err := v.disk.write(sentinelFile, sentinel{format, k.vault}.encode()); err != nil {
		return err
	}
	_, err = v.disk.write(rootFile, text)
	return err
}
