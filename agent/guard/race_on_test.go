//go:build race

package guard

// underRace: the race detector makes processor time mean little.
const underRace = true
