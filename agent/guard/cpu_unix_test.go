//go:build unix

package guard

import "syscall"

// cpuOf returns the milliseconds of processor time that f takes: wall time is no measure on a machine that others use.
func cpuOf(f func()) float64 {
	before := cpuTime()
	f()
	return cpuTime() - before
}

func cpuTime() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Sec+r.Stime.Sec)*1000 + float64(r.Utime.Usec+r.Stime.Usec)/1000
}
