package access

import (
	"bytes"
	"context"
	"net/netip"

	"ash/agent"
)

// SignIn lets in whoever knows the passphrase, as a new device. Its secret is returned this once and kept nowhere. The device that the
// browser was before, if any, is signed out.
//
// Errors: *Refused for a wrong passphrase, for one that is not looked at yet, and when none is set; CodeInvalid for one that is too long.
func (d *Doors) SignIn(ctx context.Context, passphrase []byte, a Arrival) (Device, Secret, error) {
	kept, err := d.prove(ctx, passphrase, a)
	if err != nil {
		return Device{}, "", err
	}
	dev, secret, err := d.add(ctx, ByPassphrase, a, kept)
	if agent.CodeOf(err) == agent.CodeConflict { // the passphrase was changed in this instant
		return Device{}, "", &Refused{Looked: true}
	}
	if err != nil {
		return Device{}, "", err
	}
	d.freshen(ctx, kept, passphrase)
	return dev, secret, nil
}

// add makes a device of an arrival, in the place of the one that the browser was before; passphrase is the hash that it knew.
func (d *Doors) add(ctx context.Context, how How, a Arrival, passphrase string) (Device, Secret, error) {
	join := Joining{Passphrase: passphrase, Limit: MaxDevices}
	if hash, ok := a.Former.Hash(); ok {
		switch before, err := d.store.DeviceByHash(ctx, hash); {
		case err == nil:
			join.Former = before.ID
		case agent.CodeOf(err) != agent.CodeNotFound:
			return Device{}, "", err
		}
	}
	secret := NewSecret()
	hash, ok := secret.Hash()
	if !ok {
		return Device{}, "", agent.Errorf(agent.CodeInternal, "A session could not be made.")
	}
	now := d.now()
	dev := Device{
		ID: agent.NewID(), Name: deviceName(a.Name, a.Agent), Agent: cutAgent(a.Agent), How: how, Address: address(a.From),
		Created: now, Seen: now, Expires: now.Add(d.idle()),
	}
	ended, err := d.store.AddDevice(ctx, dev, hash, join)
	if err != nil {
		return Device{}, "", err
	}
	d.ended(ended)
	d.log.InfoContext(ctx, "a device was signed in", "device", dev.ID, "from", dev.Address, "how", string(how)) // in this order: "passphrase from" looks like a secret to who takes them out
	return dev, secret, nil
}

func address(from netip.Addr) string {
	if !from.IsValid() {
		return ""
	}
	return from.Unmap().String()
}

func denied() error {
	return agent.Errorf(agent.CodeDenied, "This device is not signed in, or no longer is. Sign in again.")
}

// find returns the session of a secret; CodeDenied for one that is none, or none any more.
func (d *Doors) find(ctx context.Context, secret Secret) (s Session, hash []byte, err error) {
	hash, ok := secret.Hash()
	if !ok {
		return Session{}, nil, denied()
	}
	s, err = d.store.DeviceByHash(ctx, hash)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return Session{}, nil, denied()
	}
	if err != nil {
		return Session{}, nil, err
	}
	now := d.now()
	// A setting that was shortened counts at once.
	if !s.Ended.IsZero() || !now.Before(s.Expires) || !now.Before(s.Seen.Add(d.idle())) {
		return Session{}, nil, denied()
	}
	if !bytes.Equal(hash, s.Hash) && !s.Retired.IsZero() && !now.Before(s.Retired) {
		// Two have it: a copy of the browser's cookies, or a thief's. Whoever signs in next with it ends the other one.
		d.log.WarnContext(ctx, "a secret that was replaced was used again", "device", s.ID)
		return Session{}, nil, denied()
	}
	return s, hash, nil
}

// Session returns the device of a secret that somebody at an address presents, and notes that it was seen. It is looked up with each
// request, so that signing out works at once.
//
// CodeDenied for a secret that is unknown, expired, signed out or mistyped, alike; other errors are of the store.
func (d *Doors) Session(ctx context.Context, secret Secret, from netip.Addr) (Device, error) {
	s, hash, err := d.find(ctx, secret)
	if err != nil {
		return Device{}, err
	}
	now, since := d.now(), d.now().Sub(s.Rotated)
	var change DeviceChange
	changed := false
	if bytes.Equal(hash, s.Hash) {
		s.Rotate = since >= RotateEvery
		if s.Former != nil && s.Retired.IsZero() { // the successor has arrived: the former secret goes
			change.Retired, changed = now.Add(grace), true
		}
	} else { // the successor may be under way, or lost
		s.Rotate = s.Retired.IsZero() && since >= retryRotation
	}
	if now.Sub(s.Seen) >= seenEvery {
		change.Seen, change.Expires, change.Address, changed = now, now.Add(d.idle()), address(from), true
		s.Seen, s.Expires, s.Address = change.Seen, change.Expires, change.Address
	}
	if changed {
		err := d.store.ChangeDevice(ctx, s.ID, s.Hash, change)
		// A conflict: another request changed it in this instant, or it was signed out; the next one will tell.
		if err != nil && agent.CodeOf(err) != agent.CodeConflict && ctx.Err() == nil {
			d.log.WarnContext(ctx, "that a device was seen could not be noted", "device", s.ID, "error", err)
		}
	}
	return s.Device, nil
}

// Rotate gives a session a new secret. The old one works until a minute after the new one was first used, so that neither requests under
// way nor an answer that is lost sign anybody out.
//
// CodeDenied as Session. CodeConflict when the secret is not due: another request rotated it just now, and the caller leaves it as it is.
func (d *Doors) Rotate(ctx context.Context, secret Secret) (Secret, error) {
	s, hash, err := d.find(ctx, secret)
	if err != nil {
		return "", err
	}
	now := d.now()
	fresh := now.Sub(s.Rotated) < retryRotation
	if !bytes.Equal(hash, s.Hash) && (fresh || !s.Retired.IsZero()) {
		return "", agent.Errorf(agent.CodeConflict, "This session was renewed just now.")
	}
	next := NewSecret()
	nextHash, ok := next.Hash()
	if !ok {
		return "", agent.Errorf(agent.CodeInternal, "A session could not be renewed.")
	}
	if err := d.store.ChangeDevice(ctx, s.ID, s.Hash, DeviceChange{Hash: nextHash, Former: hash, At: now}); err != nil {
		return "", err
	}
	return next, nil
}

// Devices returns the devices that are signed in, the one seen last first.
func (d *Doors) Devices(ctx context.Context) ([]Device, error) {
	list, err := d.store.Devices(ctx)
	if err != nil {
		return nil, err
	}
	now := d.now()
	kept := list[:0]
	for _, dev := range list {
		if last := dev.Seen.Add(d.idle()); last.Before(dev.Expires) {
			dev.Expires = last
		}
		if now.Before(dev.Expires) {
			kept = append(kept, dev)
		}
	}
	return kept, nil
}

// SignOut ends a device's session: from the moment it returns its secret opens nothing, and its streams end. CodeNotFound when it is
// not signed in.
func (d *Doors) SignOut(ctx context.Context, device agent.ID) error {
	ended, err := d.end(ctx, Ending{Only: device})
	if err == nil && len(ended) == 0 {
		return agent.Errorf(agent.CodeNotFound, "That device is not signed in, or no longer is.")
	}
	return err
}

// SignOutAll ends the sessions of all devices but one ("" for none), and every pairing under way. It returns how many it ended.
func (d *Doors) SignOutAll(ctx context.Context, except agent.ID) (int, error) {
	d.pairs.mu.Lock()
	defer d.pairs.mu.Unlock()
	ended, err := d.end(ctx, Ending{All: true, Except: except})
	if err == nil {
		d.pairs.clear()
	}
	return len(ended), err
}

func (d *Doors) end(ctx context.Context, which Ending) ([]agent.ID, error) {
	ended, err := d.store.EndDevices(ctx, d.now(), which)
	if err != nil {
		return nil, err
	}
	d.ended(ended)
	if len(ended) > 0 {
		d.log.InfoContext(ctx, "devices were signed out", "devices", len(ended))
	}
	return ended, nil
}

// Watch returns a channel that is closed when the device is signed out, at once when it is not signed in: what is open for the device
// has to end then.
func (d *Doors) Watch(ctx context.Context, device agent.ID) <-chan struct{} {
	ended := d.watcher(device)
	// Watched first, looked at second: whatever ends the device in between closes the channel.
	list, err := d.Devices(ctx)
	if err == nil {
		for _, dev := range list {
			if dev.ID == device {
				return ended
			}
		}
	}
	d.ended([]agent.ID{device}) // also when nobody knows: the browser asks again
	return ended
}

func (d *Doors) watcher(device agent.ID) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	ended := d.watchers[device]
	if ended == nil {
		ended = make(chan struct{})
		d.watchers[device] = ended
	}
	return ended
}

// ended closes what Watch returned for devices.
func (d *Doors) ended(devices []agent.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range devices {
		if ended := d.watchers[id]; ended != nil {
			close(ended)
			delete(d.watchers, id)
		}
	}
}
