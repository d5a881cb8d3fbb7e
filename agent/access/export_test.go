package access

// Cheap makes hashing passphrases cheap, for tests.
func Cheap(o DoorOptions) DoorOptions {
	o.cost = cost{time: 1, memory: 64, threads: 1}
	return o
}

// Cheaper is Cheap with a little more memory: hashes made by Cheap are due for renewal.
func Dearer(o DoorOptions) DoorOptions {
	o.cost = cost{time: 2, memory: 128, threads: 1}
	return o
}

// ParsePHC is parsePHC, for fuzzing.
func ParsePHC(text string) (string, error) {
	p, err := parsePHC(text)
	return p.String(), err
}

// Spelling is spelling, for fuzzing.
func Spelling(text string) (string, bool) { return spelling(text) }
