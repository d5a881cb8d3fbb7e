package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/doctor"
	"ash/store"
	"ash/web"
)

// doors looks where the pages are served, or would be, and whether other devices reach them as the settings say.
func (e *eyes) doors(ctx context.Context) (doctor.Doors, error) {
	c := e.settings.Config()
	address := c.Server.Listen
	d := doctor.Doors{Address: address, Default: e.settings.Origin("server.listen").Layer == config.LayerDefault, Open: e.open}
	var err error
	if d.Ready, err = e.ready(ctx); err != nil {
		return d, err
	}
	if err := web.CheckListen(address, true); err != nil {
		d.Refused = agent.PublicOf(err)
		return d, nil
	}
	if err := web.CheckListen(address, d.Ready); err != nil {
		d.Barred = agent.PublicOf(err)
		return d, nil
	}
	if e.network != nil {
		state := e.network()
		d.Network, d.Closed = state.Addresses, state.Problem
	}
	if e.self || e.state(ctx).Running {
		return d, nil
	}
	if c.Doors.LAN != config.LANOff && !d.Ready && isLoopback(address) {
		d.Closed = "Your network would not reach Ash, as the settings ask for: nobody could sign in."
	}
	return d, e.tryListen(ctx, &d)
}

// tryListen finds out whether an address is free.
func (e *eyes) tryListen(ctx context.Context, d *doctor.Doors) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", d.Address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		d.Busy = true
	case err != nil:
		d.Refused = fmt.Sprintf("Ash cannot listen on %s: %v.", d.Address, err)
	default:
		return l.Close()
	}
	return nil
}

// couldSignIn reports whether somebody from another machine could sign in, as the database says that nobody has open.
func (e *eyes) couldSignIn(ctx context.Context) (bool, error) {
	h, err := store.Inspect(ctx, databasePath(e.home), false)
	if err != nil || len(h.Damage) > 0 {
		return true, nil //nolint:nilerr // the look at the database tells of that; here nothing wrong is said
	}
	idle := time.Duration(e.settings.Config().Doors.SessionDays) * 24 * time.Hour
	return h.Passphrase || !h.DeviceSeen.IsZero() && time.Since(h.DeviceSeen) < idle, nil
}

// listens reports whether somebody accepts connections at a unix socket.
func listens(ctx context.Context, socket string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
