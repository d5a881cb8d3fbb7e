package recall

// weights are what ranking was tuned to on conversations of our own (testdata); none knows a conversation.
type weights struct {
	// of words of the question
	dateWord, askingWord, nameWord, plainWord float64
	alike, member                             float64 // of what may stand in place of a word

	// of what was said around an item, against its own words
	before1, before2, before3, before4, before5, after1, after2 float64
	answers                                                     float64 // of the turn before it, by somebody else, that asks
	refers                                                      float64 // what those before have more, where an item says "she" or "it"
	rest                                                        float64 // what words said more than once around it add
	section                                                     float64 // what the whole sitting adds
	length                                                      float64 // how much a long item's own words lose

	// factors and their lack
	speaker float64 // of one whom the question names
	first   float64 // of one who talks of themselves, and whom the question names
	thread  float64 // of a thread where somebody speaks whom the question names
	asks    float64 // of a mere question
	when    float64 // of one that says when, when that is asked
	number  float64
	where   float64
	span    float64 // of the time the question names
	kinds   float64 // of facts
	recent  float64
	weight  float64
	short   float64 // of an item of hardly any words
	info    float64 // of an item that says much: an exponent of its length
	dense   float64 // of the item that is nearest in meaning, as far as meaning and words agree
}

func standard() weights {
	return weights{
		dateWord: 0.5, askingWord: 0.4, plainWord: 0.4, nameWord: 1.3, alike: 0.45, member: 0.5,
		before1: 0.2, before2: 0.25, before3: 0.16, before4: 0.16, before5: 0.1, after1: 0.12, after2: 0.1, answers: 0.85, refers: 0.1,
		rest: 0.15, section: 0.2, length: 0.05,
		speaker: 0.22, first: 0.25, thread: 1, asks: 0.25, when: 0.22, number: 0.15, where: 0.15, span: 0.25, kinds: 0.15, recent: 0.03,
		weight: 0.1, short: 0.15, info: 0.25, dense: 0.6,
	}
}
