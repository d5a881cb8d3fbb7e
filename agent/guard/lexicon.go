package guard

type lexicon struct{}

func newLexicon() *lexicon { return &lexicon{} }
