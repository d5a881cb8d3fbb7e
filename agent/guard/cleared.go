package guard

import (
	"hash/maphash"
	"sync"
)

const (
	// maxClean bounds the texts that are known to hold no secret: twice as many are kept, in 16 bytes each or so.
	maxClean = 4096
	// minClean is the length below which looking is cheaper than knowing, in bytes.
	minClean = 64
)

// cleared knows texts that hold no secret, so that a conversation is not searched anew for every prompt. Only a hash of each is kept,
// with a seed of this process: nobody can make a text that passes for another. What holds a secret is searched every time.
type cleared struct {
	mu           sync.Mutex
	values       *exactValues // that were looked for
	seed         maphash.Seed
	fresh, older map[uint64]struct{}
}

// has reports whether a text held none of the values, nor anything else.
func (c *cleared) has(text string, values *exactValues) bool {
	if len(text) < minClean {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values != values {
		c.values, c.fresh, c.older = values, nil, nil // an earlier answer says nothing of a new value
	}
	if c.fresh == nil {
		return false
	}
	key := maphash.String(c.seed, text)
	if _, ok := c.fresh[key]; ok {
		return true
	}
	_, ok := c.older[key]
	if ok {
		c.keep(key)
	}
	return ok
}

// add notes that a text holds none of the values, nor anything else.
func (c *cleared) add(text string, values *exactValues) {
	if len(text) < minClean {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values != values {
		return // it was searched for what is looked for no longer
	}
	if c.fresh == nil {
		c.seed, c.fresh = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	c.keep(maphash.String(c.seed, text))
}

func (c *cleared) keep(key uint64) {
	if len(c.fresh) >= maxClean {
		c.fresh, c.older = map[uint64]struct{}{}, c.fresh
	}
	c.fresh[key] = struct{}{}
}
