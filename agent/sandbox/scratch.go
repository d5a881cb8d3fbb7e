package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"ash/agent"
)

// maxScratch is how long the path of a scratch folder may be for a socket in it: sun_path holds 104 bytes on some systems.
const maxScratch = 80

// scratch is where this process keeps its files: a folder of its own, made when it is first needed, named after the process.
type scratch struct {
	home string // of Ash
	name string // digest of home

	mu  sync.Mutex
	dir string
}

// parents are where folders of this home may be.
func (c *scratch) parents() []string {
	return []string{
		filepath.Join(c.home, "sandbox"),
		filepath.Join(os.TempDir(), "ash-sandbox-"+c.name),
	}
}

// own returns the folder of this process.
func (c *scratch) own() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir != "" {
		if _, err := os.Stat(c.dir); err == nil {
			return c.dir, nil
		}
	}
	parent := c.parents()[0]
	if len(parent)+len("/run-4194304-0123456789/0123456789") > maxScratch {
		parent = c.parents()[1]
	}
	err := os.MkdirAll(parent, 0o700)
	if err == nil {
		// In the folder for temporary files somebody else might have been there first.
		err = private(parent)
	}
	if err == nil {
		c.dir, err = os.MkdirTemp(parent, "run-"+strconv.Itoa(os.Getpid())+"-")
	}
	if err != nil {
		return "", agent.Wrap(agent.CodeUnavailable, err, "The sandbox cannot make the folder %s for its files.", parent)
	}
	return c.dir, nil
}

// folder makes an empty folder.
func (c *scratch) folder() (string, error) {
	own, err := c.own()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(own, "")
	if err != nil {
		return "", agent.Wrap(agent.CodeUnavailable, err, "The sandbox cannot make a folder for its files.")
	}
	return dir, nil
}

// file makes an empty file.
func (c *scratch) file() (*os.File, error) {
	own, err := c.own()
	if err != nil {
		return nil, err
	}
	return os.CreateTemp(own, "output-")
}

// clear removes the folders of processes that are dead and returns how many there were.
func (c *scratch) clear() (removed int, err error) {
	c.mu.Lock()
	own := c.dir
	c.mu.Unlock()
	for _, parent := range c.parents() {
		entries, readErr := os.ReadDir(parent)
		if readErr != nil {
			continue // not there
		}
		if private(parent) != nil {
			continue // not ours
		}
		for _, e := range entries {
			dir := filepath.Join(parent, e.Name())
			pid, _, ok := strings.Cut(strings.TrimPrefix(e.Name(), "run-"), "-")
			n, numErr := strconv.Atoi(pid)
			if !ok || numErr != nil || dir == own || (n != os.Getpid() && alive(n)) {
				continue
			}
			err = errors.Join(err, os.RemoveAll(dir))
			removed++
		}
	}
	return removed, err
}

// close removes the folder of this process if nothing but folders is in it: a whole output belongs to the caller.
func (c *scratch) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir != "" {
		_ = os.Remove(c.dir) // fails while an output is still wanted; Recover removes it then
		_ = os.Remove(filepath.Dir(c.dir))
		c.dir = ""
	}
}
