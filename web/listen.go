package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"

	"ash/agent"
)

// CheckListen says whether Ash may listen on addr ("host:port"): on a loopback address always, on any other one only when
// it is ready to ask who comes in (a passphrase is set, or a device is paired). CodeDenied when it is not, CodeInvalid for what is no address.
func CheckListen(addr string, ready bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return agent.Wrap(agent.CodeInvalid, err, "%q is not an address to listen on; write it like 127.0.0.1:8080.", addr)
	}
	if ready || loopbackName(host) {
		return nil
	}
	return agent.Errorf(agent.CodeDenied, "Ash does not listen on %q yet: everybody who reaches that address could use it. Set a passphrase first "+
		"(ash doors passphrase, or Settings → Doors), then start again. Or use 127.0.0.1, ::1 or localhost.", addr)
}

// NetworkAddress reports whether ip is an address of a home, an office or a tailnet, rather than of the internet: private ones
// (RFC 1918, RFC 4193) and those that Tailscale gives out.
func NetworkAddress(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsPrivate() {
		return true
	}
	for _, p := range tailnets {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// Door is a listener that was opened while the server runs, and everything that came in through it.
type Door struct {
	server *Server
	l      net.Listener
	http   *http.Server
	done   chan struct{} // closed when nothing is accepted any more
}

// Addr is where the door is.
func (d *Door) Addr() net.Addr { return d.l.Addr() }

// Open answers on one more listener until the door is closed or the server stops. The server owns the listener from then on.
// CodeUnavailable when it is stopping.
func (s *Server) Open(l net.Listener) (*Door, error) {
	d := &Door{server: s, l: l, http: s.newHTTP(), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Load() {
		return nil, errors.Join(agent.Errorf(agent.CodeUnavailable, "Ash is stopping."), l.Close())
	}
	s.added[d] = true
	go func() {
		defer close(d.done)
		err := d.http.Serve(l)
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.log.LogAttrs(context.Background(), slog.LevelWarn, "a door closed by itself", slog.String("address", l.Addr().String()), slog.String("error", err.Error()))
		}
	}()
	return d, nil
}

// Close shuts the door and ends every connection that came through it, streams included.
func (d *Door) Close() error {
	d.server.mu.Lock()
	delete(d.server.added, d)
	d.server.mu.Unlock()
	err := d.http.Close()
	<-d.done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Closed is closed when nothing is accepted any more.
func (d *Door) Closed() <-chan struct{} { return d.done }

// openDoors returns those that are open.
func (s *Server) openDoors() []*Door {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Door, 0, len(s.added))
	for d := range s.added {
		out = append(out, d)
	}
	return out
}

func (s *Server) newHTTP() *http.Server {
	return &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       ioTimeout,
		WriteTimeout:      ioTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       mark,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}
