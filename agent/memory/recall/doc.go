// Package recall finds what helps with a question, among everything remembered:
// facts, messages, episodes and passages of notes, which the store keeps as the items of one
// index.
//
// A question is taken apart (Question): its words with their forms and neighbours in
// meaning, whom it names, what it says about time, what kind of answer it wants. Each word brings the
// items that hold it; an item is scored by its own words and, less, by those of what was said around it, because an answer
// often leaves to its question what it is about. What a dense ranker (Nearest) finds is
// let in where it agrees with the words or they found little.
//
// Invariants: the same items and the same question give the same answer in the same order; no
// model is asked and nothing leaves the machine; what the text of a question says can never be more than words
// to look for; a common word costs no more than a rare one, because what is looked at is bounded.
//
// Package lexis knows the words.
package recall
