package sandbox

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"ash/agent"
)

// Status is what the sandbox is, for people.
type Status struct {
	Ready      bool   // commands can run
	Problem    string // why not, and how to get there; "" when ready
	Engine     string // docker, bubblewrap or off
	Name       string // for people: "Docker, rootless"
	Version    string // of the engine
	Runtime    string // OCI runtime of Docker, "" for bubblewrap
	Cgroup     string // "1", "2" or "" when not known
	User       string // as whom commands run in the files folder: uid:gid on the host
	Image      Image
	Limits     []Limit
	Network    bool   // commands can be given a network
	NoNetwork  string // why not
	Containers []Container
	Notes      []string // what differs from the usual, such as why bubblewrap was chosen
}

// Image is what Docker runs commands in.
type Image struct {
	Tag      string // "" for bubblewrap, which uses the programs of the machine
	Built    bool
	Building bool      // by this process
	Created  time.Time // UTC
	Size     int64     // bytes
}

// Limit is one bound of every command.
type Limit struct {
	Name  string // memory, swap, cpus, processes, disk, output, time, free disk
	Value string
	By    string // what holds it: cgroup, engine, tmpfs, Ash; "" when nothing does
}

// Container is one running sandbox of this home.
type Container struct {
	ID      string
	Thread  agent.ID
	Use     string // command, network or shell
	State   string // as the engine says: running, created, …
	Busy    bool   // a command runs in it now; known of this process only
	Own     bool   // of this process
	Created time.Time
}

// Status looks at the engine anew.
func (s *Sandbox) Status(ctx context.Context) Status {
	settings := s.settings()
	var st Status
	s.forget()
	e, err := s.engine(ctx, settings)
	switch {
	case err != nil:
		st.Problem = agent.PublicOf(err)
		st.Engine = EngineOff
		if s.docker.known() != nil && settings.Engine != EngineBubblewrap && settings.Engine != EngineOff {
			st.Engine = EngineDocker
		}
	default:
		st.Ready, st.Engine = true, e.name()
	}
	if u, err := userOf(s.files()); err == nil {
		st.User = u.String()
	} else if u, err := userOf(s.o.Home); err == nil { // the folder is made when it is first needed, by the same account
		st.User = u.String()
	}
	switch st.Engine {
	case EngineDocker:
		s.docker.describe(ctx, settings, &st)
	case EngineBubblewrap:
		s.bubble.describe(settings, &st)
		if settings.Engine == EngineAuto {
			_, err := dialDocker(ctx, settings)
			st.Notes = append(st.Notes, "Chosen because there is no usable Docker. "+agent.PublicOf(err))
		}
		st.Containers = s.bubbles()
	}
	st.Limits = append(st.Limits, ownLimits(settings)...)
	s.describeNetwork(&st)
	return st
}

// ownLimits are those this package holds itself.
func ownLimits(s Settings) []Limit {
	return []Limit{
		{"output", bytesText(s.Output) + ", stopped at " + bytesText(maxOutput), "Ash"},
		{"time", s.Timeout.String(), "Ash"},
		{"free disk", "stopped below " + bytesText(s.MinFree), "Ash"},
	}
}

func (s *Sandbox) describeNetwork(st *Status) {
	switch {
	case st.NoNetwork != "" || !st.Ready:
	case runtime.GOOS != "linux":
		st.NoNetwork = "Docker on this system cannot reach Ash's filter."
	case s.o.Gateway == nil || s.o.Self == "":
		st.NoNetwork = "Ash has no filter to lead commands through."
	}
	st.Network = st.Ready && st.NoNetwork == ""
}

// bubbles lists what runs in bubblewrap now.
func (s *Sandbox) bubbles() (list []Container) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for j, r := range s.running {
		use := useCommand
		if j.passage != nil {
			use = useNetwork
		}
		list = append(list, Container{Thread: j.Thread, Use: use, State: "running", Busy: true, Own: true, Created: r.since})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Created.Before(list[j].Created) })
	return list
}

// known returns the connection there is.
func (d *docker) known() *dockerLink {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.link
}

// describe tells about the engine, its image and its containers.
func (d *docker) describe(ctx context.Context, s Settings, st *Status) {
	l := d.known()
	if l == nil {
		return
	}
	st.Name, st.Version, st.Cgroup = l.kind(), l.info.ServerVersion, l.info.CgroupVersion
	if st.Runtime = s.Runtime; st.Runtime == "" {
		st.Runtime = l.info.DefaultRuntime
	}
	st.Image = d.describeImage(ctx, l)
	swap := Limit{"swap", "none", "cgroup"}
	if !l.info.SwapLimit {
		swap = Limit{"swap", "not limited: the kernel does not count it", ""}
	}
	st.Limits = []Limit{
		{"memory", bytesText(s.Memory), "cgroup"}, swap,
		{"cpus", floatText(s.CPUs), "cgroup"}, {"processes", intText(s.PIDs), "cgroup"},
		{"disk", bytesText(s.Disk) + " each in /tmp and /home", "tmpfs"},
	}
	if !slices.ContainsFunc(l.info.SecurityOptions, func(o string) bool { return strings.Contains(o, "seccomp") }) {
		st.Notes = append(st.Notes, "The engine does not filter system calls (seccomp).")
	}
	if l.desktop {
		st.NoNetwork = "Docker runs in a virtual machine, from which it cannot reach Ash's filter."
	}
	list, err := d.containers(ctx, l)
	if err != nil {
		st.Notes = append(st.Notes, "The containers could not be listed: "+firstLine(err))
		return
	}
	busy := d.busy()
	for _, c := range list {
		st.Containers = append(st.Containers, Container{
			ID: short(c.ID), Thread: agent.ID(c.Labels[labelThread]), Use: c.Labels[labelUse], State: c.State,
			Busy: busy[c.ID], Own: c.Labels[labelBoot] == d.boot, Created: time.Unix(c.Created, 0).UTC(),
		})
	}
	sort.Slice(st.Containers, func(i, j int) bool { // Docker's list knows seconds
		a, b := st.Containers[i], st.Containers[j]
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Thread, b.Thread)) < 0
	})
}

func (d *docker) describeImage(ctx context.Context, l *dockerLink) Image {
	i := Image{Tag: imageTag()}
	if d.building.TryLock() {
		d.building.Unlock()
	} else {
		i.Building = true
	}
	found, err := l.cli.ImageInspect(ctx, i.Tag)
	if err != nil {
		return i
	}
	i.Built, i.Size = true, found.Size
	if t, err := time.Parse(time.RFC3339Nano, found.Created); err == nil {
		i.Created = t.UTC()
	}
	return i
}

// busy tells which containers of this process run a command now.
func (d *docker) busy() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]bool{}
	for _, s := range d.slots {
		if s.box != nil && s.users > 0 {
			out[s.box.id] = true
		}
	}
	for b := range d.loose {
		out[b.id] = true
	}
	return out
}
