package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"ash/agent"
)

// Bounds on what is asked.
const (
	maxLine  = 100_000 // bytes of a command line: the kernel takes 128 KiB in one argument
	maxStdin = 64 << 20
	maxEnv   = 200
)

// engineFor is how long a found engine is believed in before it is asked again.
const engineFor = 30 * time.Second

// Sandbox runs commands. It is safe for concurrent use; commands of one thread run one after the other in Docker.
type Sandbox struct {
	o       Options
	log     *slog.Logger
	scratch *scratch
	docker  *docker
	bubble  *bubblewrap

	mu      sync.Mutex
	running map[*job]running
	closed  bool
	found   engine // the engine last found working
	foundAt time.Time
	foundBy Settings
}

// engine is a way to isolate a command.
type engine interface {
	// run executes j and returns its exit code and working directory. The output goes to j.out.
	run(ctx context.Context, j *job) (ending, error)
	name() string
}

// ending is how a command ended, as the engine knows.
type ending struct {
	exit int
	oom  bool
	took time.Duration
}

// job is a command that was checked and is being run.
type job struct {
	Command
	settings   Settings
	user       user
	out        *output
	passage    Passage // nil without network
	passageDir string
	self       string // path of the ash binary
	terminal   bool   // a person sits before it
}

// running is a command between its beginning and its end.
type running struct {
	stop  context.CancelCauseFunc
	done  chan struct{}
	since time.Time
}

// errHalted is why commands end when everything is stopped.
var errHalted = agent.Errorf(agent.CodeUnavailable, "Everything was stopped, this command too. What it did before that stands.")

// New makes a sandbox. It does nothing until it is asked to.
func New(o Options) *Sandbox {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	home, err := filepath.Abs(o.Home)
	if err == nil {
		o.Home = home
	}
	sum := sha256.Sum256([]byte(o.Home))
	name := hex.EncodeToString(sum[:6])
	s := &Sandbox{
		o: o, log: o.Log.With("part", "sandbox"),
		scratch: &scratch{home: o.Home, name: name},
		running: map[*job]running{},
	}
	s.docker = newDocker(filepath.Join(o.Home, "sandbox"), name, s.log)
	s.bubble = newBubblewrap(name, s.log)
	return s
}

func (s *Sandbox) settings() Settings { return s.o.Settings().withDefaults() }

// Run executes one command and hands its output (standard output and error together, as it comes, at
// most Settings.Output bytes) to out, which must return soon; out is not called after Run returned. A command that fails, or
// runs into a limit of time, memory or output, is a result. An error means that it was not run, or that nobody knows how it ended:
//
//   - CodeInvalid, CodeDenied, CodeNotFound: the command or its folder cannot be run;
//   - CodeUnavailable: there is no sandbox, with what to do about it, or it broke down in the middle;
//   - CodeExhausted: the disk of Root is nearly full; a running command was stopped;
//   - the context's error when ctx ended. Everything the command had started is gone then.
//
// The result is filled in as far as it is known also with an error.
func (s *Sandbox) Run(ctx context.Context, c Command, out func([]byte)) (Result, error) {
	j, err := s.prepare(c)
	if err != nil {
		return Result{}, err
	}
	e, err := s.engine(ctx, j.settings)
	if err != nil {
		return Result{}, err
	}
	if err := s.adopt(j.Root, j.user); err != nil {
		return Result{}, agent.Wrap(agent.CodeUnavailable, err, "The files folder could not be given to the account that commands run as. The command was not run.")
	}
	ctx, done, err := s.enter(ctx, j)
	if err != nil {
		return Result{}, err
	}
	defer done()
	j.out = newOutput(j.settings.Output, out, s.scratch.file)
	var r Result
	var end ending
	if err = s.openPassage(ctx, j); err == nil {
		end, err = s.supervise(ctx, j, e, &r)
	}
	r.Hosts = s.closePassage(j)
	dir, outErr := j.out.finish(&r)
	if outErr != nil {
		s.log.Warn("the whole output of a command is not kept", "thread", c.Thread, "err", outErr)
	}
	r.Exit, r.OutOfMemory, r.Duration, r.Engine = end.exit, end.oom, end.took, e.name()
	r.Dir = c.Dir
	if now, ok := below(dir); ok && dir != "" {
		r.Dir = now
	}
	s.log.Debug("command ended", "thread", c.Thread, "exit", r.Exit, "took", r.Duration, "timeout", r.TimedOut, "oom", r.OutOfMemory, "err", err)
	return r, err
}

// prepare checks a command.
func (s *Sandbox) prepare(c Command) (*job, error) {
	j := &job{Command: c, settings: s.settings(), self: s.o.Self}
	if j.Timeout <= 0 {
		j.Timeout = j.settings.Timeout
	}
	switch {
	case strings.TrimSpace(c.Line) == "":
		return nil, agent.Errorf(agent.CodeInvalid, "There is no command to run.")
	case len(c.Line) > maxLine:
		return nil, agent.Errorf(agent.CodeInvalid, "The command is longer than %d bytes. Write it to a file and run that.", maxLine)
	case strings.ContainsRune(c.Line, 0) || strings.ContainsRune(c.Dir, 0):
		return nil, agent.Errorf(agent.CodeInvalid, "A command cannot contain a zero byte.")
	case c.Dir != "" && !filepath.IsLocal(c.Dir):
		return nil, agent.Errorf(agent.CodeInvalid, "The working folder must be inside the root, and relative to it.")
	case len(c.Stdin) > maxStdin:
		return nil, agent.Errorf(agent.CodeInvalid, "A command gets at most 64 MiB as input.")
	case len(c.Env) > maxEnv:
		return nil, agent.Errorf(agent.CodeInvalid, "A command gets at most %d variables.", maxEnv)
	}
	j.Dir = filepath.ToSlash(c.Dir)
	name := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	for _, v := range c.Env {
		if key, _, ok := strings.Cut(v, "="); !ok || !name.MatchString(key) || strings.ContainsRune(v, 0) || len(v) > maxLine {
			return nil, agent.Errorf(agent.CodeInvalid, "A variable for a command must look like NAME=value.")
		}
	}
	var err error
	if j.Root, err = s.checkRoot(c.Root); err != nil {
		return nil, err
	}
	if err := checkFree(j.Root, j.settings.MinFree); err != nil {
		return nil, err
	}
	j.user, err = userOf(j.Root)
	return j, err
}

// enter counts j among the running commands, so that Halt and Close find it.
func (s *Sandbox) enter(ctx context.Context, j *job) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, agent.Errorf(agent.CodeUnavailable, "Ash is being stopped. The command was not run.")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	end := make(chan struct{})
	s.running[j] = running{cancel, end, time.Now()}
	return ctx, func() {
		cancel(nil)
		close(end)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, j)
	}, nil
}

// stopAll ends every running command and waits for that.
func (s *Sandbox) stopAll(ctx context.Context) error {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.running))
	s.mu.Unlock()
	for _, r := range all {
		r.stop(errHalted)
	}
	for _, r := range all {
		select {
		case <-r.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// EndJobs ends what the commands of a thread left in the background. In bubblewrap nothing outlives its command.
func (s *Sandbox) EndJobs(ctx context.Context, thread agent.ID) error {
	return s.docker.endJobs(ctx, thread)
}

// Release removes the container of a thread.
func (s *Sandbox) Release(ctx context.Context, thread agent.ID) error {
	return s.docker.release(ctx, thread)
}

// Halt stops every running command and removes every container at once. Commands may be run again afterwards.
func (s *Sandbox) Halt(ctx context.Context) error {
	err := s.stopAll(ctx)
	return errors.Join(err, s.docker.removeAll(ctx))
}

// Close stops every command, removes every container of this process and waits for what runs beside.
func (s *Sandbox) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.stopAll(ctx)
	err = errors.Join(err, s.docker.close(ctx))
	s.bubble.close()
	s.scratch.close()
	return err
}

// Recover removes what a process of this home that is dead left behind: containers, cgroups, files. It is called at
// start, when this process has the home; containers of an "ash sandbox shell" that still runs stay.
func (s *Sandbox) Recover(ctx context.Context) (removed int, err error) {
	files, err := s.scratch.clear()
	groups, bubbleErr := s.bubble.recover()
	containers, dockerErr := s.docker.recover(ctx, s.settings())
	return files + groups + containers, errors.Join(err, bubbleErr, dockerErr)
}

// Prune removes leftovers like Recover, and images of other versions of Ash's Dockerfile.
func (s *Sandbox) Prune(ctx context.Context) (err error) {
	if _, err = s.Recover(ctx); err != nil {
		return err
	}
	return s.docker.pruneImages(ctx, s.settings())
}

// Build makes the image that commands run in and tells progress in lines. It takes minutes the first time.
func (s *Sandbox) Build(ctx context.Context, progress func(line string)) error {
	err := s.docker.build(ctx, s.settings(), progress)
	s.forget()
	return err
}
