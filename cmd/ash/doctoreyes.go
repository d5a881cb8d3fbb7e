package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/doctor"
	"ash/agent/llm"
	"ash/agent/llm/offline"
	"ash/agent/memory/embed"
	"ash/agent/sandbox"
	"ash/agent/vault"
	"ash/handlers"
	"ash/store"
)

// eyes are what the doctor sees a home with: those of the running Ash, or of a command beside it. A field that is nil sees nothing.
type eyes struct {
	home      string
	self      bool             // of the running Ash
	load      func() error     // the settings, anew from their file
	settings  *config.Snapshot // nil when they cannot be read
	providers *llm.Providers
	sandbox   *sandbox.Sandbox
	vault     func(ctx context.Context) vault.Status
	open      []string                                // addresses that are listened on
	ready     func(ctx context.Context) (bool, error) // whether somebody from another machine could sign in
	network   func() handlers.NetworkState            // what of a running server other devices reach
	state     func(ctx context.Context) doctor.ServerState
	close     func()
}

// besideEyes looks at a home without anything of it being open. The caller closes it.
func besideEyes(home string, state doctor.ServerState) *eyes {
	e := &eyes{
		home: home, close: func() {},
		vault: func(ctx context.Context) vault.Status { return vault.Inspect(ctx, vaultPath(home), vaultMark(home)) },
		state: func(context.Context) doctor.ServerState { return state },
	}
	e.ready = e.couldSignIn
	options := config.Options{Home: home, Environ: os.Environ()}
	e.load = func() error { _, err := config.Load(options); return err }
	settings, err := config.Load(options)
	if err != nil {
		return e
	}
	e.settings = settings
	c := settings.Config()
	quiet := slog.New(slog.DiscardHandler)
	if providers, err := newProviders(c, lockedKeys{}, offline.Options{}, nil, quiet); err == nil {
		e.providers = providers
	}
	e.sandbox = newSandbox(home, func() config.Config { return c }, nil, quiet)
	e.close = func() {
		if e.providers != nil {
			e.providers.Close()
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = e.sandbox.Close(ctx) // nothing ran in it
	}
	return e
}

// ownEyes are those of the running Ash. address is where its pages are.
func (a *app) ownEyes(address string) *eyes {
	e := &eyes{
		home: a.home, self: true, settings: a.config.Current(), providers: a.providers, sandbox: a.hands.sandbox, vault: a.vault.Status,
		load: func() error { _, err := config.Load(config.Options{Home: a.home, Environ: os.Environ()}); return err },
		state: func(context.Context) doctor.ServerState {
			return doctor.ServerState{Self: true, Who: whoHas(filepath.Join(a.home, "ash.lock"))}
		},
		ready: a.doors.Ready, network: a.network.State,
		close: func() {},
	}
	if address != "" {
		e.open = []string{strings.TrimPrefix(address, "http://")}
	}
	return e
}

// lockedKeys stands for a vault that another process has, or nobody unlocked.
type lockedKeys struct{}

func (lockedKeys) Use(context.Context, llm.SecretUse) ([]byte, error) { return nil, lockedForUs() }
func (lockedKeys) Check(context.Context, llm.SecretUse) error         { return lockedForUs() }

func lockedForUs() error {
	return agent.Errorf(agent.CodeLocked, "The vault is locked.")
}

// doctor makes the checks in the order they are told. redact takes secrets out of the report.
func (e *eyes) doctor(look lookAt, redact func(string) string) *doctor.Doctor {
	checks := []doctor.Check{
		doctor.Server{Look: func(ctx context.Context) (doctor.ServerState, error) { return e.state(ctx), nil }},
		doctor.Config{Look: e.config},
		doctor.Permissions{Look: e.permissions},
		doctor.Disk{Look: e.disk, Low: e.lowDisk()},
		doctor.Integrity{Look: e.database, Full: look.Full},
		doctor.Schema{Look: func(ctx context.Context) (doctor.Database, error) { return e.database(ctx, false) }},
		doctor.Vault{Look: e.safe},
	}
	if e.settings != nil {
		checks = append(checks, doctor.Models{Look: e.models})
		checks = append(checks, e.providerChecks(look)...)
		checks = append(checks, e.embedder(look), doctor.Sandbox{Look: e.box}, doctor.Ports{Look: e.doors})
		if e.settings.Config().Doors.HTTPS {
			checks = append(checks, doctor.Certificate{Look: e.certificate, Now: time.Now()})
		}
	}
	checks = append(checks,
		doctor.Clock{Look: func(ctx context.Context) (doctor.Times, error) { return e.times(ctx, look) }},
		doctor.Zone{Look: zone},
		doctor.Leftovers{Look: func(ctx context.Context) ([]doctor.Leftover, error) {
			list, err := strays(ctx, e.places(), time.Now())
			out := make([]doctor.Leftover, len(list))
			for i, l := range list {
				out[i] = doctor.Leftover{Path: l.path, Bytes: l.bytes}
			}
			return out, err
		}},
	)
	return doctor.New(doctor.Options{Redact: redact, Home: e.home, Version: versionString(), Running: e.self, Full: look.Full}, checks...)
}

func (e *eyes) config(context.Context) (doctor.Settings, error) {
	s := doctor.Settings{Path: filepath.Join(e.home, config.FileName)}
	_, err := os.Lstat(s.Path)
	s.There = err == nil
	if err := e.load(); err != nil {
		s.Problems = problemsOf(err)
		return s, nil
	}
	if e.settings != nil {
		for _, one := range e.settings.Settings() {
			if one.Origin.Fixed() {
				s.Elsewhere = append(s.Elsewhere, one.Name+", set by "+one.Origin.String())
			}
		}
	}
	return s, nil
}

func (e *eyes) permissions(ctx context.Context) ([]doctor.Loose, error) {
	list, err := loose(ctx, e.places())
	out := make([]doctor.Loose, len(list))
	for i, l := range list {
		out[i] = doctor.Loose{Path: l.path, What: l.what, Fix: l.command, Bad: l.bad}
	}
	return out, err
}

// places are the folders of a home and those outside of it that the settings name.
func (e *eyes) places() homePlaces {
	p := homePlaces{home: e.home, workspace: filepath.Join(e.home, "workspace"), notes: filepath.Join(e.home, "notes")}
	if e.settings != nil {
		c := e.settings.Config()
		p.workspace, p.notes = c.Workspace.Path, c.Memory.Notes
		for _, s := range providerSettings(c) {
			if s.KeyFile != "" {
				p.keys = append(p.keys, expandHome(s.KeyFile))
			}
		}
	}
	return p
}

func (e *eyes) lowDisk() int64 {
	if e.settings == nil {
		return 0
	}
	return int64(e.settings.Config().Sandbox.MinFree) << 20
}

func (e *eyes) disk(context.Context) ([]doctor.Room, error) {
	db := int64(0)
	if info, err := os.Stat(databasePath(e.home)); err == nil {
		db = info.Size()
	}
	var out []doctor.Room
	for _, path := range []string{e.home, e.places().workspace, os.TempDir()} {
		r := doctor.Room{Path: path}
		var err error
		if r.Free, r.Total, err = diskRoom(nearest(path)); err != nil {
			return nil, agent.Wrap(agent.CodeUnavailable, err, "Ash cannot see how much room is left at %s.", path)
		}
		if path == e.home {
			r.Need = 2 * db
		}
		if !slices.ContainsFunc(out, func(o doctor.Room) bool { return o.Free == r.Free && o.Total == r.Total }) { // the same disk
			out = append(out, r)
		}
	}
	return out, nil
}

// nearest returns path, or the nearest folder above it that exists.
func nearest(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

func (e *eyes) database(ctx context.Context, full bool) (doctor.Database, error) {
	path := databasePath(e.home)
	h, err := store.Inspect(ctx, path, full)
	return doctor.Database{
		Path: path, There: h.There, Damage: h.Damage, Off: h.Off, Bytes: h.Bytes, Newest: h.Newest,
		Unclean: h.Marked || h.Log && !e.self && !e.state(ctx).Running,
		Version: h.Version, Known: h.Known, Foreign: h.Foreign,
	}, err
}

func (e *eyes) safe(ctx context.Context) (doctor.Safe, error) {
	s := e.vault(ctx)
	return doctor.Safe{There: s.Exists, Unlocked: s.Unlocked, Problem: s.Problem, Notes: s.Notes, Recovery: s.Recovery, Incoming: s.Incoming}, nil
}

// models are those that answer, in their order.
func (e *eyes) models(context.Context) ([]string, error) {
	var list []string
	for _, ref := range e.settings.Config().Models.Order {
		if ref.Provider != "offline" {
			list = append(list, ref.String())
		}
	}
	return list, nil
}

// providerChecks makes one check for each provider: those in use first, in their order.
func (e *eyes) providerChecks(look lookAt) []doctor.Check {
	if e.providers == nil {
		return nil
	}
	order := e.settings.Config().Models.Order
	rank := func(s llm.Status) int {
		i := slices.IndexFunc(order, func(r agent.ModelRef) bool { return r.Provider == s.Settings.Name })
		if i < 0 {
			return len(order)
		}
		return i
	}
	list := slices.DeleteFunc(e.providers.Status(), func(s llm.Status) bool { return s.Vendor.Dialect == "offline" })
	sort.SliceStable(list, func(i, j int) bool { return rank(list[i]) < rank(list[j]) })
	out := make([]doctor.Check, 0, len(list))
	for _, s := range list {
		out = append(out, e.provider(s, order, look))
	}
	return out
}

func (e *eyes) provider(s llm.Status, order []agent.ModelRef, look lookAt) doctor.Check {
	name := s.Settings.Name
	i := slices.IndexFunc(order, func(r agent.ModelRef) bool { return r.Provider == name })
	p := doctor.Provider{
		Title: name, Used: i >= 0, Local: s.Settings.OwnServer(),
		Key: func(context.Context) doctor.Key {
			k := e.providers.Keys().Origin(s.Settings)
			return doctor.Key{
				Needed: s.Vendor.NeedKey, Present: k.Place != llm.KeyNone && k.Problem == "" && !k.Locked, Locked: k.Locked,
				Place: keyPlace(k), Problem: strings.TrimSuffix(k.Problem, "."),
			}
		},
	}
	switch {
	case look.Offline && !s.Settings.Local():
	case look.Full && i >= 0:
		p.Really = true
		p.Ask = func(ctx context.Context) error { _, err := e.providers.Test(ctx, order[i].String()); return err }
	default:
		p.Public = s.Vendor.Kind == "openrouter" // whose list is given to anybody
		p.Ask = func(ctx context.Context) error { _, err := e.providers.ListModels(ctx, name); return err }
	}
	return p
}

// keyPlace says in words where a key comes from.
func keyPlace(k llm.KeyOrigin) string {
	switch k.Place {
	case llm.KeyPasted:
		return "what you pasted"
	case llm.KeyVault:
		return "the vault (" + k.Name + ")"
	case llm.KeyFile:
		return "the file " + k.Name
	case llm.KeyEnvironment:
		return "the environment variable " + k.Name
	}
	return ""
}

func (e *eyes) embedder(look lookAt) doctor.Check {
	m := e.settings.Config().Memory
	switch {
	case m.StaticModel != "":
		return doctor.Embedder{Title: "The static model " + filepath.Base(m.StaticModel), Ask: func(context.Context) error {
			model, err := embed.OpenStatic(expandHome(m.StaticModel))
			if err != nil {
				return err
			}
			return model.Close()
		}}
	case m.Embedder != (agent.ModelRef{}) && e.providers != nil:
		d := doctor.Embedder{Title: m.Embedder.String()}
		if !look.Offline {
			d.Ask = func(ctx context.Context) error {
				embedder, err := e.providers.Embedder(m.Embedder)
				if err != nil {
					return err
				}
				_, err = embedder.Embed(ctx, []string{"well"})
				return err
			}
		}
		return d
	}
	return doctor.Embedder{}
}

func (e *eyes) box(ctx context.Context) (doctor.Sandboxes, error) {
	if e.settings.Config().Sandbox.Engine == "off" {
		return doctor.Sandboxes{Off: true}, nil
	}
	st := e.sandbox.Status(ctx)
	return doctor.Sandboxes{
		Ready: st.Ready, Problem: st.Problem, Name: strings.TrimSpace(st.Name + " " + st.Version),
		Image: st.Image.Tag, Built: st.Image.Built, Created: st.Image.Created, Notes: st.Notes,
	}, nil
}
