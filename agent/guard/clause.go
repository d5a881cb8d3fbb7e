package guard

import (
	"sort"
	"strings"
	"unicode/utf8"
)

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
	if p.inCompound(r, h) {
		w *= .3
	}
	if r.direct {
		w *= p.directness(h)
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
func (p *page) directness(h hit) float64 {
	i := int(h.from)
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
		if n := int(h.to); n == i+1 && n < len(p.tokens) && p.tokens[n].brk == brkSoft {
			return .3 // one of a list: "passwords, email, names"
		}
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
			w *= .5 // "the earlier instructions about parking"
			break
		}
		if p.roles[i]&roleBenign != 0 && i < int(h.to)+3 {
			w *= .6
			break
		}
	}
	return w
}

// inCompound reports whether a single word is the end of a name such as git-imap-send, the beginning of one such as
// send_mail, or is called as a function.
func (p *page) inCompound(r *rule, h hit) bool {
	if h.to != h.from+1 {
		return false
	}
	start, end := int(p.tokens[h.from].start), int(p.tokens[h.from].end)
	next := byte(0)
	if end < len(p.text) {
		next = p.text[end]
	}
	if next == '(' || next == '.' && end+1 < len(p.text) && classOf(p.text[end+1]) == isLetter {
		return true
	}
	if next == '_' && (start == 0 || p.text[start-1] != '_') && r.family != famOverride {
		name := p.text[start:min(len(p.text), start+48)]
		if i := strings.IndexFunc(name, func(c rune) bool { return c != '_' && (c >= utf8.RuneSelf || classOf(byte(c))&(isLetter|isDigit) == 0) }); i >= 0 {
			name = name[:i]
		}
		return strings.Count(name, "_") <= 2 // whole sentences may be written so, too
	}
	return next != '-' && start >= 2 && p.text[start-1] == '-' && classOf(p.text[start-2])&(isLetter|isDigit) != 0
}

// codeReach is how many words around a signal tell code from prose.
const codeReach = 8

// inStatement reports whether what stands between the words on both sides of a signal is the punctuation of code or data rather
// than of prose; a text within data has prose on one side. Markup and escapes do not count: attacks are broken up with them.
func (p *page) inStatement(x signal) bool {
	return p.codeBetween(int(x.from)-codeReach, int(x.from)) && p.codeBetween(int(x.to)-1, int(x.to)+codeReach)
}

// codeBetween reports whether two in five gaps of tokens[from:to] are of code.
func (p *page) codeBetween(from, to int) bool {
	from, to = max(0, from), min(len(p.tokens)-1, to)
	code, all := 0, 0
	for i := from; i < to; i++ {
		all++
		if codeGap(p.text[p.tokens[i].end:max(p.tokens[i].end, p.tokens[i+1].start)]) {
			code++
		}
	}
	return all >= 3 && code*5 >= all*2
}

// codeGap reports whether what stands between two words is punctuation of code.
func codeGap(gap string) bool {
	switch gap {
	case "", " ", ", ", ". ", "\n":
		return false
	case ".", "::", "->":
		return true
	}
	return len(gap) <= 200 && (strings.ContainsAny(gap, "(){}[]=") || strings.Contains(gap, ";\n") || strings.Contains(gap, "\":") || strings.Contains(gap, "\",") || strings.Contains(gap, "',"))
}
