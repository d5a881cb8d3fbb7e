// Package canaries holds Ash to what it promises about secrets: a value of the vault stands nowhere in plain text, however it got into a conversation.
//
// The real program runs with a vault full of random values of many shapes. A person types them, in plain and encoded, into conversations, titles and memory; a model
// server that has gone mad repeats them in answers, thinking, titles and calls of tools, cut at every place, and in errors, headers and broken streams; files hold them
// that a tool reads and a command prints, and a web search finds them. Then the database with its log, the program's log, temporary files, every event and page that was sent, the exports and every request to the
// model are searched for each value, plain and in the encodings that one meets, with the vault unlocked, locked, and after a kill.
//
// ASH_CANARIES says how many there are: 8 unless told, 100 for the full run. There is no code here but tests, and they need Linux.
package canaries
