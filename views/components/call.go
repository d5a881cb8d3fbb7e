package components

import (
	"strings"
	"time"

	"ash/agent"
)

// Call is a tool call as its card shows it, in every state alike after a reload.
type Call struct {
	ID        agent.ID
	Thread    agent.ID
	Message   agent.ID         // the reply that asked for it
	Name      string           // the tool's name, for example "shell"
	Kind      agent.EffectKind // what it does to the world; "" while nobody has said
	Title     string           // what it does, for people: "Run a command"; "" falls back to Name
	Target    string           // what it touches, one short line: a host, a path
	Payload   string           // what it does, exactly: a command as it would run, a URL, a query; "" leaves it to Diff or Arguments
	Diff      []DiffLine       // what a write changes
	Arguments string           // exact arguments as indented JSON; "" when Payload is all there is
	Hosts     []string         // hosts a command wants to reach; "*" is any public one
	Private   []string         // passages of the payload that repeat private text
	Opaque    bool             // the payload cannot be read
	State     agent.CallState
	Question  bool     // waits for an answer in words
	Locked    bool     // waits for the vault to be unlocked
	Unlock    *Unlock  // asks for its passphrase; nil: it is open by now
	Asked     string   // the question
	Choices   []string // answers it offers
	Why       string   // one sentence: why it asks, or why it was refused
	Sources   []string // the untrusted sources the approval would name
	Binding   string   // what an approval is bound to; sent back with the decision
	Offers    []Offer  // standing permissions the person can give together with an approval
	Fields    []Field  // the arguments as they can be edited before approving
	Problem   string   // why what was just decided did not count
	Decided   string   // who decided what, when: "You approved this at 14:03, with your own changes"
	Reason    string   // the person's reason for denying
	Answer    string   // the person's answer to a Question
	Output    string   // text so far, or the whole result
	Clipped   bool     // Output is not everything
	Files     []File   // what is too long for the card, and pictures
	From      []string // where untrusted content in the result came from
	Findings  []Finding
	Exit      *int
	Lane      *Lane // of a helper: its own calls
	Undo      bool  // the change can be taken back, or brought again once it was
	Undone    bool  // it was taken back
	Place     Place // where the card stands
	Started   time.Time
	Duration  time.Duration // of the run; 0 while it runs
	CSRF      string
}

// Place is where a card stands; the answer to a decision is sent for that place.
type Place string

// The places.
const (
	PlaceChat  Place = ""      // under the reply that asked
	PlaceLane  Place = "lane"  // inside the card of the call that began the helper
	PlaceInbox Place = "inbox" // among all that waits
	PlaceRun   Place = "run"   // on a page of its own
)

// Offer is a standing permission.
type Offer struct {
	Rule   string // sent back with the decision
	Label  string // "Always allow git status"
	Thread bool   // holds in this conversation only
}

// Field is one argument in the form that edits them.
type Field struct {
	Name  string // of the form's field: "text.command", "json.timeout", or "arguments" for all of them
	Label string // "command"; "" when it is the only one
	Value string
	JSON  bool // Value is JSON; else it is a text as it stands
	Tall  bool // has several lines
}

// Finding is something suspicious in a result.
type Finding struct{ Rule, Why, Excerpt string }

// Lane is what a helper does, inside the card of the call that began it.
type Lane struct {
	Call    agent.ID // the one that began it
	Thread  agent.ID // the helper's own; "" while there is none
	Title   string
	Task    string
	Calls   []Call
	Earlier int    // calls before the ones shown
	Said    string // what it said last, in a line
	Running bool
	Problem string // why its steps cannot be shown
}

// maxSummary is how long the payload beside the title of a folded card is, in bytes.
const maxSummary = 120

// inMemory is the target of what is kept or looked for in memory: what that is says more.
const inMemory = "memory"

func (c Call) title() string {
	if c.Title != "" {
		return c.Title
	}
	return c.Name
}

// where says in a line what it is about, also while the card is folded.
func (c Call) where() string {
	if c.Target != "" && (c.Target != inMemory || c.Payload == "" || c.waiting()) {
		return c.Target
	}
	if c.waiting() || c.Question {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(c.Payload), "\n")
	return agent.Clip(line, maxSummary)
}

func (c Call) waiting() bool { return c.State == agent.CallWaiting }

// open reports whether the card shows itself unfolded.
func (c Call) open() bool {
	switch c.State {
	case agent.CallStarted, agent.CallFailed, agent.CallUnknown:
		return true
	}
	return c.Question && c.Answer != "" || c.Undone || len(c.Findings) > 0 || c.Lane != nil && c.Lane.waits()
}

// ran reports whether there may be output.
func (c Call) ran() bool {
	switch c.State {
	case agent.CallProposed, agent.CallWaiting, agent.CallApproved:
		return false
	}
	return !c.Question
}

// waits reports whether something in the lane waits for the person.
func (l Lane) waits() bool {
	for _, c := range l.Calls {
		if c.waiting() || c.Lane != nil && c.Lane.waits() {
			return true
		}
	}
	return false
}

// verdict says in a word or two how far the call has come.
func (c Call) verdict() string {
	switch c.State {
	case agent.CallProposed:
		return "getting ready"
	case agent.CallWaiting:
		if c.Locked {
			return "waiting for the vault"
		}
		return "waiting for you"
	case agent.CallApproved:
		return "about to run"
	case agent.CallStarted:
		return "running"
	case agent.CallFinished:
		if c.Question {
			return "answered"
		}
		return "done"
	case agent.CallFailed:
		return "failed"
	case agent.CallStopped:
		return "stopped"
	case agent.CallDenied:
		return "not allowed"
	case agent.CallSuperseded:
		return "you wrote on instead"
	case agent.CallCancelled:
		return "not run"
	case agent.CallUnknown:
		return "outcome unknown"
	}
	return string(c.State)
}

// tone picks the colour of the verdict.
func (c Call) tone() string {
	switch c.State {
	case agent.CallFinished:
		return "ok"
	case agent.CallFailed, agent.CallUnknown:
		return "bad"
	}
	return ""
}

// explain says what a state that is not self-evident means for the person.
func (c Call) explain() string {
	switch c.State {
	case agent.CallSuperseded:
		return "You sent a message instead of deciding, so this was not run."
	case agent.CallCancelled:
		return "This was not run: the conversation moved on, or the answer that asked for it was cut off."
	case agent.CallUnknown:
		return "Ash ended while this ran. It may or may not have taken effect; look before asking for it again."
	case agent.CallStopped:
		if c.Started.IsZero() {
			return "You stopped the turn before this began. It was not run."
		}
		return "You stopped this while it ran. Part of it may have taken effect."
	}
	return ""
}

// reach says in words what a command may reach.
func (c Call) reach() string {
	for _, h := range c.Hosts {
		if h == "*" {
			return "any public address"
		}
	}
	return strings.Join(c.Hosts, ", ")
}

// payloadName names the payload for those who do not see it.
func (c Call) payloadName() string {
	switch c.Kind {
	case agent.EffectExecute:
		return "Command"
	case agent.EffectFetch:
		return "Address"
	case agent.EffectSend:
		return "What is sent"
	case agent.EffectDelegate:
		return "Task"
	}
	return "What it does, exactly"
}

// formID is the base of the ids in the card's forms.
func (c Call) formID(part string) string { return part + "-" + Short(c.ID) }

func (c Call) path(action string) string {
	return "/chat/" + string(c.Thread) + "/calls/" + string(c.ID) + "/" + action
}

func (f Field) tall() bool { return f.Tall || strings.Contains(f.Value, "\n") || len(f.Value) > 80 }

// Batch is the calls of one reply that wait together.
type Batch struct {
	Thread  agent.ID
	Message agent.ID
	Calls   []Call // the waiting ones that one decision can cover
	Place   Place
	CSRF    string
}

// BatchOf gathers what one decision about a reply's calls can cover.
func BatchOf(thread, message agent.ID, calls []Call, csrf string) Batch {
	b := Batch{Thread: thread, Message: message, CSRF: csrf}
	for _, c := range calls {
		if c.waiting() && !c.Question && !c.Locked {
			b.Calls = append(b.Calls, c)
		}
	}
	return b
}

func (b Batch) path() string {
	return "/chat/" + string(b.Thread) + "/messages/" + string(b.Message) + "/decide"
}

// BindingField is the name of the form field with the binding of a call in a Batch.
func BindingField(call agent.ID) string { return "binding." + string(call) }
