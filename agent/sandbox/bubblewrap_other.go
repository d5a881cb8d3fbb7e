//go:build !linux

package sandbox

import (
	"context"
	"log/slog"

	"ash/agent"
)

// bubblewrap is for Linux only.
type bubblewrap struct{}

func newBubblewrap(string, *slog.Logger) *bubblewrap { return &bubblewrap{} }

func (*bubblewrap) name() string { return EngineBubblewrap }

func (*bubblewrap) ready(context.Context, Settings) error {
	return agent.Errorf(agent.CodeUnavailable, "Bubblewrap, the other sandbox Ash knows, is for Linux only.")
}

func (b *bubblewrap) run(ctx context.Context, j *job) (ending, error) {
	return ending{}, b.ready(ctx, j.settings)
}

func (b *bubblewrap) shell(ctx context.Context, j *job, _ Terminal) (int, error) {
	return 0, b.ready(ctx, j.settings)
}

func (*bubblewrap) recover() (int, error) { return 0, nil }

func (*bubblewrap) describe(Settings, *Status) {}

func (*bubblewrap) close() {}
