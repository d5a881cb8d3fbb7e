package audit

import (
	"slices"
	"time"

	"ash/agent"
)

// Severity says how bad a finding is.
type Severity string

// The severities, worst first.
const (
	Critical Severity = "critical" // somebody else can take over or read everything
	High     Severity = "high"     // a secret or a conversation is open, or somebody tries
	Medium   Severity = "medium"   // one more mistake, and it is high
	Low      Severity = "low"      // untidy
	Info     Severity = "info"     // for the person to know
)

// Severities returns them, worst first.
func Severities() []Severity { return []Severity{Critical, High, Medium, Low, Info} }

// Rank orders severities: 0 is Critical, 4 is Info. A word that is none counts as Critical.
func (s Severity) Rank() int { return max(0, slices.Index(Severities(), s)) }

// Act is what a fix does. Each is safe: it closes or removes, and can be looked at before.
type Act string

// The acts.
const (
	ActClose    Act = "close"     // takes the rights of others off a file; Target is its path
	ActRemove   Act = "remove"    // removes a temporary file; Target is its path
	ActDropCopy Act = "drop copy" // removes an old copy of the database; Target is its path
	ActRevoke   Act = "revoke"    // revokes a token; Target is its id
	ActUnrule   Act = "unrule"    // takes a standing permission back; Target is its id
	ActSignOut  Act = "sign out"  // ends a device's session; Target is its id
)

// Fix is what Ash can do about a finding by itself.
type Fix struct {
	Act    Act    `json:"act"`
	Target string `json:"target"`
	Words  string `json:"words"`          // what it will do: "Close ash.db to others"
	Ask    bool   `json:"ask,omitempty"`  // it takes something away for good: the person is asked about each
	Mode   uint32 `json:"mode,omitempty"` // of ActClose: the mode it will have
}

// Finding is one thing that was found.
type Finding struct {
	ID       string    `json:"id"` // the same thing has the same id in every report
	Check    string    `json:"check"`
	Severity Severity  `json:"severity"`
	Text     string    `json:"text"`            // what it is, in a sentence
	Place    string    `json:"place,omitempty"` // "notes/a.md:12", "message 0197…"
	More     []string  `json:"more,omitempty"`  // further places of the same
	Link     string    `json:"link,omitempty"`  // of a page that shows the place, a local path
	Rule     string    `json:"rule,omitempty"`  // of the scanner
	Remedy   string    `json:"remedy,omitempty"`
	Fix      *Fix      `json:"fix,omitempty"`
	Fixed    time.Time `json:"fixed,omitzero"` // when Ash did it
}

// Looked tells what became of one check.
type Looked struct {
	Check  string        `json:"check"`
	Found  int           `json:"found"`
	Failed string        `json:"failed,omitempty"` // why it could not look at everything
	Note   string        `json:"note,omitempty"`   // what it looked at, or did not
	Took   time.Duration `json:"took_ns"`
}

// Report is what all checks found.
type Report struct {
	ID       agent.ID      `json:"id"`
	At       time.Time     `json:"at"` // when it was begun, UTC
	Took     time.Duration `json:"took_ns"`
	Version  string        `json:"version"`
	Home     string        `json:"home"`
	Checks   []Looked      `json:"checks"`
	Findings []Finding     `json:"findings"` // worst first
}

// Count returns how many findings of a severity are not fixed.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s && f.Fixed.IsZero() {
			n++
		}
	}
	return n
}

// Worst returns the worst severity that is not fixed, Info for none.
func (r Report) Worst() Severity {
	for _, s := range Severities() {
		if r.Count(s) > 0 {
			return s
		}
	}
	return Info
}

// Failed returns how many checks could not look at everything.
func (r Report) Failed() int {
	n := 0
	for _, c := range r.Checks {
		if c.Failed != "" {
			n++
		}
	}
	return n
}
