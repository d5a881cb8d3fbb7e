package pages

import (
	"slices"
	"time"

	"ash/agent"
)

// Tokens is Settings → Tokens.
type Tokens struct {
	SettingsFrame
	Tokens []Token // that are not revoked, the newest first
	Ended  []Token // that are
	Scopes []Choice
	New    NewToken
	Made   *MadeToken // the one just made
}

// Token is a program's permission to use the API.
type Token struct {
	ID      agent.ID
	Name    string
	Hint    string // how its secret begins
	Scopes  []string
	Created time.Time
	Used    time.Time // zero: never
	Expires time.Time // zero: never
	Revoked time.Time // zero: it is not
	Over    bool      // it has expired
}

// NewToken is the form of a token to make, with what was typed into it.
type NewToken struct {
	Name    string
	Scopes  []string
	Expires string // "30", "90", "365" days or "never"
	Until   string // last day, as 2027-01-31; goes before Expires
	Problem string // why it was refused
}

// MadeToken is the one time a secret is shown.
type MadeToken struct{ Name, Secret string }

// asked reports whether the form has the scope.
func (n NewToken) asked(scope string) bool { return slices.Contains(n.Scopes, scope) }

// expiries are what the form offers.
func expiries() []Choice {
	return []Choice{{"30", "30 days"}, {"90", "90 days"}, {"365", "a year"}, {"never", "until it is revoked"}}
}

// used says when a token was used last.
func (t Token) used() string {
	if t.Used.IsZero() {
		return "never used"
	}
	return "last used " + t.Used.Format("2 January 2006, 15:04")
}

// ends says how long a token works.
func (t Token) ends() string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked " + t.Revoked.Format("2 January 2006, 15:04")
	case t.Over:
		return "expired " + t.Expires.Format("2 January 2006, 15:04")
	case t.Expires.IsZero():
		return "works until it is revoked"
	}
	return "works until " + t.Expires.Format("2 January 2006, 15:04")
}
