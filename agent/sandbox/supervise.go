package sandbox

import (
	"context"
	"errors"
	"time"

	"ash/agent"
)

// Why a command was stopped, besides errHalted and the caller's own context.
var (
	errTime    = errors.New("the time of the command is up")
	errEndless = errors.New("the command prints without end")
)

// watchEvery is how often the disk is looked at while a command runs.
const watchEvery = 200 * time.Millisecond

// minInodes is how many files must still fit on the disk.
const minInodes = 1000

// supervise runs j on e and stops it when it reaches one of the bounds that the engine does not hold by itself.
func (s *Sandbox) supervise(ctx context.Context, j *job, e engine, r *Result) (ending, error) {
	limited, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(limited, j, stop)
	}()
	end, err := e.run(limited, j)
	stop(nil)
	<-watched
	cause := context.Cause(limited)
	var known *agent.Error
	switch {
	case err == nil:
		return end, nil // it may have ended in the same instant
	case ctx.Err() != nil:
		return end, context.Cause(ctx)
	case errors.Is(cause, errTime):
		r.TimedOut = true
		return end, nil
	case errors.Is(cause, errEndless):
		return end, nil
	case errors.As(cause, &known):
		return end, cause
	}
	s.forget()
	return end, err
}

// watch ends a command whose time is up once it began, that prints without end, or that fills the disk.
func watch(ctx context.Context, j *job, stop context.CancelCauseFunc) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	began := j.out.began
	var up <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-began:
			began = nil
			timer := time.NewTimer(j.Timeout)
			defer timer.Stop()
			up = timer.C
		case <-up:
			stop(errTime)
			return
		case <-j.out.endless:
			stop(errEndless)
			return
		case <-tick.C:
			if err := checkFree(j.Root, j.settings.MinFree); err != nil {
				stop(err)
				return
			}
		}
	}
}

// checkFree returns CodeExhausted when the disk of root is nearly full.
func checkFree(root string, least int64) error {
	bytes, inodes, err := free(root)
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The free space on the disk of %s cannot be told, so no command runs there.", root)
	}
	if bytes < least {
		return agent.Errorf(agent.CodeExhausted, "The disk is nearly full: %.1f GB are free, and commands need %.1f GB. Make room, then try again.", float64(bytes)/1e9, float64(least)/1e9)
	}
	if inodes >= 0 && inodes < minInodes {
		return agent.Errorf(agent.CodeExhausted, "The disk is full of files: there is room for %d more only. Remove some, then try again.", inodes)
	}
	return nil
}

// engine finds the engine to use, or says why there is none and how to get one.
func (s *Sandbox) engine(ctx context.Context, settings Settings) (engine, error) {
	s.mu.Lock()
	if s.found != nil && s.foundBy == settings && time.Since(s.foundAt) < engineFor {
		defer s.mu.Unlock()
		return s.found, nil
	}
	s.mu.Unlock()
	e, err := s.find(ctx, settings)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found, s.foundAt, s.foundBy = e, time.Now(), settings
	return e, nil
}

// forget makes the next command look for an engine again.
func (s *Sandbox) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = nil
}

// find tries the engines the settings allow.
func (s *Sandbox) find(ctx context.Context, settings Settings) (engine, error) {
	switch settings.Engine {
	case EngineOff:
		return nil, agent.Errorf(agent.CodeUnavailable, "Commands are switched off in the settings of the sandbox.")
	case EngineDocker:
		return s.docker, s.docker.ready(ctx, settings)
	case EngineBubblewrap:
		return s.bubble, s.bubble.ready(ctx, settings)
	case EngineAuto:
	default:
		return nil, agent.Errorf(agent.CodeInvalid, "The sandbox has no engine %q: it can be auto, docker, bubblewrap or off.", settings.Engine)
	}
	dockerErr := s.docker.ready(ctx, settings)
	if dockerErr == nil || errors.Is(dockerErr, errImage) {
		return s.docker, dockerErr // an image that is missing can be built: no reason to go to another engine
	}
	bubbleErr := s.bubble.ready(ctx, settings)
	if bubbleErr == nil {
		return s.bubble, nil
	}
	return nil, agent.Wrap(agent.CodeUnavailable, errors.Join(dockerErr, bubbleErr),
		"There is no sandbox, so no command runs. %s %s", agent.PublicOf(dockerErr), agent.PublicOf(bubbleErr))
}
