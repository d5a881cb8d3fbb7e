package vault

import (
	"errors"
	"time"

	"ash/agent"
)

// After freeTries wrong passphrases in a row each further one costs a wait, which doubles from one second to maxPatience. 10,000 of them take a
// week, on any page and from any device; whoever copied the folder guesses offline, where only scrypt helps. The wait is never long, for it meets the
// owner too. The recovery phrase needs no such thing: it has 256 bits.
const (
	freeTries   = 5
	maxPatience = time.Minute
)

// patient refuses a passphrase that comes too early, right or wrong alike, with CodeExhausted. It is called by the one that has the scrypt, so no two
// try at once.
func (v *Vault) patient() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	left := time.Until(v.again)
	if left <= 0 {
		return nil
	}
	return agent.Errorf(agent.CodeExhausted, "That were many wrong passphrases. The next one is tried in %d seconds.", int(left.Seconds())+1)
}

// tried counts a passphrase by what became of it.
func (v *Vault) tried(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case err == nil:
		v.wrong, v.again = 0, time.Time{}
	case errors.Is(err, errWrongKey):
		v.wrong++
		if over := v.wrong - freeTries; over >= 0 {
			v.again = time.Now().Add(min(maxPatience, time.Second<<min(over, 10)))
		}
	}
}
