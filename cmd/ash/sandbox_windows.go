package main

import "os"

// watchSize never tells anything: Windows has no signal for it.
func watchSize() (<-chan os.Signal, func()) { return nil, func() {} }
