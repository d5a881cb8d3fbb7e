package markdown

import (
	"crypto/sha256"
	"sync"
)

// cacheBytes bounds each of the two generations of a codeCache.
const cacheBytes = 512 << 10

// codeCache keeps coloured code. Reading or writing an entry moves it to the young generation; when that is full the old one is
// forgotten and the young grows old. The zero value is ready.
type codeCache struct {
	mu         sync.Mutex
	young, old map[[sha256.Size]byte]string
	size       int // bytes in young
}

func codeKey(lang string, code []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(lang))
	h.Write([]byte{0})
	h.Write(code)
	return [sha256.Size]byte(h.Sum(nil))
}

func (c *codeCache) get(key [sha256.Size]byte) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if html, ok := c.young[key]; ok {
		return html, true
	}
	html, ok := c.old[key]
	if ok {
		c.add(key, html)
	}
	return html, ok
}

func (c *codeCache) put(key [sha256.Size]byte, html string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, html)
}

func (c *codeCache) add(key [sha256.Size]byte, html string) {
	if len(html) > cacheBytes/4 {
		return // one block must not push out all the others
	}
	if c.young == nil || c.size+len(html) > cacheBytes {
		c.old, c.young, c.size = c.young, make(map[[sha256.Size]byte]string), 0
	}
	if _, ok := c.young[key]; !ok {
		c.size += len(html)
	}
	c.young[key] = html
}
