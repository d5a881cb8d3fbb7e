package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// giveBackPages tells the system that the pages of the program itself that are in memory may go: what is still needed comes back as it is
// used, from the system's cache of files, 64 KB at a time: the first turn after a rest is slower by less than it varies. A start uses three quarters
// of the program, a house at rest a tenth; the system cannot tell, and keeps what a program has run before what it has read. It returns
// how many bytes were told of.
func giveBackPages() (bytes int, err error) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0, err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, err
	}
	maps, err := untouched(f, self)
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	for _, m := range maps {
		if _, _, no := syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED); no != 0 {
			return bytes, fmt.Errorf("madvise: %w", no)
		}
		bytes += int(m.to - m.from)
	}
	return bytes, nil
}

// span is a range of addresses.
type span struct{ from, to uintptr }

// untouched finds, in the form of /proc/PID/smaps (https://man7.org/linux/man-pages/man5/proc_pid_smaps.5.html), what is mapped of a file, can only be
// read or run, and is in every byte what the file says. What a loader, a debugger or anybody else changed in memory is not in the file,
// and would be lost.
func untouched(smaps io.Reader, file string) ([]span, error) {
	var out []span
	var now span
	ours := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if key, ok := strings.CutSuffix(fields[0], ":"); ok {
			if key == "Anonymous" && ours && fields[1] == "0" {
				out = append(out, now)
			}
			continue
		}
		ours = len(fields) >= 6 && strings.Join(fields[5:], " ") == file && (fields[1] == "r-xp" || fields[1] == "r--p")
		if !ours {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		a, err := strconv.ParseUint(from, 16, strconv.IntSize)
		b, err2 := strconv.ParseUint(to, 16, strconv.IntSize)
		if err = errors.Join(err, err2); err != nil || b <= a {
			return nil, fmt.Errorf("no range of addresses: %q: %w", fields[0], err)
		}
		now = span{uintptr(a), uintptr(b)}
	}
	return out, lines.Err()
}
