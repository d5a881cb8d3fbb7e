package vault

import "slices"

// Values returns every value the unlocked vault holds, former and waiting ones too, so that they can be taken out of whatever is about to be
// written; nil while it is locked. Values with a passphrase of their own are not among them: nothing knows those. It is cheap and waits
// for nobody. The strings cannot be overwritten as the values that Use returns can; they are let go on locking.
func (v *Vault) Values() []string {
	if all := v.values.Load(); all != nil {
		return *all
	}
	return nil
}

// learn brings Values up to date with the index; v.mu is held. What cannot be read is left out: nobody can have been given it.
func (v *Vault) learn() {
	if v.keys == nil {
		return
	}
	fresh := make(map[string]string, len(v.known))
	for _, e := range v.index.Entries {
		for _, ver := range e.Versions {
			file := ver.Sealed.File
			if ver.Extra {
				continue
			}
			if value, ok := v.known[file]; ok {
				fresh[file] = value
				continue
			}
			value, err := v.open(e.Name, ver)
			if v.keys == nil { // it locked itself
				return
			}
			if err == nil {
				fresh[file] = string(value)
				Wipe(value)
			}
		}
	}
	v.known = fresh
	all := make([]string, 0, len(fresh))
	for _, value := range fresh {
		all = append(all, value)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	v.values.Store(&all)
}
