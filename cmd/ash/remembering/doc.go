// Package remembering holds Ash to what it promises about memory: what was told is known in a new conversation, what was corrected is known
// as it is now, and what was forgotten stands in no prompt any more.
//
// The real program runs on an empty home. A person with a made-up life tells it some hundred facts over many conversations, corrects a
// part and has another part forgotten, by all the ways there are; a model server speaks OpenAI's format, learns and summarises as a
// model would, and keeps the bytes of every request. Then each fact is asked for in plain words, in a new conversation, and
// again after a kill, a new index, a consolidation, and an export into another home. Every value is a word of its own, so that looking
// for it in those bytes is exact.
//
// ASH_FACTS says how many facts there are: 100 unless told, 300 at most. There is no code here but tests, and they need Linux.
package remembering
