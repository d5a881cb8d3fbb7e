package pages

import (
	"time"

	"ash/agent"
	"ash/views/components"
)

// Doors is Settings → Doors: who may come in, and from where.
type Doors struct {
	SettingsFrame
	HasPassphrase               bool
	Ready                       bool     // somebody could sign in: a passphrase is set or a device is signed in
	Open                        bool     // devices of the network reach Ash
	Wanted                      bool     // the settings say that they should
	Reachable                   bool     // some other device reaches Ash, through the network or a proxy
	Addresses                   []string // where, as a browser opens them
	Outside                     []string // by names that a proxy serves
	Fixed                       string   // what decides it, where this page cannot: "--lan"
	Problem                     string   // why what is wanted is not open
	Pairing                     *Pairing // nil: none is under way
	Devices                     []DoorDevice
	Days                        int // unused, until a device has to sign in again
	HTTPS                       bool
	Fingerprint                 string              // of Ash's own authority; "" while there is none
	Ends                        time.Time           // of the server's certificate; zero without one
	Tailnet                     string              // this machine's name in a tailnet; "" without Tailscale
	Port                        string              // of the pages on this machine
	Asks                        components.KeyPlace // what the vault needs first
	Certificate, CertificateKey string              // the files of the person's own; "" for none
	OwnNames                    []string            // what that one is for, where it is shown
	OwnEnds                     time.Time
	AskHere                     bool
	Names                       string // comma-separated
	Tailscale                   bool
	Logins                      string // comma-separated

	PassphraseProblem  string // why what was just sent was refused
	NamesProblem       string
	HTTPSProblem       string
	CertificateProblem string
	TailscaleProblem   string
}

// DoorDevice is a device that is signed in.
type DoorDevice struct {
	ID      agent.ID
	Name    string // as its owner calls it
	What    string // "Safari on iPhone"
	Address string // seen from last
	Paired  bool   // else it was given the passphrase
	Phone   bool
	Since   time.Time
	Seen    string // "5 minutes ago"
	This    bool   // the page is shown on it
}

// Pairing is how far the pairing of one device is.
type Pairing struct {
	CSRF   string
	Offer  agent.ID
	Code   string        // to be typed; "" once the offer was taken up
	QR     components.QR // the same as a picture
	Link   string        // that is in the picture
	Place  string        // where the code is typed: "http://192.168.1.5:8080/pair"
	Others []string      // further addresses
	Until  int64         // Unix seconds
	Lasts  string        // "2 minutes"
	Over   bool          // nobody came in time

	Claim   agent.ID // the device that asks; "" while none does
	Stage   string   // waiting, confirmed, declined, collected
	Name    string
	What    string
	Address string
	Check   string // both screens show it
}
