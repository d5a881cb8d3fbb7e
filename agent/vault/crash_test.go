package vault_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ash/agent"
	"ash/agent/vault"
)

// deed is something that changes a vault.
type deed struct {
	name   string
	before func(t *testing.T, v *vault.Vault) // prepares the vault; may be nil
	locked bool                               // starts from a locked vault, else from one that pass unlocks
	damage func(t *testing.T, dir string)     // prepares the folder of the closed vault; may be nil
	do     func(ctx context.Context, v *vault.Vault) error
}

func deeds() []deed {
	ignore := func(_ any, err error) error { return err }
	return []deed{
		{name: "add", do: func(ctx context.Context, v *vault.Vault) error {
			return ignore(v.Put(ctx, vault.Secret{Name: "tool/more", Value: []byte("more")}))
		}},
		{name: "rotate", do: func(ctx context.Context, v *vault.Vault) error {
			return ignore(v.Rotate(ctx, "tool/brave", []byte("newer"), nil))
		}},
		{name: "confirm", before: rotated, do: func(ctx context.Context, v *vault.Vault) error { return v.Confirm(ctx, "tool/brave") }},
		{name: "revert", before: rotated, do: func(ctx context.Context, v *vault.Vault) error { return v.Revert(ctx, "tool/brave") }},
		{name: "bind", before: rotated, do: func(ctx context.Context, v *vault.Vault) error {
			return v.Bind(ctx, "tool/brave", []string{"bound.example.com"}, nil)
		}},
		{name: "delete", before: rotated, do: func(ctx context.Context, v *vault.Vault) error { return v.Delete(ctx, "tool/brave") }},
		{name: "passphrase", do: func(ctx context.Context, v *vault.Vault) error { return v.ChangePassphrase(ctx, pass, other) }},
		{name: "phrase", do: func(ctx context.Context, v *vault.Vault) error { return ignore(v.NewPhrase(ctx)) }},
		{name: "identity", before: rotated, do: func(ctx context.Context, v *vault.Vault) error { return v.RotateIdentity(ctx, pass) }},
		{name: "takein", before: left, locked: true, do: func(ctx context.Context, v *vault.Vault) error { return v.Unlock(ctx, pass) }},
		{name: "leave", locked: true, do: func(ctx context.Context, v *vault.Vault) error {
			return ignore(v.Put(ctx, vault.Secret{Name: "tool/more", Value: []byte("more")}))
		}},
		{name: "repair", locked: true, damage: func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "current")))
			must(t, os.Remove(filepath.Join(dir, "vault.json")))
		}, do: func(ctx context.Context, v *vault.Vault) error { return v.Repair(ctx, pass) }},
	}
}

func rotated(t *testing.T, v *vault.Vault) {
	phrase, err := v.NewPhrase(t.Context())
	must(t, err)
	must(t, os.WriteFile(v.Status(t.Context()).Dir+".phrase", []byte(phrase), 0o600))
	_, err = v.Rotate(t.Context(), "tool/brave", []byte("rotated"), nil)
	must(t, err)
}

func left(t *testing.T, v *vault.Vault) {
	v.Lock(t.Context())
	for _, name := range []string{"tool/late", "tool/brave"} {
		_, err := v.Put(t.Context(), vault.Secret{Name: name, Value: []byte("late " + name)})
		must(t, err)
	}
}

// child does one deed in a process that kills itself before its n-th step on the disk. Exit codes: 0 done, 2 failed.
func child(task string) int {
	if task == "memory" {
		return memoryChild()
	}
	stop, err := strconv.Atoi(os.Getenv("VAULT_STOP"))
	if err != nil {
		return 2
	}
	armed, steps := false, 0
	v, err := vault.Open(os.Getenv("VAULT_DIR"), vault.Options{}.Quick().Step(func(string) error {
		if !armed {
			return nil
		}
		if steps++; steps == stop {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				panic(err)
			}
			select {} // until the signal comes
		}
		return nil
	}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx := context.Background()
	if task == "create" {
		armed = true
		if v.Create(ctx, pass) != nil {
			return 2
		}
		return 0
	}
	for _, d := range deeds() {
		if d.name != task {
			continue
		}
		if !d.locked {
			err = v.Unlock(ctx, pass)
		}
		armed = true
		if err = errors.Join(err, d.do(ctx, v)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		return 0
	}
	return 2
}

// killed runs a deed in a process that kills itself before step n, and reports whether it did.
func killed(t *testing.T, task, dir string, n int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childTask+"="+task, "VAULT_DIR="+dir, "VAULT_STOP="+strconv.Itoa(n))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if cmd.ProcessState.ExitCode() == 2 {
		t.Fatalf("%s, step %d: %s", task, n, out)
	}
	return true
}

// state is all that a person sees of an unlocked vault.
func state(t *testing.T, v *vault.Vault) string {
	t.Helper()
	wrong, err := v.Verify(t.Context())
	must(t, err)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	all, err := v.List()
	must(t, err)
	var s strings.Builder
	for _, i := range all {
		host := ""
		if len(i.Hosts) > 0 {
			host = i.Hosts[0]
		}
		value, err := v.Use(t.Context(), vault.Request{Name: i.Name, User: i.Users[0], Host: host})
		must(t, err)
		fmt.Fprintf(&s, "%s=%s %v %v former=%v waiting=%v; ", i.Name, value, i.Hosts, i.Users, i.Former, i.Waiting)
	}
	return s.String()
}

// unlockEither unlocks with the old or the new passphrase, whichever it is, and says which.
func unlockEither(t *testing.T, v *vault.Vault) (words []byte) {
	t.Helper()
	err := v.Unlock(t.Context(), pass)
	if err == nil {
		return pass
	}
	if err2 := v.Unlock(t.Context(), other); err2 != nil {
		t.Fatalf("neither passphrase opens the vault: %v; %v", err, err2)
	}
	return other
}

// prepared returns the folder of a closed vault before d, and what it is before and after.
func prepared(t *testing.T, d deed) (dir, before, after string) {
	t.Helper()
	v, dir := made(t, vault.Options{})
	if d.before != nil {
		d.before(t, v)
	}
	must(t, v.Close())
	start := snapshot(t, dir)
	v = open(t, dir, vault.Options{})
	must(t, v.Unlock(t.Context(), pass))
	before = state(t, v)
	must(t, v.Close())
	restore(t, dir, start)
	if d.damage != nil {
		d.damage(t, dir)
		start = snapshot(t, dir)
	}
	v = open(t, dir, vault.Options{})
	if !d.locked {
		must(t, v.Unlock(t.Context(), pass))
	}
	must(t, d.do(t.Context(), v))
	v.Lock(t.Context())
	unlockEither(t, v)
	after = state(t, v)
	must(t, v.Close())
	restore(t, dir, start)
	return dir, before, after
}

// TestKilledAtEveryStep: the vault is as before or as after, with nothing left behind, and the deed can be done again.
func TestKilledAtEveryStep(t *testing.T) {
	for _, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir, before, after := prepared(t, d)
			start := snapshot(t, dir)
			first := vault.Inspect(t.Context(), dir, nil)
			old, changed, n := 0, 0, 1
			for ; killed(t, d.name, dir, n); n++ {
				v := open(t, dir, vault.Options{})
				if d.name == "repair" && v.Unlock(t.Context(), pass) != nil {
					must(t, v.Repair(t.Context(), pass))
				}
				words := unlockEither(t, v)
				now := state(t, v)
				is := v.Status(t.Context())
				moved := now != before
				switch d.name { // what state does not tell
				case "passphrase":
					moved = slices.Equal(words, other)
				case "identity":
					moved = is.Encrypted != first.Encrypted
				case "phrase":
					moved = is.Recovery
				case "takein":
					moved = is.Serial > first.Serial
				}
				if now != before && now != after || d.name != "identity" && is.Encrypted != first.Encrypted && first.Exists && first.Problem == "" {
					t.Fatalf("step %d: %s\nbefore: %s\nafter: %s", n, now, before, after)
				}
				if phrase, err := os.ReadFile(dir + ".phrase"); err == nil {
					must(t, v.UnlockByPhrase(t.Context(), string(phrase)))
				}
				nothingLeft(t, dir)
				if moved {
					changed++
				} else {
					old++
					if !d.locked {
						must(t, d.do(t.Context(), v))
					}
				}
				must(t, v.Close())
				restore(t, dir, start)
			}
			if n < 4 {
				t.Errorf("only %d steps: the hook is not called", n-1)
			}
			if changed == 0 && d.name != "repair" || old == 0 && !d.locked {
				t.Errorf("%d times as before, %d as after", old, changed)
			}
			t.Logf("killed at %d steps: %d times as before, %d as after", n-1, old, changed)
		})
	}
}

// nothingLeft checks that the folder of a vault that was unlocked holds nothing but one state.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	count := make(map[string]int)
	for name := range snapshot(t, dir) {
		if strings.HasPrefix(filepath.Base(name), ".ash-") {
			t.Errorf("%s was left behind", name)
		}
		count[strings.SplitN(name, "-", 2)[0]]++
	}
	if count["identity"] != 1 || count["index"] != 1 || count["recovery"] > 1 {
		t.Errorf("left behind: %v", count)
	}
}

// TestKilledWhileMade: there is no vault, and it can be made; or there is one.
func TestKilledWhileMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "vault")
	none, n := 0, 1
	for ; killed(t, "create", dir, n); n++ {
		v := open(t, dir, vault.Options{})
		if err := v.Unlock(t.Context(), pass); err != nil {
			refused(t, err, agent.CodeNotFound)
			none++
			must(t, v.Create(t.Context(), pass))
		}
		put(t, v, "tool/brave", hostOf("tool/brave"))
		yields(t, v, "tool/brave", "value of tool/brave")
		nothingLeft(t, dir)
		must(t, v.Close())
		must(t, os.RemoveAll(dir))
	}
	t.Logf("killed at %d steps: %d times there was none", n-1, none)
}

// TestFailingAtEveryStep is the same with a disk that is full from some step on: the vault says so, goes on with what it
// was or became, and is whole when the disk has room again.
func TestFailingAtEveryStep(t *testing.T) {
	for _, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir, before, after := prepared(t, d)
			start := snapshot(t, dir)
			failed := true
			for n := 1; failed; n++ {
				armed, steps := false, 0
				failed = false
				v := open(t, dir, vault.Options{}.Step(func(string) error {
					if armed {
						steps++
					}
					if armed && steps >= n {
						failed = true
						return syscall.ENOSPC
					}
					return nil
				}))
				if !d.locked {
					must(t, v.Unlock(t.Context(), pass))
				}
				armed = true
				err := d.do(t.Context(), v)
				armed = false
				if err != nil {
					refused(t, err, agent.CodeExhausted)
				}
				// Unlocking goes before taking in: that is tried again at the next.
				if _, lerr := v.List(); lerr == nil && d.name != "takein" {
					if now := state(t, v); now != before && now != after {
						t.Fatalf("step %d, still unlocked: %s", n, now)
					}
				}
				if d.name == "repair" && v.Unlock(t.Context(), pass) != nil {
					must(t, v.Repair(t.Context(), pass))
				}
				unlockEither(t, v)
				if now := state(t, v); now != before && now != after {
					t.Fatalf("step %d: %s\nbefore: %s\nafter: %s", n, now, before, after)
				} else if err == nil && now != after {
					t.Fatalf("step %d: done, it says, but %s", n, now)
				}
				nothingLeft(t, dir)
				must(t, v.Close())
				restore(t, dir, start)
			}
		})
	}
}

// TestOrderOfSteps: what a new root names is synced before the root is put in place, and only then is anything removed.
func TestOrderOfSteps(t *testing.T) {
	for _, d := range deeds() {
		var steps []string
		dir, _, _ := prepared(t, d)
		v := open(t, dir, vault.Options{}.Step(func(s string) error { steps = append(steps, s); return nil }))
		if !d.locked {
			must(t, v.Unlock(t.Context(), pass))
		}
		steps = nil
		must(t, d.do(t.Context(), v))
		root := slices.Index(steps, "put current in place")
		if root < 0 {
			if d.name != "leave" {
				t.Errorf("%s: the root was never replaced", d.name)
			}
			continue
		}
		for i, s := range steps {
			file, put := strings.CutPrefix(s, "put ")
			file, _, _ = strings.Cut(file, " ")
			if put && i < root && (!slices.Contains(steps[:i], "sync "+file) || !slices.Contains(steps[i:root], "sync the folder of "+file)) {
				t.Errorf("%s: %s is named by the root before it is on the disk", d.name, file)
			}
			if i < root && strings.HasPrefix(s, "remove ") {
				t.Errorf("%s: %s before the root was replaced", d.name, s)
			}
		}
	}
}
