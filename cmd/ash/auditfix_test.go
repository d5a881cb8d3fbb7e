package main

import (
	"context"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/audit"
)

// offered returns the finding of a report that offers to do something with a target.
func offered(t *testing.T, r audit.Report, act audit.Act, target agent.ID) audit.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Fix != nil && f.Fix.Act == act && f.Fix.Target == string(target) {
			return f
		}
	}
	t.Fatalf("nothing is offered for %s %s: %+v", act, target, r.Findings)
	return audit.Finding{}
}

// TestTokensAndDevicesAreEnded has the audit's own fixers work on a real store: what a report offers ends that one token, that one device, and
// what was used since the report stays.
func TestTokensAndDevicesAreEnded(t *testing.T) {
	t.Parallel()
	a, err := openApp(t.Context(), newWard(t).home, nil, true)
	must(t, err)
	t.Cleanup(func() { must(t, a.close(context.Background())) })
	ctx, old := t.Context(), time.Now().UTC().AddDate(0, 0, -70)
	token := func(name string) agent.ID {
		tk := access.Token{ID: agent.NewID(), Name: name, Scopes: []access.Scope{access.ScopeRead}, Created: old}
		must(t, a.store.AddToken(ctx, tk, []byte("hash of "+name), 10))
		return tk.ID
	}
	device := func(name string) agent.ID {
		d := access.Device{ID: agent.NewID(), Name: name, How: access.ByPairing, Created: old, Seen: old, Expires: time.Now().AddDate(1, 0, 0)}
		_, err := a.store.AddDevice(ctx, d, []byte("hash of "+name), access.Joining{Limit: 10})
		must(t, err)
		return d.ID
	}
	unused, kept := token("unused"), token("kept")
	lost, found := device("Lost phone"), device("Found phone")
	s := &safety{app: a}
	report, err := s.alone(ctx, nil)
	must(t, err)

	fix := func(act audit.Act, id agent.ID) error {
		_, err := s.Fix(ctx, report.ID, offered(t, report, act, id).ID)
		return err
	}
	tokens := func() (live []string) {
		list, err := a.store.Tokens(ctx)
		must(t, err)
		for _, tk := range list {
			if tk.Revoked.IsZero() {
				live = append(live, tk.Name)
			}
		}
		return live
	}
	devices := func() (live []string) {
		list, err := a.doors.Devices(ctx)
		must(t, err)
		for _, d := range list {
			live = append(live, d.Name)
		}
		return live
	}
	only := func(what string, got []string, want string) {
		t.Helper()
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want only %q", what, got, want)
		}
	}
	left := func(what string, err error) {
		t.Helper()
		if agent.CodeOf(err) != agent.CodeConflict {
			t.Errorf("%s: %v, want it left alone", what, err)
		}
	}
	// Both are used after the report, as a program and a person would.
	must(t, a.store.UseToken(ctx, kept, time.Now().UTC(), time.Now().UTC()))
	must(t, a.store.ChangeDevice(ctx, found, []byte("hash of Found phone"), access.DeviceChange{Seen: time.Now().UTC()}))
	left("a token that was used since", fix(audit.ActRevoke, kept))
	left("a device that was seen since", fix(audit.ActSignOut, found))

	must(t, fix(audit.ActRevoke, unused))
	only("tokens", tokens(), "kept")
	must(t, fix(audit.ActSignOut, lost))
	only("devices", devices(), "Found phone")
	must(t, fix(audit.ActRevoke, unused)) // twice is once
	r, err := s.Report(ctx, report.ID)
	must(t, err)
	for act, id := range map[audit.Act]agent.ID{audit.ActRevoke: unused, audit.ActSignOut: lost} {
		if offered(t, r, act, id).Fixed.IsZero() {
			t.Errorf("the report does not keep that %s was done", act)
		}
	}
	for act, id := range map[audit.Act]agent.ID{audit.ActRevoke: kept, audit.ActSignOut: found} {
		if !offered(t, r, act, id).Fixed.IsZero() {
			t.Errorf("the report says that %s was done, and it was not", act)
		}
	}
	// A fix that names what was never offered ends nothing.
	fixers := a.fixers(a.ownEyes("").places())
	left("a token that is well", fixers[audit.ActRevoke](ctx, audit.Fix{Act: audit.ActRevoke, Target: string(kept)}))
	left("no token at all", fixers[audit.ActRevoke](ctx, audit.Fix{Act: audit.ActRevoke, Target: string(agent.NewID())}))
	left("no device at all", fixers[audit.ActSignOut](ctx, audit.Fix{Act: audit.ActSignOut, Target: string(agent.NewID())}))
	left("no permission at all", fixers[audit.ActUnrule](ctx, audit.Fix{Act: audit.ActUnrule, Target: string(agent.NewID())}))
}
