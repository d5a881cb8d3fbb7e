package agent

import (
	"github.com/google/uuid"
)

// ID identifies a noun: a UUIDv7 (RFC 9562) in its canonical text form, so that
// ids sort by the time they were made. The empty ID means "none".
type ID string

// NewID returns a fresh time-ordered id. It panics only when the operating
// system has no randomness left to give.
func NewID() ID {
	return ID(uuid.Must(uuid.NewV7()).String())
}

// ParseID reads an id from foreign input such as a URL. Anything that is not
// the canonical 36-character form of a UUID is CodeNotFound: to the person an id
// that cannot exist and one that does not are the same thing.
func ParseID(s string) (ID, error) {
	u, err := uuid.Parse(s)
	if err != nil || u.String() != s {
		return "", &Error{Code: CodeNotFound, Public: "That does not exist, or no longer does.", Err: err}
	}
	return ID(s), nil
}
