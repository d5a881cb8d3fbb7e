// Package lexis knows words: how a text is cut into the ones the index keeps, which
// forms and neighbours a word of a question has, and what the words about time
// in a text or a question mean.
//
// It knows general English, some German, and scripts without spaces; nothing of
// anybody's conversations. Everything is a function of its arguments (and of the
// present where one is given), so that an index can be made anew, word for word.
//
// Version changes whenever the words of a text would; the index is then made anew.
package lexis

// Version names the rules by which Words cuts.
const Version = 2
