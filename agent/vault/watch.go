package vault

import (
	"errors"
	"time"
)

// ErrOwn is wrapped by the CodeLocked of Use and Check for a secret with a passphrase of its own when none was given: unlocking the vault
// does not help.
var ErrOwn = errors.New("the secret has a passphrase of its own")

// Glance is what a watcher of the vault sees.
type Glance struct {
	Unlocked bool
	Unlocks  uint64          // how often it was unlocked since Open
	Next     <-chan struct{} // closed at the next change: unlocked, locked, or a secret was added, changed or deleted
}

// Watch looks at the vault without touching the disk; it does not count as a use.
func (v *Vault) Watch() Glance {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Glance{Unlocked: v.ready() == nil, Unlocks: v.unlocks.Load(), Next: v.next}
}

// Unlocks returns how often the vault was unlocked since Open. It waits for nobody.
func (v *Vault) Unlocks() uint64 { return v.unlocks.Load() }

// SetIdle changes after how long without a use the vault locks itself; 0 is DefaultIdle, below 0 never. It holds at once.
func (v *Vault) SetIdle(d time.Duration) {
	if d == 0 {
		d = DefaultIdle
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.o.Idle = d
	if v.timer != nil {
		v.timer.Stop()
		v.timer = nil
	}
	if v.ready() == nil {
		v.wind()
	}
}

// changed tells the watchers; v.mu is held.
func (v *Vault) changed() {
	close(v.next)
	v.next = make(chan struct{})
}

// Remark keeps something that a person should know about a vault that did not unlock by itself: it is among the notes of Status until it is unlocked.
func (v *Vault) Remark(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.remark = text
}
