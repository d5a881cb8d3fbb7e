package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"ash/agent"
)

// Bounds on making one connection.
const (
	lookupTime   = 5 * time.Second
	connectTime  = 10 * time.Second // for one address
	connectDelay = 300 * time.Millisecond
	maxAddresses = 64 // a name with more is refused
	maxAttempts  = 6  // addresses tried
)

// Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are the settings of a Guarded. The zero value allows public addresses and nothing else.
type Options struct {
	// Allow names the endpoints the person configured, as "host:port", exactly as the requests to them say it. They
	// are dialled wherever they lead. Give them to the Guarded of their own client only: whoever uses it reaches them.
	Allow    []string
	Resolver Resolver     // nil is net.DefaultResolver
	Log      *slog.Logger // nil is silence

	// AllowTest lets tests reach servers of their own on loopback. Never set outside of tests.
	AllowTest func(netip.AddrPort) bool
}

// Guarded makes connections to the public internet and refuses all others. It is safe for concurrent use.
type Guarded struct {
	allow     map[string]bool // host:port, clean
	resolver  Resolver
	log       *slog.Logger
	allowTest func(netip.AddrPort) bool
	links     func() ([]netip.Prefix, error)
	passage   bounds
}

// New returns a Guarded. An entry of o.Allow that is no host and port allows nothing and is logged.
func New(o Options) *Guarded {
	g := &Guarded{allow: map[string]bool{}, resolver: o.Resolver, log: o.Log, allowTest: o.AllowTest, links: interfaces, passage: passageBounds}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	for _, a := range o.Allow {
		host, port, ok := splitTarget(a)
		if ok {
			host, _, ok = cleanHost(host)
		}
		if !ok {
			g.log.Warn("a configured endpoint is no host and port", slog.String("endpoint", agent.Clip(a, 300)))
			continue
		}
		g.allow[joinTarget(host, port)] = true
	}
	return g
}

// DialContext connects to address ("host:port") when it is allowed or public, and refuses with
// CodeDenied, without a packet to it, otherwise. network is tcp, tcp4 or tcp6. The signature is that of net.Dialer.
func (g *Guarded) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return g.dial(ctx, network, address, true)
}

// dial connects; configured says whether the endpoints of Options.Allow count.
func (g *Guarded) dial(ctx context.Context, network, address string, configured bool) (net.Conn, error) {
	raw, port, ok := splitTarget(address)
	host, literal, clean := cleanHost(raw)
	switch {
	case network != "tcp" && network != "tcp4" && network != "tcp6":
		return nil, agent.Errorf(agent.CodeDenied, "Only TCP connections leave Ash, not %s.", network)
	case !ok || !clean:
		return nil, agent.Errorf(agent.CodeInvalid, "%q is not a host that Ash connects to.", agent.Clip(address, 300))
	}
	free := configured && g.allow[joinTarget(host, port)]
	addrs := []netip.Addr{literal}
	if !literal.IsValid() {
		var err error
		if addrs, err = g.lookup(ctx, host); err != nil {
			return nil, err
		}
	}
	if !free {
		if err := g.judge(host, addrs, port); err != nil {
			g.log.Warn("a connection was refused", slog.String("host", host), slog.Int("port", int(port)), slog.String("why", agent.PublicOf(err)))
			return nil, err
		}
	}
	return g.connect(ctx, network, host, order(addrs), port, free)
}

// lookup returns the addresses of host, of both families.
func (g *Guarded) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	limited, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	// Both families are asked for whatever the network: a name is judged as a whole.
	found, err := g.resolver.LookupNetIP(limited, "ip", host)
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("looking up %s: %w", host, ctx.Err())
	case errors.As(err, &dns) && dns.IsNotFound, err == nil && len(found) == 0:
		return nil, agent.Wrap(agent.CodeUnavailable, err, "There is no host named %s. Check the spelling.", host)
	case err != nil:
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The address of %s could not be looked up. The network or its name service may be down; trying again later may help.", host)
	case len(found) > maxAddresses:
		return nil, agent.Errorf(agent.CodeDenied, "%s has %d addresses, more than any honest name; Ash does not connect to it.", host, len(found))
	}
	addrs := make([]netip.Addr, len(found))
	for i, a := range found {
		addrs[i] = a.Unmap()
	}
	return addrs, nil
}

// judge refuses host when any of its addresses is not public.
func (g *Guarded) judge(host string, addrs []netip.Addr, port uint16) error {
	public := 0
	var bad netip.Addr
	var why string
	for _, a := range addrs {
		if w := g.refuse(netip.AddrPortFrom(a, port)); w != "" {
			bad, why = a, w
		} else {
			public++
		}
	}
	const rule = "Ash connects only to public addresses on behalf of a page, a model or a command."
	switch {
	case why == "":
		return nil
	case public > 0:
		return agent.Errorf(agent.CodeDenied, "%s was refused: its name leads to public addresses and also to %s, which is %s. %s", host, bad, why, rule)
	case host == bad.String():
		return agent.Errorf(agent.CodeDenied, "%s was refused: it is %s. %s", host, why, rule)
	}
	return agent.Errorf(agent.CodeDenied, "%s was refused: it leads to %s, which is %s. %s", host, bad, why, rule)
}

// refuse says why ap must not be connected to, "" when it may.
func (g *Guarded) refuse(ap netip.AddrPort) string {
	if g.allowTest != nil && g.allowTest(ap) {
		return ""
	}
	if why := refusal(ap.Addr()); why != "" {
		return why
	}
	links, err := g.links()
	if err != nil {
		// Some systems do not tell. What is connected to this machine itself is then found by isSelf.
		g.log.Warn("this machine's addresses could not be listed", slog.Any("error", err))
	}
	return own(ap.Addr(), links)
}

// order puts the addresses into the order in which they are tried: the
// families take turns, beginning with the one the resolver put first (RFC 8305).
func order(addrs []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	for _, a := range addrs {
		if a.Is4() == addrs[0].Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	var out []netip.Addr
	for i := 0; len(out) < min(len(addrs), maxAttempts); i++ {
		if i < len(first) {
			out = append(out, first[i])
		}
		if i < len(second) {
			out = append(out, second[i])
		}
	}
	return out[:min(len(out), maxAttempts)]
}

// dialed is the end of one attempt.
type dialed struct {
	conn net.Conn
	err  error
}

// connect tries the addresses, each a little after the one before, and returns the first connection.
func (g *Guarded) connect(ctx context.Context, network, host string, addrs []netip.Addr, port uint16, free bool) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := net.Dialer{Timeout: connectTime, KeepAlive: 30 * time.Second}
	if !free {
		d.Control = g.control
	}
	ends := make(chan dialed, len(addrs))
	attempt := func(a netip.Addr) {
		conn, err := d.DialContext(ctx, network, netip.AddrPortFrom(a, port).String())
		if err == nil && !free && g.isSelf(conn) {
			_ = conn.Close() // nothing was sent on it
			conn, err = nil, agent.Errorf(agent.CodeDenied, "%s was refused: it leads to this machine itself.", host)
		}
		ends <- dialed{conn, err}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var first error
	for next, open := 0, 0; next < len(addrs) || open > 0; {
		var start <-chan time.Time
		if next < len(addrs) {
			start = timer.C
		}
		select {
		case <-start:
			go attempt(addrs[next])
			next++
			open++
			timer.Reset(connectDelay)
		case e := <-ends:
			open--
			if e.err == nil {
				cancel()
				go drop(ends, open)
				return e.conn, nil
			}
			if first == nil {
				first = e.err
			}
			timer.Reset(0)
		}
	}
	return nil, unreachable(ctx, host, port, first)
}

// drop closes the connections that came too late.
func drop(ends <-chan dialed, open int) {
	for range open {
		if e := <-ends; e.conn != nil {
			_ = e.conn.Close()
		}
	}
}

// control judges an address in the last moment before connect(2): what holds here cannot be changed by a resolver any more.
func (g *Guarded) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("about to connect to %q: %w", address, err)
	}
	if why := g.refuse(ap); why != "" {
		return agent.Errorf(agent.CodeDenied, "%s was refused: it is %s.", ap.Addr(), why)
	}
	return nil
}

// isSelf reports whether the other end of conn is this machine: the kernel answers itself from the address it was asked at.
func (g *Guarded) isSelf(conn net.Conn) bool {
	local, ok1 := conn.LocalAddr().(*net.TCPAddr)
	remote, ok2 := conn.RemoteAddr().(*net.TCPAddr)
	return ok1 && ok2 && local.IP.Equal(remote.IP) && (g.allowTest == nil || !g.allowTest(remote.AddrPort()))
}

// unreachable puts the failure of the first address plainly.
func unreachable(ctx context.Context, host string, port uint16, err error) error {
	var e *agent.Error
	var timeout net.Error
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return fmt.Errorf("connecting to %s: %w", host, ctx.Err())
	case errors.Is(err, syscall.ECONNREFUSED):
		return agent.Wrap(agent.CodeUnavailable, err, "%s refuses connections on port %d: nothing answers there now.", host, port)
	case errors.As(err, &timeout) && timeout.Timeout():
		return agent.Wrap(agent.CodeUnavailable, err, "%s does not answer on port %d.", host, port)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "%s cannot be reached on port %d: %s.", host, port, cause(err))
}

// cause returns the last words of a network error.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	s := err.Error()
	return s[strings.LastIndex(s, ": ")+1:]
}
