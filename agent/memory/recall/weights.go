package recall

// weights are what ranking was tuned to on conversations of our own (testdata); none knows a conversation.
type weights struct {
	// of words of the question
	dateWord, askingWord, nameWord float64
	alike, member                  float64 // of what may stand in place of a word

	// of what was said around an item, against its own words
	before1, before2, after1, after2 float64
	answers                          float64 // of the turn before it, by somebody else, that asks
	rest                             float64 // what words said more than once around it add
	section                          float64 // what the whole sitting adds
	length                           float64 // how much a long item's own words lose

	// factors and their lack
	speaker  float64 // of one whom the question names
	asks     float64 // of a mere question
	when     float64 // of one that says when, when that is asked
	number   float64
	span     float64 // of the time the question names
	thread   float64 // of a thread where somebody speaks whom the question names
	kinds    float64 // of facts
	recent   float64
	weight   float64
	crowding float64 // what an item loses next to one that is taken
	short    float64 // of an item of hardly any words
}

func standard() weights {
	return weights{
		dateWord: 0.5, askingWord: 0.3, nameWord: 1.2, alike: 0.4, member: 0.35,
		before1: 0.4, before2: 0.15, after1: 0.25, after2: 0.1, answers: 0.7, rest: 0.15, section: 0.12, length: 0.35,
		speaker: 0.15, asks: 0.15, when: 0.15, number: 0.1, span: 0.25, thread: 0.3, kinds: 0.15, recent: 0.03, weight: 0.1,
		crowding: 0.0, short: 0.15,
	}
}
