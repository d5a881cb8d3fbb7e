// Package audit answers one question: is this Ash safe? It looks for open doors,
// weak sign-in, files others may read, secrets that lie in plain text, planted
// instructions, rules that allow too much, uses of the vault out of pattern, and old
// parts. What a check looks at it is given by cmd/ash, so that the package knows no
// database, no scanner and no sandbox.
//
// Invariants:
//
//   - A finding bears where something is and what kind of thing, never the thing: no
//     secret, no text of a conversation. What a check reports is redacted once more.
//   - Checks run one after the other and read in pieces: memory does not grow with the
//     home. A check reports at most MaxOfCheck findings and counts the rest.
//   - A check that fails, panics or takes too long is told as such: what was not looked
//     at never counts as safe.
//   - A look changes nothing. Fix changes one thing that a finding names, after looking at
//     it anew: what is no longer as it was found is left alone.
//   - Reports are kept for the person. Nothing of them ever enters a prompt.
package audit
