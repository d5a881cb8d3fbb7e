//go:build race

package main

// underRace: the race detector makes the database many times slower.
const underRace = true
