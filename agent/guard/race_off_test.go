//go:build !race

package guard

const underRace = false
