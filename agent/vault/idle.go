package vault

import (
	"context"
	"time"
)

// idled compares wall clocks, which go on while a machine sleeps, and the clock that nobody sets back.
func (v *Vault) idled() bool {
	return v.o.Idle > 0 && (v.o.hooks.now().Round(0).Sub(v.used) >= v.o.Idle || time.Since(v.run) >= v.o.Idle)
}

// wake is how often an unlocked vault looks whether its time ran out: a timer of twelve hours does not run while the machine sleeps.
const wake = time.Minute

// touch begins the idle time anew.
func (v *Vault) touch() {
	v.used, v.run = v.o.hooks.now().Round(0), time.Now()
	v.wind()
}

// wind has the idle time watched.
func (v *Vault) wind() {
	if v.o.Idle > 0 && v.timer == nil {
		v.timer = time.AfterFunc(min(v.o.Idle, v.o.hooks.wake), v.expire)
	}
}

// expire is called by the timer.
func (v *Vault) expire() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil && v.idled() {
		v.lapse()
	} else if v.timer != nil {
		v.timer.Reset(min(v.o.Idle, v.o.hooks.wake))
	}
}

// lapse locks a vault whose time ran out, whoever found that first; v.mu is held.
func (v *Vault) lapse() {
	v.drop()
	if err := v.recordFirst(context.Background(), Access{Action: ActionLock, For: "idle", Allowed: true}); err != nil {
		v.unrecorded(context.Background(), ActionLock, err)
	}
}
