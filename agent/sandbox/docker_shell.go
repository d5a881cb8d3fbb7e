package sandbox

import (
	"context"
	"io"

	"github.com/docker/docker/api/types/container"

	"ash/agent"
)

// shell opens a terminal in a container of its own.
func (d *docker) shell(ctx context.Context, j *job, t Terminal) (int, error) {
	l, err := d.connect(ctx, j.settings)
	if err != nil {
		return 0, err
	}
	b, err := d.open(ctx, l, j, useShell)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	d.loose[b] = struct{}{}
	d.mu.Unlock()
	defer d.remove(b)
	tty := t.Size != nil
	made, err := l.cli.ContainerExecCreate(ctx, b.id, container.ExecOptions{
		Cmd: shellProgram(), Env: j.environment(), WorkingDir: "/work",
		Tty: tty, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return 0, agent.Wrap(agent.CodeUnavailable, err, "%s could not open a shell: %s", l.brand(), firstLine(err))
	}
	conn, err := l.cli.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{Tty: tty})
	if err != nil {
		return 0, agent.Wrap(agent.CodeUnavailable, err, "%s could not open a shell: %s", l.brand(), firstLine(err))
	}
	defer conn.Close()
	if t.Raw != nil {
		restore, err := t.Raw()
		if err != nil {
			return 0, agent.Wrap(agent.CodeInvalid, err, "This terminal cannot be used for a shell.")
		}
		defer restore()
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		if tty {
			_, _ = io.Copy(t.Out, conn.Reader) // its end is the shell's
		} else {
			_ = separate(t.Out, conn.Reader)
		}
	}()
	go func() { // ends with the process at the latest: a read from a terminal cannot be taken back
		_, _ = io.Copy(conn.Conn, t.In)
		_ = conn.CloseWrite()
	}()
	resize := func() {
		if tty {
			columns, rows := t.Size()
			_ = l.cli.ContainerExecResize(ctx, made.ID, container.ResizeOptions{Width: uint(max(0, columns)), Height: uint(max(0, rows))}) //nolint:gosec // bounded below; a size that is refused changes nothing
		}
	}
	for resize(); ; {
		select {
		case <-t.Resized:
			resize()
		case <-copied:
			info, err := l.cli.ContainerExecInspect(ctx, made.ID)
			if err != nil || b.isGone() {
				return 0, unknownEnd(err)
			}
			return info.ExitCode, nil
		case <-ctx.Done():
			return 137, ctx.Err()
		}
	}
}
