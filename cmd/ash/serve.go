package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/config"
	"ash/web"
)

// socketName is the unix socket in the home, through which the command line
// reaches a running server.
const socketName = "ash.sock"

// closeTimeout bounds what is left to do after the doors are shut.
const closeTimeout = 4 * time.Second

// portsTried is how many ports after the usual one are tried when it is taken.
const portsTried = 20

func serveCommand(home func() (string, error)) *cobra.Command {
	var f modelFlags
	var listen string
	var lan bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the pages and keep the home",
		Long: `Serve Ash at http://localhost:8080. Everything lies in the home; nothing needs to
be set up first. Without --listen or a setting, the next free port is taken when 8080 is in use.

Only this machine reaches Ash, unless it is opened to your network: with --lan, or in the page under
Settings → Doors. That takes a passphrase (ash doors passphrase) or a paired device first.`,
		Example: `  ash serve
  ash serve --lan
  ash serve --listen 127.0.0.1:9000 --home /srv/ash
  ash serve --model openai/qwen3 --base-url http://127.0.0.1:1234/v1`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			overrides, err := f.overrides()
			if err != nil {
				return err
			}
			if listen != "" {
				overrides = append(overrides, config.Override{Key: "server.listen", Value: listen, Flag: "--listen"})
			}
			if lan {
				overrides = append(overrides, config.Override{Key: "doors.lan", Value: config.LANOn, Flag: "--lan"})
			}
			dir, err := home()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), dir, overrides, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address and port of the pages (default 127.0.0.1:8080)")
	cmd.Flags().BoolVar(&lan, "lan", false, "let phones and computers of your network reach the pages; they have to sign in")
	f.register(cmd.Flags())
	return cmd
}

// serve runs the server until ctx ends.
func serve(ctx context.Context, home string, overrides []config.Override, out, notes io.Writer) (err error) {
	a, err := openApp(ctx, home, overrides, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.closeSoon(ctx)) }()
	ctx, a.quit = context.WithCancel(ctx)
	defer a.quit()
	pages, err := a.listen(ctx, notes)
	if err != nil {
		return err
	}
	socket, err := listenSocket(ctx, home)
	if err != nil {
		return errors.Join(err, pages.Close())
	}
	address := "http://" + browserAddress(pages.Addr())
	server, err := a.server(address)
	if err != nil {
		return errors.Join(err, pages.Close(), socket.Close())
	}
	if err := a.lock.note(address); err != nil {
		a.log.Warn("the lock does not say where this server is", "error", err)
	}
	a.settling.putOff()
	fmt.Fprintf(out, "Ash is at %s\n", address)
	if pages, err = a.network.serve(ctx, server, pages); err != nil {
		return errors.Join(err, pages.Close(), socket.Close())
	}
	for _, other := range a.network.Apply(ctx).Addresses {
		fmt.Fprintf(out, "Your network reaches it at %s\n", other)
	}
	watching, done := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { a.network.watch(watching) })
	defer beside.Wait()
	defer done()
	return server.Serve(ctx, pages, socket)
}

// checkDoors refuses to open what the command line or the settings ask for before somebody could sign in.
func (a *app) checkDoors(ctx context.Context) error {
	ready, err := a.doors.Ready(ctx)
	if err != nil {
		return err
	}
	now := a.config.Current()
	if err := web.CheckListen(now.Config().Server.Listen, ready); err != nil {
		return err
	}
	// What stands in the file is no reason not to start: the page says what is missing.
	if !ready && now.Config().Doors.LAN != config.LANOff && now.Origin("doors.lan").Fixed() {
		return agent.Errorf(agent.CodeDenied, "Ash does not open to your network yet: everybody there could use it. Set a passphrase first (ash doors passphrase, or Settings → Doors), then start again.")
	}
	return nil
}

// listen opens the door for browsers. A port nobody asked for by name may be
// taken: then the next free one is used, and said.
func (a *app) listen(ctx context.Context, notes io.Writer) (net.Listener, error) {
	settings := a.config.Current()
	address := settings.Config().Server.Listen
	if err := a.checkDoors(ctx); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err == nil || !errors.Is(err, syscall.EADDRINUSE) || settings.Origin("server.listen").Layer != config.LayerDefault {
		return l, busy(address, err)
	}
	host, port, splitErr := net.SplitHostPort(address)
	first, numErr := strconv.Atoi(port)
	if splitErr != nil || numErr != nil {
		return nil, busy(address, err)
	}
	for p := first + 1; p <= first+portsTried; p++ {
		if l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(p))); err == nil {
			fmt.Fprintf(notes, "\n  PORT %d IS IN USE by another program. Ash takes %d instead.\n\n", first, p)
			return l, nil
		}
	}
	return nil, busy(address, err)
}

func busy(address string, err error) error {
	if err == nil {
		return nil
	}
	return agent.Wrap(agent.CodeUnavailable, err, "Ash cannot listen on %s: %v. Name another address with --listen.", address, err)
}

// browserAddress names a loopback listener the way people write it.
func browserAddress(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() && ip.To4() != nil {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// listenSocket opens the door for the command line. Whoever holds the home's
// lock may replace a socket that a crash left behind.
func listenSocket(ctx context.Context, home string) (net.Listener, error) {
	path := filepath.Join(home, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The old socket %s cannot be removed.", path)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "Ash cannot make its socket %s: %v. A shorter --home may help.", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(agent.Wrap(agent.CodeUnavailable, err, "The socket %s cannot be kept private.", path), l.Close())
	}
	return l, nil
}
