package egress

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ash/agent"
)

// bounds of a passage.
type bounds struct {
	connections int           // open at once; more wait
	bytes       int64         // through it, both ways together
	idle        time.Duration // without a byte, then a connection is closed
	life        time.Duration // of the passage
	names       int           // kept in Reached and Refused
}

// passageBounds suit a command that installs packages or clones repositories.
var passageBounds = bounds{connections: 64, bytes: 4 << 30, idle: 2 * time.Minute, life: 2 * time.Hour, names: 1000}

// Passage is a filtering HTTP proxy on a unix socket: CONNECT, and plain HTTP
// with the whole URL in the request line. It lets through what its list of hosts names and rule 10
// allows, and answers 403 with the reason to everything else. What happens inside a tunnel it cannot see:
// who approves a host behind a shared front (a CDN) approves the front.
type Passage struct {
	guard  *Guarded
	hosts  hostList
	socket string
	server *http.Server
	out    *http.Transport
	relay  *httputil.ReverseProxy
	stop   func() // ends ctx and what hangs on it
	ctx    context.Context
	work   sync.WaitGroup // the server's goroutine and every handler
	close  sync.Once

	sent, received atomic.Int64 // bytes out to hosts and back

	mu      sync.Mutex
	ended   bool // no handler begins any more
	reached map[string]bool
	refused map[string]bool
}

// Open starts a passage to hosts ("example.org", "*.example.org" for the names below, "*" for any public
// host; ports 80 and 443, or the one in "example.org:8443"), on a new socket in dir. The socket has mode 0666, because the
// sandbox's processes have another uid: dir is to be open to Ash and the sandbox alone. No host leads to the endpoints of
// Options.Allow. The passage ends with Close, with ctx, or after two hours. CodeInvalid for a host that is none.
func (g *Guarded) Open(ctx context.Context, dir string, hosts []string) (*Passage, error) {
	list, err := parseHosts(hosts)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "out-"+rand.Text()[:8]+".sock")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The way out for a command could not be opened in %s. The folder must exist and its path be shorter than 80 characters.", dir)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		_ = listener.Close()
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The way out for a command could not be opened in %s.", dir)
	}
	p := &Passage{guard: g, hosts: list, socket: socket, reached: map[string]bool{}, refused: map[string]bool{}}
	p.ctx, p.stop = context.WithTimeout(ctx, g.passage.life)
	p.out = &http.Transport{
		DialContext:            p.dial,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    4,
		MaxIdleConns:           16,
		IdleConnTimeout:        15 * time.Second,
		ResponseHeaderTimeout:  g.passage.idle,
		MaxResponseHeaderBytes: 256 << 10,
	}
	quiet := slog.NewLogLogger(g.log.Handler(), slog.LevelDebug)
	p.relay = &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {}, // the URL is what was asked for and judged
		Transport:     p.out,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { p.fail(w, err) },
		ErrorLog:      quiet,
	}
	p.server = &http.Server{
		Handler: p,

		DisableGeneralOptionsHandler: true,

		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return p.ctx },
		ErrorLog:          quiet,
	}
	p.work.Go(func() {
		err := p.server.Serve(newCrowd(listener, g.passage.connections))
		if !errors.Is(err, http.ErrServerClosed) {
			g.log.Error("a passage ended by itself", slog.Any("error", err))
		}
	})
	context.AfterFunc(p.ctx, p.shut)
	return p, nil
}

// Socket returns the path of the socket.
func (p *Passage) Socket() string { return p.socket }

// Reached lists the hosts that were connected to, as "host:port", sorted; at most 1,000.
func (p *Passage) Reached() []string { return p.names(p.reached) }

// Refused lists what was asked for and refused, as "host:port", sorted; at most 1,000.
func (p *Passage) Refused() []string { return p.names(p.refused) }

// Bytes returns how much went out to hosts and came back, tunnels and headers included.
func (p *Passage) Bytes() (sent, received int64) { return p.sent.Load(), p.received.Load() }

func (p *Passage) names(set map[string]bool) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *Passage) note(set map[string]bool, host string, port uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(set) < p.guard.passage.names {
		set[joinTarget(host, port)] = true
	}
}

// Close ends the passage and all that goes through it, waits for it and removes the socket. It may be called more than once.
func (p *Passage) Close() error {
	p.shut()
	p.work.Wait()
	return nil
}

// enter counts a handler among the work that Close waits for.
func (p *Passage) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.work.Add(1)
	}
	return !p.ended
}

func (p *Passage) shut() {
	p.close.Do(func() {
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		p.stop()
		_ = p.server.Close() // removes the socket; connections that were taken over end with ctx
		p.out.CloseIdleConnections()
		sent, received := p.Bytes()
		p.guard.log.Info("a passage was closed", slog.String("hosts", agent.Clip(p.hosts.String(), 512)),
			slog.Int64("sent", sent), slog.Int64("received", received), slog.Int("reached", len(p.Reached())), slog.Int("refused", len(p.Refused())))
	})
}

// ServeHTTP implements http.Handler: it takes one request of the command.
func (p *Passage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		p.fail(w, agent.Errorf(agent.CodeUnavailable, "The network of this command has been closed."))
		return
	}
	defer p.work.Done()
	host, port, err := target(r)
	if err != nil {
		p.fail(w, err)
		return
	}
	if err := p.admit(host, port); err != nil {
		p.fail(w, err)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r, host, port)
		return
	}
	// Host and URL say the same from here on: net/http takes Host from the URL, as RFC 9112 3.2.2 asks.
	r.URL.Host, r.Host, r.URL.User = joinTarget(host, port), r.URL.Host, nil
	p.relay.ServeHTTP(w, r)
}

// target reads where a proxy request wants to go: the host as it is compared, and dialled.
func target(r *http.Request) (host string, port uint16, err error) {
	raw, ok := r.URL.Hostname(), true
	switch {
	case r.Method == http.MethodConnect:
		raw, port, ok = splitTarget(r.RequestURI)
	case r.URL.Scheme != "http" || r.URL.Opaque != "" || r.URL.Host == "":
		return "", 0, agent.Errorf(agent.CodeInvalid, "This is Ash's proxy for commands: ask it with CONNECT host:port, or for http://host/path.")
	case strings.HasSuffix(r.URL.Host, ":"):
		ok = false
	case r.URL.Port() == "":
		port = 80
	default:
		port, ok = parsePort(r.URL.Port())
	}
	host, _, clean := cleanHost(raw)
	if !ok || !clean {
		return "", 0, agent.Errorf(agent.CodeInvalid, "%q is not a host and port.", agent.Clip(r.RequestURI, 300))
	}
	return host, port, nil
}

// admit refuses a host that is not on the list, and everything when the passage has carried all it may.
func (p *Passage) admit(host string, port uint16) error {
	if p.exhausted() {
		return agent.Errorf(agent.CodeExhausted, "This command has moved %d MB over the network, which is all it may.", p.guard.passage.bytes>>20)
	}
	if p.hosts.permits(host, port) {
		return nil
	}
	p.note(p.refused, host, port)
	p.guard.log.Warn("a command asked for a host that was not approved", slog.String("host", host), slog.Int("port", int(port)))
	return agent.Errorf(agent.CodeDenied, "%s was refused: this command may reach only %s. Ask for the host in the next command's network grant.",
		joinTarget(host, port), agent.Clip(p.hosts.String(), 400))
}

func (p *Passage) exhausted() bool {
	return p.sent.Load()+p.received.Load() >= p.guard.passage.bytes
}

// dial connects to what admit has let through; every byte is counted. Endpoints of the person's configuration are not open here.
func (p *Passage) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, _ := splitTarget(address)
	conn, err := p.guard.dial(ctx, network, address, false)
	if err != nil {
		if agent.CodeOf(err) == agent.CodeDenied {
			p.note(p.refused, host, port)
		}
		return nil, err
	}
	p.note(p.reached, host, port)
	return &metered{Conn: conn, passage: p}, nil
}

// fail answers with the reason in words; what is wrong between Ash and the host is a 502.
func (p *Passage) fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	switch agent.CodeOf(err) {
	case agent.CodeDenied:
		status = http.StatusForbidden
	case agent.CodeInvalid:
		status = http.StatusBadRequest
	case agent.CodeExhausted:
		status = http.StatusTooManyRequests
	}
	text := "The host broke the connection off."
	var e *agent.Error
	if errors.As(err, &e) {
		text = e.Public
	}
	w.Header().Set("Connection", "close")
	http.Error(w, "ash: "+text, status)
}

// errSpent ends connections when a passage has carried all it may.
var errSpent = fmt.Errorf("the passage is used up")

// metered counts what goes over a connection, ends it when the passage is used up, and when nothing moves.
type metered struct {
	net.Conn
	passage *Passage
}

func (m *metered) Read(b []byte) (int, error) {
	if err := m.before(); err != nil {
		return 0, err
	}
	n, err := m.Conn.Read(b)
	m.passage.received.Add(int64(n))
	return n, err
}

func (m *metered) Write(b []byte) (int, error) {
	if err := m.before(); err != nil {
		return 0, err
	}
	n, err := m.Conn.Write(b)
	m.passage.sent.Add(int64(n))
	return n, err
}

func (m *metered) before() error {
	if m.passage.exhausted() {
		return errSpent
	}
	return m.SetDeadline(time.Now().Add(m.passage.guard.passage.idle))
}
