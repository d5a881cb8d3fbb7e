//go:build unix

package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// between puts a proxy between the kit and the real engine. meddle answers a request itself and returns true, or lets it through.
func between(t *testing.T, k *kit, meddle func(w http.ResponseWriter, r *http.Request) bool) {
	t.Helper()
	socket := engineSocket()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	proxy.FlushInterval = -1
	k.settings.DockerHost = serveEngine(t, func(w http.ResponseWriter, r *http.Request) {
		if !meddle(w, r) {
			for name := range w.Header() {
				w.Header().Del(name) // the engine's own
			}
			proxy.ServeHTTP(w, r)
		}
	})
}

// sayNo answers as an engine that fails.
func sayNo(w http.ResponseWriter, status int, why string) bool {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": why})
	return true
}

// on matches requests by method and the path's parts.
func on(r *http.Request, method string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
	}
	return r.Method == method
}

// TestEngineThatSaysNo is about an engine that fails at each step of a command: nothing ran, and that is said with the engine's own reason.
func TestEngineThatSaysNo(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		parts  []string
		says   string
	}{
		"making the container":  {"POST", []string{"/containers/create"}, "could not make the sandbox: Error response from daemon: no room"},
		"attaching":             {"POST", []string{"/containers/", "/attach"}, "does not let Ash hold it"},
		"starting":              {"POST", []string{"/containers/", "/start"}, "could not start the sandbox: Error response from daemon: no room"},
		"asking for a command":  {"POST", []string{"/containers/", "/exec"}, "could not run the command"},
		"beginning the command": {"POST", []string{"/exec/", "/start"}, "in the middle of the command"}, // it may have been begun
		"looking for the image": {"GET", []string{"/images/ash-sandbox"}, "does not answer as it should"},
	} {
		t.Run(name, func(t *testing.T) {
			k := open(t, sandbox.EngineDocker, sandbox.Options{})
			between(t, k, func(w http.ResponseWriter, r *http.Request) bool {
				return on(r, test.method, test.parts...) && sayNo(w, http.StatusInternalServerError, "no room")
			})
			o := k.run(t.Context(), sandbox.Command{Line: "touch ran"})
			if agent.CodeOf(o.Err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(o.Err), test.says) {
				t.Errorf("got %v", o.Err)
			}
			if _, err := os.Stat(k.root + "/ran"); err == nil {
				t.Error("it ran")
			}
			if left := containersOf(t, engineClient(t), "ash.thread="+string(k.thread)); name != "asking for a command" && name != "beginning the command" && len(left) > 0 {
				soon(t, 2*time.Second, "what was made is removed", func() bool {
					return len(containersOf(t, engineClient(t), "ash.thread="+string(k.thread))) == 0
				})
			}
		})
	}
}

// TestEngineThatFailsOnce holds that a container that cannot take a command is replaced.
func TestEngineThatFailsOnce(t *testing.T) {
	for name, parts := range map[string][]string{"asked": {"/containers/", "/exec"}, "begun": {"/exec/", "/start"}} {
		t.Run(name, func(t *testing.T) {
			k := open(t, sandbox.EngineDocker, sandbox.Options{})
			var failed atomic.Bool
			between(t, k, func(w http.ResponseWriter, r *http.Request) bool {
				return on(r, "POST", parts...) && !failed.Swap(true) && sayNo(w, http.StatusConflict, "it is not running")
			})
			if o := k.run(t.Context(), sandbox.Command{Line: "echo ran >>file; cat file"}); o.Err != nil || o.Output != "ran\n" || !failed.Load() {
				t.Errorf("%+v", o)
			}
		})
	}
}

// altered changes what a container is to be made from, and lets the request through.
func altered(t *testing.T, r *http.Request, change func(body, host map[string]any)) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		t.Error(err)
	}
	change(body, body["HostConfig"].(map[string]any))
	text, _ := json.Marshal(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
}

// TestEngineThatDoesNotLimit is about an engine that takes the limits and leaves them out, as rootless ones do with cgroup v1.
func TestEngineThatDoesNotLimit(t *testing.T) {
	for limit, says := range map[string]string{"Memory": "asked to limit memory and did not", "PidsLimit": "asked to limit processes and did not"} {
		t.Run(limit, func(t *testing.T) {
			k := open(t, sandbox.EngineDocker, sandbox.Options{})
			between(t, k, func(_ http.ResponseWriter, r *http.Request) bool {
				if on(r, "POST", "/containers/create") {
					altered(t, r, func(_, host map[string]any) {
						delete(host, limit)
						if limit == "Memory" {
							delete(host, "MemorySwap")
						}
					})
				}
				return false
			})
			o := k.run(t.Context(), sandbox.Command{Line: "touch ran"})
			if agent.CodeOf(o.Err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(o.Err), says) || !strings.Contains(agent.PublicOf(o.Err), "counts as no sandbox") {
				t.Errorf("got %v", o.Err)
			}
			if _, err := os.Stat(k.root + "/ran"); err == nil {
				t.Error("it ran")
			}
		})
	}
}

// TestGreetings is about what the first process of a container says. Limits that it does not see are believed in only where it cannot see any.
func TestGreetings(t *testing.T) {
	for name, test := range map[string]struct {
		keeper  string
		runtime string // the engine's default
		says    string // "" when the command runs
	}{
		"limits that are not seen":          {`printf 'ready - -\n'; cat`, "runc", "asked to limit memory and did not (-)"},
		"limits that are not seen, in crun": {`printf 'ready - -\n'; cat`, "crun", "asked to limit memory and did not (-)"},
		"limits that cannot be seen":        {`printf 'ready - -\n'; cat`, "runsc", ""},
		"no limits":                         {`printf 'ready max max\n'; cat`, "runsc", "asked to limit memory and did not (max)"},
		"something else":                    {`echo hello; cat`, "runc", "did not start as it should: hello"},
		"nothing":                           {`exit 3`, "runc", "ended as soon as it had started. The log of Docker"},
	} {
		t.Run(name, func(t *testing.T) {
			k := open(t, sandbox.EngineDocker, sandbox.Options{})
			between(t, k, func(w http.ResponseWriter, r *http.Request) bool {
				if on(r, "POST", "/containers/create") {
					altered(t, r, func(body, _ map[string]any) { body["Entrypoint"] = []string{"bash", "-c", test.keeper} })
				}
				if strings.HasSuffix(r.URL.Path, "/info") {
					json.NewEncoder(w).Encode(able(map[string]any{"DefaultRuntime": test.runtime}))
					return true
				}
				return false
			})
			o := k.run(t.Context(), sandbox.Command{Line: "echo ran"})
			if test.says == "" && (o.Err != nil || o.Output != "ran\n") {
				t.Errorf("%+v", o)
			}
			if test.says != "" && (agent.CodeOf(o.Err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(o.Err), test.says)) {
				t.Errorf("got %+v", o)
			}
		})
	}
}

// TestKeeperThatDoesNotObey holds that Stop removes a container whose first process takes no word.
func TestKeeperThatDoesNotObey(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	between(t, k, func(_ http.ResponseWriter, r *http.Request) bool {
		if on(r, "POST", "/containers/create") {
			altered(t, r, func(body, _ map[string]any) {
				body["Entrypoint"] = []string{"bash", "-c", "printf 'ready 1 1\\n'; sleep 1000"}
			})
		}
		return false
	})
	sleep := nap(8585, os.Getpid())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, err := k.Run(ctx, sandbox.Command{Thread: k.thread, Root: k.root, Line: "setsid " + sleep + " & echo up; " + sleep}, func([]byte) { stop() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	soon(t, 2*time.Second, "everything ended", func() bool { return naps(t, sleep) == 0 })
	soon(t, 2*time.Second, "the container is gone", func() bool { return len(containersOf(t, engineClient(t), "ash.thread="+string(k.thread))) == 0 })
}

// TestEngineThatDoesNotLetGo is about containers that the engine refuses to remove: it is asked again, and not for ever.
func TestEngineThatDoesNotLetGo(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	var asked atomic.Int32
	var most int32 = 2
	between(t, k, func(w http.ResponseWriter, r *http.Request) bool {
		return on(r, "DELETE", "/containers/") && asked.Add(1) <= atomic.LoadInt32(&most) && sayNo(w, http.StatusInternalServerError, "container state improper")
	})
	k.line("true")
	within(t, 5*time.Second, "releasing", func() {
		if err := k.Release(t.Context(), k.thread); err != nil {
			t.Error(err)
		}
	})
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times", n)
	}
	atomic.StoreInt32(&most, 1<<30)
	asked.Store(0)
	k.line("true")
	within(t, 5*time.Second, "giving up", func() {
		if err := k.Release(t.Context(), k.thread); err != nil {
			t.Error(err)
		}
	})
	if n := asked.Load(); n < 2 || n > 10 {
		t.Errorf("asked %d times", n)
	}
}

// TestJobsThatCannotBeCounted holds that a container is removed when nobody can say whether anything is left in it.
func TestJobsThatCannotBeCounted(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	between(t, k, func(w http.ResponseWriter, r *http.Request) bool {
		return on(r, "GET", "/containers/", "/top") && sayNo(w, http.StatusInternalServerError, "no ps here")
	})
	k.line("touch /tmp/kept")
	if err := k.EndJobs(t.Context(), k.thread); err != nil {
		t.Error(err)
	}
	if o := k.line("ls /tmp"); o.Output != "" {
		t.Errorf("it is the same container: %+v", o)
	}
}

// TestKilledAndForgotten is about a shell that was killed when the engine does not say how.
func TestKilledAndForgotten(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	between(t, k, func(w http.ResponseWriter, r *http.Request) bool {
		return on(r, "GET", "/exec/", "/json") && sayNo(w, http.StatusInternalServerError, "forgotten")
	})
	o := k.run(t.Context(), sandbox.Command{Line: "touch ran; kill -9 -1"})
	if agent.CodeOf(o.Err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(o.Err), "in the middle") || o.Exit != 137 {
		t.Errorf("%+v", o)
	}
}

// TestListsThatFail is about an engine that does not tell its containers.
func TestListsThatFail(t *testing.T) {
	k := open(t, sandbox.EngineDocker, sandbox.Options{})
	between(t, k, func(w http.ResponseWriter, r *http.Request) bool {
		return on(r, "GET", "/json") && (on(r, "GET", "/containers/json") || on(r, "GET", "/images/json")) && sayNo(w, http.StatusInternalServerError, "no list")
	})
	if st := k.Status(t.Context()); !st.Ready || !strings.Contains(strings.Join(st.Notes, " "), "could not be listed") {
		t.Errorf("%+v", st)
	}
	if _, err := k.Recover(t.Context()); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("recover: %v", err)
	}
	if err := k.Prune(t.Context()); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("prune: %v", err)
	}
}
