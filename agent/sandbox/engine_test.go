//go:build unix

package sandbox_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/sandbox"
)

// fakeEngine answers like an engine with the given facts and images: Podman, when they say what Podman alone does.
func fakeEngine(t *testing.T, info map[string]any, images ...string) string {
	t.Helper()
	return serveEngine(t, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := info["Rootless"]; ok {
			w.Header().Set("Libpod-Api-Version", "4.3.1")
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.HasSuffix(r.URL.Path, "/info"):
			json.NewEncoder(w).Encode(info)
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			w.Write([]byte("[]"))
		case strings.Contains(r.URL.Path, "/images/") && len(images) > 0:
			w.Write([]byte("{}"))
		default:
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte(`{"message":"no such thing"}`))
		}
	})
}

// serveEngine serves an engine's interface at a socket of its own.
func serveEngine(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ash-fake-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "d.sock")
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	})}
	go server.Serve(l)
	t.Cleanup(func() { _ = server.Close() })
	return "unix://" + path
}

// able is what an engine says that can hold every limit.
func able(change map[string]any) map[string]any {
	info := map[string]any{
		"OSType": "linux", "MemoryLimit": true, "SwapLimit": true, "PidsLimit": true, "CpuCfsQuota": true, "CpuCfsPeriod": true,
		"ServerVersion": "20.10.24", "CgroupVersion": "2", "NCPU": 2, "DefaultRuntime": "runc", "SecurityOptions": []string{"name=seccomp,profile=default"},
		"Runtimes": map[string]any{"runc": map[string]any{"path": "runc"}},
	}
	for k, v := range change {
		info[k] = v
	}
	return info
}

func TestEnginesThatAreNoSandbox(t *testing.T) {
	for name, test := range map[string]struct {
		info    map[string]any
		runtime string
		host    string
		says    string
	}{
		"no memory limit":             {info: able(map[string]any{"MemoryLimit": false}), says: "memory"},
		"no limit on pids":            {info: able(map[string]any{"PidsLimit": false}), says: "processes"},
		"no limit on CPU":             {info: able(map[string]any{"CpuCfsQuota": false}), says: "CPU"},
		"rootless without":            {info: able(map[string]any{"MemoryLimit": false, "SecurityOptions": []string{"name=rootless"}}), says: "Delegate="},
		"Podman, rootless, cgroup v1": {info: able(map[string]any{"Rootless": true, "CgroupVersion": "1"}), says: "Podman without root can limit nothing here"},
		"Podman without":              {info: able(map[string]any{"Rootless": true, "MemoryLimit": false}), says: "Podman cannot limit memory here, so it counts as no sandbox. It is rootless"},
		"Windows containers":          {info: able(map[string]any{"OSType": "windows"}), says: "Linux containers"},
		"runtime missing":             {info: able(nil), runtime: "runsc", says: "has no runtime runsc. It has: runc"},
		"image not built":             {info: able(nil), says: "ash sandbox build"},
		"another machine":             {host: "tcp://192.0.2.1:2375", says: "another machine"},
		"another one, by ssh":         {host: "ssh://build.example", says: "another machine"},
		"nothing there":               {host: "unix:///nowhere/docker.sock", says: "not running here"},
	} {
		t.Run(name, func(t *testing.T) {
			set := sandbox.Settings{Engine: sandbox.EngineDocker, DockerHost: test.host, Runtime: test.runtime, MinFree: 1}
			if set.DockerHost == "" {
				set.DockerHost = fakeEngine(t, test.info)
			}
			s := sandbox.New(sandbox.Options{Home: t.TempDir(), Settings: func() sandbox.Settings { return set }})
			defer s.Close(context.Background())
			_, err := s.Run(t.Context(), sandbox.Command{Thread: agent.NewID(), Root: t.TempDir(), Line: "true"}, nil)
			if agent.CodeOf(err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(err), test.says) {
				t.Errorf("got %v", err)
			}
			if st := s.Status(t.Context()); st.Ready || !strings.Contains(st.Problem, test.says) || st.Network {
				t.Errorf("status: %+v", st)
			}
		})
	}
}

// TestAutoDoesNotPassOverAnImageThatCanBeBuilt holds that bubblewrap stands in for Docker only where there is none.
func TestAutoDoesNotPassOverAnImageThatCanBeBuilt(t *testing.T) {
	set := sandbox.Settings{DockerHost: fakeEngine(t, able(nil)), MinFree: 1}
	s := sandbox.New(sandbox.Options{Home: t.TempDir(), Settings: func() sandbox.Settings { return set }})
	_, err := s.Run(t.Context(), sandbox.Command{Thread: agent.NewID(), Root: t.TempDir(), Line: "true"}, nil)
	if agent.CodeOf(err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(err), "not built yet") {
		t.Errorf("got %v", err)
	}
}

func TestPodmanIsToldFromDocker(t *testing.T) {
	for name, facts := range map[string]map[string]any{
		"Docker":           nil,
		"Docker, rootless": {"SecurityOptions": []string{"name=seccomp,profile=default", "name=rootless"}},
		"Podman":           {"Rootless": false, "DefaultRuntime": "crun"},
		"Podman, rootless": {"Rootless": true, "DefaultRuntime": "crun"},
	} {
		set := sandbox.Settings{Engine: sandbox.EngineDocker, DockerHost: fakeEngine(t, able(facts), "any")}
		s := sandbox.New(sandbox.Options{Home: t.TempDir(), Settings: func() sandbox.Settings { return set }})
		if st := s.Status(t.Context()); !st.Ready || st.Name != name {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

func TestStatusTellsWhatIsNotEnforced(t *testing.T) {
	set := sandbox.Settings{Engine: sandbox.EngineDocker, DockerHost: fakeEngine(t, able(map[string]any{"SwapLimit": false, "SecurityOptions": []string{"name=rootless"}}), "any")}
	s := sandbox.New(sandbox.Options{Home: t.TempDir(), Settings: func() sandbox.Settings { return set }})
	st := s.Status(t.Context())
	if !st.Ready || st.Name != "Docker, rootless" || st.Cgroup != "2" || st.Version != "20.10.24" || len(st.Notes) != 1 {
		t.Errorf("%+v", st)
	}
	for _, l := range st.Limits {
		if l.Name == "swap" && l.By != "" {
			t.Errorf("%+v", l)
		}
	}
}
