//go:build unix

package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ash/agent"
	"ash/agent/sandbox"
)

// gateway is a small filtering proxy: every allowed name leads to one server of the test.
type gateway struct {
	to   string // host:port
	dead bool   // nobody listens

	mu   sync.Mutex
	open int
}

func (g *gateway) Open(ctx context.Context, dir string, hosts []string) (sandbox.Passage, error) {
	p := &passage{g: g, hosts: hosts, path: filepath.Join(dir, "gateway.sock")}
	if len(p.path) > 100 {
		return nil, fmt.Errorf("path too long: %s", p.path)
	}
	if g.dead {
		return p, os.WriteFile(p.path, nil, 0o600)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", p.path)
	if err != nil {
		return nil, err
	}
	p.server = &http.Server{Handler: p}
	go p.server.Serve(l)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open++
	return p, nil
}

type passage struct {
	g       *gateway
	hosts   []string
	path    string
	server  *http.Server
	mu      sync.Mutex
	reached []string
}

func (p *passage) Socket() string { return p.path }

func (p *passage) Reached() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reached)
}

func (p *passage) Close() error {
	if p.server == nil {
		return nil
	}
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.open--
	return p.server.Close()
}

func (p *passage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Hostname()
	if !slices.Contains(p.hosts, name) {
		http.Error(w, "not allowed: "+name, http.StatusForbidden)
		return
	}
	p.mu.Lock()
	if !slices.Contains(p.reached, name) {
		p.reached = append(p.reached, name)
	}
	p.mu.Unlock()
	if r.Method != http.MethodConnect {
		r.RequestURI, r.URL.Host = "", p.g.to
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		io.Copy(w, res.Body)
		return
	}
	up, err := net.Dial("tcp", p.g.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer up.Close()
	w.WriteHeader(http.StatusOK)
	down, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	go func() { io.Copy(up, rw); up.(*net.TCPConn).CloseWrite() }()
	io.Copy(down, bufio.NewReader(up))
}

// addresses are those of this machine, loopback first.
func addresses(t *testing.T) []string {
	t.Helper()
	list := []string{"127.0.0.1"}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			list = append(list, n.IP.String())
		}
	}
	return list
}

func withNetwork(t *testing.T, test func(t *testing.T, k *kit, g *gateway)) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s", r.URL.Path) }))
	server.Listener, err = net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, engine := range []string{sandbox.EngineDocker, sandbox.EngineBubblewrap} {
		t.Run(engine, func(t *testing.T) {
			g := &gateway{to: "127.0.0.1:" + port}
			test(t, open(t, engine, sandbox.Options{Gateway: g, Self: self}), g)
		})
	}
}

func TestWithoutHostsNothingIsReached(t *testing.T) {
	withNetwork(t, func(t *testing.T, k *kit, g *gateway) {
		_, port, _ := net.SplitHostPort(g.to)
		for _, address := range append(addresses(t), "localhost", "[::1]", "169.254.169.254", "example.org") {
			for _, line := range []string{
				"curl -sm 3 http://" + address + ":" + port + "/",
				"exec 5<>/dev/tcp/" + strings.Trim(address, "[]") + "/" + port + " && echo hello",
			} {
				if o := k.run(t.Context(), sandbox.Command{Line: "timeout 5 bash -c '" + line + "'"}); o.Err != nil || o.Exit == 0 || strings.Contains(o.Output, "hello") {
					t.Errorf("%s: %+v", line, o)
				}
			}
		}
		if o := k.line("cat /proc/net/dev | grep -v lo: | grep :; ls /sys/class/net 2>/dev/null | grep -v lo; env | grep -i proxy"); o.Output != "" && !strings.Contains(o.Output, "No such") {
			t.Errorf("interfaces: %q", o.Output)
		}
	})
}

func TestHostsAreReachedThroughTheGatewayAlone(t *testing.T) {
	withNetwork(t, func(t *testing.T, k *kit, g *gateway) {
		k.line("echo before >/tmp/before; echo kept >file")
		_, port, _ := net.SplitHostPort(g.to)
		ask := func(line string, hosts ...string) outcome {
			t.Helper()
			o := k.run(t.Context(), sandbox.Command{Line: line, Hosts: hosts})
			if o.Err != nil {
				t.Fatalf("%s: %v", line, o.Err)
			}
			return o
		}
		if o := ask("curl -sS http://one.example/page; exit 6", "one.example"); o.Output != "hello /page" || o.Exit != 6 || !slices.Equal(o.Hosts, []string{"one.example"}) {
			t.Errorf("plain: %+v", o)
		}
		if o := ask("cd /work; curl -sSp http://two.example/tunnel", "one.example", "two.example"); o.Output != "hello /tunnel" || !slices.Equal(o.Hosts, []string{"two.example"}) {
			t.Errorf("CONNECT: %+v", o)
		}
		if o := ask("curl -sS http://three.example/; curl -sSp http://three.example/", "one.example"); strings.Contains(o.Output, "hello") || len(o.Hosts) != 0 {
			t.Errorf("a host that was not granted: %+v", o)
		}
		for _, address := range append(addresses(t), "one.example") {
			if o := ask("curl -sm 3 --noproxy '*' http://"+address+":"+port+"/", "one.example"); o.Exit == 0 || strings.Contains(o.Output, "hello") {
				t.Errorf("around the proxy to %s: %+v", address, o)
			}
		}
		if o := ask("ls /tmp; cat file; ls /run/ash; touch /run/ash/x", "one.example"); o.Output == "" || strings.Contains(o.Output, "before") || !strings.Contains(o.Output, "kept") || o.Exit == 0 {
			t.Errorf("it is not alone: %q", o.Output)
		}
		if o := k.line("curl -sm 3 http://one.example/; cat /tmp/before; ls /run/ash 2>&1"); strings.Contains(o.Output, "hello") || strings.Contains(o.Output, "gateway") {
			t.Errorf("afterwards: %q", o.Output)
		}
		if g.open != 0 {
			t.Errorf("%d gateways are still open", g.open)
		}
	})
}

func TestGatewayThatDoesNotAnswer(t *testing.T) {
	withNetwork(t, func(t *testing.T, k *kit, g *gateway) {
		g.dead = true
		if o := k.run(t.Context(), sandbox.Command{Line: "echo ran", Hosts: []string{"*"}}); agent.CodeOf(o.Err) != agent.CodeUnavailable || strings.Contains(o.Output, "ran\n") {
			t.Errorf("%+v", o)
		}
	})
}

func TestStoppingACommandWithNetwork(t *testing.T) {
	withNetwork(t, func(t *testing.T, k *kit, g *gateway) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		sleep := nap(7878, os.Getpid())
		_, err := k.Run(ctx, sandbox.Command{Thread: k.thread, Root: k.root, Hosts: []string{"*"}, Line: "setsid " + sleep + " & echo up; wait"}, func([]byte) { stop() })
		if err == nil || naps(t, sleep) != 0 || g.open != 0 {
			t.Errorf("%v; %d processes, %d gateways", err, naps(t, sleep), g.open)
		}
	})
}
