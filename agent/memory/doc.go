// Package memory remembers, recalls and forgets.
//
// A fact is one statement with what it is about, when it holds and where it came
// from. Every change to facts is a diff (agent.MemoryChange) applied in one
// transaction, so that a newer fact and the history of the older one can never be
// out of step, and a run of learning can be undone. Messages, notes and episodes
// are memory as they stand; recall reads one index over all of them, which can
// always be made anew from what it indexes.
//
// Invariants: nothing that a stranger may have written becomes a fact without the
// person's word; a superseded, expired or forgotten fact is never recalled as
// current; what was forgotten is masked wherever it was said, and its tombstone
// keeps learning from bringing it back; every recollection carries the labels of
// what it was made from.
//
//   - recall: what a question asks for, ranking, fusion, the token budget
//   - embed: meaning: static models, remote embedders, binary codes
//   - notes: Markdown files and their watcher
//   - learn: what a conversation that rests leaves behind, consolidation
//   - archive: import and export
package memory
