package main

import "io/fs"

// othersMayRead cannot be told from a mode here.
func othersMayRead(fs.FileMode) bool { return false }
