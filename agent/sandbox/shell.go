package sandbox

import (
	"context"
	"os"

	"ash/agent"
)

// Terminal is where a person sits.
type Terminal struct {
	In      *os.File
	Out     *os.File
	Name    string                     // of its kind, as in $TERM; "" is xterm
	Size    func() (columns, rows int) // now; nil when it is not a terminal
	Resized <-chan os.Signal           // told when Size changed; may be nil
	Raw     func() (restore func(), err error)
}

// Shell opens a shell in a fresh sandbox over root, as commands have it but without a bound on time, until the person leaves it. It returns
// the shell's exit code. Errors are those of Run.
func (s *Sandbox) Shell(ctx context.Context, root string, t Terminal) (exit int, err error) {
	j, err := s.prepare(Command{Thread: agent.NewID(), Root: root, Line: "shell"})
	if err != nil {
		return 0, err
	}
	j.terminal = true
	if t.Name == "" {
		t.Name = "xterm"
	}
	j.Env = []string{"TERM=" + t.Name, "PS1=sandbox:\\w\\$ "}
	j.out = newOutput(j.settings.Output, nil, s.scratch.file)
	e, err := s.engine(ctx, j.settings)
	if err != nil {
		return 0, err
	}
	if err := s.adopt(j.Root, j.user); err != nil {
		return 0, agent.Wrap(agent.CodeUnavailable, err, "The files folder could not be given to the account that commands run as.")
	}
	ctx, done, err := s.enter(ctx, j)
	if err != nil {
		return 0, err
	}
	defer done()
	limited, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(limited, j, stop) // the disk; there are no marks here, so the time is not bounded
	}()
	if e == engine(s.bubble) {
		exit, err = s.bubble.shell(limited, j, t)
	} else {
		exit, err = s.docker.shell(limited, j, t)
	}
	if cause := context.Cause(limited); err != nil && cause != nil {
		err = cause
	}
	stop(nil)
	<-watched
	return exit, err
}

// shellProgram is the shell of a person.
func shellProgram() []string {
	return []string{"sh", "-c", "cd /work; command -v bash >/dev/null && exec bash --norc -i; exec sh -i"}
}
