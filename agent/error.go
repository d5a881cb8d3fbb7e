package agent

import (
	"context"
	"errors"
	"fmt"
)

// Code says what kind of failure an Error is; web maps it to a status.
type Code string

// The codes. A new one needs a reason and a row in web's status table.
const (
	CodeInvalid     Code = "invalid"     // the input is wrong; the person can change it
	CodeNotFound    Code = "not_found"   // no such thing, or none this person may see
	CodeConflict    Code = "conflict"    // somebody else got there first
	CodeDenied      Code = "denied"      // not allowed
	CodeLocked      Code = "locked"      // needs the vault, which is locked
	CodeUnavailable Code = "unavailable" // something outside does not answer; try again later
	CodeExhausted   Code = "exhausted"   // a limit, quota, budget or the disk is used up
	CodeInternal    Code = "internal"    // a defect of Ash
)

// Error is the one error type that crosses package borders. Public is what the
// person reads: what happened and what to do next. Err goes to the log only.
type Error struct {
	Code   Code
	Public string
	Err    error
	Need   Need // what would let it go on, where a page can ask for it in place
}

// Need names what the person can give to let something go on that failed. A page offers it where the failure stands.
type Need string

// The needs.
const (
	NeedMoney  Need = "money"   // a spending cap is reached: it can be raised
	NeedKey    Need = "key"     // a provider has no key: one can be pasted
	NeedNewKey Need = "new_key" // a provider refuses its key: another can be pasted
	NeedVault  Need = "vault"   // the vault is locked: it can be unlocked
)

// Error implements error with the text meant for logs.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Public, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Public)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error with a public text.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Public: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error with a public text around a cause.
func Wrap(code Code, err error, format string, args ...any) *Error {
	return &Error{Code: code, Public: fmt.Sprintf(format, args...), Err: err}
}

// CodeOf returns the code of the first Error in err's chain; CodeInternal when there is
// none, and CodeUnavailable for a context that ran out. CodeOf(nil) is "".
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return CodeUnavailable
	}
	return CodeInternal
}

// NeedOf returns what the first Error in err's chain needs, "" for nothing in particular.
func NeedOf(err error) Need {
	var e *Error
	if errors.As(err, &e) {
		return e.Need
	}
	return ""
}

// PublicOf returns the text the person may read about err.
func PublicOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Public != "" {
		return e.Public
	}
	return "Something went wrong inside Ash. The log says more; trying again may help."
}
