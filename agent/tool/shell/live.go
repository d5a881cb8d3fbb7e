package shell

import (
	"bytes"
	"sync"
	"time"

	"ash/agent/tool"
)

// Live output is told about ten times a second; a line that is still open (a question, a progress bar) when
// it has stood for a while, and again at most every second.
const (
	beat      = 100 * time.Millisecond
	openAfter = 500 * time.Millisecond
	openEvery = time.Second
	maxLive   = 64 << 10 // bytes told of one command
)

// live tells the output of a command while it runs.
type live struct {
	progress tool.Progress
	stop     chan struct{}
	stopped  chan struct{}

	mu      sync.Mutex // guards the rest
	screen  screen
	told    int       // of screen.lines
	open    []byte    // what was told of the open line
	changed time.Time // when output last came
	spoke   time.Time // when anything was last told
	opened  time.Time // when the open line last was
	left    int       // of maxLive
}

func newLive(progress tool.Progress) *live {
	l := &live{progress: progress, stop: make(chan struct{}), stopped: make(chan struct{}), spoke: time.Now(), left: maxLive}
	go l.run()
	return l
}

// write takes a piece of output.
func (l *live) write(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.screen.write(p)
	l.changed = time.Now()
}

// end tells the rest and returns the whole output. Nothing is told after it.
func (l *live) end() string {
	close(l.stop)
	<-l.stopped
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.screen.text()
	l.opened = time.Time{}
	l.tell(time.Now().Add(openEvery))
	return all
}

func (l *live) run() {
	defer close(l.stopped)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			l.mu.Lock()
			l.tell(now)
			l.mu.Unlock()
		case <-l.stop:
			return
		}
	}
}

// tell hands on what is new. Lines are told whole, so that a secret in one can be found.
func (l *live) tell(now time.Time) {
	if l.left <= 0 {
		return
	}
	var out []byte
	if fresh := l.screen.lines[l.told:]; len(fresh) > 0 {
		if rest, ok := bytes.CutPrefix(fresh, l.open); ok {
			out = append(out, rest...)
		} else {
			out = append(append(out, '\n'), fresh...) // the open line became another
		}
		l.told, l.open = len(l.screen.lines), nil
	}
	if line := l.screen.line; len(line) > 0 && !bytes.Equal(line, l.open) && l.due(now) {
		if rest, ok := bytes.CutPrefix(line, l.open); ok {
			out = append(out, rest...)
		} else {
			out = append(append(out, '\n'), line...)
		}
		l.open, l.opened = bytes.Clone(line), now
	}
	if len(out) == 0 {
		return
	}
	if len(out) > l.left {
		out = append(bytes.ToValidUTF8(out[:l.left], nil), "\n[… more follows; it is in the result …]\n"...)
		l.left = 0
	} else {
		l.left -= len(out)
	}
	l.spoke = now
	l.progress(string(out))
}

// due reports whether the open line may be told: it stands, or nothing was told for long.
func (l *live) due(now time.Time) bool {
	return now.Sub(l.opened) >= openEvery && (now.Sub(l.changed) >= openAfter || now.Sub(l.spoke) >= openEvery)
}
