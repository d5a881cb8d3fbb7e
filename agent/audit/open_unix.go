//go:build unix

package audit

import "syscall"

// openFlags: no link is followed, and nobody is waited for at a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
