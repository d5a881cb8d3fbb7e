// Package learn is what a conversation that rests leaves behind: facts, corrections, an episode; and what tidies
// memory afterwards.
//
// A Learner is told when a conversation rests (Rested) and when somebody writes again (Stirred). After a while of
// quiet it reads what was said since its last run and learns from it, in one of two ways: by plain phrases ("remember
// that …", "my name is …", in English and German), which needs no model, or by one structured call to a model, whose
// answer is material to be checked, not believed. What comes of it is an Outcome: a run with its diff, kept in one
// step with the last message it looked at, and proposals that wait for the person.
//
// Invariants:
//
//   - Nothing that a stranger may have written is learned from, and none of it stands in the prompt of the call: only
//     the owner's own unlabelled words do, and answers of Ash that were given before anything untrusted was read.
//   - What a model wants kept is kept by itself only when the quote it gives stands in the owner's words of those very
//     messages, and the statement says nothing that these words do not. Otherwise it waits for the person, or is dropped.
//   - What was forgotten, what holds orders to the assistant, and what is nothing but a secret is never kept by itself.
//   - A pinned fact is not changed by it; a fact is superseded only by one about the same thing.
//   - No reply waits for learning: one run at a time, none while a local model is busy, none in a conversation whose turn is
//     active. A run that was cut short leaves nothing, and is made again later; one that was kept is not made twice, since
//     what is still to be learned is read from what is stored.
//   - Every call is bounded in what it sends, receives and may cost; every failure waits longer than the one before.
//
// It stands on package agent and the comparing of texts in agent/memory; everything else comes through the ports in
// ports.go.
package learn
