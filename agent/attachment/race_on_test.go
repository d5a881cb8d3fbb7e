//go:build race

package attachment

// racing says that the race detector runs: it multiplies the memory and the time that hostile files take.
const racing = true
