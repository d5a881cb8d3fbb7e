package guard

import (
	"context"
	"slices"
)

// Scan reads text for instructions planted for the assistant. Any input will do; the work is linear in its length. When
// ctx ends it reports what it found until then. It never changes text.
func (g *Guard) Scan(ctx context.Context, channel Channel, text string) Report {
	s := scanner{lex: g.words(), channel: channel, budget: len(text)*2 + 64<<10}
	s.scan(ctx, text, nil, 0)
	return s.report(len(text))
}

// scanner is one Scan.
type scanner struct {
	lex      *lexicon
	channel  Channel
	budget   int // bytes of decoded text still to read
	findings []Finding
	score    float64
}

// blob says that a text was decoded from somewhere.
type blob struct {
	start, end int // in the original
	rule, why  string
	outer      func() float64 // the factor of where it stood; nil is 1
}

// signal is a rule that fired at tokens[from:to].
type signal struct {
	rule     *rule
	from, to int32
	weight   float64
	place    float64 // factor of where it stands
	hidden   bool
}

const (
	maxDepth    = 3  // encodings within encodings
	window      = 70 // words in which reasons add up
	maxFindings = 64
)

// scan reads one text: the original, or one decoded from it.
func (s *scanner) scan(ctx context.Context, text string, from *blob, depth int) {
	if len(text) == 0 || ctx.Err() != nil {
		return
	}
	s.budget -= len(text)
	p := s.newPage(text)
	if ctx.Err() != nil {
		return
	}
	s.weigh(p, p.signals(), from)
	if depth >= maxDepth {
		return
	}
	for _, b := range p.blobs(depth) {
		if s.budget < len(b.text) {
			return
		}
		place := b.blob
		place.outer = func() float64 { return p.toldOf(b.start) }
		if from != nil {
			place.start, place.end, place.outer = from.start, from.end, from.outer
		}
		s.scan(ctx, b.text, &place, depth+1)
	}
}

// page is a text taken apart, with what the rules ask about.
type page struct {
	reading
	text      string
	hits      []hit
	at        [concepts][]hit // by concept, in order
	roles     []uint8         // of each token
	hidden    []run           // what a reader would not see
	ctx       mentions
	sections  []int32 // paragraph of each token
	sentences []int32
}

// Roles of single words before a verb.
const (
	roleNeg = 1 << iota
	roleIndirect
	roleTo
	roleModal
	roleMust
	roleOwn
	roleBenign
	roleTopic
)

func (s *scanner) newPage(text string) *page {
	p := &page{reading: s.lex.read(text), text: text}
	p.hits = append(s.lex.find(p.tokens), p.destinations()...)
	p.roles = make([]uint8, len(p.tokens))
	p.sections = make([]int32, len(p.tokens))
	p.sentences = make([]int32, len(p.tokens))
	section, sentence := int32(0), int32(0)
	for i, t := range p.tokens {
		if t.brk == brkPara {
			section++
		}
		if t.brk >= brkHard {
			sentence++
		}
		p.sections[i], p.sentences[i] = section, sentence
	}
	p.dropDoubles()
	for _, h := range p.hits {
		p.at[h.concept] = append(p.at[h.concept], h)
		switch h.concept {
		case cNeg:
			p.roles[h.to-1] |= roleNeg
		case cIndirect:
			p.roles[h.to-1] |= roleIndirect
		case cTo:
			p.roles[h.to-1] |= roleTo
		case cModal:
			p.roles[h.to-1] |= roleModal
		case cMust:
			p.roles[h.to-1] |= roleMust
		case cOwn:
			p.roles[h.to-1] |= roleOwn
		case cBenign:
			p.roles[h.to-1] |= roleBenign
		case cTopic:
			p.roles[h.to-1] |= roleTopic
		}
	}
	for c := range p.at { // destinations come last but stand anywhere
		if c == int(cDest) {
			slices.SortFunc(p.at[c], func(a, b hit) int { return int(a.from - b.from) })
		}
	}
	return p
}

// dropDoubles takes out what only looks like a word for secrets, such as "password reset", and what a longer phrase says already.
func (p *page) dropDoubles() {
	if !slices.ContainsFunc(p.hits, func(h hit) bool { return h.concept == cNotSens || h.concept == cHideFull || h.concept == cHideTell }) {
		return
	}
	covers := map[concept]concept{cSens: cNotSens, cHide: cHideFull}
	covered := map[concept]map[int32]bool{cNotSens: {}, cHideFull: {}}
	for _, h := range p.hits {
		if h.concept == cHideTell {
			h.concept = cHideFull
		}
		if set, ok := covered[h.concept]; ok {
			for i := h.from; i < h.to; i++ {
				set[i] = true
			}
		}
	}
	p.hits = slices.DeleteFunc(p.hits, func(h hit) bool {
		by, ok := covers[h.concept]
		return ok && covered[by][h.from]
	})
}

// signals runs the rules.
func (p *page) signals() []signal {
	var out []signal
	for i := range rules {
		r := &rules[i]
		first := len(out)
		for _, h := range p.at[r.anchor] {
			w := p.fire(r, h)
			if w <= 0 {
				continue
			}
			// The same rule again within a few words says nothing new, and would let a crafted text make much work.
			if n := len(out) - 1; n >= first && h.from < out[n].from+12 {
				if w > out[n].weight {
					out[n].weight, out[n].to = w, max(out[n].to, h.to)
				}
				continue
			}
			out = append(out, signal{rule: r, from: h.from, to: h.to, weight: w})
		}
	}
	out = append(out, p.tokenSignals()...)
	slices.SortStableFunc(out, func(a, b signal) int { return int(a.from - b.from) })
	return out
}
