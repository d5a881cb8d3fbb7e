package pages

import (
	"time"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
)

// MemoryTab is a kind of memory, as a tab.
type MemoryTab string

// The tabs. Notes have pages of their own.
const (
	TabAll      MemoryTab = ""
	TabCore     MemoryTab = "core"
	TabFacts    MemoryTab = "facts"
	TabEpisodes MemoryTab = "episodes"
	TabPatterns MemoryTab = "patterns"
	TabNotes    MemoryTab = "notes"
	TabWaiting  MemoryTab = "waiting"
)

// Memory is the Memory page: what Ash remembers, by kind, by month, or as an answer to a search.
type Memory struct {
	layouts.Page
	Tab       MemoryTab
	Counts    map[MemoryTab]int
	Line      string // "1,284 facts · 212 conversations"
	Query     string
	Filter    MemoryFilter
	Names     []string // what facts are about, to choose from
	Months    []MemoryMonth
	Found     []components.Memory // of a search
	Proposals []components.Proposal
	Waiting   int // proposals that are not shown
	Forgotten []Forgotten
	Next      string // URL of the next page; "" on the last
	Later     bool   // not the first page
	Problem   string // why a filter found nothing
}

// MemoryMonth is what was said in one month.
type MemoryMonth struct {
	Title string
	Items []components.Memory
}

// MemoryFilter is what the list is narrowed to, as the form has it.
type MemoryFilter struct{ Entity, Source, Status, From, Until string }

func (f MemoryFilter) narrows() bool { return f != MemoryFilter{} }

// Forgotten is something that was forgotten and can still be taken back.
type Forgotten struct {
	ID   agent.ID
	What string // "1 fact and 2 passages"
	Due  string // "15:40"
	CSRF string
}

func (f Forgotten) sentence() string {
	return "Forgotten: " + f.What + ". Until " + f.Due + " you can take it back; after that it is gone for good."
}

func (f Forgotten) path(do string) string { return "/memory/forgettings/" + string(f.ID) + "/" + do }

// MemorySources are what the form offers.
func MemorySources() []Choice {
	return []Choice{
		{"", "From anywhere"}, {string(agent.SourceMessage), "Conversations"}, {string(agent.SourcePerson), "Entered by you"},
		{string(agent.SourceNote), "Notes"}, {string(agent.SourceImport), "Imports"}, {string(agent.SourceMemories), "Put together from others"},
		{string(agent.SourceAPI), "Programs (API)"},
	}
}

// MemoryStatuses are what the form offers.
func MemoryStatuses() []Choice {
	return []Choice{{"", "Holds now"}, {"pinned", "Pinned"}, {"superseded", "Replaced"}, {"retired", "No longer true"}, {"all", "With history"}}
}

type memoryTab struct {
	tab  MemoryTab
	name string
}

func memoryTabs() []memoryTab {
	return []memoryTab{
		{TabAll, "All"}, {TabCore, "About me"}, {TabFacts, "Facts"}, {TabEpisodes, "Conversations"}, {TabPatterns, "Patterns"},
		{TabNotes, "Notes"}, {TabWaiting, "Waiting"},
	}
}

func (t MemoryTab) url() string {
	switch t {
	case TabAll:
		return "/memory"
	case TabNotes:
		return "/memory/notes"
	}
	return "/memory?tab=" + string(t)
}

// bare reports whether there is nothing, and nothing that could hide something.
func (p Memory) bare() bool {
	return p.empty() && !p.Later && p.Query == "" && p.Problem == "" && !p.Filter.narrows()
}

func (p Memory) empty() bool { return len(p.Months)+len(p.Found)+len(p.Proposals) == 0 }

// MemoryFact is the page of one fact.
type MemoryFact struct {
	layouts.Page
	ID      agent.ID
	Text    string
	Seen    string // the state the forms were made from
	Current bool
	Retired bool // history without a successor: it can be brought back
	Past    string
	Word    string
	Pinned  bool
	About   []components.About
	Entries []Fact // when it was said, how sure, what it holds for
	Source  MemorySource
	Sources []string // strangers
	Private bool
	Chain   []ChainLink // with itself, the oldest first; one when it has no history
	Kind    agent.FactKind
	Expires string // as a date field has it
	Until   string // that it expires, or has; "" when it does not
	Used    []Reply
	Mine    string // what could not be saved; "" otherwise
	Problem string // why, when not because the fact had changed
}

func (p MemoryFact) path(do string) string { return components.FactPath(p.ID) + "/" + do }

// Reply is one that was given the fact.
type Reply struct{ Title, URL, When string }

// MemorySource is where a fact came from.
type MemorySource struct {
	Words string // "You said it in “Cabin weekend”"
	Quote string
	URL   string // to the message or the note; "" when it is gone
	Go    string // label of the link
	Run   agent.ID
}

// ChainLink is one state of a fact's history.
type ChainLink struct {
	ID   agent.ID
	Text string
	When string // "said 3 May 2026"
	Past string
	Here bool
}

// MemoryNew is the form for a new fact.
type MemoryNew struct {
	layouts.Page
	Text    string
	Kind    agent.FactKind
	About   string
	Problem string
}

// FactKinds are what the form offers.
func FactKinds() []Choice {
	return []Choice{{string(agent.FactPlain), "A fact: recalled when it helps"}, {string(agent.FactCore), "About me: always in mind"}}
}

// MemoryForget shows what forgetting takes with it, before it does.
type MemoryForget struct {
	layouts.Page
	What   string // the fact, the message or the title of the conversation
	Name   string // of the field that says which: fact, message, thread
	Value  agent.ID
	Back   string
	Groups []TraceGroup
	More   bool // there are further traces than were looked through
	Window string
}

// TraceGroup is traces of one kind.
type TraceGroup struct {
	Title, Note string
	Lines       []TraceLine
}

// TraceLine is one place that holds what is to be forgotten.
type TraceLine struct {
	Key   string
	Text  string
	Where string
	URL   string
	Tick  bool   // proposed to go
	Fixed bool   // goes in any case
	Stays string // why it cannot be removed here; "" when it can
}

// MemoryEntities lists who and what memory is about.
type MemoryEntities struct {
	layouts.Page
	Name  string
	Kind  string
	Items []EntityRow
	Next  string
}

// EntityRow is one of them.
type EntityRow struct {
	components.About
	Kind    string
	Aliases string
	Facts   int
}

// EntityKinds are what the form offers.
func EntityKinds() []Choice {
	return []Choice{
		{"", "Everybody and everything"}, {string(agent.EntityPerson), "People"}, {string(agent.EntityPlace), "Places"},
		{string(agent.EntityProject), "Projects"}, {string(agent.EntityThing), "Things"},
	}
}

// oneKind is what somebody or something can be.
func oneKind() []Choice {
	return []Choice{
		{string(agent.EntityPerson), "A person"}, {string(agent.EntityPlace), "A place"},
		{string(agent.EntityProject), "A project"}, {string(agent.EntityThing), "A thing, or anything else"},
	}
}

// EntityForm changes what somebody or something is called.
type EntityForm struct {
	components.About // as it is
	Kind             agent.EntityKind
	Name             string
	Aliases          string // one a line
	Seen             string // the state the form was made from
	With             string // whom it is to be merged with
	Problem          string // why it was not saved; "" when nothing is wrong
	MergeProblem     string
	CSRF             string
}

// MemoryName is the form as a page of its own.
type MemoryName struct {
	layouts.Page
	EntityForm
}

// MemoryMerge asks whether two are one.
type MemoryMerge struct {
	layouts.Page
	One, Other EntityRow
}

// MemoryEntity is all that is known of somebody or something.
type MemoryEntity struct {
	layouts.Page
	EntityRow
	Graph  components.Graph
	Months []MemoryMonth
	Past   bool // history is shown too
	Next   string
	Later  bool
}

func (p MemoryEntity) more() string {
	if p.Past {
		return components.EntityPath(p.ID)
	}
	return components.EntityPath(p.ID) + "?status=all"
}

// MemoryRuns lists what learning and consolidation did.
type MemoryRuns struct {
	layouts.Page
	Kind  string
	Items []MemoryRun
	Next  string
}

// MemoryRun is one pass of learning or consolidation.
type MemoryRun struct {
	ID       agent.ID
	Title    string // "Learned from “Lisbon in March”"
	URL      string // of the conversation
	Proposed string // "2 proposals wait"; "" for none
	When     time.Time
	Sum      string // "3 new, 1 replaced"
	Model    string
	Cost     string
	Problem  string
	Undone   string // when; "" while it stands
	Undoable bool
	Changes  []RunChange
	CSRF     string
}

func (r MemoryRun) path() string { return "/memory/runs/" + string(r.ID) }

// RunKinds are what the list can be narrowed to.
func RunKinds() []Choice {
	return []Choice{{"", "All"}, {string(agent.RunLearn), "Learning"}, {string(agent.RunConsolidate), "Tidying up"}}
}

// RunChange is one fact before and after a run.
type RunChange struct {
	Fact  agent.ID
	Word  string // "new", "replaced", "retired", "changed"
	Lines []components.DiffLine
	There bool // the fact is still there
}

// MemoryRunPage is one run with its diff.
type MemoryRunPage struct {
	layouts.Page
	MemoryRun
}

// MemoryGrowth is how much is remembered, and how that came.
type MemoryGrowth struct {
	layouts.Page
	Counts []Fact
	Sizes  []Fact // empty: not known
	Taken  string // when the sizes were taken
	Chart  components.Growth
	Room   components.Growth // of the sizes over time; without steps while there is but one day
	Span   string
}

// GrowthSpans are how far back the chart can look.
func GrowthSpans() []Choice {
	return []Choice{{"", "A year"}, {"3m", "Three months"}, {"3y", "Three years"}}
}
