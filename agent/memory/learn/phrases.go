package learn

import (
	"regexp"
	"slices"
	"strings"

	"ash/agent"
	"ash/agent/memory"
)

// phrasebook finds plain statements without a model.
type phrasebook struct {
	lead     *regexp.Regexp // what may stand before a statement and says nothing
	fix      *regexp.Regexp // of those: what says that something is corrected
	remember *regexp.Regexp
	forget   *regexp.Regexp
	swap     *regexp.Regexp
	patterns []pattern
	unreal   *regexp.Regexp // what makes a statement none: a condition, a wish, a tale
	tale     *regexp.Regexp // what makes a whole message one
	openings *regexp.Regexp // how questions begin

	noValue *regexp.Regexp // values that say nothing, or the contrary
	loosely *regexp.Regexp // values that make "I live in" or "I work at" say nothing of a place
	passing *regexp.Regexp // states that pass, after "my X is"
	unsaid  *regexp.Regexp // things of one's own that pass or are no attribute
	many    *regexp.Regexp // things one may have several of

	fenced, cited, quoted, headed, forwards *regexp.Regexp // what the person quotes
}

// pattern is one way to say something of oneself. Its last group is the value.
type pattern struct {
	re         *regexp.Regexp
	attribute  func(groups []string) string
	text       func(clause string, groups []string) string // nil: as it was said
	kind       agent.FactKind
	corrects   bool
	confidence float64
	refuse     *regexp.Regexp // values that are none
}

// maxPhrases bounds what phrases find in one message.
const maxPhrases = 12

// read finds statements in what the person said.
func (b *phrasebook) read(list []said) found {
	var f found
	for _, s := range list {
		if !s.Own {
			continue
		}
		n := 0
		hidden := b.hide(s.Text)
		tale := b.tale.MatchString(hidden)
		for _, c := range clauses(hidden) {
			if n == maxPhrases {
				break
			}
			if strings.ContainsRune(hidden[c.from:c.to], blanked) {
				continue
			}
			quote := strings.TrimSpace(s.Text[c.from:c.to])
			if k, e, ok := b.clause(quote, c.question, tale); ok {
				n++
				if k != nil {
					k.message, k.time = s.Message, s.Time
					f.keep = append(f.keep, *k)
				}
				if e != nil {
					e.message, e.time = s.Message, s.Time
					f.expire = append(f.expire, *e)
				}
			}
		}
	}
	return f
}

// clause reads one sentence.
func (b *phrasebook) clause(quote string, question, tale bool) (*kept, *expired, bool) {
	if len(quote) > maxQuote || question {
		return nil, nil, false
	}
	text := strings.TrimRight(quote, " .!;:,…。！")
	corrects := false
	for range 4 {
		m := b.lead.FindString(text)
		if m == "" {
			break
		}
		corrects = corrects || b.fix.MatchString(m)
		text = strings.TrimLeft(text[len(m):], " ,:–—-")
	}
	if m := b.remember.FindStringSubmatch(text); m != nil {
		return b.explicit(quote, m)
	}
	if m := b.forget.FindStringSubmatch(text); m != nil {
		like := asked(b.forget, m)
		if len(terms(like)) == 0 || tale {
			return nil, nil, false
		}
		return nil, &expired{like: like, quote: quote, ask: true}, true
	}
	if tale || b.openings.MatchString(text) || b.unreal.MatchString(text) {
		return nil, nil, false
	}
	if m := b.swap.FindStringSubmatch(text); m != nil {
		groups := slices.DeleteFunc(m[1:], func(g string) bool { return g == "" })
		if len(groups) == 2 {
			return &kept{quote: quote, swap: &swap{strings.TrimSpace(groups[0]), trimValue(groups[1])}, corrects: true, confidence: 0.8}, nil, true
		}
	}
	k, ok := b.match(text)
	if !ok {
		return nil, nil, false
	}
	k.quote, k.corrects = quote, k.corrects || corrects
	return &k, nil, true
}

// explicit reads what follows "remember that".
func (b *phrasebook) explicit(quote string, m []string) (*kept, *expired, bool) {
	text := asked(b.remember, m)
	if len(terms(text)) == 0 || len(strings.Fields(text)) < 2 && !strings.ContainsFunc(text, spaceless) {
		return nil, nil, false
	}
	k := kept{text: text, kind: agent.FactPlain, importance: 0.7}
	if of, ok := b.match(text); ok {
		k = of
		k.importance = max(k.importance, 0.7)
	}
	k.quote, k.explicit, k.confidence = quote, true, 1
	return &k, nil, true
}

// asked returns the statement a match asks about: the group that is filled. A group with a name is German.
func asked(re *regexp.Regexp, m []string) string {
	for i, g := range m[1:] {
		if g != "" {
			return statement(g, re.SubexpNames()[i+1] != "")
		}
	}
	return ""
}

// match reads a statement of the person about themselves.
func (b *phrasebook) match(text string) (kept, bool) {
	for _, p := range b.patterns {
		m := p.re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		groups := m[1:]
		value := trimValue(groups[len(groups)-1])
		groups[len(groups)-1] = value
		if value == "" || len(strings.Fields(value)) > 14 || p.refuse != nil && p.refuse.MatchString(value) || b.noValue.MatchString(value) {
			continue
		}
		key := p.attribute(groups)
		if key == "" {
			continue
		}
		k := kept{text: strings.TrimSpace(text), kind: p.kind, attribute: key, corrects: p.corrects, confidence: p.confidence, importance: 0.5}
		if p.text != nil {
			k.text = p.text(text, groups)
		}
		if p.kind == agent.FactCore {
			k.importance = 0.9
		}
		k.text = upperFirst(k.text)
		return k, true
	}
	return kept{}, false
}

// attributeOf returns what a statement says something of; "" when phrases do not see it.
func (b *phrasebook) attributeOf(text string) string {
	k, ok := b.match(strings.TrimRight(strings.TrimSpace(text), ".!"))
	if !ok {
		return ""
	}
	return k.attribute
}

// alike reports whether two statements say something of the same, or nearly the same.
func (b *phrasebook) alike(fact, like string) bool {
	if memory.Normal(fact) == memory.Normal(like) {
		return true
	}
	if key := b.attributeOf(fact); key != "" && key == b.attributeOf(like) && !b.manyValued(key) {
		return true
	}
	v, list, hits := vocabularyOf(fact), terms(like), 0
	for _, w := range list {
		if v.has(w) {
			hits++
		}
	}
	return len(list) > 0 && 10*hits >= 7*len(list) && (len(list) > 1 || len(terms(fact)) <= 4)
}

// trimValue takes off what is no part of a value.
func trimValue(s string) string {
	s = strings.TrimSpace(s)
	for _, tail := range []string{" now", " by the way", " btw", " jetzt", " übrigens", " these days", " please", " bitte"} {
		s = strings.TrimSuffix(s, tail)
	}
	return strings.Trim(s, " .,;!:\"'“”„")
}

func upperFirst(s string) string {
	for i, r := range s {
		return strings.ToUpper(string(r)) + s[i+len(string(r)):]
	}
	return s
}
