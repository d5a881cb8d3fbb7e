//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSize tells when the terminal's size changes.
func watchSize() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
