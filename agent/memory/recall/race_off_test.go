//go:build !race

package recall_test

const underRace = false
