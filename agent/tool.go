package agent

// EffectKind says what a tool call does to the world. Policy decides by it (threats.md 6).
type EffectKind string

// The kinds of effect, from harmless to grave.
const (
	EffectAsk      EffectKind = "ask"      // asks the person something
	EffectRead     EffectKind = "read"     // looks at files inside the thread's own folders
	EffectDelegate EffectKind = "delegate" // starts a helper, whose own calls are judged one by one
	EffectFetch    EffectKind = "fetch"    // gets a URL: a read when the person or an earlier result gave it verbatim, a send when the model composed it
	EffectWrite    EffectKind = "write"    // changes files inside the thread's own folders
	EffectRemember EffectKind = "remember" // writes memory, notes or identity
	EffectSend     EffectKind = "send"     // gives text to somebody outside: a query, a form, a mail
	EffectExecute  EffectKind = "execute"  // runs a command
)

// Effect is what one call would do, in the words and the bytes the person is
// shown before it happens. The tool plans it; policy adds what it knows.
type Effect struct {
	Kind    EffectKind
	Title   string   // what it does, for people: "Run a command"
	Target  string   // what it touches, one short line: a host, a path relative to the root
	Text    string   // the exact payload: the command, the URL, the query, the message
	Diff    string   // unified diff of what a write changes, "" for other kinds
	Hosts   []string // hosts a command may reach; "*" is any public one
	Choices []string // answers a question offers
	Keeps   []string // statements and names that an EffectRemember writes and nothing else does; nil when it does more. Not stored

	Sources []string // untrusted sources that stood in the prompt: an approval names them
	Private []string // passages of the payload that repeat private text, as they stand in it
	Opaque  bool     // the payload cannot be read (encoded, high-entropy, too long to check)
	Offers  []Offer  // standing permissions the person can give together with an approval
	Told    bool     // policy: every word of Keeps stands in the person's own message of this turn
}

// Offer is a standing permission a card offers: "Always for this".
type Offer struct {
	Rule   string // in policy's notation; identifies the offer in a Decision
	Label  string // for the button: "Always allow git status", "Read the web in this conversation"
	Thread bool   // holds in this conversation only
}

// Finding is something suspicious in a piece of content: an instruction to the assistant inside data.
type Finding struct {
	Rule    string
	Why     string // one sentence for the person
	Excerpt string // at most 200 bytes of what was found, secrets redacted
}

// Situation is what stood around the model when it asked for a call; policy judges by it.
type Situation struct {
	Thread    Thread
	Labels    Labels    // of all that was in the prompt
	Path      []Message // oldest first, ends with the reply that asks; a helper's is preceded by those of the threads above it
	Summaries []Summary // of the thread
	Grants    []Grant   // of the thread and, for a helper, of the threads above it
}

// Judgement is a verdict on a call with its reason.
type Judgement struct {
	Verdict  Verdict
	Why      string // one sentence for the person; with Invalid, for the model
	Binding  string // what an approval is bound to: hash of the arguments and of the state they apply to
	Question bool   // the call asks the person something
	Effect   *Effect
}

// Verdict is what policy says about a call.
type Verdict string

// The verdicts.
const (
	Allow   Verdict = "allow"
	Ask     Verdict = "ask"
	Deny    Verdict = "deny"
	Invalid Verdict = "invalid" // the arguments are wrong: the call failed, and the model is told how
)

// ToolOutcome is what a tool gave back.
type ToolOutcome struct {
	Content  []Part // Text, Image, and File for what is too long to send
	Failed   bool
	Exit     *int
	Labels   Labels
	Findings []Finding
}

// Delegation asks for a helper: a thread of its own below a tool call.
type Delegation struct {
	Parent ToolCall
	Title  string
	Task   string
	Labels Labels   // of what the model had before it when it wrote Task
	Tools  []string // names of the tools it may use; empty: those of the parent but sub_agent
	Model  string   // "" is the parent's
	Budget Budget
}

// EditedArguments reports whether the decision brought arguments of its own.
func (d Decision) EditedArguments() bool {
	return len(d.Arguments) > 0 && string(d.Arguments) != "null"
}

// Offer returns the offer of e with that rule.
func (e *Effect) Offer(rule string) (Offer, bool) {
	if e == nil {
		return Offer{}, false
	}
	for _, o := range e.Offers {
		if o.Rule == rule {
			return o, true
		}
	}
	return Offer{}, false
}
