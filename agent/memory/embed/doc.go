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
// ADR: codes are compared in Go, not by sqlite-vec. Over 100,000 codes of 768 bits, math/bits (POPCNT) needs 1.5 ms and
// 10.4 MB; a vec0 table with bit[768] in modernc.org/sqlite/vec needs about 50 times as long for the same codes and keeps them in SQLite's pages, and
// the extension adds weight to each connection that opens (BenchmarkNearest and BenchmarkSQLiteVec in the store, side by
// side). sqlite-vec serves there as the baseline and as the check of what Go finds.
package embed
