package sandbox

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxMark is the longest mark that is understood: a path and a little.
const maxMark = 5 << 10

// maxKept is how much output is kept in memory before it goes to a file.
const maxKept = 256 << 10

// output takes what a command prints, separates the marks of line.sh from it, hands on the first part and keeps all of it up to a bound.
// Memory is bounded by maxKept and maxMark.
type output struct {
	word    string // of the marks
	keep    int64  // bytes handed on
	hand    func([]byte)
	create  func() (*os.File, error)
	began   chan struct{} // closed by the mark B
	ended   chan struct{} // closed by the mark E
	endless chan struct{} // closed when maxOutput was reached

	mu      sync.Mutex
	closed  bool
	held    []byte // end of the stream that may be the beginning of a mark
	kept    []byte // what was handed on, until there is a file
	total   int64
	file    *os.File
	fileErr error
	dir     string // of the mark D; "" when there was none
	exit    int    // of the mark E
}

func newOutput(keep int64, hand func([]byte), create func() (*os.File, error)) *output {
	if hand == nil {
		hand = func([]byte) {}
	}
	return &output{
		word: rand.Text(), keep: keep, hand: hand, create: create,
		began: make(chan struct{}), ended: make(chan struct{}), endless: make(chan struct{}),
	}
}

// Write takes a piece of the stream. It never fails: a command must not notice.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || isClosed(o.endless) {
		return len(p), nil
	}
	data := p
	if len(o.held) > 0 {
		data = slices.Concat(o.held, p)
		o.held = nil
	}
	lead := []byte("\x00" + o.word + " ")
	for {
		i := bytes.Index(data, lead)
		if i < 0 {
			break
		}
		rest := data[i+len(lead):]
		end := bytes.IndexByte(rest[:min(len(rest), maxMark)], 0)
		if end < 0 && len(rest) < maxMark {
			o.pass(data[:i])
			o.held = bytes.Clone(data[i:])
			return len(p), nil
		}
		o.pass(data[:i])
		if end < 0 { // too long for a mark
			o.pass(data[i : i+1])
			data = data[i+1:]
			continue
		}
		o.mark(string(rest[:end]))
		data = rest[end+1:]
	}
	tail := beginsLike(data, lead)
	o.pass(data[:len(data)-tail])
	o.held = bytes.Clone(data[len(data)-tail:])
	return len(p), nil
}

// beginsLike returns how many bytes at the end of data are a beginning of lead.
func beginsLike(data, lead []byte) int {
	for n := min(len(lead)-1, len(data)); n > 0; n-- {
		if bytes.HasSuffix(data, lead[:n]) {
			return n
		}
	}
	return 0
}

// mark understands what line.sh told. What is printed after the mark E comes from the background.
func (o *output) mark(m string) {
	if m == "" {
		return
	}
	switch rest := m[1:]; m[0] {
	case 'B':
		closeOnce(o.began)
	case 'D':
		o.dir = rest
	case 'E':
		if code, err := strconv.Atoi(rest); err == nil && !isClosed(o.ended) {
			o.exit = code
			close(o.ended)
		}
	}
}

// pass hands p on as far as the bounds go.
func (o *output) pass(p []byte) {
	if len(p) == 0 {
		return
	}
	before := o.total
	o.total += int64(len(p))
	if before < o.keep {
		n := min(int64(len(p)), o.keep-before)
		o.hand(bytes.Clone(p[:n]))
		if o.total <= min(o.keep, maxKept) {
			o.kept = append(o.kept, p...)
			return
		}
	}
	o.spill(p[:min(int64(len(p)), max(0, maxOutput-before))])
	if o.total >= maxOutput {
		closeOnce(o.endless)
	}
}

// spill writes to the file of the whole output, making it at first with what was handed on. When there is no room
// for it, there is no file: the command is not to blame.
func (o *output) spill(p []byte) {
	if o.fileErr != nil {
		return
	}
	if o.file == nil {
		if o.file, o.fileErr = o.create(); o.fileErr != nil {
			return
		}
		if _, o.fileErr = o.file.Write(o.kept); o.fileErr != nil {
			return
		}
		o.kept = nil
	}
	_, o.fileErr = o.file.Write(p)
}

// finish hands on what is still held and stops taking more. It fills in r and
// returns the working directory as the shell said it.
func (o *output) finish(r *Result) (dir string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.pass(o.held)
		o.held, o.closed = nil, true
	}
	r.Truncated = o.total > o.keep
	r.Endless = isClosed(o.endless)
	if o.file != nil {
		if closeErr := o.file.Close(); o.fileErr == nil {
			o.fileErr = closeErr
		}
		r.Overflow = o.file.Name()
		if o.fileErr != nil || !r.Truncated {
			r.Overflow = ""
			_ = os.Remove(o.file.Name()) // Recover finds it otherwise
		}
	}
	if o.fileErr != nil {
		err = fmt.Errorf("keeping the whole output: %w", o.fileErr)
	}
	return o.dir, err
}

// code is the exit code of the mark E.
func (o *output) code() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.exit
}

// below turns a path inside the sandbox into one relative to Root; ok is false outside of it.
func below(path string) (dir string, ok bool) {
	if path == "/work" {
		return "", true
	}
	return strings.CutPrefix(path, "/work/")
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closeOnce closes c; callers hold the lock that guards it.
func closeOnce(c chan struct{}) {
	if !isClosed(c) {
		close(c)
	}
}
