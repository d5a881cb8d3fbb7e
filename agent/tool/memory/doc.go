// Package remember gives the assistant hands for memory and notes: remember, recall, correct, forget, note_read and
// note_write.
//
// Invariants:
//
//   - What is written is what the effect shows: the statement, the old and the new one, all that forgetting removes, the
//     diff of a note. An approval is bound to the state it was shown for.
//   - What is written carries the labels of the prompt it was written from. They fall away only where policy found every word
//     of it in what the person wrote in this very turn (Effect.Told): the tools say what they would keep (Effect.Keeps), and judge
//     nothing themselves.
//   - Nothing is forgotten without the person's own decision on that call, whatever a rule allows.
//   - What is given back bears the labels of what it was made of, and is private.
//   - No error quotes what is remembered or noted: errors have no labels.
package remember
