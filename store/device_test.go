package store

import (
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
)

func aDevice(name string, seen time.Time) access.Device {
	return access.Device{ID: agent.NewID(), Name: name, Agent: "Agent", How: access.ByPassphrase, Address: "10.0.0.1", Created: seen, Seen: seen, Expires: seen.Add(time.Hour)}
}

func TestDevices(t *testing.T) {
	f := newFixture(t)
	at := now()
	a, b := aDevice("a", at), aDevice("b", at.Add(time.Second))
	join := access.Joining{Limit: 2}
	ended, err := f.AddDevice(f.ctx, a, []byte("a1"), join)
	f.ok(err)
	equal(t, len(ended), 0)
	_, err = f.AddDevice(f.ctx, b, []byte("b1"), join)
	f.ok(err)
	got, err := f.DeviceByHash(f.ctx, []byte("a1"))
	f.ok(err)
	equal(t, got.Device, a)
	equal(t, got.Former == nil, true)

	f.ok(f.ChangeDevice(f.ctx, a.ID, []byte("a1"), access.DeviceChange{Hash: []byte("a2"), Former: []byte("a1"), At: at.Add(time.Minute)}))
	f.fails(f.ChangeDevice(f.ctx, a.ID, []byte("a1"), access.DeviceChange{Seen: at}), agent.CodeConflict)
	f.ok(f.ChangeDevice(f.ctx, a.ID, []byte("a2"), access.DeviceChange{Seen: at.Add(time.Minute), Expires: at.Add(2 * time.Hour), Address: "::1", Retired: at.Add(time.Hour)}))
	for _, hash := range []string{"a1", "a2"} {
		got, err = f.DeviceByHash(f.ctx, []byte(hash))
		f.ok(err)
		equal(t, string(got.Hash)+string(got.Former), "a2a1")
		equal(t, []time.Time{got.Seen, got.Expires, got.Retired, got.Rotated}, []time.Time{at.Add(time.Minute), at.Add(2 * time.Hour), at.Add(time.Hour), at.Add(time.Minute)})
		equal(t, got.Address, "::1")
	}
	list, err := f.Devices(f.ctx)
	f.ok(err)
	equal(t, []agent.ID{list[0].ID, list[1].ID}, []agent.ID{a.ID, b.ID})

	c := aDevice("c", at.Add(time.Hour))
	ended, err = f.AddDevice(f.ctx, c, []byte("c1"), join) // b was not seen for longest
	f.ok(err)
	equal(t, ended, []agent.ID{b.ID})
	d := aDevice("d", at.Add(2*time.Hour))
	ended, err = f.AddDevice(f.ctx, d, []byte("d1"), access.Joining{Limit: 2, Former: c.ID})
	f.ok(err)
	equal(t, ended, []agent.ID{c.ID})
	got, err = f.DeviceByHash(f.ctx, []byte("c1"))
	f.ok(err)
	equal(t, got.Ended.IsZero() || got.Revoked, false)

	ended, err = f.EndDevices(f.ctx, at, access.Ending{})
	f.ok(err)
	equal(t, len(ended), 0)
	ended, err = f.EndDevices(f.ctx, at, access.Ending{All: true, Except: d.ID})
	f.ok(err)
	equal(t, ended, []agent.ID{a.ID})
	f.fails(f.ChangeDevice(f.ctx, a.ID, []byte("a2"), access.DeviceChange{Seen: at}), agent.CodeConflict)
	got, err = f.DeviceByHash(f.ctx, []byte("a2"))
	f.ok(err)
	equal(t, got.Ended.Equal(at) && got.Revoked, true)
	ended, err = f.EndDevices(f.ctx, at, access.Ending{Only: d.ID})
	f.ok(err)
	equal(t, ended, []agent.ID{d.ID})
}

func TestEndedDevicesAreForgotten(t *testing.T) {
	f := newFixture(t)
	at := now()
	for i := range devicesKept + 5 {
		d := aDevice("d", at.Add(time.Duration(i)*time.Second))
		_, err := f.AddDevice(f.ctx, d, []byte(d.ID), access.Joining{Limit: 1})
		f.ok(err)
	}
	var n int
	f.ok(fixed(f.reader, `SELECT count(*) FROM devices`).Scan(f.ctx, &n))
	equal(t, n, devicesKept+1)
}

func TestPassphraseAndDelays(t *testing.T) {
	f := newFixture(t)
	at := now()
	kept := func() string {
		phc, err := f.Passphrase(f.ctx)
		f.ok(err)
		return phc
	}
	equal(t, kept(), "")
	_, err := f.SetPassphrase(f.ctx, "x", "one", at, access.Ending{})
	f.fails(err, agent.CodeConflict)
	_, err = f.SetPassphrase(f.ctx, "", "one", at, access.Ending{})
	f.ok(err)
	a, p := aDevice("a", at), aDevice("p", at)
	p.How = access.ByPairing
	_, err = f.AddDevice(f.ctx, a, []byte("a"), access.Joining{Limit: 9, Passphrase: "two"})
	f.fails(err, agent.CodeConflict)
	_, err = f.AddDevice(f.ctx, a, []byte("a"), access.Joining{Limit: 9, Passphrase: "one"})
	f.ok(err)
	_, err = f.AddDevice(f.ctx, p, []byte("p"), access.Joining{Limit: 9})
	f.ok(err)
	ended, err := f.SetPassphrase(f.ctx, "one", "two", at, access.Ending{How: access.ByPassphrase})
	f.ok(err)
	equal(t, ended, []agent.ID{a.ID})
	equal(t, kept(), "two")

	one, two := access.Delay{Key: "one", Count: 3, Since: at, Until: at.Add(time.Second)}, access.Delay{Key: "two", Count: 1, Since: at}
	f.ok(f.SaveDelays(f.ctx, []access.Delay{one, two}, nil))
	one.Count = 4
	f.ok(f.SaveDelays(f.ctx, []access.Delay{one}, []string{"two", "three"}))
	list, err := f.Delays(f.ctx)
	f.ok(err)
	equal(t, list, []access.Delay{one})

	ended, err = f.ResetDoors(f.ctx, at)
	f.ok(err)
	equal(t, ended, []agent.ID{p.ID})
	list, err = f.Delays(f.ctx)
	f.ok(err)
	equal(t, len(list), 0)
	equal(t, kept(), "")
	_, err = f.DeviceByHash(f.ctx, []byte("p"))
	f.fails(err, agent.CodeNotFound)
}
