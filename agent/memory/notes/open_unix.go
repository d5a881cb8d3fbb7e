//go:build unix

package notes

import "syscall"

// patient is the flag of opening a file that may have become a pipe: nobody may write into it, ever.
const patient = syscall.O_NONBLOCK
