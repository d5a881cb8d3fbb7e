//go:build unix

package sandbox_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

// workshop is an engine that builds.
type workshop struct {
	stream string        // what a build answers
	status int           // other than 200: it is refused
	hold   chan struct{} // a build waits for it
	begun  chan struct{}
	lost   bool // the image is not there afterwards
	tags   []string
	refuse map[string]int // how removing a tag is answered

	mu      sync.Mutex
	built   bool
	file    string // the Dockerfile it got
	removed []string
}

func (e *workshop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/_ping"):
	case strings.HasSuffix(path, "/info"):
		json.NewEncoder(w).Encode(able(nil))
	case strings.HasSuffix(path, "/build"):
		e.build(w, r)
	case strings.HasSuffix(path, "/containers/json"):
		w.Write([]byte("[]"))
	case strings.HasSuffix(path, "/images/json"):
		json.NewEncoder(w).Encode([]map[string]any{{"Id": "1", "RepoTags": e.tags}})
	case r.Method == http.MethodDelete:
		tag := path[strings.Index(path, "/images/")+len("/images/"):]
		if status := e.refuse[tag]; status != 0 {
			sayNo(w, status, "it is in use")
			return
		}
		e.removed = append(e.removed, tag)
		w.Write([]byte("[]"))
	case strings.Contains(path, "/images/") && e.built && !e.lost:
		w.Write([]byte(`{"Size":7,"Created":"2026-01-02T03:04:05Z"}`))
	default:
		sayNo(w, http.StatusNotFound, "no such image")
	}
}

func (e *workshop) build(w http.ResponseWriter, r *http.Request) {
	files := tar.NewReader(r.Body)
	if _, err := files.Next(); err == nil {
		text, _ := io.ReadAll(files)
		e.file = string(text)
	}
	if e.hold != nil {
		close(e.begun)
		e.mu.Unlock()
		select {
		case <-e.hold:
		case <-r.Context().Done():
		}
		e.mu.Lock()
	}
	if e.status != 0 {
		sayNo(w, e.status, "no builder here")
		return
	}
	e.built = true
	fmt.Fprint(w, e.stream)
}

func (e *workshop) sandbox(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	set := sandbox.Settings{Engine: sandbox.EngineDocker, DockerHost: serveEngine(t, e.ServeHTTP)}
	s := sandbox.New(sandbox.Options{Home: t.TempDir(), Settings: func() sandbox.Settings { return set }})
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func TestBuild(t *testing.T) {
	e := &workshop{stream: `{"status":"Pulling from debian","id":"slim"}
{"status":"Downloading","progressDetail":{"current":1,"total":2},"id":"layer"}
{"stream":"Step 1/2 : FROM debian\nStep 2/2 : RUN true\n"}
`}
	s := e.sandbox(t)
	if st := s.Status(t.Context()); st.Ready || st.Image.Built || st.Engine != sandbox.EngineDocker {
		t.Errorf("before: %+v", st)
	}
	var lines []string
	if err := s.Build(t.Context(), func(line string) { lines = append(lines, line) }); err != nil {
		t.Fatal(err)
	}
	st := s.Status(t.Context())
	want := []string{"slim Pulling from debian", "Step 1/2 : FROM debian", "Step 2/2 : RUN true", "The sandbox is ready: " + st.Image.Tag}
	if !slices.Equal(lines, want) {
		t.Errorf("told %q", lines)
	}
	if !st.Ready || !st.Image.Built || st.Image.Size != 7 || st.Image.Created.Year() != 2026 {
		t.Errorf("after: %+v", st)
	}
	if own, err := os.ReadFile("Dockerfile"); err != nil || e.file != string(own) {
		t.Errorf("it was given %q, %v", e.file, err)
	}
}

func TestBuildsThatFail(t *testing.T) {
	for name, test := range map[string]struct {
		e    *workshop
		says string
	}{
		"a step fails":           {&workshop{stream: `{"stream":"Step 1"}` + "\n" + `{"error":"the command returned 100\nand more"}`}, "could not be built: the command returned 100. It needs the network"},
		"a stream that is none":  {&workshop{stream: "<html>"}, "could not be built: invalid character"},
		"a stream that is cut":   {&workshop{stream: `{"stream":"Ste`}, "could not be built: unexpected EOF"},
		"it cannot build":        {&workshop{status: http.StatusNotImplemented}, "could not be built: Error response from daemon: no builder here"},
		"the image is not there": {&workshop{lost: true}, "could not be built"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.e.sandbox(t).Build(t.Context(), nil)
			if agent.CodeOf(err) != agent.CodeUnavailable || !strings.Contains(agent.PublicOf(err), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	s := sandbox.New(sandbox.Options{Home: t.TempDir(), Settings: func() sandbox.Settings { return sandbox.Settings{Engine: sandbox.EngineBubblewrap} }})
	if err := s.Build(t.Context(), nil); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("without Docker: %v", err)
	}
}

// TestOneBuildAtATime also ends the first by its context.
func TestOneBuildAtATime(t *testing.T) {
	e := &workshop{hold: make(chan struct{}), begun: make(chan struct{})}
	s := e.sandbox(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Build(ctx, nil) }()
	<-e.begun
	if err := s.Build(t.Context(), nil); agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("a second build: %v", err)
	}
	if st := s.Status(t.Context()); !st.Image.Building {
		t.Errorf("%+v", st.Image)
	}
	stop()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the first: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the build does not end")
	}
	close(e.hold)
}

func TestPruneRemovesOldImages(t *testing.T) {
	e := &workshop{refuse: map[string]int{"ash-sandbox:used": http.StatusConflict, "ash-sandbox:gone": http.StatusNotFound}}
	s := e.sandbox(t)
	if err := s.Build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	now := s.Status(t.Context()).Image.Tag
	e.tags = []string{now, "docker.io/library/" + now, "ash-sandbox:old", "localhost/ash-sandbox:older", "ash-sandbox:used", "ash-sandbox:gone"}
	if err := s.Prune(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"ash-sandbox:old", "localhost/ash-sandbox:older"}; !slices.Equal(e.removed, want) {
		t.Errorf("removed %q", e.removed)
	}
	e.refuse["ash-sandbox:old"] = http.StatusInternalServerError
	if err := s.Prune(t.Context()); err == nil || !strings.Contains(err.Error(), "it is in use") {
		t.Errorf("an image that cannot be removed: %v", err)
	}
}

// TestEnginesThatDoNotAnswer is about why there is no engine although something is there.
func TestEnginesThatDoNotAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		info string // the answer, with 500
		ping string // of Podman, whose second question is answered with this
		says string
	}{
		"not allowed":            {info: "dial unix: permission denied", says: "may not use it"},
		"broken":                 {info: "disk on fire", says: "does not answer as it should"},
		"Podman in broken words": {ping: "4.3.1", says: "does not answer as it should"},
	} {
		t.Run(name, func(t *testing.T) {
			host := serveEngine(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Libpod-Api-Version", test.ping)
				switch {
				case strings.HasSuffix(r.URL.Path, "/_ping"):
				case test.info != "":
					sayNo(w, http.StatusInternalServerError, test.info)
				case r.URL.Path == "/info":
					fmt.Fprint(w, "<html>")
				default:
					json.NewEncoder(w).Encode(able(nil))
				}
			})
			s := sandbox.New(sandbox.Options{Home: t.TempDir(), Settings: func() sandbox.Settings {
				return sandbox.Settings{Engine: sandbox.EngineDocker, DockerHost: host}
			}})
			if st := s.Status(t.Context()); st.Ready || !strings.Contains(st.Problem, test.says) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestOneAsksForAll holds that many commands at once ask a slow engine what it is only once.
func TestOneAsksForAll(t *testing.T) {
	var asked atomic.Int32
	host := serveEngine(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.HasSuffix(r.URL.Path, "/info"):
			asked.Add(1)
			time.Sleep(200 * time.Millisecond)
			json.NewEncoder(w).Encode(able(nil))
		default:
			sayNo(w, http.StatusNotFound, "no such image")
		}
	})
	s := sandbox.New(sandbox.Options{Home: t.TempDir(), Settings: func() sandbox.Settings {
		return sandbox.Settings{Engine: sandbox.EngineDocker, DockerHost: host, MinFree: 1}
	}})
	defer s.Close(context.Background())
	root := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.Run(t.Context(), sandbox.Command{Thread: agent.NewID(), Root: root, Line: "true"}, nil); agent.CodeOf(err) != agent.CodeUnavailable {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
