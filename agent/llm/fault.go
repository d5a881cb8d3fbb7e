package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"ash/agent"
)

// FaultKind says how a model call failed.
type FaultKind string

// The kinds of fault.
const (
	FaultContext     FaultKind = "context_length" // the conversation is longer than the model's window
	FaultNoKey       FaultKind = "no_key"         // no key is set, or its file cannot be used
	FaultLocked      FaultKind = "locked"         // the key lies in the vault, which is locked: nothing was sent
	FaultKept        FaultKind = "kept"           // the vault does not let the key go there: nothing was sent
	FaultAuth        FaultKind = "auth"           // the key is refused
	FaultDenied      FaultKind = "denied"         // the key is good but may not do this
	FaultQuota       FaultKind = "quota"          // credit or a spending limit is used up
	FaultRateLimit   FaultKind = "rate_limit"     // too many requests or tokens a minute
	FaultOverload    FaultKind = "overload"       // the provider has no room right now
	FaultServer      FaultKind = "server"         // the provider broke (5xx)
	FaultModel       FaultKind = "model"          // no such model
	FaultAddress     FaultKind = "address"        // no such path: the base URL is probably wrong
	FaultRequest     FaultKind = "request"        // the provider refuses what was sent
	FaultFilter      FaultKind = "filter"         // a content filter refuses the prompt
	FaultTimeout     FaultKind = "timeout"        // no first token in time
	FaultStall       FaultKind = "stall"          // the stream stood still too long
	FaultUnreachable FaultKind = "unreachable"    // no connection: refused, no such host, no route, TLS
	FaultNotAPI      FaultKind = "not_api"        // a web page where the API should be
	FaultMalformed   FaultKind = "malformed"      // an answer that cannot be understood, or a giant one
	FaultCut         FaultKind = "cut"            // the connection ended in the middle
	FaultCancelled   FaultKind = "cancelled"      // the caller gave up
	FaultCapped      FaultKind = "capped"         // a spending cap of the person's own is reached; Advice says which
)

// Fault is a failed model call. Neither its text nor its fields bear a key-shaped string.
type Fault struct {
	Kind       FaultKind
	Model      agent.ModelRef // filled in by the chain
	Status     int            // HTTP status, 0 when there was none
	RetryAfter time.Duration  // what the server asked for, 0 when it did not
	Detail     string         // the server's own words: one line, at most 300 bytes, redacted
	Advice     string         // what happened and what to do, where the kind's own sentence would mislead; "" is that sentence
	Err        error          // the cause, for logs

	lent bool // the call bore a key that somebody brought for it alone: another key of Ash's would not help
}

// NewFault makes a fault; detail is bounded and redacted here.
func NewFault(kind FaultKind, detail string, err error) *Fault {
	return &Fault{Kind: kind, Detail: excerpt(detail), Err: err}
}

// FaultOf returns the first Fault in err's chain, nil when there is none.
func FaultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}

// Error implements error with the text meant for logs.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model call: %s", f.Kind)
	if f.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", f.Status)
	}
	if f.Detail != "" {
		fmt.Fprintf(&b, ": %s", f.Detail)
	} else if f.Err != nil {
		fmt.Fprintf(&b, ": %s", excerpt(f.Err.Error()))
	}
	return b.String()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Retryable reports whether the same request may succeed at the same model a little later. A timeout is not: who has
// waited that long should not wait as long again.
func (f *Fault) Retryable() bool {
	switch f.Kind {
	case FaultRateLimit, FaultOverload, FaultServer, FaultUnreachable, FaultMalformed, FaultCut:
		return true
	}
	return false
}

// Code returns the agent's code for the kind.
func (f *Fault) Code() agent.Code {
	switch f.Kind {
	case FaultContext, FaultQuota, FaultCapped:
		return agent.CodeExhausted
	case FaultLocked:
		return agent.CodeLocked
	case FaultNoKey, FaultKept, FaultAuth, FaultDenied:
		return agent.CodeDenied
	case FaultModel, FaultAddress:
		return agent.CodeNotFound
	case FaultRequest, FaultFilter:
		return agent.CodeInvalid
	}
	return agent.CodeUnavailable
}

// Need returns what would let the call go on, "" for nothing a page can ask for in place.
func (f *Fault) Need() agent.Need {
	switch {
	case f.Kind == FaultCapped:
		return agent.NeedMoney
	case f.lent:
		return ""
	}
	switch f.Kind {
	case FaultNoKey:
		return agent.NeedKey
	case FaultAuth:
		return agent.NeedNewKey
	case FaultLocked:
		return agent.NeedVault
	}
	return ""
}

// Public returns what the person reads: what happened and what to do next.
func (f *Fault) Public() string {
	text := f.Advice
	if text == "" {
		text = f.sentence(f.who())
	}
	if f.Detail == "" {
		return text
	}
	switch f.Kind {
	case FaultCancelled, FaultCapped, FaultNoKey, FaultLocked, FaultKept, FaultTimeout, FaultStall, FaultCut, FaultNotAPI:
		return text
	}
	return text + " It said: “" + f.Detail + "”"
}

// who names the provider, within a sentence and at its beginning: a vendor as it writes itself, another as the person named it.
func (f *Fault) who() (within, first string) {
	name := f.Model.Provider
	if name == "" {
		name = "the provider"
	}
	for _, v := range vendors() {
		if v.Kind == name {
			return v.Title, v.Title
		}
	}
	return name, strings.ToUpper(name[:1]) + name[1:]
}

func (f *Fault) sentence(who, capital string) string {
	model := f.Model.Name
	if model == "" {
		model = "this model"
	}
	switch f.Kind {
	case FaultContext:
		return fmt.Sprintf("The conversation is too long for %s. Start a new chat, shorten what you sent, or choose a model with a larger window.", model)
	case FaultNoKey:
		return fmt.Sprintf("There is no usable key for %s. Paste one in Settings → Models or set it in the environment.", who) + detailAfter(f.Detail)
	case FaultLocked:
		return fmt.Sprintf("The key of %s lies in the vault, which is locked. Unlock it, and the answer comes.", who)
	case FaultKept:
		return fmt.Sprintf("The vault does not let the key of %s go there. Check in the vault where it may go.", who)
	case FaultAuth:
		if f.lent {
			return fmt.Sprintf("%s does not accept the key that came with the request.", capital)
		}
		return fmt.Sprintf("%s does not accept the key. Check it in Settings → Models.", capital)
	case FaultDenied:
		return fmt.Sprintf("%s does not let this key use %s. Check the account's permissions or choose another model.", capital, model)
	case FaultQuota:
		return fmt.Sprintf("The account at %s has no credit left, or its spending limit is reached. Check billing there, or choose another model.", who)
	case FaultRateLimit:
		return fmt.Sprintf("%s is getting too many requests from this account%s.", capital, again(f.RetryAfter))
	case FaultOverload:
		return fmt.Sprintf("%s is overloaded right now%s, or choose another model.", capital, again(f.RetryAfter))
	case FaultServer:
		return fmt.Sprintf("%s had an internal error. Try again in a moment, or choose another model.", capital)
	case FaultModel:
		return fmt.Sprintf("%s has no model named %s. Choose another one in Settings → Models.", capital, model)
	case FaultAddress:
		return fmt.Sprintf("The address set for %s does not answer as a model server. Check the base URL in Settings → Models.", who)
	case FaultRequest:
		return fmt.Sprintf("%s refused the request. Another model may take it.", capital)
	case FaultFilter:
		return fmt.Sprintf("A content filter at %s refused this. Say it differently, or choose another model.", who)
	}
	return f.connectionSentence(who, capital)
}

func (f *Fault) connectionSentence(who, capital string) string {
	switch f.Kind {
	case FaultTimeout:
		return fmt.Sprintf("%s did not begin to answer in time. Try again, or choose another model.", capital)
	case FaultStall:
		return fmt.Sprintf("%s stopped in the middle of its answer and sent nothing more. Continue to go on from here.", capital)
	case FaultUnreachable:
		return fmt.Sprintf("%s cannot be reached. Check that it is running, its address in Settings → Models, and the network.", capital)
	case FaultNotAPI:
		return fmt.Sprintf("A web page came back from %s instead of an answer. Check the base URL in Settings → Models; a sign-in page of the network may also be in the way.", who)
	case FaultMalformed:
		return fmt.Sprintf("%s sent an answer Ash cannot read. Try again, or choose another model.", capital)
	case FaultCut:
		return fmt.Sprintf("The connection to %s broke off. Try again, or Continue to go on from here.", who)
	case FaultCancelled:
		return "Stopped."
	case FaultCapped:
		return "A spending cap is reached. Raise it in Settings → Spending."
	}
	return fmt.Sprintf("%s failed. Try again, or choose another model.", capital)
}

func detailAfter(detail string) string {
	if detail == "" {
		return ""
	}
	return " (" + detail + ")"
}

func again(after time.Duration) string {
	if after <= 0 {
		return ". Try again in a moment"
	}
	return fmt.Sprintf(". Try again in %s", after.Round(time.Second))
}

// Wrap wraps err as the one error type that leaves the package, around a Fault of model ref.
func Wrap(err error, ref agent.ModelRef) *agent.Error {
	f := FaultOf(err)
	if f == nil {
		f = TransportFault(err)
	}
	own := *f
	own.Model = ref
	return &agent.Error{Code: own.Code(), Public: own.Public(), Err: &own, Need: own.Need()}
}
