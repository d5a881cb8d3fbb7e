//go:build !race

package agent_test

const underRace = false
