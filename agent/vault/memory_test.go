package vault_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent/vault"
)

// status reads a line of /proc/self/status in MB.
func status(key string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				return -1
			}
			return kb / 1024
		}
	}
	return -1
}

// processor returns how much processor time this process has taken, to a hundredth of a second: fields 14 and 15 of
// /proc/self/stat (proc(5)), which others on the machine do not disturb as they do the clock.
func processor() time.Duration {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// memoryChild makes a vault as production does and unlocks it, four at a time, at the highest work factor.
func memoryChild() int {
	ctx := context.Background()
	v, err := vault.Open(os.Getenv("VAULT_DIR"), vault.Options{WorkFactor: vault.MaxWork})
	if err != nil || v.Create(ctx, pass) != nil {
		return 2
	}
	v.Lock(ctx)
	before, began, busy := status("VmRSS"), time.Now(), processor()
	if v.Unlock(ctx, pass) != nil {
		return 2
	}
	took, busy := time.Since(began), processor()-busy
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if v.Unlock(ctx, pass) != nil {
				os.Exit(2)
			}
		})
	}
	all.Wait()
	fmt.Printf("%.0f %.0f %.0f %d %d\n", before, status("VmRSS"), status("VmHWM"), took.Milliseconds(), busy.Milliseconds())
	return 0
}

// TestMemoryOfUnlocking holds the figures at the highest work factor: one unlock under 1.5 s, at the peak under 300 MB however many unlock at once, and given back.
func TestMemoryOfUnlocking(t *testing.T) {
	if status("VmHWM") < 0 {
		t.Skip("needs /proc/self/status, which Linux has")
	}
	if stride > 1 {
		t.Skip("the race detector takes memory and time of its own: run it without")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childTask+"=memory", "VAULT_DIR="+filepath.Join(tempDir(t), "vault"))
	out, err := cmd.Output()
	must(t, err)
	var before, after, peak float64
	var took, busy int
	_, err = fmt.Fscan(bytes.NewReader(out), &before, &after, &peak, &took, &busy)
	must(t, err)
	t.Logf("work factor %d: %.0f MB before, %.0f MB after, %.0f MB at the peak, unlocked in %d ms (%d ms of processor time)", vault.MaxWork, before, after, peak, took, busy)
	if busy > 1500 {
		t.Errorf("%d ms of processor time for one unlock", busy)
	}
	if peak > 300 {
		t.Errorf("%.0f MB at the peak", peak)
	}
	if after > before+40 {
		t.Errorf("%.0f MB were not given back", after-before)
	}
}

// BenchmarkUnlock is one unlock of a vault of a hundred secrets, as production does it. Its baseline is the scrypt of the same work factor alone.
func BenchmarkUnlock(b *testing.B) {
	for _, work := range []int{vault.MinWork, vault.MaxWork} {
		b.Run(fmt.Sprintf("work=%d", work), func(b *testing.B) {
			v, err := vault.Open(filepath.Join(tempDir(b), "vault"), vault.Options{WorkFactor: work})
			must(b, err)
			defer v.Close()
			must(b, v.Create(b.Context(), pass))
			for i := range 100 {
				put(b, v, fmt.Sprintf("tool/t%d", i))
			}
			for b.Loop() {
				v.Lock(b.Context())
				must(b, v.Unlock(b.Context(), pass))
			}
		})
		b.Run(fmt.Sprintf("scrypt=%d", work), func(b *testing.B) {
			for b.Loop() {
				vault.Scrypt(work)
			}
		})
	}
}

// BenchmarkUse is one use of a secret, from the disk to the value.
func BenchmarkUse(b *testing.B) {
	v, _ := made(b, vault.Options{})
	for b.Loop() {
		value, err := use(v, "tool/brave")
		must(b, err)
		vault.Wipe(value)
	}
}
