// Package bench measures the real program and tries to break it: the stripped
// binary, started as a process on a home of its own, a model server at full
// speed beside it, and clients that speak the page's own protocol (a session
// cookie and its token, forms, the event stream).
//
// The benchmarks are the figures of docs/benchmarks.md. Each measures its
// baseline in the same run: the model server asked directly, and a bare proxy
// of the standard library (testdata/bare). A figure over its limit is said; with
// ASH_FIGURES=strict it fails the benchmark.
//
// The tests kill the program in the middle of turns and look at what is left
// (ASH_KILLS rounds, 20 unless told), and at what a long run leaves open
// and keeps in memory (ASH_TURNS turns, 150 and 300 unless told). There is no code here but tests, and they
// need Linux: what a process holds is read from /proc.
package bench
