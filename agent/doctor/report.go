package doctor

import (
	"slices"
	"time"
)

// Severity says how bad a finding is.
type Severity string

// The severities, from well to bad.
const (
	OK      Severity = "ok"
	Note    Severity = "note"    // worth knowing; nothing is wrong
	Warning Severity = "warning" // Ash works, but not all of it, or not for long
	Problem Severity = "problem" // something does not work
)

var ranks = [...]Severity{OK, Note, Warning, Problem}

// Rank orders severities: 0 is OK, 3 is Problem. A word that is none counts as Problem.
func (s Severity) Rank() int {
	if i := slices.Index(ranks[:], s); i >= 0 {
		return i
	}
	return len(ranks) - 1
}

// The pages where something can be set right.
const (
	PageDoors  = "/settings/doors"
	PageModels = "/settings/models"
	PageSafety = "/settings/safety"
	PageTools  = "/settings/tools"
	PageVault  = "/vault"
)

// MaxDetails is how many details a finding keeps; the last then says how many more there are.
const MaxDetails = 20

// Finding is what one check found.
type Finding struct {
	Check    string        `json:"check"` // name of the check
	Severity Severity      `json:"severity"`
	Text     string        `json:"text"`              // what was found, in one sentence or two
	Details  []string      `json:"details,omitempty"` // what it is about: paths, keys, addresses
	Fix      string        `json:"fix,omitempty"`     // what to do, in words
	Command  string        `json:"command,omitempty"` // the same for a terminal
	Link     string        `json:"link,omitempty"`    // the same in the page: one of Page…
	Took     time.Duration `json:"took_ns"`
}

// Report is what all checks found, in their order.
type Report struct {
	At       time.Time     `json:"at"` // when it was begun, UTC
	Took     time.Duration `json:"took_ns"`
	Version  string        `json:"version"` // of this Ash
	Home     string        `json:"home"`
	Running  bool          `json:"running"` // made by the running server, not beside it
	Full     bool          `json:"full"`    // the long checks, too
	Findings []Finding     `json:"findings"`
}

// Worst returns the worst severity; OK for a report without findings.
func (r Report) Worst() Severity {
	worst := OK
	for _, f := range r.Findings {
		if f.Severity.Rank() > worst.Rank() {
			worst = f.Severity
		}
	}
	return worst
}

// Count returns how many findings are of that severity.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}
