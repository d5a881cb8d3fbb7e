package vault_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/vault"
)

// names of the secrets that made puts into a vault.
func names() []string { return []string{"plugin/git/token", "provider/anthropic", "tool/brave"} }

// small returns the folder of a locked vault with everything that one can hold: a recovery phrase, a former value and, if late, something added while locked.
func small(t testing.TB, late bool) (dir, phrase string) {
	t.Helper()
	v, dir := made(t, vault.Options{})
	phrase, err := v.NewPhrase(t.Context())
	must(t, err)
	_, err = v.Rotate(t.Context(), "tool/brave", []byte("value of rotated"), nil)
	must(t, err)
	v.Lock(t.Context())
	for _, name := range lateNames(late) {
		_, err = v.Put(t.Context(), vault.Secret{Name: name, Value: valueOf(name)})
		must(t, err)
	}
	must(t, v.Close())
	return dir, phrase
}

func lateNames(late bool) []string {
	if late {
		return []string{"tool/late", "tool/later"}
	}
	return nil
}

// expected is what a secret of small holds.
func expected(name string) string {
	if name == "tool/brave" {
		return "value of rotated"
	}
	return "value of " + name
}

// hurt is how a damaged vault behaved.
type hurt struct {
	vault   bool     // refused as a whole
	phrase  bool     // the recovery phrase was refused
	secrets []string // refused one by one
}

// try uses a vault whose files were meddled with: whatever comes out must be refused or right. It works on a copy, which it leaves changed; the
// damaged folder itself must be as it was when the vault was refused as a whole.
func try(t testing.TB, dir, phrase string) (h hurt) {
	t.Helper()
	return tryWays(t, dir, phrase, true)
}

// tryWays is try, with the way by the phrase or without: a file of a secret is the same to both, so it is not opened by both for each of its bytes.
func tryWays(t testing.TB, dir, phrase string, both bool) (h hurt) {
	t.Helper()
	before := snapshot(t, dir)
	v, err := vault.Open(dir, vault.Options{}.Quick())
	must(t, err)
	defer func() { must(t, v.Close()) }()
	if both {
		if err := v.UnlockByPhrase(t.Context(), phrase); err != nil {
			refused(t, err, agent.CodeDenied, agent.CodeNotFound)
			same(t, before, snapshot(t, dir))
			h.phrase = true
		} else {
			v.Lock(t.Context())
			restore(t, dir, before)
		}
	}
	if err := v.Unlock(t.Context(), pass); err != nil {
		refused(t, err, agent.CodeDenied, agent.CodeNotFound)
		same(t, before, snapshot(t, dir))
		h.vault = true
		return h
	}
	h.secrets = refusedSecrets(t, v, before)
	return h
}

// refusedSecrets returns which secrets of an unlocked vault cannot be had; the others must be right.
func refusedSecrets(t testing.TB, v *vault.Vault, before map[string]string) (lost []string) {
	t.Helper()
	all, err := v.List()
	must(t, err)
	for _, info := range all {
		host := ""
		if len(info.Hosts) > 0 {
			host = info.Hosts[0]
		}
		value, err := v.Use(t.Context(), vault.Request{Name: info.Name, User: info.Users[0], Host: host})
		if err != nil {
			refused(t, err, agent.CodeDenied)
			lost = append(lost, info.Name)
			continue
		}
		if string(value) != expected(info.Name) {
			t.Fatalf("%s came out as %q", info.Name, value)
		}
	}
	late := len(lateNames(slices.ContainsFunc(sortedNames(before), func(n string) bool { return strings.HasPrefix(n, "new/") })))
	for _, name := range append(names(), []string{"tool/late", "tool/later"}[:late]...) {
		if !slices.ContainsFunc(all, func(i vault.Info) bool { return i.Name == name }) {
			lost = append(lost, name) // not taken in
		}
	}
	if len(lost) > 0 {
		return lost
	}
	wrong, err := v.Verify(t.Context())
	must(t, err)
	for name := range wrong {
		lost = append(lost, name) // its former value
	}
	return lost
}

// noticed reports whether damage to file was refused, and nothing but what the file holds.
func (h hurt) noticed(file string) error {
	kind := strings.SplitN(strings.SplitN(file, "-", 2)[0], "/", 2)[0]
	switch {
	case kind == "recovery" && h.phrase && !h.vault && len(h.secrets) == 0:
	case kind == "identity" && h.vault && !h.phrase: // the phrase opens the other copy
	case (kind == "secrets" || kind == "new") && !h.vault && !h.phrase && len(h.secrets) == 1:
	case (kind == "current" || kind == "index" || kind == "vault.json") && h.vault && h.phrase:
	default:
		return fmt.Errorf("%+v", h)
	}
	return nil
}

func sortedNames(all map[string]string) []string {
	var list []string
	for name := range all {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// meddle runs fn for each file of a vault with nothing added while locked, and for what was added of one that has some.
func meddle(t *testing.T, fn func(t *testing.T, dir, phrase string, whole map[string]string, name string)) {
	for _, late := range []bool{false, true} {
		dir, phrase := small(t, late)
		whole := snapshot(t, dir)
		if h := try(t, dir, phrase); h.vault || h.phrase || len(h.secrets) > 0 {
			t.Fatalf("untouched, and refused: %+v", h)
		}
		restore(t, dir, whole)
		for _, name := range sortedNames(whole) {
			if strings.HasPrefix(name, "new/") == late {
				fn(t, dir, phrase, whole, name)
				restore(t, dir, whole)
			}
		}
	}
}

// TestEveryByteFlipped changes each byte of each file of a vault, one at a time.
func TestEveryByteFlipped(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	total := 0
	meddle(t, func(t *testing.T, dir, phrase string, whole map[string]string, name string) {
		for i := random.IntN(stride); i < len(whole[name]); i += stride {
			b := []byte(whole[name])
			mask := byte(1 + random.IntN(255))
			if total%4 == 0 {
				mask = 1 << random.IntN(8) // what a disk does
			}
			b[i] ^= mask
			must(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
			if err := tryWays(t, dir, phrase, !strings.Contains(name, "/") || i%32 == 0).noticed(name); err != nil {
				t.Fatalf("%s, byte %d ^ %02x: %v", name, i, mask, err)
			}
			restore(t, dir, whole)
			total++
		}
	})
	t.Logf("%d bytes changed", total)
}

// TestEveryTruncation cuts each file of a vault at every length, makes it longer, and removes it.
func TestEveryTruncation(t *testing.T) {
	t.Parallel()
	total := 0
	meddle(t, func(t *testing.T, dir, phrase string, whole map[string]string, name string) {
		for n := len(whole[name]); n >= 0; n -= stride {
			cut := whole[name][:n]
			if n == len(whole[name]) {
				cut += "\n"
			}
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(cut), 0o600))
			if err := tryWays(t, dir, phrase, !strings.Contains(name, "/") || n%32 == 0).noticed(name); err != nil {
				t.Fatalf("%s, cut to %d of %d: %v", name, n, len(whole[name]), err)
			}
			restore(t, dir, whole)
			total++
		}
		must(t, os.Remove(filepath.Join(dir, name)))
		if err := try(t, dir, phrase).noticed(name); err != nil && !strings.HasPrefix(name, "new/") {
			t.Fatalf("%s removed: %v", name, err)
		}
	})
	t.Logf("%d truncations", total)
}

// TestAnyTwoSwapped swaps the content of every two files.
func TestAnyTwoSwapped(t *testing.T) {
	dir, phrase := small(t, true)
	whole := snapshot(t, dir)
	list := sortedNames(whole)
	total := 0
	for i, a := range list {
		for _, b := range list[i+1:] {
			must(t, os.WriteFile(filepath.Join(dir, a), []byte(whole[b]), 0o600))
			must(t, os.WriteFile(filepath.Join(dir, b), []byte(whole[a]), 0o600))
			h := try(t, dir, phrase)
			secret := func(n string) bool { return strings.Contains(n, "/") }
			switch {
			case secret(a) && secret(b):
				// Two versions of one secret count once.
				if h.vault || h.phrase || len(h.secrets) == 0 || len(h.secrets) > 2 {
					t.Errorf("%s and %s swapped: %+v", a, b, h)
				}
			case strings.HasPrefix(a, "recovery") && secret(b), strings.HasPrefix(b, "recovery") && secret(a):
				if h.vault || !h.phrase || len(h.secrets) != 1 {
					t.Errorf("%s and %s swapped: %+v", a, b, h)
				}
			case !h.vault:
				t.Errorf("%s and %s swapped: %+v", a, b, h)
			}
			restore(t, dir, whole)
			total++
		}
	}
	t.Logf("%d swaps", total)
}

// TestAnOldFilePutBack makes every kind of change, and after it puts each file of before back, one at a time.
func TestAnOldFilePutBack(t *testing.T) {
	changes := []struct {
		name string
		do   func(t *testing.T, v *vault.Vault)
	}{
		{"add", func(t *testing.T, v *vault.Vault) { put(t, v, "tool/more") }},
		{"rotate", func(t *testing.T, v *vault.Vault) {
			_, err := v.Rotate(t.Context(), "tool/brave", []byte("newer"), nil)
			must(t, err)
			must(t, v.Confirm(t.Context(), "tool/brave"))
		}},
		{"delete", func(t *testing.T, v *vault.Vault) { must(t, v.Delete(t.Context(), "tool/brave")) }},
		{"bind", func(t *testing.T, v *vault.Vault) {
			must(t, v.Bind(t.Context(), "tool/brave", []string{"api.search.brave.com"}, nil))
		}},
		{"passphrase", func(t *testing.T, v *vault.Vault) { must(t, v.ChangePassphrase(t.Context(), pass, other)) }},
		{"phrase", func(t *testing.T, v *vault.Vault) { _, err := v.NewPhrase(t.Context()); must(t, err) }},
		{"identity", func(t *testing.T, v *vault.Vault) { must(t, v.RotateIdentity(t.Context(), pass)) }},
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			v, dir := made(t, vault.Options{})
			_, err := v.NewPhrase(t.Context())
			must(t, err)
			before := snapshot(t, dir)
			c.do(t, v)
			must(t, v.Close())
			after := snapshot(t, dir)
			for _, name := range sortedNames(before) {
				if after[name] == before[name] {
					continue
				}
				must(t, os.WriteFile(filepath.Join(dir, name), []byte(before[name]), 0o600))
				oldState(t, dir, name, c.name)
				restore(t, dir, after)
			}
			// Under the name of what took its place, too.
			for _, old := range sortedNames(before) {
				for _, now := range sortedNames(after) {
					if after[now] == before[old] || strings.SplitN(old, "-", 2)[0] != strings.SplitN(now, "-", 2)[0] && !(strings.HasPrefix(old, "secrets/") && strings.HasPrefix(now, "secrets/")) {
						continue
					}
					must(t, os.WriteFile(filepath.Join(dir, now), []byte(before[old]), 0o600))
					oldState(t, dir, now, c.name)
					restore(t, dir, after)
				}
			}
		})
	}
}

// oldState opens a vault with one old file in it: the vault must refuse, or be as it is now.
func oldState(t *testing.T, dir, file, change string) {
	t.Helper()
	v, err := vault.Open(dir, vault.Options{}.Quick())
	must(t, err)
	defer func() { must(t, v.Close()) }()
	words := pass
	if change == "passphrase" {
		words = other
		if v.Unlock(t.Context(), pass) == nil {
			t.Fatalf("%s put back: the old passphrase opens the vault", file)
		}
	}
	if err := v.Unlock(t.Context(), words); err != nil {
		refused(t, err, agent.CodeDenied, agent.CodeConflict)
		return
	}
	value, err := use(v, "tool/brave")
	switch {
	case err != nil && change == "delete":
		refused(t, err, agent.CodeNotFound)
	case err != nil:
		refused(t, err, agent.CodeDenied)
	case change == "delete" || change == "rotate" && string(value) != "newer":
		t.Fatalf("%s put back: tool/brave is %q", file, value)
	}
	if _, err := v.List(); err != nil {
		t.Fatal(err)
	}
}

// TestTheWholeFolderPutBack is what only something outside of the folder can notice.
func TestTheWholeFolderPutBack(t *testing.T) {
	keep := &memory{}
	v, dir := made(t, vault.Options{Anchor: keep})
	before := snapshot(t, dir)
	put(t, v, "tool/more")
	must(t, v.Close())
	newest := snapshot(t, dir)
	restore(t, dir, before)

	v = open(t, dir, vault.Options{Anchor: keep})
	refused(t, v.Unlock(t.Context(), pass), agent.CodeConflict)
	if s := v.Status(t.Context()); !strings.Contains(s.Problem, "ash vault accept") {
		t.Errorf("the status does not say what helps: %q", s.Problem)
	}
	_, err := v.Put(t.Context(), vault.Secret{Name: "tool/x", Value: []byte("x")})
	refused(t, err, agent.CodeConflict)
	same(t, before, snapshot(t, dir))
	must(t, v.Accept(t.Context(), pass))
	yields(t, v, "tool/brave", "value of tool/brave")
	must(t, v.Close())

	// From now on the state that was newest is the old one.
	accepted := snapshot(t, dir)
	restore(t, dir, newest)
	v = open(t, dir, vault.Options{Anchor: keep})
	refused(t, v.Unlock(t.Context(), pass), agent.CodeConflict)
	must(t, v.Close())
	restore(t, dir, accepted)
	v = open(t, dir, vault.Options{Anchor: keep})
	must(t, v.Unlock(t.Context(), pass))

	// Another vault altogether, and none.
	must(t, v.Close())
	_, foreign := made(t, vault.Options{})
	restore(t, dir, snapshot(t, foreign))
	v = open(t, dir, vault.Options{Anchor: keep})
	refused(t, v.Unlock(t.Context(), pass), agent.CodeConflict)
	must(t, os.RemoveAll(dir))
	refused(t, v.Unlock(t.Context(), pass), agent.CodeDenied)
	refused(t, v.Create(t.Context(), pass), agent.CodeDenied)
	must(t, v.Abandon(t.Context()))
	must(t, v.Create(t.Context(), pass))
	refused(t, v.Abandon(t.Context()), agent.CodeConflict)
}

// TestFilesOfLaterChangesGiveAnOldStateAway needs nothing outside of the folder.
func TestFilesOfLaterChangesGiveAnOldStateAway(t *testing.T) {
	v, dir := made(t, vault.Options{})
	before := snapshot(t, dir)
	put(t, v, "tool/more")
	put(t, v, "tool/most")
	must(t, v.Close())
	for name, data := range before {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	mixed := snapshot(t, dir)
	v = open(t, dir, vault.Options{})
	refused(t, v.Unlock(t.Context(), pass), agent.CodeConflict)
	same(t, mixed, snapshot(t, dir))
	must(t, v.Accept(t.Context(), pass))
	yields(t, v, "tool/brave", "value of tool/brave")
}

// TestForeignFilesStay: what the vault did not make it neither reads nor removes.
func TestForeignFilesStay(t *testing.T) {
	v, dir := made(t, vault.Options{})
	for _, name := range []string{"README.txt", "secrets/notes.age", "new/x.age", "identity-1.age.bak"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644))
	}
	v.Lock(t.Context())
	must(t, v.Unlock(t.Context(), pass))
	put(t, v, "tool/more")
	all := snapshot(t, dir)
	for _, name := range []string{"README.txt", "secrets/notes.age", "new/x.age", "identity-1.age.bak"} {
		if all[name] != "mine" {
			t.Errorf("%s is gone", name)
		}
	}
}
