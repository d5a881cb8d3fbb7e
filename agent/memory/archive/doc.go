// Package archive reads conversations that were held elsewhere, so that they become threads and
// messages here: lines of JSON, one message each.
//
// Invariants: an archive is read to its end and found sound before anything of it is stored; an import can be
// repeated and broken off at any point, and adds what is missing; nothing of an archive is taken for
// the owner's word unless the speaker bears the owner's name.
package archive
