package main

import (
	"io"
	"sync/atomic"
)

// veil is where the log goes: secrets are taken out of every line, whoever wrote it and in whatever attribute, from the moment on that there is something that knows
// them. Loggers write a line at a time.
type veil struct {
	to     io.Writer
	redact atomic.Pointer[func(string) string]
}

// draw begins to take out what redact finds.
func (v *veil) draw(redact func(string) string) { v.redact.Store(&redact) }

// Write implements io.Writer. It says that all of p was written, though it may be less that was.
func (v *veil) Write(p []byte) (int, error) {
	f := v.redact.Load()
	if f == nil {
		return v.to.Write(p)
	}
	if _, err := io.WriteString(v.to, (*f)(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
