//go:build !linux

package main

// giveBackPages does nothing here: only Linux is told which pages of the program may go.
func giveBackPages() (bytes int, err error) { return 0, nil }
