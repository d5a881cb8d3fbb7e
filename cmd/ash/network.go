package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ash/agent"
	"ash/agent/access/keypair"
	"ash/agent/config"
	"ash/handlers"
	"ash/web"
)

// networkPoll is how often it is looked whether this machine's addresses changed, and whether somebody can still sign in.
const networkPoll = 5 * time.Second

// lastWord is how long a door stays open after the settings closed it: the answer to who closed it leaves by it.
const lastWord = 300 * time.Millisecond

// network keeps open what the settings say other devices reach (doors.lan): one door for each address, opened and closed while the
// server runs. Nothing is open while nobody could sign in.
type network struct {
	config *config.Book
	proof  *certificate // for HTTPS
	ready  func(context.Context) (bool, error)
	log    *slog.Logger
	stir   chan struct{} // the settings changed

	mu      sync.Mutex
	server  *web.Server // nil until the pages are served
	main    netip.AddrPort
	open    map[netip.AddrPort]*web.Door
	problem string
	tls     bool      // the open doors speak HTTPS
	mainTLS bool      // so does the server's own listener
	asked   time.Time // Tailscale, last
	tailnet string
}

func newNetwork(book *config.Book, proof *certificate, ready func(context.Context) (bool, error), log *slog.Logger) *network {
	return &network{config: book, proof: proof, ready: ready, log: log, stir: make(chan struct{}, 1), open: map[netip.AddrPort]*web.Door{}}
}

// serve lets doors be opened on a server whose own listener is main, and returns that listener as it is to be served: speaking HTTPS where other
// machines reach it and the settings say so.
func (n *network) serve(ctx context.Context, server *web.Server, main net.Listener) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.server = server
	if at, err := netip.ParseAddrPort(main.Addr().String()); err == nil {
		n.main = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	if !n.beyond() || !n.config.Current().Config().Doors.HTTPS {
		return main, nil
	}
	switch serving, err := n.certify(ctx, n.mainAddresses()); {
	case !serving: // never in the open in its place
		return main, err
	case err != nil:
		n.problem = agent.PublicOf(err)
	}
	n.mainTLS = true
	return web.Mixed(main, n.proof.config()), nil
}

// mainAddresses are those of the server's own listener.
func (n *network) mainAddresses() []netip.AddrPort {
	if !n.main.Addr().IsUnspecified() {
		return []netip.AddrPort{n.main}
	}
	var at []netip.AddrPort
	for _, ip := range networkAddresses() {
		at = append(at, netip.AddrPortFrom(ip, n.main.Port()))
	}
	return at
}

// watch brings what is open in line with the settings, the machine's addresses and who could sign in, until ctx ends.
func (n *network) watch(ctx context.Context) {
	defer n.config.Subscribe(func(_, _ *config.Snapshot) {
		select {
		case n.stir <- struct{}{}:
		default: // it is on its way
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.server.Reconsider()
	})()
	tick := time.NewTicker(networkPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-n.stir:
			select {
			case <-ctx.Done():
				return
			case <-time.After(lastWord):
			}
		}
		n.Apply(ctx)
		n.askTailscale(ctx)
	}
}

// askTailscale looks now and then whether Tailscale runs here.
func (n *network) askTailscale(ctx context.Context) {
	n.mu.Lock()
	due := time.Since(n.asked) >= tailscaleEvery
	n.mu.Unlock()
	if !due {
		return
	}
	name := tailnetName(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked, n.tailnet = time.Now(), name
}

// Apply implements handlers.Network.
func (n *network) Apply(ctx context.Context) handlers.NetworkState {
	n.mu.Lock()
	defer n.mu.Unlock()
	want, problem := n.wanted(ctx)
	if ctx.Err() != nil {
		return n.state()
	}
	secure := n.config.Current().Config().Doors.HTTPS
	certified := want
	if n.mainTLS {
		certified = n.mainAddresses()
	}
	if secure && len(certified) > 0 {
		serving, err := n.certify(ctx, certified)
		if err != nil {
			problem = agent.PublicOf(err)
		}
		if !serving { // never in the open in its place
			want = nil
		}
	}
	if secure != n.tls { // they speak otherwise from now on
		n.shut(func(netip.AddrPort) bool { return false })
		n.tls = secure
	}
	n.shut(func(at netip.AddrPort) bool { return slices.Contains(want, at) })
	for _, at := range want {
		if n.open[at] != nil {
			continue
		}
		if err := n.openAt(ctx, at); err != nil {
			problem = err.Error()
		}
	}
	if problem != n.problem && problem != "" {
		n.log.Warn("the network does not reach Ash as the settings say", "problem", problem)
	}
	n.problem = problem
	return n.state()
}

// certify has a certificate for the doors that are to be open: the one that the settings name, and Ash's own. Beside the former the latter is not
// made for the first time: whoever brings one may need no other.
func (n *network) certify(ctx context.Context, doors []netip.AddrPort) (serving bool, err error) {
	settings := n.config.Current().Config().Doors
	files := keypair.Files{Certificate: settings.Certificate, Key: settings.CertificateKey}
	own, wrong := n.proof.bring(files)
	if !files.None() && (!own || n.proof.trusted() == nil) {
		return own, wrong
	}
	var names []string
	machine := machineName()
	if machine != "" {
		names = append(names, machine, machine+".local")
	}
	for _, name := range settings.Names {
		if _, err := netip.ParseAddr(name); err != nil {
			names = append(names, name)
		}
	}
	addresses := make([]netip.Addr, len(doors))
	for i, at := range doors {
		addresses[i] = at.Addr()
	}
	serving, err = n.proof.ensure(ctx, machine, names, addresses)
	if wrong != nil {
		err = wrong
	}
	return serving || own, err
}

// shut closes the doors that are not kept, and forgets those that closed by themselves.
func (n *network) shut(kept func(netip.AddrPort) bool) {
	for at, door := range n.open {
		closed := false
		select {
		case <-door.Closed():
			closed = true
		default:
		}
		if closed || !kept(at) {
			delete(n.open, at)
			n.log.Info("a door to the network is closed", "address", at.String())
			if err := door.Close(); err != nil {
				n.log.Warn("a door to the network did not close well", "address", at.String(), "error", err)
			}
		}
	}
}

func (n *network) openAt(ctx context.Context, at netip.AddrPort) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", at.String())
	if err != nil {
		return fmt.Errorf("Ash cannot listen on %s: %w. Another program may be there, or the address may not be this machine's.", at, err) //nolint:staticcheck // for people
	}
	if n.tls {
		l = web.Mixed(l, n.proof.config())
	}
	door, err := n.server.Open(l)
	if err != nil {
		return err
	}
	n.open[at] = door
	n.log.Info("a door to the network is open", "address", at.String())
	return nil
}

// wanted returns the addresses that should be open, and why those that the settings ask for are not.
func (n *network) wanted(ctx context.Context) (list []netip.AddrPort, problem string) {
	lan := n.config.Current().Config().Doors.LAN
	if n.server == nil || lan == config.LANOff || n.beyond() {
		return nil, ""
	}
	switch ready, err := n.ready(ctx); {
	case err != nil:
		n.log.Warn("whether somebody could sign in is not known; the network stays closed", "error", err)
		return nil, "It could not be found out whether anybody could sign in, so your network does not reach Ash."
	case !ready:
		return nil, "Your network does not reach Ash yet: nobody could sign in. Set a passphrase or pair a device first."
	}
	if lan != config.LANOn {
		at, err := netip.ParseAddrPort(lan)
		if err != nil {
			ip, err := netip.ParseAddr(lan)
			if err != nil { // the settings allow only what parses
				return nil, "doors.lan is no address."
			}
			at = netip.AddrPortFrom(ip, n.main.Port())
		}
		return []netip.AddrPort{at}, ""
	}
	for _, ip := range networkAddresses() {
		list = append(list, netip.AddrPortFrom(ip, n.main.Port()))
	}
	if len(list) == 0 {
		return nil, "This machine has no address of a home network now. Ash opens one as soon as there is one; any other address can be named in config.toml (doors.lan)."
	}
	return list, ""
}

// beyond reports whether the server's own listener is one that other machines reach.
func (n *network) beyond() bool { return n.main.IsValid() && !n.main.Addr().IsLoopback() }

// State implements handlers.Network.
func (n *network) State() handlers.NetworkState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state()
}

func (n *network) state() handlers.NetworkState {
	s := handlers.NetworkState{Problem: n.problem, Tailnet: n.tailnet, Port: strconv.Itoa(int(n.main.Port()))}
	at := slices.SortedFunc(maps.Keys(n.open), func(a, b netip.AddrPort) int { return byUse(a.Addr(), b.Addr()) })
	if n.beyond() {
		now := n.config.Current()
		s.Fixed = "server.listen in config.toml"
		if o := now.Origin("server.listen"); o.Fixed() {
			s.Fixed = o.String()
		}
		at = n.mainAddresses()
	}
	scheme := "http://"
	if n.tls && !n.beyond() || n.mainTLS {
		scheme = "https://"
		s.Secure, s.Ends = true, n.proof.ends()
		s.OwnNames, s.OwnEnds = n.proof.names(), n.proof.ownEnds()
		s.Addresses = n.ownPlaces(at)
	}
	for _, a := range at {
		s.Addresses = append(s.Addresses, scheme+a.String())
	}
	if len(at) > 0 {
		if name := machineName(); name != "" {
			s.Names = []string{scheme + net.JoinHostPort(name+".local", strconv.Itoa(int(at[0].Port())))}
		}
	}
	for _, name := range n.config.Current().Config().Doors.Names {
		if _, err := netip.ParseAddr(name); err != nil {
			s.Outside = append(s.Outside, "https://"+name)
		}
	}
	return s
}

// maxOwnNames bounds how many names of a certificate are shown as addresses. Some have a hundred.
const maxOwnNames = 3

// ownPlaces are the addresses that the person's own certificate is for. Devices need not be told to trust them, so they are the best.
func (n *network) ownPlaces(at []netip.AddrPort) (out []string) {
	if len(at) == 0 {
		return nil
	}
	for _, name := range n.proof.names() {
		if len(out) < maxOwnNames {
			out = append(out, "https://"+net.JoinHostPort(name, strconv.Itoa(int(at[0].Port()))))
		}
	}
	return out
}

// admission is what the settings say of who may come in.
func (n *network) admission() web.Admission {
	doors := n.config.Current().Config().Doors
	a := web.Admission{Names: doors.Names, AskHere: doors.LocalSignIn}
	if doors.Tailscale {
		a.Logins = doors.TailscaleLogins
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.open) == 0 && !n.beyond() {
		return a
	}
	if name := machineName(); name != "" {
		a.Names = append(slices.Clone(a.Names), name, name+".local")
	}
	if n.tls || n.mainTLS {
		a.Certified = n.proof.names()
	}
	return a
}

// machineName is the first part of the machine's name in small letters, "" where it has none that a browser could ask for.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }
	if name == "localhost" || strings.ContainsFunc(name, odd) {
		return ""
	}
	return name
}

// virtual begins the names of interfaces behind which containers and virtual machines are, rather than the person's devices: what runs
// in a sandbox has no business here.
var virtual = [...]string{"docker", "br-", "veth", "virbr", "cni", "flannel", "podman", "lxc", "lxd", "incus", "vmnet", "vboxnet", "kube", "vethernet"}

// networkAddresses returns this machine's addresses in home, office and tail networks, the one that people use most first.
func networkAddresses() []netip.Addr {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil // without addresses nothing is opened, and the page says so
	}
	var out []netip.Addr
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		if slices.ContainsFunc(virtual[:], func(p string) bool { return strings.HasPrefix(strings.ToLower(i.Name), p) }) {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			continue // it went away in this moment
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && web.NetworkAddress(p.Addr()) {
				out = append(out, p.Addr().Unmap())
			}
		}
	}
	slices.SortFunc(out, byUse)
	return slices.Compact(out)
}

// byUse orders addresses: those of a home network before those of a tailnet, IPv4 before IPv6.
func byUse(a, b netip.Addr) int {
	rank := func(ip netip.Addr) int {
		switch {
		case ip.Is4() && ip.IsPrivate():
			return 0
		case ip.Is4():
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Compare(b))
}
