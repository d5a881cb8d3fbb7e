package agent

// Purpose says what a model call is for, and so which of the person's spending caps it falls under.
type Purpose string

// The purposes. The zero value counts as background work: a caller that does not say is kept shorter, not longer.
const (
	PurposeChat    Purpose = "chat"    // an answer, those of helpers included
	PurposeCheck   Purpose = "check"   // a test of a provider that the person asked for
	PurposeMemory  Purpose = "memory"  // learning, tidying, embeddings
	PurposeTitle   Purpose = "title"   // naming a conversation
	PurposeSummary Purpose = "summary" // what no longer fits into the window
)

// Background reports whether nobody waits for the call: it runs beside what the person asked for.
func (p Purpose) Background() bool { return p != PurposeChat && p != PurposeCheck }

// Charge says what a model call is counted as. It is never sent.
type Charge struct {
	Thread  ID // the conversation, or the helper's; "" for none
	Purpose Purpose
}
