//go:build race

package recall_test

// underRace: the race detector makes the database many times slower.
const underRace = true
