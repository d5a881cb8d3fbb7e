package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ash/agent"
)

// bubblewrap runs each command in namespaces of its own, within a cgroup of its own.
type bubblewrap struct {
	prefix string // of the names of cgroups
	log    *slog.Logger
	count  atomic.Int64

	mu      sync.Mutex // guards the rest until tried
	tried   bool       // everything below is known and works
	path    string
	version string
	has     map[string]bool // options it knows
	root    bool            // Ash is root: setpriv makes the command another user
	setpriv string
	groups  groups
	filter  []byte
}

func newBubblewrap(home string, log *slog.Logger) *bubblewrap {
	return &bubblewrap{prefix: "ash-" + home, log: log}
}

func (b *bubblewrap) name() string { return EngineBubblewrap }

// ready looks for all it takes and tries it once.
func (b *bubblewrap) ready(ctx context.Context, _ Settings) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tried {
		return nil
	}
	if err := b.find(ctx); err != nil {
		return err
	}
	var err error
	if b.groups, err = findGroups(b.prefix + "-" + strconv.Itoa(os.Getpid())); err != nil {
		fix := "Start Ash with: systemd-run --user --scope -p Delegate=yes ash serve"
		if b.root {
			fix = "Its kernel or container does not let it."
		}
		return agent.Wrap(agent.CodeUnavailable, err, "Bubblewrap is there, but Ash can make no cgroup, so nothing would bound memory, processes and CPU. %s", fix)
	}
	if b.filter, err = seccompFilter(); err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The filter of system calls could not be made.")
	}
	if err := b.tryOut(ctx); err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "Bubblewrap is there, but does not work: %s. It needs user namespaces, which this system may have switched off.", firstLine(err))
	}
	b.tried = true
	return nil
}

// find looks for the programs.
func (b *bubblewrap) find(ctx context.Context) error {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "Bubblewrap is not installed either (on Debian and Ubuntu: sudo apt install bubblewrap).")
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	help, err := exec.CommandContext(ctx, path, "--help").CombinedOutput()
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "Bubblewrap is installed, but does not start.")
	}
	b.has = map[string]bool{}
	for _, word := range strings.Fields(string(help)) {
		b.has[word] = strings.HasPrefix(word, "--")
	}
	if !b.has["--size"] || !b.has["--perms"] {
		return agent.Errorf(agent.CodeUnavailable, "The bubblewrap that is installed is too old: Ash needs 0.7 or newer.")
	}
	version, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "Bubblewrap is installed, but does not start.")
	}
	b.path, b.version = path, strings.TrimSpace(strings.TrimPrefix(string(version), "bubblewrap"))
	b.root = os.Geteuid() == 0
	if !b.root {
		return nil
	}
	if b.setpriv, err = exec.LookPath("setpriv"); err != nil || !strings.HasPrefix(b.setpriv, "/usr/") && !strings.HasPrefix(b.setpriv, "/bin/") {
		return agent.Wrap(agent.CodeUnavailable, err, "Ash runs as root, and bubblewrap then needs setpriv, which is not installed (package util-linux).")
	}
	return nil
}

// tryOut runs a command that does nothing, in an empty folder.
func (b *bubblewrap) tryOut(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "ash-try-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	j := &job{Command: Command{Root: dir, Line: "exit 42"}, settings: Settings{}.withDefaults()}
	if j.user, err = userOf(dir); err != nil {
		return err
	}
	if b.root {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // empty
			return err
		}
	}
	j.out = newOutput(1<<10, nil, nil)
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	end, err := b.run(ctx, j)
	if err == nil && end.exit != 42 {
		err = fmt.Errorf("it ended with %d", end.exit)
	}
	return err
}

// run implements engine.
func (b *bubblewrap) run(ctx context.Context, j *job) (ending, error) {
	g, err := b.groups.open(b.prefix+"-"+strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(b.count.Add(1), 10), j.settings)
	if err != nil {
		return ending{}, agent.Wrap(agent.CodeUnavailable, err, "The limits of the sandbox could not be set, so the command was not run.")
	}
	defer func() {
		if err := g.close(); err != nil {
			b.log.Warn("a cgroup could not be removed; it is tried again at the next start", "err", err)
		}
	}()
	said := &tail{}
	cmd, closeFiles, err := b.command(j, g, j.program())
	if err != nil {
		return ending{}, err
	}
	defer closeFiles()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(j.Stdin), j.out, said
	// Bubblewrap asks to die with its parent as well, but only once it is there: the shell before it would live on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = drainTime
	began := time.Now()
	waited, err := start(cmd)
	if err != nil {
		return ending{}, agent.Wrap(agent.CodeUnavailable, err, "Bubblewrap did not start, so the command was not run.")
	}
	select {
	case err = <-waited:
	case <-ctx.Done():
		// With the outer process its pid namespace dies, and everything in it; the cgroup is for whatever there might be besides.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		g.kill()
		b.log.Debug("a command was killed", "err", <-waited)
		return ending{exit: 137, took: time.Since(began)}, ctx.Err()
	}
	end := ending{took: time.Since(began), oom: g.ooms() > 0}
	var exit *exec.ExitError
	switch {
	case !isClosed(j.out.began):
		return ending{}, agent.Wrap(agent.CodeUnavailable, err, "Bubblewrap could not run the command: %s", said.line())
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
	case errors.As(err, &exit) && exit.Exited():
		end.exit = exit.ExitCode()
	case end.oom:
		end.exit = 137
	default:
		return ending{exit: 137}, agent.Wrap(agent.CodeUnavailable, err, "The sandbox ended in the middle of the command. What the command did before that stands.")
	}
	return end, nil
}

// shell gives the terminal itself to a shell. The filter of system calls keeps it from typing into that terminal.
func (b *bubblewrap) shell(ctx context.Context, j *job, t Terminal) (int, error) {
	j.terminal = b.filter != nil
	g, err := b.groups.open(b.prefix+"-"+strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(b.count.Add(1), 10), j.settings)
	if err != nil {
		return 0, agent.Wrap(agent.CodeUnavailable, err, "The limits of the sandbox could not be set.")
	}
	defer func() {
		if err := g.close(); err != nil {
			b.log.Warn("a cgroup could not be removed", "err", err)
		}
	}()
	cmd, closeFiles, err := b.command(j, g, shellProgram())
	if err != nil {
		return 0, err
	}
	defer closeFiles()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.In, t.Out, t.Out
	// Bubblewrap asks to die with its parent as well, but only once it is there: the shell before it would live on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if t.Size != nil {
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, int(t.In.Fd())
	}
	waited, err := start(cmd)
	if err != nil {
		return 0, agent.Wrap(agent.CodeUnavailable, err, "Bubblewrap did not start.")
	}
	select {
	case err = <-waited:
	case <-ctx.Done():
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		g.kill()
		b.log.Debug("a command was killed", "err", <-waited)
		return 137, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		return 137, agent.Wrap(agent.CodeUnavailable, err, "The sandbox ended.")
	}
	return cmd.ProcessState.ExitCode(), nil
}

// command makes the command line with the texts bubblewrap reads from descriptors.
func (b *bubblewrap) command(j *job, g *group, program []string) (*exec.Cmd, func(), error) {
	args := append([]string{"-c", prelude, "sh"}, g.entries()...)
	args = append(args, "--")
	args = append(args, b.arguments(j, program)...)
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx,gosec // run kills it by itself; every part is ours or inside the sandbox
	cmd.Env = j.ownEnvironment()            // nothing of Ash's, and nothing yet of the command's
	cmd.Dir = "/"
	closeFiles := func() {
		for _, f := range cmd.ExtraFiles {
			_ = f.Close()
		}
	}
	for _, text := range b.data(j) {
		f, err := textFile(text)
		if err != nil {
			closeFiles()
			return nil, nil, agent.Wrap(agent.CodeUnavailable, err, "The sandbox could not be prepared, so the command was not run.")
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	return cmd, closeFiles, nil
}

// textFile is a descriptor from which text can be read. A pipe holds 64 KiB, far more than any of ours.
func textFile(text []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// start runs cmd from a thread that stays for as long as it does: --die-with-parent is about the thread that made the process (prctl(2)).
func start(cmd *exec.Cmd) (<-chan error, error) {
	started, waited := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			waited <- cmd.Wait()
		}
	}()
	return waited, <-started
}

// tail keeps the beginning of what bubblewrap itself says.
type tail struct{ b []byte }

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[:min(len(p), 1<<10-len(t.b))]...)
	return len(p), nil
}

func (t *tail) line() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(t.b)), "\n")
	return line
}

var _ io.Writer = (*tail)(nil)

// recover removes cgroups of processes that are dead, and kills whatever should still be in them.
func (b *bubblewrap) recover() (removed int, err error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0, nil //nolint:nilerr // without /proc there were no cgroups either
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, nil //nolint:nilerr // as above
	}
	var all error
	for _, g := range places(hierarchies(string(mountinfo), string(self))) {
		for _, one := range g.leftover(b.prefix) {
			if err := one.close(); err != nil {
				all = errors.Join(all, fmt.Errorf("cgroup %s: %w", filepath.Base(one.pids), err))
				continue
			}
			removed++
		}
	}
	return removed, all
}

// describe tells about it.
func (b *bubblewrap) describe(s Settings, st *Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st.Name, st.Version, st.Cgroup = "Bubblewrap", b.version, strconv.Itoa(b.groups.version)
	st.Limits = []Limit{
		{"memory", bytesText(s.Memory), "cgroup"}, {"swap", "none", "cgroup"},
		{"cpus", floatText(s.CPUs), "cgroup"}, {"processes", intText(s.PIDs), "cgroup"},
		{"disk", bytesText(s.Disk) + " each in /tmp and /home", "tmpfs"},
	}
	st.Notes = append(st.Notes, "Commands use the programs of this machine, and background jobs end with their command.")
	if b.filter == nil {
		st.Notes = append(st.Notes, "There is no filter of system calls for this kind of machine.")
	}
}

func (b *bubblewrap) close() {}
