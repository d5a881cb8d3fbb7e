package pages

import (
	"time"

	"ash/views/layouts"
)

// Phrase is the page of the recovery phrase: what it is for, the words for the only time, and the two that are asked for.
type Phrase struct {
	layouts.Page
	Exists   bool
	Unlocked bool
	State    PhraseState
	Words    []string // shown now; nil on every other page
	Asked    []int    // places of the words to type back; nil: not asked
	Problem  string
}

// Recover is the form for somebody who forgot the passphrase.
type Recover struct {
	layouts.Page
	Made    bool // there is a phrase
	Problem string
}

// VaultKeys is about the vault as a whole: passphrase, recovery phrase, keys, a copy.
type VaultKeys struct {
	layouts.Page
	Unlocked bool
	Phrase   PhraseState
	About    string // the form that Problem is about: "passphrase", "identity", "export"
	Problem  string
	Done     string   // what just went well: one of those, or "phrase"
	Notes    []string // what does not go with it, after a change
}

func (k VaultKeys) done() string {
	switch k.Done {
	case "passphrase":
		return "The passphrase is changed. Copies of the folder made before still open with the old one."
	case "identity":
		return "Everything is encrypted to new keys. The passphrase and the recovery phrase stay."
	case "phrase":
		return "Good. Keep the words where nobody else looks, and not on this machine."
	}
	return ""
}

// VaultImport is the page that brings secrets in: the forms, then the choice, then what became of it.
type VaultImport struct {
	layouts.Page
	Exists  bool
	Locked  bool
	Draft   string // stands for the file while its rows are chosen from
	Rows    []EnvRow
	Outcome *ImportOutcome
	About   string // the form that Problem is about: "env", "choose", "copy"
	Problem string
}

// EnvRow is a line of a .env file, without its value.
type EnvRow struct {
	Key   string
	Name  string // it would be kept under; "" when there is no idea
	Hosts string
	Take  bool
	There bool // the vault has that name already
	Empty bool
}

// ImportOutcome is what became of what was brought in, by name.
type ImportOutcome struct {
	Added   []string
	Later   []string // taken in at the next unlock
	There   []string // left as they are
	Problem string   // why the rest was not brought in
}

// AccessLog is what was done with the vault.
type AccessLog struct {
	layouts.Page
	Filter AccessFilter
	Lines  []AccessLine
	Later  bool   // not the first page
	Next   string // "" at the end
	Now    time.Time
}

// AccessFilter is what the log is narrowed to.
type AccessFilter struct {
	Name    string // part of a secret's name, a user or a host
	Action  string
	Refused bool
}

func (f AccessFilter) any() bool { return f != AccessFilter{} }

// AccessLine is one access.
type AccessLine struct {
	At      time.Time
	Action  string
	Name    string
	User    string
	Host    string
	For     string
	Allowed bool
	Why     string // of a refusal
}

// AccessActions are what the log can be narrowed to.
func AccessActions() []Choice {
	return []Choice{
		{Value: "use", Title: "used"}, {Value: "unlock", Title: "unlocked"}, {Value: "lock", Title: "locked"}, {Value: "add", Title: "added"},
		{Value: "take in", Title: "taken in"}, {Value: "rotate", Title: "new value"}, {Value: "confirm", Title: "confirmed"}, {Value: "revert", Title: "reverted"},
		{Value: "bind", Title: "bound anew"}, {Value: "delete", Title: "deleted"}, {Value: "export", Title: "exported"}, {Value: "create", Title: "vault made"},
		{Value: "change passphrase", Title: "passphrase changed"}, {Value: "make recovery phrase", Title: "recovery phrase made"}, {Value: "recover", Title: "recovered"},
		{Value: "rotate identity", Title: "new keys"}, {Value: "accept an older state", Title: "older copy accepted"}, {Value: "repair", Title: "repaired"}, {Value: "abandon", Title: "begun anew"},
	}
}

// did is the action in words.
func (l AccessLine) did() string {
	for _, a := range AccessActions() {
		if a.Value == l.Action {
			return a.Title
		}
	}
	return l.Action
}
