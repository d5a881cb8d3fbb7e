package pages

import (
	"ash/agent"
	"ash/views/components"
)

// Safety is Settings → Safety: what the audit found last, or in a report that is kept.
type Safety struct {
	SettingsFrame
	Look     Look
	Report   agent.ID // shown; "" for none
	Past     bool     // it is not the newest
	Verdict  string   // in a sentence
	Worst    string   // severity of the report; "ok" when nothing was found
	Groups   []SafetyGroup
	Unseen   []SafetyLook // checks that could not look at everything
	Seen     []SafetyLook
	Reports  []SafetyReport
	Problem  string // why a fix was not made
	ProblemI string // id of the finding it is about
}

// SafetyGroup is the findings of one severity.
type SafetyGroup struct {
	Severity string // critical, high, medium, low, info
	Title    string
	Findings []SafetyFinding
}

// SafetyFinding is one thing that was found.
type SafetyFinding struct {
	ID       string
	Check    string
	Severity string
	Text     string
	Place    string
	More     []string
	Link     string // of a page of Ash; "" for none
	Remedy   string
	Fix      string // what Ash can do about it, in words; "" for nothing
	Ask      bool   // it takes something away for good
	Fixed    bool
}

// SafetyLook is what became of one check.
type SafetyLook struct {
	Check string
	Words string
}

// SafetyReport is a report that is kept.
type SafetyReport struct {
	ID    agent.ID
	When  string
	Words string
	Shown bool
}

func (f SafetyFinding) icon() components.Icon {
	if f.Fixed {
		return components.IconCircleCheck
	}
	return severityIcon(f.Severity)
}

func (f SafetyFinding) tone() string {
	if f.Fixed {
		return "ok"
	}
	return tone(f.Severity)
}
