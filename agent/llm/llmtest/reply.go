package llmtest

import "time"

// Reply is one scripted answer to a chat request.
type Reply struct {
	Thinking  []string // reasoning, one piece per delta
	Signature string   // of the thinking, in formats that have one
	Text      []string // the answer, one piece per delta
	Calls     []Call
	Usage     *Usage // nil: counted from the pieces
	Stop      string // the format's own stop reason; "" is the usual one
	Load      Load   // generated text after Text
	Fault     Fault
	Repeat    bool // as the last of the script: given again and again
}

// Text is a reply that streams pieces.
func Text(pieces ...string) Reply { return Reply{Text: pieces} }

// Call is a tool call a Reply makes.
type Call struct {
	ID        string
	Name      string
	Arguments []string // pieces of the JSON text, one per delta
	Extra     string   // JSON of vendor fields sent with the call, such as a thought signature
}

// Usage is what the server says a reply took.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int
}

// Load is generated text: Tokens pieces of Token (default "word ") at Rate a second; Rate 0 is full speed.
type Load struct {
	Tokens int
	Rate   float64
	Token  string
}

// Fault makes a reply go wrong. The zero value is none. Status, Raw and Delay act before the stream, Stream in it.
type Fault struct {
	Status     int           // answer with this HTTP status and the format's own error body
	Kind       ErrorKind     // which error the body names; "" follows the status
	RetryAfter string        // the header, seconds or date
	Raw        string        // send this body instead, with Status (0 is 200) and Media
	Media      string        // content type of Raw
	Delay      time.Duration // before the response headers
	Stream     StreamFault
	After      int // intact events before the Stream fault
	Size       int // of a Giant event, in bytes; 0 is 16 MiB
}

// ErrorKind names the errors whose bodies a Format knows.
type ErrorKind string

// The kinds of error bodies.
const (
	ErrorAuth       ErrorKind = "auth"
	ErrorQuota      ErrorKind = "quota"
	ErrorRate       ErrorKind = "rate"
	ErrorOverloaded ErrorKind = "overloaded"
	ErrorServer     ErrorKind = "server"
	ErrorNotFound   ErrorKind = "not_found"
	ErrorContext    ErrorKind = "context"
	ErrorRequest    ErrorKind = "request"
)

// StreamFault is what goes wrong within a stream.
type StreamFault string

// The faults of a stream.
const (
	StreamStall     StreamFault = "stall"     // nothing more comes; the connection stays open
	StreamCut       StreamFault = "cut"       // the connection breaks in the middle of an event
	StreamCutRune   StreamFault = "cut_rune"  // … in the middle of a UTF-8 character
	StreamEnd       StreamFault = "end"       // the body ends cleanly, but too early
	StreamMalformed StreamFault = "malformed" // an event that is not JSON
	StreamGiant     StreamFault = "giant"     // one event of Size bytes
	StreamError     StreamFault = "error"     // the format's own error (Fault.Kind) inside the stream
)

// Unauthorized is a reply of 401.
func Unauthorized() Reply { return Reply{Fault: Fault{Status: 401, Kind: ErrorAuth}} }

// RateLimited is a reply of 429 with Retry-After ("" for none).
func RateLimited(retryAfter string) Reply {
	return Reply{Fault: Fault{Status: 429, Kind: ErrorRate, RetryAfter: retryAfter}}
}

// QuotaSpent is a reply that says the account has no credit.
func QuotaSpent() Reply { return Reply{Fault: Fault{Status: 429, Kind: ErrorQuota}} }

// ServerError is a reply of 500.
func ServerError() Reply { return Reply{Fault: Fault{Status: 500, Kind: ErrorServer}} }

// Overloaded is a reply of 529.
func Overloaded() Reply { return Reply{Fault: Fault{Status: 529, Kind: ErrorOverloaded}} }

// NoSuchModel is a reply of 404.
func NoSuchModel() Reply { return Reply{Fault: Fault{Status: 404, Kind: ErrorNotFound}} }

// ContextTooLong is the reply to a prompt that does not fit.
func ContextTooLong() Reply { return Reply{Fault: Fault{Status: 400, Kind: ErrorContext}} }

// HTML is a web page where the API should answer.
func HTML() Reply {
	return Reply{Fault: Fault{Media: "text/html; charset=utf-8", Raw: "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in to the network</body></html>"}}
}

// SlowHeaders waits d before it answers with pieces.
func SlowHeaders(d time.Duration, pieces ...string) Reply {
	return Reply{Text: pieces, Fault: Fault{Delay: d}}
}

// Broken streams pieces and lets fault happen after the given number of intact events.
func Broken(fault StreamFault, after int, pieces ...string) Reply {
	return Reply{Text: pieces, Fault: Fault{Stream: fault, After: after}}
}
