package pages

import "ash/views/components"

// Look is a look at the house: the last one, and the one under way.
type Look struct {
	Path    string // of the page: "/settings/health"
	Button  string // "Look again"
	Running bool
	Done    int
	Total   int    // 0: not known yet
	When    string // of the report shown; "" when there is none
	Problem string // why the last look failed
	Flaws   bool   // offer to look up known flaws on the network
	CSRF    string
}

// Health is Settings → Health: what the doctor found last.
type Health struct {
	SettingsFrame
	Look    Look
	Verdict string // in a sentence
	Worst   string // severity of the report: ok, note, warning, problem; "" without one
	See     []HealthFinding
	Well    []HealthFinding
}

// HealthFinding is what one check found.
type HealthFinding struct {
	Check    string
	Severity string // ok, note, warning, problem
	Text     string
	Details  []string
	Fix      string
	Command  string
	Link     string // of the page where that can be done; "" for none
	Page     string // its name
}

func (f HealthFinding) icon() components.Icon { return severityIcon(f.Severity) }

func severityIcon(severity string) components.Icon {
	switch severity {
	case "problem", "critical", "high":
		return components.IconCircleAlert
	case "warning", "medium":
		return components.IconTriangleAlert
	case "note", "low", "info":
		return components.IconInfo
	}
	return components.IconCircleCheck
}

// tone is the class of a severity's colour.
func tone(severity string) string {
	switch severity {
	case "problem", "critical", "high":
		return "bad"
	case "warning", "medium":
		return "warn"
	case "note", "low", "info":
		return "minor"
	}
	return "ok"
}

// severityWord names a severity for those who do not see its colour.
func severityWord(severity string) string {
	switch severity {
	case "problem":
		return "Does not work"
	case "warning":
		return "See to it"
	case "note":
		return "Good to know"
	}
	return "Well"
}
