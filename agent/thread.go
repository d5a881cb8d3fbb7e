package agent

import "time"

// Person is somebody Ash talks with: the owner, later also senders on channels.
type Person struct {
	ID          ID
	DisplayName string
	Owner       bool
	Channels    []ChannelAddress
	Notes       string
	Created     time.Time
}

// ChannelAddress is how a person is known on a channel.
type ChannelAddress struct {
	Channel    string // "web", "cli", later "mail", "telegram", …
	ExternalID string
}

// Origin says where a thread began.
type Origin struct {
	Channel    string // "web", "cli", "import", …
	ExternalID string // the channel's own id of the conversation, if any
	Person     ID
}

// TitleSource says who named a thread; a person's title is never overwritten.
type TitleSource string

// Where a title may come from, weakest first.
const (
	TitleNone   TitleSource = ""       // not yet named
	TitleWords  TitleSource = "words"  // the first words of the first message
	TitleModel  TitleSource = "model"  // made by the model from the first exchange
	TitlePerson TitleSource = "person" // set by the person
)

// Thread is one conversation. It owns its place: root, working directory,
// grants and budget. Head is the message it currently ends in.
type Thread struct {
	ID          ID
	Title       string // at most 200 characters
	TitleSource TitleSource
	Head        ID // "" while nothing has been said
	Origin      Origin
	Model       string // "provider/name" chosen for this thread; "" follows the settings
	Root        string // what file tools may see; "" is workspace/files
	WorkDir     string // relative to Root
	Grants      []Grant
	Budget      Budget
	ParentCall  ID       // the tool call that started this thread, for a sub-agent
	Tools       []string // the only tools it may use; empty: all
	Pinned      bool
	Archived    time.Time // zero: not archived
	Deleted     time.Time // zero: not deleted; else waiting to be purged
	Created     time.Time
	Updated     time.Time // last message or change the list shows
}

// Grant is a standing permission the person gave inside one thread.
type Grant struct {
	ID      ID
	Rule    string   // what is allowed, in the policy's notation
	Sources []string // the untrusted sources it was given for
	Created time.Time
}

// Budget bounds a thread. Zero means the setting decides.
type Budget struct {
	Cost   MicroDollars
	Tokens int
	Rounds int           // model calls of one turn
	Wall   time.Duration // of one turn
}

// MicroDollars is money: millionths of a US dollar.
type MicroDollars int64

// ThreadPatch names what to change on a thread; nil fields stay.
type ThreadPatch struct {
	Title       *string
	TitleSource *TitleSource
	Model       *string
	Pinned      *bool
	Archived    *bool
	Deleted     *bool
	Root        *string
	WorkDir     *string
}

// ThreadFilter selects threads for a list, newest change first, pinned ahead.
type ThreadFilter struct {
	Archived bool   // archived ones instead of current ones
	After    string // cursor from the previous page; "" for the first
	Limit    int    // 1–200
}

// ThreadSummary is a thread as the list shows it.
type ThreadSummary struct {
	Thread
	Snippet string // the beginning of the last message, one line, at most 120 characters
	Running bool   // a turn is running
	Waiting int    // approvals waiting for the person
}

// SearchHit is one result of a search over titles and messages.
type SearchHit struct {
	Thread  Thread
	Message ID // "" when the title matched
	Role    Role
	By      string // the provider of the model that wrote it, "" for what people wrote
	Snippet []SnippetPart
	Created time.Time
}

// SnippetPart is a run of a search snippet; Match marks what was searched for.
type SnippetPart struct {
	Text  string
	Match bool
}
