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
	speaker float64 // of one whom the question names
	asks    float64 // of a mere question
	when    float64 // of one that says when, when that is asked
	number  float64
	span    float64 // of the time the question names
	thread  float64 // of a thread where somebody speaks whom the question names
	kinds   float64 // of facts
	recent  float64
	weight  float64
	short   float64 // of an item of hardly any words
	info    float64 // of an item that says much
	dense   float64 // of the item that is nearest in meaning, as far as meaning and words agree
	far     float64 // of words three to five turns before
}

func standard() weights {
	return weights{
		dateWord: 0.5, askingWord: 0.3, nameWord: 1.2, alike: 0.45, member: 0.45,
		before1: 0.25, before2: 0.2, after1: 0.12, after2: 0.1, answers: 0.85, rest: 0.15, section: 0.15, length: 0.05,
		speaker: 0.22, asks: 0.25, when: 0.22, number: 0.1, span: 0.25, thread: 0.3, kinds: 0.15, recent: 0.03, weight: 0.1,
		short: 0.25, info: 0.18, far: 0.1, dense: 0.6,
	}
}
