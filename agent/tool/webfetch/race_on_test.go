//go:build race

package webfetch

// underRace: the race detector makes parsing many times slower.
const underRace = true
