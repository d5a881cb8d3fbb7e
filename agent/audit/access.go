package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ash/agent"
)

// Listener is an address that pages are served at, or would be.
type Listener struct {
	Address string
	From    string // "the settings", "the running Ash"
	Local   bool   // only this machine reaches it
	SignIn  bool   // whoever comes from elsewhere has to sign in
	TLS     bool
}

// Exposure checks who can reach the pages.
type Exposure struct {
	Look func(ctx context.Context) ([]Listener, error)
}

// Name implements Check.
func (Exposure) Name() string { return "Open doors" }

// Run implements Check.
func (e Exposure) Run(ctx context.Context, report func(Finding)) (string, error) {
	list, err := e.Look(ctx)
	var seen []string
	for _, l := range list {
		seen = append(seen, l.Address)
		f := Finding{Place: l.Address + ", from " + l.From, Link: "/settings/doors"}
		switch {
		case l.Local:
			continue
		case !l.SignIn:
			f.Severity, f.Text = Critical, "Everybody who reaches "+l.Address+" can use Ash: there is no sign-in."
			f.Remedy = "Set a passphrase (ash doors passphrase), or listen on 127.0.0.1 only."
		case !l.TLS:
			f.Severity, f.Text = Medium, "Pages are served at "+l.Address+" without encryption: who listens on that network can read along and take over a session."
			f.Remedy = "Use HTTPS or Tailscale for other devices."
		default:
			f.Severity, f.Text, f.Remedy = Info, "Other devices can reach Ash at "+l.Address+", and have to sign in.", "Nothing to do if you want that."
		}
		report(f)
	}
	return strings.Join(seen, ", "), err
}

// Way is what is known of the ways in.
type Way struct {
	Passphrase bool
	Memory     int // KiB that hashing the passphrase takes; 0: not known
	Passes     int
	Devices    []Device
	Tokens     []Token
	Open       bool // a door to the network is open, or may be
}

// Device is a signed-in browser.
type Device struct {
	ID   agent.ID
	Name string
	Seen time.Time
}

// Token is what a program comes in with.
type Token struct {
	ID      agent.ID
	Name    string
	Wide    bool // it may do everything
	Created time.Time
	Used    time.Time // zero: never
	Expires time.Time // zero: never
}

// The least that hashing a passphrase should take (OWASP Password Storage Cheat Sheet, argon2id: 19 MiB and two passes).
const (
	leastMemory = 19 << 10 // KiB
	leastPasses = 2
)

// How long something may be unused before it is worth a word.
const (
	deviceRests = 60 * 24 * time.Hour
	tokenWaits  = 30 * 24 * time.Hour  // made and never used
	tokenRests  = 180 * 24 * time.Hour // used once, and no more
)

// SignIn checks how strong the ways in are.
type SignIn struct {
	Look func(ctx context.Context) (Way, error)
	Now  func() time.Time
}

// Name implements Check.
func (SignIn) Name() string { return "Sign-in" }

// Run implements Check.
func (s SignIn) Run(ctx context.Context, report func(Finding)) (string, error) {
	w, err := s.Look(ctx)
	if err != nil {
		return "", err
	}
	now := s.Now()
	if w.Open && !w.Passphrase && len(w.Devices) == 0 {
		report(Finding{Severity: Critical, Text: "A door to the network is open, and there is neither a passphrase nor a paired device.", Link: "/settings/doors", Remedy: "Set a passphrase: ash doors passphrase"})
	}
	if w.Passphrase && w.Memory > 0 && (w.Memory < leastMemory || w.Passes < leastPasses) {
		report(Finding{Severity: Medium, Text: fmt.Sprintf("The passphrase is hashed with too little work (%d MB, %d passes): a stolen database could be guessed at quickly.", w.Memory>>10, w.Passes),
			Link: "/settings/doors", Remedy: "Sign in once with the passphrase, or set it anew: it is then hashed as it should be."})
	}
	for _, d := range w.Devices {
		if now.Sub(d.Seen) > deviceRests {
			report(Finding{Severity: Low, Text: fmt.Sprintf("The device %s is signed in and was not seen for %d days.", d.Name, int(now.Sub(d.Seen).Hours()/24)), Place: "device " + string(d.ID), Link: "/settings/doors",
				Remedy: "Sign it out if you no longer have it.", Fix: &Fix{Act: ActSignOut, Target: string(d.ID), Words: "Sign out " + d.Name, Ask: true}})
		}
	}
	for _, t := range w.Tokens {
		s.token(t, now, report)
	}
	return fmt.Sprintf("%d devices, %d tokens", len(w.Devices), len(w.Tokens)), nil
}

func (SignIn) token(t Token, now time.Time, report func(Finding)) {
	f := Finding{Place: "token " + t.Name, Link: "/settings/tokens"}
	revoke := &Fix{Act: ActRevoke, Target: string(t.ID), Words: "Revoke the token " + t.Name, Ask: true}
	if !t.Expires.IsZero() && !now.Before(t.Expires) {
		f.Severity, f.Text = Info, "The token "+t.Name+" has expired and is still listed."
		revoke.Ask = false
		f.Fix, f.Remedy = revoke, "Revoke it."
		report(f)
		return
	}
	if t.Wide {
		f.Severity, f.Text, f.Remedy = Low, "The token "+t.Name+" may do everything.", "Make one with only the scopes that program needs, and revoke this one."
		if t.Expires.IsZero() {
			f.Severity, f.Text = Medium, "The token "+t.Name+" may do everything, for ever."
		}
		report(f)
	}
	f.Fix = revoke
	switch {
	case t.Used.IsZero() && now.Sub(t.Created) > tokenWaits:
		f.Severity, f.Text, f.Remedy = Low, "The token "+t.Name+" was never used.", "Revoke it if no program needs it."
		report(f)
	case !t.Used.IsZero() && now.Sub(t.Used) > tokenRests:
		f.Severity, f.Text, f.Remedy = Low, fmt.Sprintf("The token %s was not used for %d days.", t.Name, int(now.Sub(t.Used).Hours()/24)), "Revoke it if no program needs it."
		report(f)
	}
}
