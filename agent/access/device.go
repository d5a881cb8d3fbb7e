package access

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"ash/agent"
)

// How says how a device came in.
type How string

// The ways in.
const (
	ByPassphrase How = "passphrase" // it was given the owner's passphrase
	ByPairing    How = "paired"     // the person confirmed it on a screen that was signed in
)

// Device is a browser that is signed in, without the secret that proves it.
type Device struct {
	ID      agent.ID
	Name    string // for people; not unique
	Agent   string // its User-Agent, cut to MaxAgent bytes
	How     How
	Address string // it was seen at last
	Created time.Time
	Seen    time.Time // last time, to the minute or so
	Expires time.Time // unless it is seen before
	// Rotate says that Session was given a secret that is due for Rotate.
	Rotate bool
}

// MaxAgent bounds what is kept of a User-Agent header, in bytes.
const MaxAgent = 256

// Session is a device with what proves it.
type Session struct {
	Device
	Hash    []byte    // of its secret
	Former  []byte    // of the secret before; nil for none
	Retired time.Time // when the one before ceases to work; zero: when the present one was used
	Rotated time.Time // when it got its secret
	Ended   time.Time // zero: it is not
	Revoked bool      // it was ended by the person, not by time or by signing in anew
}

// Ending names the devices to sign out: all that fit each field that is set. The zero value names none.
type Ending struct {
	All    bool     // without it, Only or How has to be set
	Only   agent.ID // this one
	Except agent.ID // not this one
	How    How      // those that came in this way
}

// Joining is what adding a device rests on.
type Joining struct {
	Passphrase string   // the hash that the passphrase fitted; "" for a device that is paired
	Former     agent.ID // the device that this one replaces; "" for none
	Limit      int      // of devices that are signed in
}

// DeviceChange is what to change of a device; zero fields stay.
type DeviceChange struct {
	Seen    time.Time
	Expires time.Time
	Address string
	Retired time.Time // of its former secret
	Hash    []byte    // of its new secret, made At; Former is then the one before
	Former  []byte
	At      time.Time
}

// deviceName returns what a device is called: the name that was given, else one made from its User-Agent. Both are a
// stranger's words, so what a list could not show is left out.
func deviceName(given, userAgent string) string {
	return cmp.Or(plain(given, MaxName), AgentName(userAgent))
}

// plain returns a text on one line, without what cannot be seen, cut to limit characters.
func plain(text string, limit int) string {
	if len(text) > 8*limit { // before anything is made of it
		text = text[:8*limit]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	out := []rune(strings.Join(strings.Fields(text), " "))
	if len(out) > limit {
		out = out[:limit]
	}
	return strings.TrimSpace(string(out))
}

// AgentName returns a name for people from a User-Agent header: "Firefox on Android". What it does not know is "Browser".
func AgentName(userAgent string) string {
	if len(userAgent) > 2048 {
		userAgent = userAgent[:2048]
	}
	find := func(pairs ...[2]string) string {
		for _, p := range pairs {
			if strings.Contains(userAgent, p[0]) {
				return p[1]
			}
		}
		return ""
	}
	// The order matters: most name themselves after all that came before them.
	browser := find([2]string{"Edg", "Edge"}, [2]string{"OPR/", "Opera"}, [2]string{"SamsungBrowser", "Samsung Internet"}, [2]string{"FxiOS", "Firefox"},
		[2]string{"Firefox/", "Firefox"}, [2]string{"CriOS", "Chrome"}, [2]string{"Chromium/", "Chromium"}, [2]string{"Chrome/", "Chrome"}, [2]string{"Safari/", "Safari"})
	system := find([2]string{"iPhone", "iPhone"}, [2]string{"iPad", "iPad"}, [2]string{"Android", "Android"}, [2]string{"Windows", "Windows"},
		[2]string{"CrOS", "ChromeOS"}, [2]string{"Macintosh", "Mac"}, [2]string{"Linux", "Linux"})
	switch {
	case system == "":
		return cmp.Or(browser, "Browser")
	case browser == "":
		return system
	}
	return browser + " on " + system
}

func cutAgent(userAgent string) string {
	if len(userAgent) > MaxAgent {
		userAgent = userAgent[:MaxAgent]
	}
	return plain(userAgent, MaxAgent)
}
