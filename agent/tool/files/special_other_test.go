//go:build !linux

package files_test

import "testing"

func specials(*testing.T, *desk) map[string]string { return map[string]string{} }
