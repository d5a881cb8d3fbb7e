// Package embed finds what means the same as a question. It turns texts into vectors,
// by a static model in a folder or by a model server, keeps them small, and
// looks for the nearest ones.
//
// A vector is kept twice: as a binary code of one bit per dimension (the sign), all of which are in
// memory, and as one signed byte per dimension on the disk. A search compares codes, takes the best few hundred and
// ranks those by their bytes against the question as it is.
//
// Invariants:
//   - Vectors of two embedders are never compared: each belongs to a Space (an
//     embedder and its dimensions), and a search sees those of the present one.
//   - The store knows at any time which items lack a vector of the present space
//     (pending), also after a crash: a trigger marks items that are new or changed.
//   - An embedder that fails makes a search fail clearly and soon; nothing waits for it,
//     nothing is lost, and recall by words does not need it.
//   - Nothing that is not a finite vector of the expected length is kept.
//
// ADR: codes are compared in Go, not by sqlite-vec. Over 100,000 codes of 768 bits, a search with math/bits (POPCNT) takes 3 ms of
// processor time and 10.2 MB; the same search in a vec0 table with bit[768] of modernc.org/sqlite/vec took 60 to 70 times as long, measured
// side by side (BenchmarkHamming here, BenchmarkSQLiteVec and BenchmarkNearest in the store). The extension would also be set up on each
// connection that opens. sqlite-vec is therefore only the baseline of the benchmark, and in no release.
package embed
