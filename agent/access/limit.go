package access

import (
	"net/netip"
	"sync"
	"time"
)

const (
	freeFailures = 5                // of one address, before it has to wait
	firstWait    = time.Second      // doubled with every further failure
	longestWait  = 5 * time.Minute  // of all waits
	forgetAfter  = 15 * time.Minute // without a failure, an address begins anew
	maxAddresses = 1024             // remembered; further ones are counted together
	maxProven    = 1024             // tokens known to work
)

// limiter makes addresses wait after failures.
type limiter struct {
	mu     sync.Mutex // guards what is below
	from   map[netip.Prefix]*failures
	rest   failures          // of addresses beyond maxAddresses, together
	proven map[[32]byte]bool // hashes of tokens that have worked
	now    func() time.Time
}

// failures are those of one address.
type failures struct {
	count int
	last  time.Time
	until time.Time // attempts before that are refused unseen
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{from: map[netip.Prefix]*failures{}, proven: map[[32]byte]bool{}, now: now}
}

// wait returns how long an address has to wait before it is looked at again; 0 for not at all.
func (l *limiter) wait(addr netip.Addr, hash []byte) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(hash) == 32 && l.proven[[32]byte(hash)] {
		return 0
	}
	f := l.from[network(addr)]
	if f == nil {
		if len(l.from) < maxAddresses {
			return 0
		}
		f = &l.rest
	}
	return max(f.until.Sub(l.now()), 0)
}

// failed counts a failure, and returns how long the address has to wait from now on, and whether it begins to wait with this one.
func (l *limiter) failed(addr netip.Addr) (wait time.Duration, begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.entry(network(addr))
	now := l.now()
	if now.Sub(f.last) > forgetAfter {
		*f = failures{}
	}
	f.count++
	f.last = now
	over := f.count - freeFailures
	if over <= 0 {
		return 0, false
	}
	wait = longestWait
	if over <= 16 { // beyond, doubling would only overflow
		wait = min(firstWait<<(over-1), longestWait)
	}
	f.until = now.Add(wait)
	return wait, over == 1
}

// entry finds where failures of a network are counted, and makes room for it.
func (l *limiter) entry(from netip.Prefix) *failures {
	if f := l.from[from]; f != nil {
		return f
	}
	if len(l.from) >= maxAddresses {
		for k, f := range l.from {
			if l.now().Sub(f.last) > forgetAfter {
				delete(l.from, k)
			}
		}
	}
	if len(l.from) >= maxAddresses {
		return &l.rest
	}
	f := &failures{}
	l.from[from] = f
	return f
}

// worked notes that a token is a good one.
func (l *limiter) worked(hash []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(hash) == 32 && len(l.proven) < maxProven {
		l.proven[[32]byte(hash)] = true
	}
}

// disproved notes that a token is none any more.
func (l *limiter) disproved(hash []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(hash) == 32 {
		delete(l.proven, [32]byte(hash))
	}
}

// network is what one machine has: an IPv4 address, or a /64 of IPv6 (RFC 4291, 2.5.4).
func network(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := 32
	if addr.Is6() && !addr.IsLoopback() {
		bits = 64
	} else if addr.Is6() {
		bits = 128
	}
	p, err := addr.Prefix(bits)
	if err != nil { // no address: all of those are one
		return netip.Prefix{}
	}
	return p
}
