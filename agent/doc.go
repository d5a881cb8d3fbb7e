// Package agent is the core of Ash: the nouns (person, thread, message, tool
// call, turn), the ports through which it reaches the world (small interfaces),
// the events a turn produces, and Advance, the loop that takes a stored
// conversation one step further until nothing is left to do.
//
// The conversation is the database. A turn holds no state of its own: every
// step is stored before the next begins, so stop, regenerate, edit, approve an
// hour later and continue after a crash only change what is stored, and
// Advance goes on from there when asked.
//
// The package imports the standard library and an id package, nothing else.
// Its sub-packages import it; it imports none of them.
package agent
