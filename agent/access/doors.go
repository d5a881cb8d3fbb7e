package access

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"ash/agent"
)

const (
	// Idle is how long a device that is not used stays signed in, unless DoorOptions say otherwise.
	Idle = 90 * 24 * time.Hour
	// MaxDevices bounds the devices that are signed in. One more, and the one that was not used for longest is signed out.
	MaxDevices = 100
	// RotateEvery is how often a session gets a new secret.
	RotateEvery = 7 * 24 * time.Hour

	// grace is how long a secret that was replaced still works once its successor was used: for requests under way.
	grace = time.Minute
	// retryRotation is when a successor that was never used counts as lost, and another may be made.
	retryRotation = 10 * time.Minute
	// seenEvery is how often it is written down at most that a device was seen.
	seenEvery = time.Minute
)

// PassphraseStore keeps the owner's passphrase, hashed.
type PassphraseStore interface {
	// Passphrase returns the hash as a PHC string; "" when there is none.
	Passphrase(ctx context.Context) (phc string, err error)
	// SetPassphrase replaces the hash was ("": there is none) and ends the sessions that end names, in one step. It returns the
	// devices that it ended. CodeConflict when the hash is another by now.
	SetPassphrase(ctx context.Context, was, phc string, at time.Time, end Ending) ([]agent.ID, error)
}

// DeviceStore keeps devices and their sessions.
type DeviceStore interface {
	// AddDevice keeps a device with the hash of its secret. It ends former, and those that were not used for longest where there
	// would be more than limit. With a passphrase, CodeConflict unless that is the hash kept now. It returns the devices that it ended.
	AddDevice(ctx context.Context, d Device, hash []byte, o Joining) ([]agent.ID, error)
	// DeviceByHash returns the device whose secret, or whose former secret, has the hash; CodeNotFound for none.
	DeviceByHash(ctx context.Context, hash []byte) (Session, error)
	// Devices returns the devices that are signed in, the one seen last first.
	Devices(ctx context.Context) ([]Device, error)
	// ChangeDevice changes what is kept of a device that is signed in. CodeConflict when its secret is not was any more.
	ChangeDevice(ctx context.Context, id agent.ID, was []byte, c DeviceChange) error
	// EndDevices ends sessions for good, and returns those that it ended.
	EndDevices(ctx context.Context, at time.Time, end Ending) ([]agent.ID, error)
}

// DelayStore keeps what failed attempts cost, so that a restart gives nobody fresh ones.
type DelayStore interface {
	Delays(ctx context.Context) ([]Delay, error)
	// SaveDelays keeps the changed ones and forgets those that are gone.
	SaveDelays(ctx context.Context, changed []Delay, gone []string) error
}

// DoorStore keeps all that the doors must not forget.
type DoorStore interface {
	PassphraseStore
	DeviceStore
	DelayStore
	// ResetDoors forgets passphrase, devices and delays in one step, and returns the devices that were signed in.
	ResetDoors(ctx context.Context, at time.Time) ([]agent.ID, error)
}

// DoorOptions adjust Doors. The zero value is ready for use.
type DoorOptions struct {
	Now  func() time.Time
	Log  *slog.Logger         // never gets a secret; nil discards
	Idle func() time.Duration // how long an unused device stays signed in; nil or not above 0: Idle. It is asked anew with each request.
	cost cost                 // of hashing a passphrase; zero: the usual one
}

// Doors say which browsers may come in besides those on this machine: the owner's passphrase, devices with their sessions, and
// pairing. It is safe for concurrent use. One process has the doors of a home at a time.
type Doors struct {
	store  DoorStore
	now    func() time.Time
	log    *slog.Logger
	idle   func() time.Duration
	cost   cost
	slow   chan struct{} // one passphrase is hashed at a time
	delays delays
	pairs  *pairing

	mu       sync.Mutex
	watchers map[agent.ID]chan struct{}
}

// NewDoors returns the doors of a store.
func NewDoors(store DoorStore, o DoorOptions) *Doors {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.cost == (cost{}) {
		o.cost = usualCost
	}
	d := &Doors{
		store: store, log: o.Log, cost: o.cost, slow: make(chan struct{}, 1), watchers: map[agent.ID]chan struct{}{},
		now: func() time.Time { return o.Now().UTC().Truncate(time.Microsecond) },
	}
	d.idle = func() time.Duration {
		if o.Idle != nil {
			if span := o.Idle(); span > 0 {
				return span
			}
		}
		return Idle
	}
	d.delays = delays{store: store, now: d.now}
	d.pairs = newPairing(d.now)
	return d
}

// Arrival is somebody who wants to come in.
type Arrival struct {
	From netip.Addr // the peer, or whom a trusted proxy names
	// Here says that the request comes from this machine itself: a loopback peer, a loopback Host and no trace of a proxy. A stranger's
	// attempts from elsewhere then do not keep it waiting.
	Here   bool
	Name   string // what the person calls the device; "": made from Agent
	Agent  string // the User-Agent header
	Former Secret // the session that the browser had before, if any; one that expired counts as well
}

// Ready reports whether a door to the network may open: a passphrase is set or a device is paired.
func (d *Doors) Ready(ctx context.Context) (bool, error) {
	if has, err := d.HasPassphrase(ctx); has || err != nil {
		return has, err
	}
	list, err := d.Devices(ctx)
	return len(list) > 0, err
}

// Reset forgets passphrase, devices, delays and everything about pairing: the way in for an owner who is at the machine itself.
func (d *Doors) Reset(ctx context.Context) error {
	d.pairs.mu.Lock() // nothing that was confirmed before is collected after
	defer d.pairs.mu.Unlock()
	ended, err := d.store.ResetDoors(ctx, d.now())
	if err != nil {
		return err
	}
	d.pairs.clear()
	d.delays.clear()
	d.ended(ended)
	d.log.WarnContext(ctx, "the doors were reset: passphrase, devices and delays are gone", "devices", len(ended))
	return nil
}
