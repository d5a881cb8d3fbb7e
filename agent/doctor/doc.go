// Package doctor answers one question: is this Ash well? It holds the checks,
// the order in which they are told, and their bounds; what a check looks at it is
// given by cmd/ash (its eyes), so that the package knows no database, no engine and
// no provider.
//
// Invariants:
//
//   - A check only looks. It takes no lock, writes nothing, repairs nothing; what
//     would help stands in the finding, in words and as a command for the person.
//   - A check that panics, hangs or fails is a finding, never the end of the others.
//     One that still hangs from an earlier run is not started a second time.
//   - A report holds no secret: every text goes through Options.Redact.
//   - A report says what was found at one moment. It is kept for the page, and is
//     never a part of a prompt.
package doctor
