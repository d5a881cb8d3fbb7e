package guard

import (
	"log/slog"
	"sync"
)

// Channel says where a text came from; what is normal differs.
type Channel string

// The channels.
const (
	Tool    Channel = "tool"    // a tool's result, a page, a file, an attachment, a mail
	Message Channel = "message" // what was said to the assistant
	Memory  Channel = "memory"  // what is about to be kept in memory, notes or identity
)

// Options are what a Guard needs. The zero value works.
type Options struct {
	Log     *slog.Logger // nil is silent
	Secrets Secrets      // nil means that there are none
}

// Secrets tells the exact values that must never be written. Values is called for every Redact and must be cheap; a
// value that is new in it is seen by the next call. It must be safe for concurrent use; the result is not kept nor changed.
type Secrets interface {
	Values() []string
}

// Guard scans and redacts. It is safe for concurrent use.
type Guard struct {
	log     *slog.Logger
	secrets Secrets
	words   func() *lexicon // made on first Scan
	leaks   leaks
	exact   struct {
		sync.Mutex
		now *exactValues
	}
	cleared cleared
}

// New returns a Guard. It does no work: tables and rules are made on first use.
func New(o Options) *Guard {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Guard{log: log, secrets: o.Secrets, words: sync.OnceValue(newLexicon)}
}

// Finding is one reason for suspicion.
type Finding struct {
	Rule   string
	Family string
	// Start and End are the byte span in the original text; for decoded text, that of the blob.
	Start, End int
	Score      float64 // 0 to 1
	Why        string  // one sentence for the person
}

// Report is what Scan found. Score is between 0 and 1; findings are in order of their place, also when nothing is flagged.
type Report struct {
	Flagged  bool
	Score    float64
	Findings []Finding
}

// Secret is a place in a text that Redact would replace. Start and End are byte offsets.
type Secret struct {
	Rule       string
	Start, End int
}
