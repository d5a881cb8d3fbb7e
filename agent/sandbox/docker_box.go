package sandbox

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/pkg/stdcopy"

	"ash/agent"
)

// Labels of containers.
const (
	labelHome   = "ash.home"
	labelThread = "ash.thread"
	labelBoot   = "ash.boot"
	labelPID    = "ash.pid"
	labelUse    = "ash.use" // command, network or shell
)

// The uses.
const (
	useCommand = "command"
	useNetwork = "network"
	useShell   = "shell"
)

//go:embed keeper.sh
var keeper string

// How often a container is removed that the engine does not let go.
const (
	eraseTries = 5
	eraseAgain = 200 * time.Millisecond
)

// box is a running container. Its first process is keeper.sh, attached to us.
type box struct {
	link *dockerLink
	id   string
	key  string // of what it was made from: a command that needs something else needs another box
	conn types.HijackedResponse

	gone    chan struct{} // closed when the container has ended
	answers chan string   // of the keeper
	asking  sync.Mutex    // one question at a time
	killed  chan struct{} // a token for each answered kill
	ooms    int           // processes the kernel ended for want of memory, so far
	removal sync.Once
}

// spec is what a container is made from.
type spec struct {
	thread agent.ID
	use    string
	root   string
	ro     bool
	user   user
	image  string
	socket string // of the gateway; "" without network
	self   string
	set    Settings
}

func (p spec) key() string {
	return fmt.Sprintf("%q %t %s %s %d %g %d %d %s", p.root, p.ro, p.user, p.image, p.set.Memory, p.set.CPUs, p.set.PIDs, p.set.Disk, p.set.Runtime)
}

// create makes and starts a container.
func (d *docker) create(ctx context.Context, l *dockerLink, p spec) (_ *box, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	host := l.hostConfig(p)
	if l.podman {
		var filter string
		if !l.desktop { // from its virtual machine the file may not be seen
			if filter, err = d.filterFile(); err != nil {
				return nil, agent.Wrap(agent.CodeUnavailable, err, "The filter of system calls could not be written to %s, so no command runs.", d.dir)
			}
		}
		podmanHost(host, filter)
	}
	made, err := l.cli.ContainerCreate(ctx, d.config(p), host, nil, nil, "")
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s could not make the sandbox: %s", l.brand(), firstLine(err))
	}
	b := &box{link: l, id: made.ID, key: p.key(), gone: make(chan struct{}), answers: make(chan string, 8), killed: make(chan struct{}, 8)}
	defer func() {
		if err != nil {
			d.remove(b)
		}
	}()
	b.conn, err = l.cli.ContainerAttach(ctx, b.id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		close(b.gone)
		// Podman makes a container ready here, and its client keeps to itself why it could not.
		if startErr := l.cli.ContainerStart(ctx, b.id, container.StartOptions{}); startErr != nil {
			err = startErr
		}
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s made the sandbox, but does not let Ash hold it: %s", l.brand(), firstLine(err))
	}
	go b.listen()
	if err := l.cli.ContainerStart(ctx, b.id, container.StartOptions{}); err != nil {
		b.conn.Close()
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s could not start the sandbox: %s", l.brand(), firstLine(err))
	}
	return b, b.greet(ctx, p.set)
}

func (d *docker) config(p spec) *container.Config {
	return &container.Config{
		Image: p.image, User: p.user.String(), WorkingDir: "/work", Hostname: "ash",
		Entrypoint: []string{"bash", "-c", keeper}, Cmd: []string{},
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Labels: map[string]string{
			labelHome: d.home, labelThread: string(p.thread), labelBoot: d.boot,
			labelPID: strconv.Itoa(os.Getpid()), labelUse: p.use,
		},
	}
}

func (l *dockerLink) hostConfig(p spec) *container.HostConfig {
	size := "size=" + strconv.FormatInt(p.set.Disk, 10) + ",nosuid,nodev,exec,mode=1777"
	h := &container.HostConfig{
		AutoRemove: true, NetworkMode: "none", ReadonlyRootfs: true, Runtime: p.set.Runtime,
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, IpcMode: "private",
		ShmSize: min(64<<20, p.set.Disk), Tmpfs: map[string]string{"/tmp": size, "/home": size},
		LogConfig: container.LogConfig{Type: "none"},
		Mounts: []mount.Mount{{
			Type: mount.TypeBind, Source: p.root, Target: "/work", ReadOnly: p.ro,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		}},
	}
	if l.remap && !l.rootless {
		h.UsernsMode = "host"
	}
	pids := int64(p.set.PIDs)
	cpus := p.set.CPUs
	if l.info.NCPU > 0 {
		cpus = min(cpus, float64(l.info.NCPU))
	}
	h.Memory, h.MemorySwap, h.PidsLimit, h.NanoCPUs = p.set.Memory, p.set.Memory, &pids, int64(cpus*1e9)
	h.Ulimits = []*container.Ulimit{{Name: "core"}, {Name: "nofile", Soft: 4096, Hard: 4096}}
	if p.socket != "" {
		for source, target := range map[string]string{p.socket: insideSocket, p.self: insideSelf} {
			h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: true})
		}
	}
	return h
}

// listen reads what the keeper says until the container ends.
func (b *box) listen() {
	defer close(b.gone)
	r, w := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(w, io.Discard, b.conn.Reader)
		w.CloseWithError(errors.Join(io.EOF, err))
	}()
	lines := bufio.NewReaderSize(r, 512)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			_ = r.Close()
			return
		}
		if bytes.Equal(line, []byte("killed\n")) {
			select {
			case b.killed <- struct{}{}:
			default:
			}
			continue
		}
		select { // nobody asked: whatever is inside may write here too
		case b.answers <- strings.TrimSpace(string(line)):
		default:
		}
	}
}

// greet waits for the keeper and compares the limits it sees with those that were asked for.
func (b *box) greet(ctx context.Context, s Settings) error {
	var line string
	select {
	case line = <-b.answers:
	case <-b.gone:
		return agent.Errorf(agent.CodeUnavailable, "The sandbox ended as soon as it had started. The log of %s may say why.", b.link.brand())
	case <-ctx.Done():
		return agent.Wrap(agent.CodeUnavailable, ctx.Err(), "The sandbox did not come up in time.")
	}
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != "ready" {
		return agent.Errorf(agent.CodeUnavailable, "The sandbox did not start as it should: %s", line)
	}
	for i, limit := range []struct {
		most int64
		name string
	}{{s.Memory, "memory"}, {int64(s.PIDs), "processes"}} {
		if f[i+1] == "-" && b.link.ownKernel(s.Runtime) { // not to be seen from inside
			continue
		}
		if n, err := strconv.ParseInt(f[i+1], 10, 64); err != nil || n > limit.most {
			return agent.Errorf(agent.CodeUnavailable, "%s was asked to limit %s and did not (%s), so it counts as no sandbox.", b.link.brand(), limit.name, f[i+1])
		}
	}
	return nil
}

// ownKernel reports whether containers do not see the machine's cgroups, as in gVisor and virtual machines: that the limits hold is
// the engine's word there. With the usual runtimes they are seen, unless they are not there.
func (l *dockerLink) ownKernel(runtime string) bool {
	if runtime == "" {
		runtime = l.info.DefaultRuntime
	}
	return !slices.Contains([]string{"", "runc", "crun", "youki", "io.containerd.runc.v2"}, runtime)
}

// say tells the keeper something.
func (b *box) say(word string) error {
	if err := b.conn.Conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, err := io.WriteString(b.conn.Conn, word+"\n")
	return err
}

// clear ends every process of the container but the keeper, and reports whether that is known within about a second. The keeper's
// word is not enough: what runs as the same user can take the question from it and answer in its place. So the engine is asked who is left.
func (b *box) clear() bool {
	if !b.kill(killTime) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), aloneTime)
	defer cancel()
	for {
		if b.isGone() {
			return true
		}
		top, err := b.link.cli.ContainerTop(ctx, b.id, nil)
		if err != nil {
			return b.isGone()
		}
		if len(top.Processes) == 1 {
			return true
		}
		select { // what was killed is still being reaped
		case <-ctx.Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// kill tells the keeper to end every process but itself, and reports whether it said so within wait.
func (b *box) kill(wait time.Duration) bool {
	for len(b.killed) > 0 {
		<-b.killed
	}
	if b.say("kill") != nil {
		return false
	}
	select {
	case <-b.killed:
		return true
	case <-b.gone:
		return true
	case <-time.After(wait):
		return false
	}
}

// oom reports whether the kernel ended processes for want of memory since it was last asked.
func (b *box) oom(ctx context.Context) bool {
	b.asking.Lock()
	defer b.asking.Unlock()
	for len(b.answers) > 0 {
		<-b.answers
	}
	if b.say("oom") != nil {
		return b.diedOfMemory(ctx)
	}
	timeout := time.After(time.Second)
	for {
		select {
		case line := <-b.answers:
			n, err := strconv.Atoi(strings.TrimPrefix(line, "oom "))
			if err != nil {
				continue
			}
			more := n > b.ooms
			b.ooms = n
			return more
		case <-b.gone:
			return b.diedOfMemory(ctx)
		case <-timeout:
			return false
		}
	}
}

// diedOfMemory asks the engine about a container that has ended, if it still knows it.
func (b *box) diedOfMemory(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	info, err := b.link.cli.ContainerInspect(ctx, b.id)
	return err == nil && info.State != nil && info.State.OOMKilled
}

// isGone reports whether the container has ended.
func (b *box) isGone() bool { return isClosed(b.gone) }

// remove ends a container and everything in it. It returns at once; settled waits for it.
func (d *docker) remove(b *box) {
	b.removal.Do(func() {
		done := make(chan struct{})
		d.mu.Lock()
		delete(d.loose, b)
		d.removing[b] = done
		d.mu.Unlock()
		go func() {
			if b.conn.Conn != nil {
				b.conn.Close() // the keeper ends by this alone
			}
			if err := b.link.erase(b.id); err != nil {
				d.log.Warn("a container could not be removed; it is tried again at the next start", "container", short(b.id), "err", err)
			}
			d.mu.Lock()
			delete(d.removing, b)
			d.mu.Unlock()
			close(done)
		}()
	})
}

// settled waits until containers that are being removed are gone.
func (d *docker) settled(ctx context.Context) error {
	d.mu.Lock()
	waits := slices.Collect(maps.Values(d.removing))
	d.mu.Unlock()
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// short is an id as people read it.
func short(id string) string { return id[:min(12, len(id))] }

// erase removes a container by force. That it is gone already is fine.
func (l *dockerLink) erase(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for tries := 1; ; tries++ {
		err := l.cli.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil || isNotFound(err) || isConflict(err): // conflict: it is being removed
			return nil
		case tries == eraseTries || !isRefusal(err):
			return err
		}
		select { // Podman refuses what ends in the same instant
		case <-time.After(eraseAgain):
		case <-ctx.Done():
			return err
		}
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
