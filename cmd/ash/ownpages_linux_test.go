package main

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Only what is in every byte as the file has it may go: anything else would be lost.
func TestUntouchedPages(t *testing.T) {
	mapped := func(line, anonymous string) string {
		return line + "\nSize:               1024 kB\nRss:                 512 kB\nAnonymous:             " + anonymous + " kB\nVmFlags: rd ex mr mw me sd\n"
	}
	smaps := mapped("00400000-01400000 r-xp 00000000 fe:00 12 /usr/bin/my ash", "0") +
		mapped("01400000-01500000 r-xp 01000000 fe:00 12 /usr/bin/my ash", "4") + // a debugger's breakpoint
		mapped("01500000-02600000 r--p 01100000 fe:00 12 /usr/bin/my ash", "0") +
		mapped("02600000-02700000 r--p 02200000 fe:00 12 /usr/bin/my ash", "64") + // a loader's relocations
		mapped("02700000-02800000 rw-p 02300000 fe:00 12 /usr/bin/my ash", "0") +
		mapped("02800000-02900000 r--s 00000000 fe:00 12 /usr/bin/my ash", "0") +
		mapped("7f0000000000-7f0000100000 r-xp 00000000 fe:00 13 /usr/lib/libc.so.6", "0") +
		mapped("7f0000200000-7f0000300000 r--p 00000000 fe:00 14 /usr/bin/my ash (deleted)", "0") +
		mapped("7f0000400000-7f0000500000 r--p 00000000 00:00 0", "0")
	got, err := untouched(strings.NewReader(smaps), "/usr/bin/my ash")
	if want := []span{{0x400000, 0x1400000}, {0x1500000, 0x2600000}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%x %v", got, err)
	}
	for _, bad := range []string{"400000 r-xp 0 fe:00 12 /ash", "zz-400000 r-xp 0 fe:00 12 /ash", "400000-300000 r--p 0 fe:00 12 /ash"} {
		if got, err := untouched(strings.NewReader(mapped(bad, "0")), "/ash"); err == nil {
			t.Errorf("%q: %x", bad, got)
		}
	}
}

// The program goes on as before when its pages were given back, and holds fewer of them.
func TestGiveBackPages(t *testing.T) {
	before := heldPages(t)
	told, err := giveBackPages()
	if err != nil || told == 0 {
		t.Fatalf("%d bytes: %v", told, err)
	}
	if after := heldPages(t); after >= before {
		t.Errorf("%d kB of the program in memory, before %d", after, before)
	}
}

// heldPages is how much of the program's file is in this process's memory, in kB.
func heldPages(t *testing.T) (kb int) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	f, err := os.Open("/proc/self/smaps")
	must(t, err)
	defer f.Close()
	lines, ours := bufio.NewScanner(f), false
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if key, ok := strings.CutSuffix(fields[0], ":"); !ok {
			ours = strings.HasSuffix(lines.Text(), self)
		} else if ours && key == "Rss" {
			n, err := strconv.Atoi(fields[1])
			must(t, err)
			kb += n
		}
	}
	must(t, lines.Err())
	return kb
}
