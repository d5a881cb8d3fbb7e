package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
)

// names is a resolver with a script: each look-up of a name takes its next answer, the last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[string]int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	script, ok := n.answers[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	i := min(n.asked[host], len(script)-1)
	n.asked[host]++
	var out []netip.Addr
	for _, s := range script[i] {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// only lets the guarded reach the test's own servers.
func only(servers ...*httptest.Server) func(netip.AddrPort) bool {
	ports := map[netip.AddrPort]bool{}
	for _, s := range servers {
		ports[netip.MustParseAddrPort(s.Listener.Addr().String())] = true
	}
	return func(a netip.AddrPort) bool { return ports[a] }
}

// at is the server's address under another name.
func at(s *httptest.Server, name string) string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return "http://" + name + ":" + port
}

func wantCode(t *testing.T, err error, code agent.Code, words ...string) {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error is %.400s, want one with code %s", fmt.Sprint(err), code)
	}
	for _, w := range words {
		if !strings.Contains(e.Public, w) {
			t.Errorf("the error %q does not say %q", e.Public, w)
		}
	}
}

func TestDialRefusesWhatIsNotPublic(t *testing.T) {
	r := &names{answers: map[string][][]string{
		"metadata.test": {{"169.254.169.254"}},
		"both.test":     {{"93.184.216.34", "10.0.0.5"}},
		"six.test":      {{"::1"}},
		"mapped.test":   {{"::ffff:127.0.0.1"}},
		"empty.test":    {{}},
		"crowd.test":    {strings.Split(strings.TrimSuffix(strings.Repeat("93.184.216.34,", 65), ","), ",")},
	}}
	g := New(Options{Resolver: r})
	for address, want := range map[string]struct {
		code  agent.Code
		words []string
	}{
		"metadata.test:80":                 {agent.CodeDenied, []string{"metadata.test", "169.254.169.254", "metadata"}},
		"both.test:443":                    {agent.CodeDenied, []string{"both.test", "also to 10.0.0.5", "private"}},
		"six.test:443":                     {agent.CodeDenied, []string{"::1", "this machine"}},
		"mapped.test:443":                  {agent.CodeDenied, []string{"127.0.0.1"}},
		"127.0.0.1:22":                     {agent.CodeDenied, []string{"127.0.0.1 was refused: it is this machine itself"}},
		"[::1]:22":                         {agent.CodeDenied, []string{"::1"}},
		"[::ffff:7f00:1]:22":               {agent.CodeDenied, []string{"this machine"}},
		"[fe80::1%lo]:22":                  {agent.CodeInvalid, nil},
		"127.1:80":                         {agent.CodeInvalid, nil},
		"0x7f000001:80":                    {agent.CodeInvalid, nil},
		"2130706433:80":                    {agent.CodeInvalid, nil},
		"example.org":                      {agent.CodeInvalid, nil},
		"example.org:http":                 {agent.CodeInvalid, nil},
		"nowhere.test:80":                  {agent.CodeUnavailable, []string{"no host named nowhere.test"}},
		"empty.test:80":                    {agent.CodeUnavailable, []string{"no host named"}},
		"crowd.test:80":                    {agent.CodeDenied, []string{"65 addresses"}},
		strings.Repeat("a.", 200) + "x:80": {agent.CodeInvalid, nil},
		"evil.test\r\nHost: other.test:80": {agent.CodeInvalid, nil},
		"[::ffff:169.254.169.254]:80":      {agent.CodeDenied, []string{"metadata"}},
		"[64:ff9b::a9fe:a9fe]:80":          {agent.CodeDenied, []string{"metadata"}},
		"[2002:a9fe:a9fe::1]:80":           {agent.CodeDenied, []string{"6to4"}},
		"100.101.102.103:41641":            {agent.CodeDenied, []string{"Tailscale"}},
		"[fd00:ec2::254]:80":               {agent.CodeDenied, []string{"metadata"}},
		"[fd7a:115c:a1e0::1]:80":           {agent.CodeDenied, []string{"private"}},
	} {
		conn, err := g.DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s was connected to", address)
			continue
		}
		t.Run(address, func(t *testing.T) { wantCode(t, err, want.code, want.words...) })
	}
	if _, err := g.DialContext(t.Context(), "udp", "1.1.1.1:53"); agent.CodeOf(err) != agent.CodeDenied {
		t.Errorf("udp: %v", err)
	}
}

// TestRebinding holds that the judged address is the dialled one: the resolver answers public first and loopback from then on.
func TestRebinding(t *testing.T) {
	var hits atomic.Int32
	victim := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer victim.Close()
	// 192.0.2.1 stands for a public address that does not answer.
	test := func(a netip.AddrPort) bool { return a.Addr() == netip.MustParseAddr("192.0.2.1") }
	r := &names{answers: map[string][][]string{"rebind.test": {{"192.0.2.1"}, {"127.0.0.1"}}}}
	g := New(Options{Resolver: r, AllowTest: test})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, port, _ := net.SplitHostPort(victim.Listener.Addr().String())
	if _, err := g.DialContext(ctx, "tcp", "rebind.test:"+port); err == nil {
		t.Error("connected")
	}
	if r.asked["rebind.test"] != 1 {
		t.Errorf("the name was looked up %d times for one connection", r.asked["rebind.test"])
	}
	_, err := g.DialContext(t.Context(), "tcp", "rebind.test:"+port)
	wantCode(t, err, agent.CodeDenied, "127.0.0.1")
	if hits.Load() != 0 {
		t.Error("the server on loopback was reached")
	}
}

// TestControlIsTheLastWord holds the check before connect(2) alone.
func TestControlIsTheLastWord(t *testing.T) {
	g := New(Options{})
	for address, bad := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "1.1.1.1:443": false, "nonsense": true} {
		if err := g.control("tcp", address, nil); (err != nil) != bad {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestOwnAddressesAreRefused(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	g := New(Options{})
	g.links = func() ([]netip.Prefix, error) {
		return []netip.Prefix{netip.MustParsePrefix("93.184.216.34/24"), netip.MustParsePrefix("2606:2800:220:1::5/64")}, nil
	}
	_, err := g.DialContext(t.Context(), "tcp", "93.184.216.34:8080")
	wantCode(t, err, agent.CodeDenied, "this machine itself")
	_, err = g.DialContext(t.Context(), "tcp", "[2606:2800:220:1::99]:8080")
	wantCode(t, err, agent.CodeDenied, "own network")
	// Where the system does not tell its addresses, the connection itself does.
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if !g.isSelf(conn) {
		t.Error("a connection to this machine is not seen as one")
	}
	if links, err := interfaces(); err != nil || len(links) == 0 {
		t.Errorf("this machine's addresses: %v, %v", links, err)
	}
}

func TestConfiguredEndpoints(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }))
	defer s.Close()
	address := s.Listener.Addr().String()
	g := New(Options{Allow: []string{address, "nonsense"}})
	conn, err := g.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("the configured endpoint: %v", err)
	}
	_ = conn.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	_, err = g.DialContext(t.Context(), "tcp", other.Listener.Addr().String())
	wantCode(t, err, agent.CodeDenied)
	_, err = g.DialContext(t.Context(), "tcp", strings.Replace(address, "127.0.0.1", "127.0.0.2", 1))
	wantCode(t, err, agent.CodeDenied)
	_, err = g.DialContext(t.Context(), "tcp", strings.Replace(address, "127.0.0.1", "localhost", 1))
	wantCode(t, err, agent.CodeDenied)
}

func TestDialTriesTheNextAddress(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	// Nothing listens on 127.0.0.9; the second address answers.
	r := &names{answers: map[string][][]string{"two.test": {{"127.0.0.9", "127.0.0.1"}}, "dead.test": {{"127.0.0.9"}}}}
	g := New(Options{Resolver: r, AllowTest: func(netip.AddrPort) bool { return true }})
	conn, err := g.DialContext(t.Context(), "tcp", "two.test:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	_, err = g.DialContext(t.Context(), "tcp", "dead.test:"+port)
	wantCode(t, err, agent.CodeUnavailable, "dead.test refuses connections")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.DialContext(ctx, "tcp", "two.test:"+port); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled dial: %v", err)
	}
}

func TestOrderTakesTurns(t *testing.T) {
	in := []netip.Addr{netip.MustParseAddr("2606::1"), netip.MustParseAddr("2606::2"), netip.MustParseAddr("2606::3"), netip.MustParseAddr("1.1.1.1")}
	var got []string
	for _, a := range order(in) {
		got = append(got, a.String())
	}
	if strings.Join(got, " ") != "2606::1 1.1.1.1 2606::2 2606::3" {
		t.Errorf("%v", got)
	}
}

func BenchmarkRefuse(b *testing.B) {
	g := New(Options{})
	a := netip.MustParseAddrPort("93.184.216.34:443")
	b.Run("address", func(b *testing.B) {
		for b.Loop() {
			refusal(a.Addr())
		}
	})
	b.Run("with own addresses", func(b *testing.B) {
		for b.Loop() {
			g.refuse(a)
		}
	})
}
