//go:build !linux

package notes

import (
	"errors"
	"os"
)

// exchange is known on Linux alone.
func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }
