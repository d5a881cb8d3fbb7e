package pages

import (
	"net/url"
	"strings"
	"time"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
)

// Tools is what Ash may do, and what it has done.
type Tools struct {
	layouts.Page
	Thread  *ToolThread // the switches are of this conversation; nil: of the whole house
	Tools   []Tool
	Rules   []Rule   // narrow permissions and refusals, of the house and of conversations
	Sandbox *Sandbox // nil: this Ash has none
	Folders []Folder
	Files   bool // folders can be changed here
	Try     bool // tools can be run by hand
	Log     []LogLine
}

// ToolThread is the conversation whose own switches the page shows.
type ToolThread struct {
	ID    agent.ID
	Title string
}

// Tool is one tool.
type Tool struct {
	Name      string
	Title     string
	About     string
	Kind      agent.EffectKind
	Problem   string // why it cannot be used now, and how to get it; "" when it can
	Arguments []Argument
	Switch    Switch
	Rules     []Rule
	Calls     int    // ever
	Success   string // "96 %"; "" while too little ran
	Median    string // duration
	Slow      string // the slowest twentieth begins here
	Chart     components.Chart
	Last      []components.Run
}

// Argument is one argument of a tool, as its schema has it.
type Argument struct {
	Name     string
	Type     string // for people: "text", "whole number", "yes or no", "list of texts"
	About    string
	Required bool
	Input    ArgumentInput
	Choices  []string
}

// ArgumentInput picks the control for an argument.
type ArgumentInput string

// The controls. Their values travel as "<input>.<name>".
const (
	InputText   ArgumentInput = "text"
	InputLong   ArgumentInput = "long" // a text of several lines
	InputNumber ArgumentInput = "number"
	InputYesNo  ArgumentInput = "yesno"
	InputChoice ArgumentInput = "choice"
	InputLines  ArgumentInput = "lines" // a list of texts, one a line
	InputJSON   ArgumentInput = "json"
)

// Field is the name of the argument's form field.
func (a Argument) Field() string { return string(a.Input) + "." + a.Name }

// kind says what to give for the argument.
func (a Argument) kind() string {
	if a.Required {
		return a.Type
	}
	return a.Type + ", optional"
}

// note says how its field is filled in, "" when that goes without saying.
func (a Argument) note() string {
	var notes []string
	if !a.Required {
		notes = append(notes, "optional")
	}
	switch a.Input {
	case InputLines:
		notes = append(notes, "one a line")
	case InputJSON:
		notes = append(notes, "JSON")
	}
	return strings.Join(notes, ", ")
}

// Switch is the policy of a whole tool.
type Switch struct {
	Tool    string
	Thread  agent.ID      // of this conversation only; "" of the house
	Verdict agent.Verdict // what the person chose; "" nothing
	Usual   agent.Verdict // what holds otherwise; "" when that depends on the call
	Means   string        // what the verdict in force means for this tool
	CSRF    string
}

// inForce is the verdict that holds.
func (s Switch) inForce() agent.Verdict {
	if s.Verdict != "" {
		return s.Verdict
	}
	return s.Usual
}

func (s Switch) id() string { return "sw-" + s.Tool }

func (s Switch) path() string { return "/tools/" + url.PathEscape(s.Tool) + "/policy" }

// Rule is a standing word of the person.
type Rule struct {
	ID      agent.ID
	Verdict agent.Verdict
	What    string // "commands beginning with `git log`"
	Tool    string // title of the tool; "" for several
	Thread  agent.ID
	Heading string   // of the conversation it holds in; "" everywhere
	Sources []string // given in view of these
	Uses    int
	Used    time.Time // zero: never
	Created time.Time
	CSRF    string
}

func (r Rule) id() string { return "rule-" + components.Short(r.ID) }

func (r Rule) verdict() string {
	switch r.Verdict {
	case agent.Allow:
		return "Allowed"
	case agent.Deny:
		return "Never"
	}
	return "Always asks"
}

// Sandbox is where commands run.
type Sandbox struct {
	Ready      bool
	Problem    string // why no command runs, and how to get there
	Engine     string // "Docker, rootless 27.1"
	Facts      []Fact
	Limits     []Limit
	Containers []Container
	Notes      []string
	Build      *Build // the image; nil where none is needed
	CSRF       string
}

// Fact is a line of a list.
type Fact struct{ Name, Value string }

// Limit is one bound of every command.
type Limit struct {
	Name, Value string
	By          string // what holds it; "" when nothing does
}

// Container is one that runs now.
type Container struct {
	ID      string
	Thread  agent.ID
	Heading string
	Use     string
	State   string
	Since   string
}

// Build is the image commands run in, and its making.
type Build struct {
	Tag     string
	Built   string // "built 3 May 2027, 412 MB"; "" when there is none
	Running bool
	Lines   []string // the last lines of the build
	Problem string   // why the last build failed
	CSRF    string
}

// Folder is a place that file tools may see.
type Folder struct {
	Path     string
	Home     bool // Ash's own files folder: always there
	Writable bool
	Own      bool // what stands in it is the person's own word
	Missing  bool
	CSRF     string
}

// LogLine is one line of the security log.
type LogLine struct {
	When   time.Time
	Kind   string // for people
	Tool   string
	Rule   string
	Source string
	Detail string
	Call   agent.ID
	Bad    bool
}

// Runs is the history of runs.
type Runs struct {
	layouts.Page
	Runs     []components.Run
	Filter   RunFilter
	Tools    []Choice
	Threads  []Choice // the one filtered for, if any
	Next     string   // URL of the next page; "" on the last
	Export   string   // URL of the same as CSV
	Searched bool     // a text was looked for: further pages look further back
}

// RunFilter is what the history is narrowed to, as the form has it.
type RunFilter struct{ Tool, State, Text, Thread, From, Until string }

// RunStates are what the form offers; each may stand for several states of a call.
func RunStates() []Choice {
	return []Choice{
		{"", "However it went"}, {"ok", "Done"}, {"failed", "Failed"}, {"denied", "Not allowed"},
		{"waiting", "Waiting"}, {"running", "Running"}, {"not", "Not run"}, {"stopped", "Stopped"}, {"unknown", "Outcome unknown"},
	}
}

// KindWords says in words what a tool can do to the world, and how grave that is.
func KindWords(k agent.EffectKind) string {
	switch k {
	case agent.EffectAsk:
		return "asks you"
	case agent.EffectRead:
		return "only looks at files"
	case agent.EffectDelegate:
		return "starts a helper"
	case agent.EffectFetch:
		return "opens pages of the web"
	case agent.EffectWrite:
		return "changes files"
	case agent.EffectRemember:
		return "writes what Ash remembers"
	case agent.EffectSend:
		return "sends something out"
	case agent.EffectExecute:
		return "runs commands"
	}
	return "unknown"
}

// grave reports whether a kind of effect can do harm that is not undone.
func grave(k agent.EffectKind) bool {
	switch k {
	case agent.EffectSend, agent.EffectExecute, agent.EffectRemember:
		return true
	}
	return false
}

// narrows reports whether anything is left out.
func (f RunFilter) narrows() bool { return f != RunFilter{} }
