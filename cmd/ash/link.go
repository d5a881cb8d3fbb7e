package main

import (
	"context"
	"errors"
	"path/filepath"

	"ash/agent"
)

// link is the way of a command to the engine: the running server of the home,
// or one this command runs itself for as long as it needs it. Either way it
// speaks the same API over the same socket.
type link struct {
	*client
	end func() error // nil when the server is another process
}

// own reports whether this command runs the server itself.
func (l *link) own() bool { return l.end != nil }

// connect finds the server of a home or becomes it. A server that already runs
// uses its own providers: --base-url is refused then.
func connect(ctx context.Context, home string, f modelFlags) (*link, error) {
	socket := filepath.Join(home, socketName)
	if c, err := dial(ctx, socket); err == nil {
		if f.baseURL != "" {
			c.close()
			return nil, agent.Errorf(agent.CodeConflict, "Ash already runs on %s with its own settings, so --base-url cannot be used. Stop it first, or set the provider up in Settings.", home)
		}
		return &link{client: c}, nil
	}
	overrides, err := f.overrides()
	if err != nil {
		return nil, err
	}
	a, err := openApp(ctx, home, overrides, true)
	if err != nil {
		return nil, err
	}
	own, err := a.serveSocket(ctx)
	if err != nil {
		return nil, errors.Join(err, a.closeSoon(ctx))
	}
	c, err := dial(ctx, socket)
	if err != nil {
		return nil, errors.Join(err, own(), a.closeSoon(ctx))
	}
	return &link{client: c, end: func() error { return errors.Join(own(), a.closeSoon(ctx)) }}, nil
}

// serveSocket serves the control API alone, until the returned function is called.
func (a *app) serveSocket(ctx context.Context) (stop func() error, err error) {
	l, err := listenSocket(ctx, a.home)
	if err != nil {
		return nil, err
	}
	server, err := a.server("")
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	return func() error {
		cancel()
		return <-served
	}, nil
}

// close hangs up, and ends the server if it was this command's own.
func (l *link) close() error {
	l.client.close()
	if l.end == nil {
		return nil
	}
	return l.end()
}
