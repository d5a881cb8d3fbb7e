package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuPeriod is the period of the CPU limit in microseconds.
const cpuPeriod = 100_000

// closeTime is how long a group may take to end once it is told to.
const closeTime = 3 * time.Second

// groups is a place where cgroups for commands can be made.
type groups struct {
	version int               // 1 or 2
	dirs    map[string]string // folder by controller; with version 2 the same for all
}

// controllers are the ones without which there is no sandbox.
func controllers() []string { return []string{"memory", "pids", "cpu"} }

// hierarchy is a mounted cgroup hierarchy and this process's place in it.
type hierarchy struct {
	mount string // where it is mounted
	own   string // folder of this process's cgroup, at or below mount
}

// hierarchies reads where cgroups are: by controller, with "" for version 2. mountinfo and self are the texts
// of /proc/self/mountinfo and /proc/self/cgroup (proc(5), cgroups(7)).
func hierarchies(mountinfo, self string) map[string]hierarchy {
	own := map[string]string{}
	for line := range strings.Lines(self) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			for name := range strings.SplitSeq(f[1], ",") {
				own[name] = f[2]
			}
		}
	}
	all := map[string]hierarchy{}
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(strings.TrimSpace(line), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		root, mount := unescape(l[3]), unescape(l[4])
		var names []string
		switch r[0] {
		case "cgroup2":
			names = []string{""}
		case "cgroup":
			names = strings.Split(r[2], ",")
		}
		for _, name := range names {
			path, member := own[name]
			if _, known := all[name]; known || !member {
				continue
			}
			h := hierarchy{mount: mount, own: mount}
			// A container sees only a part of the hierarchy, from root down.
			if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
				h.own = filepath.Join(mount, rel)
			}
			all[name] = h
		}
	}
	return all
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// places lists where groups might be made, the nearest first.
func places(all map[string]hierarchy) []groups {
	one := true
	for _, c := range controllers() {
		_, ok := all[c]
		one = one && ok
	}
	if one {
		near, top := groups{1, map[string]string{}}, groups{1, map[string]string{}}
		for _, c := range controllers() {
			near.dirs[c], top.dirs[c] = all[c].own, all[c].mount
		}
		return []groups{near, top}
	}
	h, ok := all[""]
	if !ok {
		return nil
	}
	var list []groups
	for dir := h.own; ; dir = filepath.Dir(dir) {
		g := groups{2, map[string]string{}}
		for _, c := range controllers() {
			g.dirs[c] = dir
		}
		list = append(list, g)
		if dir == h.mount || !within(h.mount, dir) {
			return list
		}
	}
}

// findGroups returns the first place where a group holds the limits and takes a process in.
func findGroups(prefix string) (groups, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return groups{}, err
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return groups{}, err
	}
	err = errors.New("no cgroup with memory, pids and cpu is mounted")
	for _, g := range places(hierarchies(string(mountinfo), string(self))) {
		if tryErr := g.try(prefix); tryErr != nil {
			err = tryErr
			continue
		}
		return g, nil
	}
	return groups{}, err
}

// try makes a group and puts a process into it.
func (g groups) try(prefix string) error {
	if g.version == 2 {
		if err := enable(g.dirs["memory"]); err != nil {
			return err
		}
	}
	one, err := g.open(prefix+"-try", Settings{}.withDefaults())
	if err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", prelude, "sh"}, append(one.entries(), "--", "/bin/true")...)...) //nolint:noctx,gosec // ends at once
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("entering %s: %w: %s", one.dirs[0], err, strings.TrimSpace(string(out)))
	}
	return errors.Join(err, one.close())
}

// enable lets the groups below dir have the controllers (version 2).
func enable(dir string) error {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, c := range controllers() {
		if slices.Contains(strings.Fields(string(have)), c) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// group is the cgroup of one command.
type group struct {
	version int
	dirs    []string // one per controller; one with version 2
	memory  string   // the one with the memory controller
	cpu     string
	pids    string
}

// open makes a group with the limits of s.
func (g groups) open(name string, s Settings) (_ *group, err error) {
	one := g.group(name)
	defer func() {
		if err != nil {
			err = errors.Join(err, one.close())
		}
	}()
	for _, dir := range one.dirs {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as the kernel makes them
			return nil, err
		}
	}
	return one, one.limit(s)
}

// limit writes the limits. Those on swap are optional: not every kernel counts it.
func (o *group) limit(s Settings) error {
	memory, pids := strconv.FormatInt(s.Memory, 10), strconv.Itoa(s.PIDs)
	quota := strconv.Itoa(int(s.CPUs * cpuPeriod))
	type setting struct {
		dir, file, value string
		optional         bool
	}
	list := []setting{
		{o.memory, "memory.max", memory, false}, {o.memory, "memory.swap.max", "0", true},
		{o.pids, "pids.max", pids, false}, {o.cpu, "cpu.max", quota + " " + strconv.Itoa(cpuPeriod), false},
	}
	if o.version == 1 {
		list = []setting{
			{o.memory, "memory.swappiness", "0", true}, {o.memory, "memory.limit_in_bytes", memory, false},
			{o.memory, "memory.memsw.limit_in_bytes", memory, true}, {o.pids, "pids.max", pids, false},
			{o.cpu, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod), false}, {o.cpu, "cpu.cfs_quota_us", quota, false},
		}
	}
	for _, l := range list {
		err := write(filepath.Join(l.dir, l.file), l.value)
		if err != nil && !l.optional {
			return fmt.Errorf("setting a limit: %w", err)
		}
	}
	return nil
}

// write changes a file of a cgroup, which must be there.
func write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// entries are the files through which a process enters the group.
func (o *group) entries() []string {
	list := make([]string, len(o.dirs))
	for i, dir := range o.dirs {
		list[i] = filepath.Join(dir, "cgroup.procs")
	}
	return list
}

// ooms counts the processes of the group that the kernel ended for want of memory.
func (o *group) ooms() int {
	name := "memory.events"
	if o.version == 1 {
		name = "memory.oom_control"
	}
	text, err := os.ReadFile(filepath.Join(o.memory, name))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(v))
			return n
		}
	}
	return 0
}

// kill ends every process of the group. With version 1 a group that was removed halfway is still whole in another hierarchy.
func (o *group) kill() {
	if o.version == 2 && write(filepath.Join(o.dirs[0], "cgroup.kill"), "1") == nil {
		return
	}
	for _, dir := range o.dirs {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
			}
		}
	}
}

// close kills what is left in the group and removes it. A cgroup stays busy for a moment after its last process, for longer on a
// busy machine; what is left after closeTime is tried again at the next start.
func (o *group) close() error {
	end := time.Now().Add(closeTime)
	var all error
	for _, dir := range o.dirs {
		for wait := time.Duration(0); ; wait = min(wait+time.Millisecond, 10*time.Millisecond) {
			err := os.Remove(dir)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			if time.Now().After(end) {
				all = errors.Join(all, err)
				break
			}
			o.kill()
			time.Sleep(wait)
		}
	}
	return all
}

// leftover finds groups of processes of this home that are dead: prefix-PID-n. One that was removed halfway is found by what is left of it.
func (g groups) leftover(prefix string) []*group {
	var list []*group
	seen := map[string]bool{}
	for _, c := range controllers() {
		entries, err := os.ReadDir(g.dirs[c])
		if err != nil {
			continue // not there: no groups either
		}
		for _, e := range entries {
			name := e.Name()
			rest, ok := strings.CutPrefix(name, prefix+"-")
			pid, _, _ := strings.Cut(rest, "-")
			n, err := strconv.Atoi(pid)
			if !ok || err != nil || seen[name] || alive(n) {
				continue
			}
			seen[name] = true
			list = append(list, g.group(name))
		}
	}
	return list
}

// group is the group of that name here, there or not.
func (g groups) group(name string) *group {
	one := &group{
		version: g.version,
		memory:  filepath.Join(g.dirs["memory"], name), cpu: filepath.Join(g.dirs["cpu"], name), pids: filepath.Join(g.dirs["pids"], name),
	}
	for _, dir := range []string{one.memory, one.pids, one.cpu} {
		if !slices.Contains(one.dirs, dir) {
			one.dirs = append(one.dirs, dir)
		}
	}
	return one
}
