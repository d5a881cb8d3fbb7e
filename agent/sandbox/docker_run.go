package sandbox

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"ash/agent"
)

//go:embed line.sh
var lineScript string

// Patience with an engine, beyond which a container is removed.
const (
	beginTime = 20 * time.Second       // from asking to run a command to its first mark
	killTime  = 300 * time.Millisecond // from telling the keeper to kill to its word
	aloneTime = 400 * time.Millisecond // from its word to the end of every process, as the engine sees it
	drainTime = 300 * time.Millisecond // from the end of every process to the end of the output
)

// slot is a thread's place for a container.
type slot struct {
	turn chan struct{} // holds one token while nobody uses the box
	// Guarded by docker.mu.
	box   *box
	used  time.Time
	users int    // commands that use it or wait for it
	root  string // of the last command
	least int64  // bytes that must stay free there
}

// errNotBegun is why a command did not run although the container seemed there.
var errNotBegun = errors.New("the command did not begin")

// run implements engine.
func (d *docker) run(ctx context.Context, j *job) (ending, error) {
	if j.passage != nil {
		return d.runAlone(ctx, j)
	}
	s := d.slot(j.Thread)
	defer d.leave(s)
	select {
	case <-s.turn:
	case <-ctx.Done():
		return ending{}, ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	var err error
	for range 2 { // a container that ended meanwhile, or that a fork bomb in the background filled, is replaced once
		var b *box
		if b, err = d.warm(ctx, s, j); err != nil {
			return ending{}, err
		}
		var end ending
		if end, err = d.exec(ctx, b, j); !errors.Is(err, errNotBegun) {
			return end, err
		}
		d.drop(s, b)
	}
	return ending{}, agent.Wrap(agent.CodeUnavailable, err, "The sandbox could not run the command: %s", firstLine(err))
}

// runAlone runs a command with network in a container of its own.
func (d *docker) runAlone(ctx context.Context, j *job) (ending, error) {
	l, err := d.connect(ctx, j.settings)
	if err != nil {
		return ending{}, err
	}
	if l.desktop {
		return ending{}, agent.Errorf(agent.CodeUnavailable, "Commands with network need Docker on Linux itself: from its virtual machine it cannot reach Ash's filter. The command was not run.")
	}
	b, err := d.open(ctx, l, j, useNetwork)
	if err != nil {
		return ending{}, err
	}
	d.mu.Lock()
	d.loose[b] = struct{}{}
	d.mu.Unlock()
	defer d.remove(b)
	end, err := d.exec(ctx, b, j)
	if errors.Is(err, errNotBegun) {
		err = agent.Wrap(agent.CodeUnavailable, err, "The sandbox with network could not run the command. If Docker uses a runtime such as gVisor, it must allow sockets of the host (runsc --host-uds=open).")
	}
	return end, err
}

// open makes a container for j.
func (d *docker) open(ctx context.Context, l *dockerLink, j *job, use string) (*box, error) {
	ask, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	image, err := l.image(ask)
	if err != nil {
		return nil, err
	}
	return d.create(ctx, l, d.spec(l, j, image, use))
}

func (d *docker) spec(l *dockerLink, j *job, image, use string) spec {
	p := spec{thread: j.Thread, use: use, root: j.Root, ro: j.ReadOnly, user: l.user(j.user), image: image, set: j.settings}
	if j.passage != nil {
		p.socket, p.self = j.passage.Socket(), j.self
	}
	return p
}

// slot returns the place of a thread, for the caller to leave.
func (d *docker) slot(thread agent.ID) *slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.slots[thread]
	if s == nil {
		s = &slot{turn: make(chan struct{}, 1)}
		s.turn <- struct{}{}
		d.slots[thread] = s
	}
	s.users++
	return s
}

func (d *docker) leave(s *slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.users--
	s.used = time.Now()
}

// warm returns the container of a slot, made anew when there is none that fits.
func (d *docker) warm(ctx context.Context, s *slot, j *job) (*box, error) {
	d.mu.Lock()
	b := s.box
	s.root, s.least = j.Root, j.settings.MinFree
	d.mu.Unlock()
	if b != nil && !b.isGone() && b.key == d.spec(b.link, j, imageTag(), useCommand).key() {
		return b, nil
	}
	if b != nil {
		d.drop(s, b)
	}
	l, err := d.connect(ctx, j.settings)
	if err != nil {
		return nil, err
	}
	if b, err = d.open(ctx, l, j, useCommand); err != nil {
		return nil, err
	}
	d.mu.Lock()
	s.box = b
	d.mu.Unlock()
	d.tend(j.settings.Idle)
	return b, nil
}

// drop forgets and removes a container.
func (d *docker) drop(s *slot, b *box) {
	d.mu.Lock()
	if s.box == b {
		s.box = nil
	}
	d.mu.Unlock()
	d.remove(b)
}

// exec runs j in b. When it is cancelled, everything in the container is killed before it returns, or the container itself.
func (d *docker) exec(ctx context.Context, b *box, j *job) (ending, error) {
	start, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	cli := b.link.cli
	made, err := cli.ContainerExecCreate(start, b.id, container.ExecOptions{
		Cmd: j.program(), Env: j.environment(), WorkingDir: "/",
		AttachStdin: j.Stdin != nil, AttachStdout: true, AttachStderr: true,
	})
	if ctx.Err() != nil {
		return ending{}, ctx.Err()
	}
	if err != nil {
		return ending{}, errors.Join(errNotBegun, err)
	}
	began := time.Now()
	conn, err := cli.ContainerExecAttach(start, made.ID, container.ExecAttachOptions{})
	if err != nil {
		return ending{}, refused(ctx, err)
	}
	defer conn.Close()
	if j.Stdin != nil {
		go feed(conn, j.Stdin) // ends with the connection
	}
	copied := make(chan error, 1)
	go func() {
		copied <- separate(j.out, conn.Reader)
	}()
	end, err := d.follow(ctx, b, j, made.ID, copied)
	end.took = time.Since(began)
	return end, err
}

// follow waits for the end of a command that was asked for.
func (d *docker) follow(ctx context.Context, b *box, j *job, exec string, copied <-chan error) (ending, error) {
	slow := time.NewTimer(beginTime)
	defer slow.Stop()
	begun := j.out.began
	for {
		select {
		case <-begun:
			slow.Stop()
			begun = nil
		case <-slow.C:
			d.remove(b)
			return ending{}, agent.Errorf(agent.CodeUnavailable, "%s took more than %s to begin the command. It was not waited for; whether it ran at all is not known.", b.link.brand(), beginTime)
		case <-ctx.Done():
			d.end(b, copied)
			return ending{exit: 137}, ctx.Err()
		case <-j.out.ended:
			end := ending{exit: j.out.code()}
			end.oom = end.exit != 0 && b.oom(ctx)
			return end, nil
		case err := <-copied:
			return d.conclude(ctx, b, j, exec, err)
		}
	}
}

// conclude finds out how a command ended whose output ended without a word of line.sh: its shell was killed, or the container, or the engine.
func (d *docker) conclude(ctx context.Context, b *box, j *job, exec string, copyErr error) (ending, error) {
	if ctx.Err() != nil {
		d.end(b, nil)
		return ending{exit: 137}, ctx.Err()
	}
	if isClosed(j.out.ended) {
		end := ending{exit: j.out.code()}
		end.oom = end.exit != 0 && b.oom(ctx)
		return end, nil
	}
	select {
	case <-b.gone:
	case <-time.After(50 * time.Millisecond): // both streams end at once; which comes first is chance
	}
	ask, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	info, err := b.link.cli.ContainerExecInspect(ask, exec)
	begun := isClosed(j.out.began)
	switch {
	case begun && b.oom(ctx):
		return ending{exit: 137, oom: true}, nil
	case err != nil || b.isGone() || info.Running:
		return ending{exit: 137}, unknownEnd(errors.Join(err, copyErr))
	case !begun && (info.ExitCode == 126 || info.ExitCode == 127):
		return ending{}, errors.Join(errNotBegun, copyErr) // the runtime could not start it: no room for a process, for one
	case !begun:
		return ending{}, unknownEnd(errors.Join(copyErr, errors.New("it ended without a mark")))
	}
	return ending{exit: info.ExitCode}, nil
}

// end kills everything in b and waits for the output to end; when that takes too long it removes the container.
func (d *docker) end(b *box, copied <-chan error) {
	if b.clear() {
		if copied == nil {
			return
		}
		select {
		case err := <-copied:
			d.log.Debug("a command was killed", "err", err)
			return
		case <-time.After(drainTime):
			// Docker sometimes keeps the stream for two seconds more. The processes are gone.
			return
		}
	}
	d.log.Warn("a sandbox did not obey and is removed", "container", short(b.id))
	d.remove(b)
}

// refused tells an engine that said no, so that nothing ran, from one of which nobody knows.
func refused(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case isRefusal(err):
		return errors.Join(errNotBegun, err)
	}
	return unknownEnd(err)
}

// unknownEnd is the error of a command of which nobody knows how far it came.
func unknownEnd(err error) error {
	return agent.Wrap(agent.CodeUnavailable, err, "The sandbox ended in the middle of the command; perhaps the engine was stopped. What the command did before that stands.")
}

// separate takes the frames of a stream apart; both kinds of output go to w.
func separate(w io.Writer, r io.Reader) error {
	_, err := stdcopy.StdCopy(w, w, r)
	return err
}

func feed(conn types.HijackedResponse, stdin []byte) {
	if _, err := conn.Conn.Write(stdin); err != nil {
		return // the command did not want all of it
	}
	_ = conn.CloseWrite()
}

// program is what runs inside for j.
func (j *job) program() []string {
	line := []string{"sh", "-c", lineScript, "ash", j.out.word, j.Dir, j.Line}
	if j.passage != nil {
		line = append([]string{insideSelf, RelayCommand, insideSocket}, line...)
	}
	return line
}

// environment is what the command's variables are. Those of j come last and win.
func (j *job) environment() []string { return append(j.ownEnvironment(), j.Env...) }

// ownEnvironment is what every command gets.
func (j *job) ownEnvironment() []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home", "USER=ash", "LOGNAME=ash", "SHELL=/bin/bash",
		"LANG=C.UTF-8", "TERM=dumb", "TMPDIR=/tmp", "PYTHONUNBUFFERED=1", "PAGER=cat", "GIT_TERMINAL_PROMPT=0",
		// The folder may belong to another id inside than the command's own.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
	if j.passage != nil {
		env = append(env, proxyEnv()...)
	}
	return env
}
