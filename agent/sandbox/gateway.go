package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"ash/agent"
)

// Gateway opens the only way out of the sandbox for one command: an HTTP proxy (CONNECT and
// plain) on a unix socket inside dir that lets through just these hosts and keeps threats.md 10.
// dir is short enough for a socket of up to 20 more bytes.
type Gateway interface {
	Open(ctx context.Context, dir string, hosts []string) (Passage, error)
}

// Passage is an open way out.
type Passage interface {
	Socket() string    // path of the socket
	Reached() []string // hosts that were connected to, each once
	Close() error      // ends every connection
}

// Where the relay stands inside the sandbox.
const (
	insideSocket = "/run/ash/gateway.sock"
	insideSelf   = "/run/ash/ash"
	proxyAddress = "127.0.0.1:3128"
)

// RelayCommand is the name under which the ash binary must run Relay: it is called inside the sandbox as
// ash relay SOCKET PROGRAM ARGUMENT...
const RelayCommand = "relay"

// openPassage opens the way out for j, in a folder of its own.
func (s *Sandbox) openPassage(ctx context.Context, j *job) error {
	switch {
	case len(j.Hosts) == 0:
		return nil
	case runtime.GOOS != "linux":
		return agent.Errorf(agent.CodeUnavailable, "Commands with network need Ash on Linux: Docker on this system cannot reach Ash's filter. The command was not run.")
	case s.o.Gateway == nil || s.o.Self == "":
		return agent.Errorf(agent.CodeUnavailable, "Commands get no network here: Ash has no filter to lead it through. The command was not run.")
	}
	dir, err := s.scratch.folder()
	if err != nil {
		return err
	}
	j.passageDir = dir
	if j.passage, err = s.o.Gateway.Open(ctx, dir, j.Hosts); err != nil {
		return err
	}
	// The command is another user. Who may reach the socket at all is decided by the folder above, which is Ash's alone.
	if err := os.Chmod(j.passage.Socket(), 0o666); err != nil { //nolint:gosec // see above
		return agent.Wrap(agent.CodeInternal, err, "The way to the network could not be opened. The command was not run.")
	}
	return nil
}

// closePassage ends the way out and tells whom the command reached.
func (s *Sandbox) closePassage(j *job) (reached []string) {
	if j.passage != nil {
		reached = j.passage.Reached()
		if err := j.passage.Close(); err != nil {
			s.log.Warn("closing the way to the network", "err", err)
		}
	}
	if j.passageDir != "" {
		if err := os.RemoveAll(j.passageDir); err != nil {
			s.log.Warn("removing the folder of a gateway", "dir", filepath.Base(j.passageDir), "err", err)
		}
	}
	return reached
}

// proxyEnv tells programs where the way out is.
func proxyEnv() []string {
	const at = "http://" + proxyAddress
	return []string{
		"HTTP_PROXY=" + at, "http_proxy=" + at, "HTTPS_PROXY=" + at, "https_proxy=" + at,
		"ALL_PROXY=" + at, "all_proxy=" + at, "NO_PROXY=", "no_proxy=",
	}
}
