package pages

import (
	"net/url"
	"strings"
	"time"

	"ash/views/components"
	"ash/views/layouts"
)

// Vault is the page of the vault: none yet, not as it should be, locked, or open with its list.
type Vault struct {
	layouts.Page
	Exists   bool
	Unlocked bool
	Problem  *VaultProblem // why it cannot be opened as it stands; nil when all is well
	Notes    []string      // what is wrong without being in the way
	Secrets  []VaultSecret // while unlocked
	Incoming int           // added while locked
	Since    time.Time     // unlocked since
	LocksAt  time.Time     // zero: only when told to
	Now      time.Time
	Phrase   PhraseState
	Unlock   components.Unlock
}

// VaultProblem is what is wrong with the vault and what puts it right.
type VaultProblem struct {
	Text    string // without the command
	Command string // for a terminal; "" when the text says all
	Mend    string // what this page can do about it: "repair", "accept", "anew"; "" nothing
	Wrong   string // why the last try did not go through
}

// PhraseState is how far the recovery phrase has come.
type PhraseState string

// The states of a recovery phrase.
const (
	PhraseWritten   PhraseState = "written"   // made, and the person says it is written down
	PhraseMade      PhraseState = "made"      // made here, but never typed back
	PhrasePostponed PhraseState = "postponed" // none yet, and that was meant
	PhraseNone      PhraseState = "none"      // none yet: it is offered
)

// VaultSecret is what a page may say of a secret: everything but its value.
type VaultSecret struct {
	Name    string
	Hosts   []string
	Users   []string
	Extra   bool // has a passphrase of its own
	Version int
	Added   time.Time // of the value in use
	Former  bool      // the value before is kept
	Waits   bool      // a value added while locked waits for a word
	WaitsAt time.Time
}

// path is the page of the secret.
func (s VaultSecret) path() string { return vaultPath(s.Name) }

func vaultPath(name string) string { return "/vault/secret?name=" + url.QueryEscape(name) }

// goes says where the value may go.
func (s VaultSecret) goes() string {
	if len(s.Hosts) == 0 {
		return "never leaves Ash"
	}
	return strings.Join(s.Hosts, ", ")
}

// since writes the day a value was added.
func since(t, now time.Time) string {
	if t.Year() == now.Year() {
		return t.Format("2 January")
	}
	return t.Format("2 January 2006")
}

// locksAt says when the vault locks by itself.
func (v Vault) locksAt() string {
	switch {
	case v.LocksAt.IsZero():
		return "It stays unlocked until you lock it or Ash ends."
	case v.LocksAt.Format(time.DateOnly) == v.Now.Format(time.DateOnly):
		return "It locks itself at " + v.LocksAt.Format("15:04") + ", later when something uses it before then."
	}
	return "It locks itself on " + v.LocksAt.Format("Monday at 15:04") + ", later when something uses it before then."
}

// sub is the line below the title.
func (v Vault) sub() string {
	return "Keys and passwords, encrypted with your passphrase. No model ever sees them."
}

// VaultNew is the form for a secret.
type VaultNew struct {
	layouts.Page
	Known   []KnownSecret // offered by name
	Name    string
	Title   string // of a known one; "" else
	Hosts   string
	Users   string
	Exists  bool   // there is a vault
	Locked  bool   // adding works all the same
	Problem string // why it was not added
}

// KnownSecret is one that Ash knows a use for.
type KnownSecret struct {
	Name  string
	Title string
	There bool // in the vault already
}

func (k KnownSecret) path() string { return "/vault/new?name=" + url.QueryEscape(k.Name) }

// VaultOne is one secret.
type VaultOne struct {
	layouts.Page
	VaultSecret
	Now     time.Time
	Problem string // why the last change did not go through
	About   string // which form that was: "rotate", "bind", "settle", "delete"
	Done    string // what just went well
}

// join writes a list the way its field takes it.
func join(list []string) string { return strings.Join(list, ", ") }
