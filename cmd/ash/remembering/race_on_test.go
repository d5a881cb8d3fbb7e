//go:build linux && race

package remembering

// usual is how many facts there are unless ASH_FACTS says so: the program runs without the race detector all the same, and .ci/run has all of
// them told once more without it.
const usual = 20
