package guard

import (
	"context"
	"slices"
	"sort"
	"strings"
)

// Thresholds of the score from which a text is flagged.
const (
	flagTool    = .54
	flagMessage = .7
	flagMemory  = .5
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
		if from != nil {
			place.start, place.end = from.start, from.end
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

// fire returns the weight of a rule at one anchor, 0 when it does not hold.
func (p *page) fire(r *rule, h hit) float64 {
	for _, n := range r.needs {
		if !p.close(h, n, r.direct) {
			return 0
		}
	}
	w := r.weight
	for _, b := range r.boosts {
		if p.close(h, b.need, false) {
			w += b.add
		}
	}
	if r.last > 0 && w == r.weight && (int(h.to) == len(p.tokens) || p.tokens[h.to].brk >= brkSoft) {
		w += r.last
	}
	if h.to-h.from <= 3 && strings.IndexByte(p.text[p.tokens[h.from].start:p.tokens[h.to-1].end], '_') >= 0 {
		w *= .4 // SYSTEM_OVERRIDE is a name in a program
	}
	if r.direct {
		w *= p.directness(int(h.from))
	}
	if r.family == famOverride && r.direct {
		w *= p.ownWords(h)
	}
	return w
}

// close reports whether one of the concepts stands near h, in the same paragraph or even sentence, and not within h itself.
func (p *page) close(h hit, n need, sentence bool) bool {
	where := p.sections
	if sentence {
		where = p.sentences
	}
	within := int32(n.within)
	if unspacedAt(p.text, int(p.tokens[h.from].start)) {
		within *= 2
	}
	for _, c := range n.any {
		hits := p.at[c]
		i := sort.Search(len(hits), func(i int) bool { return hits[i].from >= h.from-within-maxPhrase })
		for ; i < len(hits) && hits[i].from <= h.to+within; i++ {
			x := hits[i]
			if x.to > h.from && x.from < h.to && !partOfAnchor(x.concept) {
				continue
			}
			if x.to+within >= h.from && where[x.from] == where[h.from] {
				return true
			}
		}
	}
	return false
}

// partOfAnchor reports concepts that may be a part of the anchor's own phrase.
func partOfAnchor(c concept) bool {
	return c == cPrev || c == cUser || c == cThis || c == cYour
}

// directness tells how sure it is that the verb at token i is a command: 1 at the start of a clause or after "you must", little
// after "they" or "to", hardly anything after "do not".
func (p *page) directness(i int) float64 {
	if i == 0 || p.tokens[i].brk >= brkHard {
		return 1
	}
	role := p.roles[i-1]
	switch {
	case role&(roleMust|roleModal) != 0 && role&roleNeg == 0:
		if i >= 2 && p.tokens[i-1].brk < brkSoft && p.roles[i-2]&roleIndirect != 0 && role&roleMust == 0 {
			return .6 // "they must ignore"
		}
		return 1
	case role&roleNeg != 0 && p.tokens[i].brk < brkSoft:
		return .1
	case role&roleTo != 0 && p.tokens[i].brk < brkSoft:
		if i >= 2 && p.roles[i-2]&(roleModal|roleMust) != 0 {
			return 1
		}
		return .35
	case p.tokens[i].brk == brkSoft:
		return 1
	case role&roleIndirect != 0:
		return .3
	case p.tokens[i].brk == brkLine:
		return .9
	}
	return .9
}

// ownWords lowers an override that speaks of the writer's own words: "please ignore my previous mail".
func (p *page) ownWords(h hit) float64 {
	w := 1.0
	for i := int(h.to); i < len(p.tokens) && i < int(h.to)+7; i++ {
		if p.tokens[i].brk >= brkHard {
			break
		}
		if p.roles[i]&roleOwn != 0 {
			w *= .4
			break
		}
		if p.roles[i]&roleTopic != 0 && i > int(h.to) && p.tokens[i].brk < brkSoft {
			w *= .6 // "the earlier instructions about parking"
			break
		}
		if p.roles[i]&roleBenign != 0 && i < int(h.to)+3 {
			w *= .6
			break
		}
	}
	return w
}

// weigh adds up the signals in every window of words and keeps the best, and reports what fired.
func (s *scanner) weigh(p *page, signals []signal, from *blob) {
	if len(signals) == 0 {
		return
	}
	p.prepare()
	for i := range signals {
		x := &signals[i]
		x.hidden = p.isHidden(*x)
		x.place = p.context(*x, from != nil)
	}
	best, bestAt := 0.0, 0
	for i := range signals {
		if score := s.windowScore(p, signals, i, from); score > best {
			best, bestAt = score, i
		}
	}
	s.score = max(s.score, best)
	if len(s.findings) < maxFindings {
		s.note(p, signals, bestAt, best, from)
	}
}

// windowScore weighs the signals from signals[i] on that stand within a window.
func (s *scanner) windowScore(p *page, signals []signal, i int, from *blob) float64 {
	reach := int32(window)
	if unspacedAt(p.text, int(p.tokens[signals[i].from].start)) {
		reach *= 2
	}
	var byFamily [12]struct {
		name  string
		first float64
		rest  float64
	}
	families := 0
	top, factor := 0.0, 0.0
	hidden := false
	for _, x := range signals[i:] {
		if x.from > signals[i].from+reach {
			break
		}
		w := x.weight * s.channelFactor(x.rule) * x.place
		hidden = hidden || x.hidden
		factor = max(factor, x.place)
		top = max(top, w)
		k := 0
		for k < families && byFamily[k].name != x.rule.family {
			k++
		}
		if k == len(byFamily) {
			continue
		}
		if k == families {
			families++
			byFamily[k].name = x.rule.family
		}
		if f := &byFamily[k]; w > f.first {
			f.rest, f.first = max(f.rest, f.first), w
		} else {
			f.rest = max(f.rest, w)
		}
	}
	rest := 1.0
	for _, f := range byFamily[:families] {
		rest *= (1 - f.first) * (1 - f.rest*.6)
	}
	if base := 1 - rest; from != nil && base >= .25 {
		rest *= 1 - .45*factor
		top = max(top, .4)
	} else if hidden && base >= .32 {
		rest *= 1 - .42*factor
		top = max(top, .4)
	}
	score := 1 - rest
	if top < .34 && families < 3 {
		score *= .8 // many weak reasons of one kind are habit, not intent
	}
	return score
}

// channelFactor lowers what is normal on a channel: a person may give the assistant roles, tasks and orders.
func (s *scanner) channelFactor(r *rule) float64 {
	if s.channel != Message {
		return 1
	}
	switch r.family {
	case famOverride:
		if r.name == "override" || r.name == "override-phrase" {
			return 1
		}
		return .5
	case famHidden, famEncoded:
		return 1
	case famFence:
		return .8
	}
	return .4
}

func (s *scanner) threshold() float64 {
	switch s.channel {
	case Message:
		return flagMessage
	case Memory:
		return flagMemory
	}
	return flagTool
}

// report closes a Scan.
func (s *scanner) report(size int) Report {
	r := Report{Score: min(s.score, 1), Findings: s.findings}
	r.Flagged = r.Score >= s.threshold()
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Start = max(0, min(f.Start, size-1))
		f.End = max(f.Start+1, min(f.End, size))
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return a.Start - b.Start })
	return r
}

// note adds findings for the signals of the best window.
func (s *scanner) note(p *page, signals []signal, at int, score float64, from *blob) {
	if score < .3 {
		return
	}
	last := signals[at].from + window*2
	hidden := false
	start, end := len(p.text), 0
	seen := map[string]bool{}
	for _, x := range signals[at:] {
		if x.from > last || len(s.findings) >= maxFindings {
			break
		}
		a, b := int(p.tokens[x.from].start), int(p.tokens[x.to-1].end)
		start, end = min(start, a), max(end, b)
		hidden = hidden || x.hidden
		if seen[x.rule.name] {
			continue
		}
		seen[x.rule.name] = true
		if from != nil {
			a, b = from.start, from.end
		}
		s.findings = append(s.findings, Finding{Rule: x.rule.name, Family: x.rule.family, Start: a, End: b, Score: min(x.weight, 1), Why: x.rule.why})
	}
	switch {
	case from != nil:
		s.findings = append(s.findings, Finding{Rule: from.rule, Family: famEncoded, Start: from.start, End: from.end, Score: score, Why: from.why})
	case hidden:
		s.findings = append(s.findings, Finding{Rule: "hidden", Family: famHidden, Start: start, End: end, Score: score, Why: "It stands where a reader does not see it."})
	}
}
