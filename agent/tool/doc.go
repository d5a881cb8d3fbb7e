// Package tool gives the assistant its hands: the kit every built-in tool is
// made with, and the Box that holds them and implements agent.Tools.
//
// A tool is its code plus the Markdown description the model reads, one folder
// each. It declares its arguments as a Go struct, from which the JSON Schema is
// derived and against which every call is checked; the error is written for the model to
// act on. A tool has two halves:
//
//	Plan  looks, changes nothing, and says what the call would do: the Effect
//	      that policy judges and the person is shown
//	Run   does it
//
// Whether Run happens is never the tool's own decision: the Box asks the Policy,
// and policy alone. What a tool gives back is scanned, labelled and bounded by the Box on its
// way out, so a tool only says where its content comes from.
//
// Invariants: Plan has no effect outside the process but reads; Run returns within
// a second of its context's end; a panic in either is one failed call; output
// beyond Bounds goes into a file.
package tool
