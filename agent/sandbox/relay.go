package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
)

// relayFailed is the exit code of Relay when it could not begin.
const relayFailed = 125

// relayConnections is how many connections Relay carries at once.
const relayConnections = 128

// Relay runs inside a sandbox with network: it listens on 127.0.0.1:3128, carries each connection to the unix socket args[0],
// runs the program args[1:], and returns its exit code.
func Relay(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) < 2 {
		fmt.Fprintln(stderr, "ash: relay needs a socket and a program")
		return relayFailed
	}
	socket := args[0]
	if err := knock(ctx, socket); err != nil {
		fmt.Fprintln(stderr, "ash: this sandbox cannot reach the network filter:", err)
		return relayFailed
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", proxyAddress)
	if err != nil {
		fmt.Fprintln(stderr, "ash: relay:", err)
		return relayFailed
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		relayAll(ctx, l, socket)
	}()
	cmd := exec.CommandContext(ctx, args[1], args[2:]...) //nolint:gosec // running what it is given is its purpose
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	err = cmd.Run()
	_ = l.Close() // open connections end with the process
	<-served
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	case errors.As(err, &exit):
		return 128 + 9
	default:
		fmt.Fprintln(stderr, "ash: relay:", err)
		return relayFailed
	}
}

// knock finds out whether anybody answers at socket.
func knock(ctx context.Context, socket string) error {
	if _, err := os.Stat(socket); err != nil {
		return err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	return c.Close()
}

// relayAll carries connections until l is closed.
func relayAll(ctx context.Context, l net.Listener, socket string) {
	slots := make(chan struct{}, relayConnections)
	for {
		slots <- struct{}{}
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { <-slots }()
			relayOne(ctx, in, socket)
		}()
	}
}

func relayOne(ctx context.Context, in net.Conn, socket string) {
	defer func() { _ = in.Close() }()
	out, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // either end may go away at any time; that is the end of it
		if c, ok := to.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	}
	both.Go(func() { carry(out, in) })
	both.Go(func() { carry(in, out) })
	both.Wait()
}
