package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"ash/agent"
)

// Bounds on talking to the engine.
const (
	askTime   = 5 * time.Second  // a question
	knowTime  = 15 * time.Second // all about an engine: Podman runs its programs to find out
	startTime = 30 * time.Second // making a container
)

// docker runs commands in containers.
type docker struct {
	dir  string // where files that an engine reads are
	home string // label of what belongs to this home
	boot string // label of what belongs to this process
	log  *slog.Logger

	mu       sync.Mutex
	link     *dockerLink
	linkFor  Settings
	slots    map[agent.ID]*slot
	loose    map[*box]struct{} // containers of commands with network
	janitor  chan struct{}     // closed to end the janitor; nil when there is none
	removing map[*box]chan struct{}
	sweeping sync.WaitGroup // the janitor
	dialing  chan struct{}  // holds one token while somebody looks for an engine
	building sync.Mutex
}

// dockerLink is a connection to an engine with what is known about it.
type dockerLink struct {
	cli  *client.Client
	host string
	info system.Info

	podman   bool
	rootless bool // root inside is the user outside
	remap    bool // the engine maps users of containers to others
	desktop  bool // the engine runs in a virtual machine: no unix socket of the host can be reached from inside
}

func newDocker(dir, home string, log *slog.Logger) *docker {
	return &docker{dir: dir, home: home, boot: string(agent.NewID()), log: log, slots: map[agent.ID]*slot{}, loose: map[*box]struct{}{}, removing: map[*box]chan struct{}{}, dialing: make(chan struct{}, 1)}
}

func (d *docker) name() string { return EngineDocker }

// ready says whether commands can run, as CodeUnavailable with what to do when not.
func (d *docker) ready(ctx context.Context, s Settings) error {
	l, err := d.connect(ctx, s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_, err = l.image(ctx)
	return err
}

// connect finds the engine, or returns the connection there is when it still answers.
func (d *docker) connect(ctx context.Context, s Settings) (*dockerLink, error) {
	if l := d.answering(ctx, s); l != nil {
		return l, nil
	}
	// One asks for all: Podman looks its programs up for each answer, and half a second becomes five when ten ask.
	select {
	case d.dialing <- struct{}{}:
		defer func() { <-d.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l := d.answering(ctx, s); l != nil {
		return l, nil
	}
	l, err := dialDocker(ctx, s)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// The old connection may still be in use; it closes when idle.
	d.link, d.linkFor = l, s
	return l, nil
}

// answering returns the connection there is, if it is the one that s asks for and the engine answers.
func (d *docker) answering(ctx context.Context, s Settings) *dockerLink {
	d.mu.Lock()
	known, settings := d.link, d.linkFor
	d.mu.Unlock()
	if known == nil || settings.DockerHost != s.DockerHost || settings.Runtime != s.Runtime {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if _, err := known.cli.Ping(ctx); err != nil {
		return nil
	}
	return known
}

// dialDocker tries the places where an engine may be. The reason returned is that of the first that is there.
func dialDocker(ctx context.Context, s Settings) (*dockerLink, error) {
	var first error
	for _, host := range dockerHosts(s) {
		l, err := dialHost(ctx, host, s)
		if err == nil {
			return l, nil
		}
		if first == nil && !errors.Is(err, errNoDocker) {
			first = err
		}
	}
	if first == nil {
		first = agent.Wrap(agent.CodeUnavailable, errNoDocker, "Docker is not running here. Install it (on Debian and Ubuntu: sudo apt install docker.io) or start it.")
	}
	return nil, first
}

// errNoDocker is why there is no engine at an address: nothing is there.
var errNoDocker = errors.New("no engine there")

// dockerHosts are the addresses to try, in order.
func dockerHosts(s Settings) []string {
	if s.DockerHost != "" {
		return []string{s.DockerHost}
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return []string{host}
	}
	if runtime.GOOS == "windows" {
		return []string{client.DefaultDockerHost}
	}
	paths := []string{"/var/run/docker.sock"}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" && runtime.GOOS == "linux" { // a service of the system is not told its account's
		dir = "/run/user/" + strconv.Itoa(os.Getuid())
	}
	if dir != "" {
		paths = append(paths, filepath.Join(dir, "docker.sock"), filepath.Join(dir, "podman", "podman.sock"))
	}
	if dir, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(dir, ".docker", "run", "docker.sock"))
	}
	paths = append(paths, "/run/podman/podman.sock")
	hosts := make([]string, len(paths))
	for i, p := range paths {
		hosts[i] = "unix://" + p
	}
	return hosts
}

func dialHost(ctx context.Context, host string, s Settings) (*dockerLink, error) {
	u, err := url.Parse(host)
	if err != nil || (u.Scheme != "unix" && u.Scheme != "npipe") {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The Docker at %s is another machine's: your folders are not there. Ash needs one on this machine.", host)
	}
	if _, err := os.Stat(u.Path); u.Scheme == "unix" && errors.Is(err, os.ErrNotExist) {
		return nil, errNoDocker
	}
	one := &http.Transport{MaxIdleConns: 1, IdleConnTimeout: 30 * time.Second} // a server at rest keeps no more of the engine's connections
	cli, err := client.NewClientWithOpts(client.WithHTTPClient(&http.Client{Transport: one, CheckRedirect: client.CheckRedirect}), client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The address of Docker, %s, cannot be used.", host)
	}
	ctx, cancel := context.WithTimeout(ctx, knowTime)
	defer cancel()
	info, err := cli.Info(ctx)
	if err != nil {
		_ = cli.Close()
		return nil, whyNoInfo(host, err)
	}
	pod, err := findPodman(ctx, cli)
	if err != nil {
		_ = cli.Close()
		return nil, whyNoInfo(host, err)
	}
	l := newLink(cli, host, info, pod)
	if err := l.enforces(s); err != nil {
		_ = cli.Close()
		return nil, err
	}
	return l, nil
}

func whyNoInfo(host string, err error) error {
	if strings.Contains(err.Error(), "permission denied") {
		return agent.Wrap(agent.CodeUnavailable, err, "Docker is there, but this account may not use it. Add it to the group docker (sudo usermod -aG docker $USER, then sign in again), or set up rootless Docker.")
	}
	if client.IsErrConnectionFailed(err) {
		return fmt.Errorf("%w: %s: %w", errNoDocker, host, err)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "Docker at %s does not answer as it should.", host)
}

func newLink(cli *client.Client, host string, info system.Info, pod *podman) *dockerLink {
	l := &dockerLink{cli: cli, host: host, info: info, podman: pod != nil, rootless: pod != nil && pod.rootless}
	for _, o := range info.SecurityOptions {
		l.rootless = l.rootless || strings.Contains(o, "name=rootless")
		l.remap = l.remap || strings.Contains(o, "name=userns")
	}
	l.desktop = runtime.GOOS != "linux" || strings.Contains(info.OperatingSystem, "Docker Desktop")
	return l
}

// enforces returns an error when the engine cannot hold the limits: it counts as no sandbox then.
func (l *dockerLink) enforces(s Settings) error {
	if l.info.OSType != "" && l.info.OSType != "linux" {
		return agent.Errorf(agent.CodeUnavailable, "%s runs %s containers here. Switch it to Linux containers.", l.brand(), l.info.OSType)
	}
	if err := l.podmanRefusal(); err != nil {
		return err
	}
	var missing []string
	for _, limit := range []struct {
		held bool
		name string
	}{
		{l.info.MemoryLimit, "memory"},
		{l.info.PidsLimit, "processes"},
		{l.info.CPUCfsQuota && l.info.CPUCfsPeriod, "CPU"},
	} {
		if !limit.held {
			missing = append(missing, limit.name)
		}
	}
	if len(missing) > 0 {
		fix := "Its kernel or its cgroups do not let it."
		if l.rootless {
			fix = "It is rootless: give it the cgroup controllers (cgroup v2, and Delegate=cpu cpuset io memory pids for user@.service)."
		}
		return agent.Errorf(agent.CodeUnavailable, "%s cannot limit %s here, so it counts as no sandbox. %s", l.brand(), strings.Join(missing, ", "), fix)
	}
	if _, ok := l.info.Runtimes[s.Runtime]; s.Runtime != "" && !ok && len(l.info.Runtimes) > 0 {
		var names []string
		for name := range l.info.Runtimes {
			names = append(names, name)
		}
		slices.Sort(names)
		return agent.Errorf(agent.CodeUnavailable, "%s has no runtime %s. It has: %s. Install it, or change the runtime of the sandbox.", l.brand(), s.Runtime, strings.Join(names, ", "))
	}
	return nil
}

// user says as whom a command runs inside, so that it is u outside.
func (l *dockerLink) user(u user) user {
	if l.rootless {
		return user{0, 0}
	}
	return u
}

// brand is whose engine it is.
func (l *dockerLink) brand() string {
	if l.podman {
		return "Podman"
	}
	return "Docker"
}

// kind is the engine's name for people.
func (l *dockerLink) kind() string {
	name := l.brand()
	if l.rootless {
		name += ", rootless"
	}
	return name
}
