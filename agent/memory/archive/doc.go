// Package archive is what goes in and out of memory in files: conversations that were held elsewhere, which become
// threads and messages here, and Ash's own archive of what it remembers.
//
// Conversations come as lines of JSON, one message each, or as the archives that ChatGPT and Claude give out. Of a conversation with
// variants the path that was shown last is taken.
//
// An archive of memory (Memory) is a folder, or the same in one zip:
//
//	index.md, memory/*.md   for people; not read back
//	data/*.jsonl            facts, entities, conversations, episodes, runs, proposals, tombstones, keys, records: one object a line
//	notes/**/*.md           the notes as they are
//	manifest.json           format, version, and size and SHA-256 of every file in data and notes
//
// Invariants: an archive is read to its end and found sound before anything of it is stored; an import can be
// repeated and broken off at any point, and adds what is missing; nothing of an archive of conversations is taken for
// the owner's word unless the speaker bears the owner's name or the owner says so. The bytes of an archive of memory depend on
// what is remembered alone: neither on the time nor on the home. No name in an archive leads out of it, links are refused, and
// what a name or size claims is never believed before it is bounded.
package archive
