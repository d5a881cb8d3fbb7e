package handlers

import (
	"context"
	"errors"
	"strings"
	"sync"

	"ash/agent"
)

// imageBuild is the one build of the sandbox's image that may run. It goes on when the page that began it is
// left. The zero value has built nothing.
type imageBuild struct {
	mu      sync.Mutex
	running bool
	lines   []string
	problem string
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// buildState is how far a build is.
type buildState struct {
	running bool
	lines   []string
	problem string
}

// start begins a build, unless one runs.
func (b *imageBuild) start(build func(ctx context.Context, progress func(line string)) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running {
		return
	}
	ctx, cancel := context.WithCancel(context.Background()) // whoever began it may leave the page
	b.running, b.lines, b.problem, b.cancel = true, nil, "", cancel
	b.done.Go(func() {
		defer cancel()
		err := build(ctx, b.told)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running = false
		switch {
		case errors.Is(ctx.Err(), context.Canceled) && err != nil:
			b.problem = "The build was ended before it was done."
		case err != nil:
			b.problem = agent.PublicOf(err)
		default:
			b.lines = nil
		}
	})
}

// told takes a line of progress.
func (b *imageBuild) told(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	line = agent.Clip(strings.ToValidUTF8(visible(strings.TrimRight(line, "\r\n")), "\uFFFD"), 300)
	if line == "" {
		return
	}
	b.lines = append(b.lines, line)
	if len(b.lines) > buildLines {
		b.lines = b.lines[len(b.lines)-buildLines:]
	}
}

func (b *imageBuild) look() buildState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return buildState{b.running, append([]string(nil), b.lines...), b.problem}
}

// stop ends a build and waits for its end.
func (b *imageBuild) stop() {
	b.mu.Lock()
	if b.cancel != nil {
		b.cancel()
	}
	b.mu.Unlock()
	b.done.Wait()
}
