package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/netip"
	"slices"
	"sync"
	"time"

	"ash/agent"
)

const (
	// PairingTime is how long a code can be claimed, and then how long a claim can be confirmed and collected.
	PairingTime = 2 * time.Minute

	maxClaims     = 8    // remembered at a time
	maxWrongCodes = 1000 // of one offer; further codes are not looked at: 2^40 are too many to guess in so few, a link is not typed
)

// Offer is an invitation for one device, shown on a screen that is signed in.
type Offer struct {
	ID      agent.ID
	Code    string // to be typed: "7K3M-9QXT"
	Link    Secret // for a QR code: 128 random bits, without a checksum. string(Link) is the whole
	Expires time.Time
}

// Stage is how far a claim has come.
type Stage string

// The stages.
const (
	StageWaiting   Stage = "waiting"   // for the person's word on the screen that is signed in
	StageConfirmed Stage = "confirmed" // the device can collect its session
	StageDeclined  Stage = "declined"
	StageCollected Stage = "collected" // the device is signed in
)

// Claim is a device that gave the code of an offer and wants in.
type Claim struct {
	ID      agent.ID
	Offer   agent.ID
	Name    string // of the device, as it says itself
	Agent   string // its User-Agent, cut
	Address string
	Check   string // four digits that both screens show: "47 19"
	Expires time.Time
	Stage   Stage
}

// Unconfirmed says that the person has not decided on a claim yet: the device asks again.
type Unconfirmed struct{ Claim Claim }

// Error implements error.
func (*Unconfirmed) Error() string {
	return "the pairing waits for its confirmation on the other screen"
}

// pairing is what is under way, in memory only: a restart ends it.
type pairing struct {
	mu      sync.Mutex // guards what is below, and is held while a claim becomes a device
	offer   *offer     // the one that is open; nil for none
	claims  []*claim   // the newest last
	wrong   map[string]*Delay
	changed chan struct{} // closed at the next change
	now     func() time.Time
}

type offer struct {
	id         agent.ID
	code, link [32]byte // SHA-256
	expires    time.Time
	wrong      int
}

type claim struct {
	Claim
	secret [32]byte // SHA-256
	by     Arrival
}

func newPairing(now func() time.Time) *pairing {
	return &pairing{now: now, wrong: map[string]*Delay{}, changed: make(chan struct{})}
}

// tell wakes those that wait for a change.
func (p *pairing) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// clear ends everything that is under way.
func (p *pairing) clear() {
	p.offer, p.claims = nil, nil
	p.tell()
}

// sweep drops what is over.
func (p *pairing) sweep() {
	now := p.now()
	if p.offer != nil && !now.Before(p.offer.expires) {
		p.offer = nil
	}
	p.claims = slices.DeleteFunc(p.claims, func(c *claim) bool { return !now.Before(c.Expires) })
}

// Changed returns a channel that is closed at the next change of what is under way: an offer, a claim, a decision.
func (d *Doors) Changed() <-chan struct{} {
	d.pairs.mu.Lock()
	defer d.pairs.mu.Unlock()
	return d.pairs.changed
}

// Offer opens an offer, for somebody who is signed in. One that was open before is void.
func (d *Doors) Offer(ctx context.Context) (Offer, error) {
	p := d.pairs
	p.mu.Lock()
	defer p.mu.Unlock()
	made := Offer{ID: agent.NewID(), Code: newCode(), Link: newLink(), Expires: p.now().Add(PairingTime)}
	code, _ := spelling(made.Code)
	p.offer = &offer{id: made.ID, code: sha256.Sum256([]byte(code)), link: sha256.Sum256([]byte(made.Link)), expires: made.Expires}
	p.tell()
	d.log.InfoContext(ctx, "a pairing code was shown")
	return made, nil
}

// Withdraw ends an offer that nobody has claimed yet.
func (d *Doors) Withdraw(_ context.Context, id agent.ID) error {
	p := d.pairs
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.offer != nil && p.offer.id == id {
		p.offer = nil
		p.tell()
	}
	return nil
}

// Claim takes up the offer of a code or a link. The code works once: of two that give it at the same time, one wins. The secret is the
// device's alone, for Collect; the check is for both screens.
//
// Errors: *Refused for a code that is wrong, over or used, and for one that is not looked at yet.
func (d *Doors) Claim(ctx context.Context, codeOrLink string, a Arrival) (Claim, Secret, error) {
	p := d.pairs
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep()
	now := p.now()
	if !p.fitsLink(codeOrLink) { // nobody guesses 128 bits, so a link never waits for what others behind the same address tried
		from := p.entry(fromKey(a.From))
		if wait := from.Until.Sub(now); wait > 0 {
			return Claim{}, "", &Refused{Wait: wait}
		}
		if !p.fitsCode(codeOrLink) {
			wait := pairingPace.fail(from, now)
			d.log.WarnContext(ctx, "a pairing code was refused", "from", address(a.From), "wait", wait)
			return Claim{}, "", &Refused{Looked: true, Wait: wait}
		}
	}
	a.Name, a.Agent = deviceName(a.Name, a.Agent), cutAgent(a.Agent)
	secret := NewSecret()
	c := &claim{
		Claim: Claim{
			ID: agent.NewID(), Offer: p.offer.id, Name: a.Name, Agent: a.Agent, Address: address(a.From), Check: newCheck(),
			Expires: now.Add(PairingTime), Stage: StageWaiting,
		},
		secret: sha256.Sum256([]byte(secret)), by: a,
	}
	p.offer = nil
	p.claims = append(p.claims, c)
	if len(p.claims) > maxClaims {
		p.claims = slices.Delete(p.claims, 0, len(p.claims)-maxClaims)
	}
	p.tell()
	d.log.InfoContext(ctx, "a device asks to be paired", "from", c.Address)
	return c.Claim, secret, nil
}

// fitsLink reports whether a text is the link of the open offer.
func (p *pairing) fitsLink(text string) bool {
	text, ok := spelling(text)
	if !ok || p.offer == nil {
		return false
	}
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], p.offer.link[:]) == 1
}

// fitsCode reports whether a text is the code of the open offer, and counts it when it is not.
func (p *pairing) fitsCode(text string) bool {
	text, ok := spelling(text)
	if !ok || len(text) != codeChars || p.offer == nil || p.offer.wrong >= maxWrongCodes {
		return false
	}
	sum := sha256.Sum256([]byte(text))
	if subtle.ConstantTimeCompare(sum[:], p.offer.code[:]) == 1 {
		return true
	}
	p.offer.wrong++
	return false
}

// pairingPace slows down wrong codes from one address.
var pairingPace = pace{free: 5, longest: time.Minute, period: time.Minute}

// entry finds where the wrong codes of a key are counted, and makes room for it.
func (p *pairing) entry(key string) *Delay {
	now := p.now()
	for k, e := range p.wrong {
		if pairingPace.settle(e, now); e.Count == 0 && !e.Until.After(now) {
			delete(p.wrong, k)
		}
	}
	if len(p.wrong) >= maxAddresses && p.wrong[key] == nil {
		key = keyFrom + "rest"
	}
	if p.wrong[key] == nil {
		p.wrong[key] = &Delay{Key: key, Since: now}
	}
	return p.wrong[key]
}

// Claims returns the claims that are under way, the newest first, for a screen that is signed in.
func (d *Doors) Claims(context.Context) ([]Claim, error) {
	p := d.pairs
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep()
	list := make([]Claim, 0, len(p.claims))
	for _, c := range slices.Backward(p.claims) {
		list = append(list, c.Claim)
	}
	return list, nil
}

// Confirm is the person's word on a claim. CodeNotFound for one that is over, CodeConflict for one that was decided on.
func (d *Doors) Confirm(ctx context.Context, id agent.ID, yes bool) error {
	p := d.pairs
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep()
	i := slices.IndexFunc(p.claims, func(c *claim) bool { return c.ID == id })
	switch {
	case i < 0:
		return agent.Errorf(agent.CodeNotFound, "That took too long: the pairing is over. Show a new code.")
	case p.claims[i].Stage != StageWaiting:
		return agent.Errorf(agent.CodeConflict, "That was decided already.")
	}
	c := p.claims[i]
	c.Stage, c.Expires = StageDeclined, p.now().Add(PairingTime)
	if yes {
		c.Stage = StageConfirmed
	}
	p.tell()
	d.log.InfoContext(ctx, "a pairing was decided on", "stage", string(c.Stage))
	return nil
}

// Collect turns a confirmed claim into a device that is signed in, once. from may be another address than that of the claim.
//
// Errors: *Unconfirmed while the person has not decided; CodeDenied for a claim that was declined, collected, is over or never was.
func (d *Doors) Collect(ctx context.Context, secret Secret, from netip.Addr) (Device, Secret, error) {
	p := d.pairs
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep()
	sum := sha256.Sum256([]byte(secret))
	i := slices.IndexFunc(p.claims, func(c *claim) bool { return subtle.ConstantTimeCompare(c.secret[:], sum[:]) == 1 })
	if i < 0 {
		return Device{}, "", agent.Errorf(agent.CodeDenied, "This pairing is over. Show a new code on the other screen and begin anew.")
	}
	c := p.claims[i]
	switch c.Stage {
	case StageWaiting:
		return Device{}, "", &Unconfirmed{Claim: c.Claim}
	case StageDeclined:
		return Device{}, "", agent.Errorf(agent.CodeDenied, "The other screen said no to this device.")
	case StageCollected:
		return Device{}, "", agent.Errorf(agent.CodeDenied, "This pairing is over. Show a new code on the other screen and begin anew.")
	}
	by := c.by
	by.From = from
	dev, session, err := d.add(ctx, ByPairing, by, "")
	if err != nil {
		return Device{}, "", err
	}
	c.Stage = StageCollected
	p.tell()
	return dev, session, nil
}
