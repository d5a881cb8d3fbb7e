package guard

import (
	"sort"
	"strings"
)

// mentions says how much a text talks about attacks rather than making one.
type mentions struct {
	ready    bool
	security float64 // how many different words of the field
	fences   []run   // fenced code
}

// prepare looks at the text as a whole; only texts with signals need it.
func (p *page) prepare() {
	if p.ctx.ready {
		return
	}
	p.ctx.ready = true
	strong := p.distinct(cSecVocab)
	if strong > 0 {
		p.ctx.security = float64(strong) + .5*float64(p.distinct(cSecWeak))
	}
	p.ctx.fences = codeFences(p.text)
	p.hidden = hiddenRanges(p.text)
}

// distinct counts the different phrases of a concept, up to a few.
func (p *page) distinct(c concept) int {
	seen := map[uint64]bool{}
	for _, h := range p.at[c] {
		t := p.tokens[h.from]
		seen[uint64(t.id)<<32|uint64(t.stem)] = true
		if len(seen) >= 8 {
			break
		}
	}
	return len(seen)
}

// context returns the factor by which a signal counts where it stands: less where an attack is quoted or talked about.
func (p *page) context(x signal, decoded bool) float64 {
	start, end := int(p.tokens[x.from].start), int(p.tokens[x.to-1].end)
	told := p.mentioned(x.from)
	quoted := p.quoted(start, end)
	f := 1.0
	switch sec := p.ctx.security; {
	case sec >= 3 && (told || quoted):
		f = .3
	case sec >= 3:
		f = .55
	case sec >= 1 && told:
		f = .4
	case sec >= 1 && quoted:
		f = .42
	case sec >= 1:
		f = .85
	case told && quoted:
		f = .5
	case told:
		f = .75
	}
	if f == 1 && (x.rule.family == famFence || x.rule == &ruleLabel) && p.inCode(start) {
		f = .6 // documents show control tokens as code
	}
	if decoded || x.hidden {
		f = max(f, .8)
	}
	if !decoded && x.rule.family != famFence && p.inStatement(x) {
		f *= .5
	}
	return f
}

// toldOf returns the factor by which something encoded at start counts: less in a text about attacks, where it is an example.
func (p *page) toldOf(start int) float64 {
	p.prepare()
	i := int32(sort.Search(len(p.tokens), func(i int) bool { return int(p.tokens[i].end) > start }))
	told := int(i) < len(p.tokens) && p.mentioned(i)
	switch sec := p.ctx.security; {
	case sec >= 1 && told:
		return .4
	case sec >= 3:
		return .7
	}
	return 1
}

// mentioned reports whether words such as "for example" stand shortly before token i.
func (p *page) mentioned(i int32) bool {
	hits := p.at[cMention]
	k := sort.Search(len(hits), func(k int) bool { return hits[k].from >= i-10 })
	return k < len(hits) && hits[k].from < i && p.sections[hits[k].from] == p.sections[i]
}

// quoted reports whether text[start:end] stands in quotation marks or code on its line, in a code fence or a block quote.
func (p *page) quoted(start, end int) bool {
	if p.inCode(start) {
		return true
	}
	from := max(0, start-300)
	line := from + strings.LastIndexByte(p.text[from:start], '\n') + 1
	before, after := p.text[line:start], p.text[end:min(len(p.text), end+300)]
	if strings.HasPrefix(strings.TrimLeft(before, " \t"), ">") {
		return true
	}
	for _, q := range [...]string{"\"", "`"} {
		if strings.Count(before, q)%2 == 1 && strings.Contains(after, q) {
			return true
		}
	}
	for _, q := range [...][2]string{{"“", "”"}, {"«", "»"}, {"„", "“"}, {"「", "」"}, {"‘", "’"}, {" '", "'"}, {"('", "'"}, {"<code>", "</code>"}, {"<q>", "</q>"}, {"*", "*"}} {
		if i := strings.LastIndex(before, q[0]); i >= 0 && !strings.Contains(before[i+len(q[0]):], q[1]) && strings.Contains(after, q[1]) {
			return true
		}
	}
	return false
}

// inCode reports whether start stands in a code fence or between backquotes.
func (p *page) inCode(start int) bool {
	if i := sort.Search(len(p.ctx.fences), func(i int) bool { return p.ctx.fences[i].end > start }); i < len(p.ctx.fences) && p.ctx.fences[i].start <= start {
		return true
	}
	from := max(0, start-300)
	line := from + strings.LastIndexByte(p.text[from:start], '\n') + 1
	return strings.Count(p.text[line:start], "`")%2 == 1
}

// codeFences returns what stands between lines of ``` or ~~~, and in <pre>.
func codeFences(text string) []run {
	var out []run
	for _, f := range [...][2]string{{"```", "```"}, {"<pre", "</pre>"}} {
		for at := 0; ; {
			i := strings.Index(text[at:], f[0])
			if i < 0 {
				break
			}
			start := at + i + 3
			j := strings.Index(text[start:], f[1])
			if j < 0 {
				break
			}
			out = append(out, run{start, start + j})
			at = start + j + len(f[1])
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].start < out[j].start })
	return out
}

// isHidden reports whether a signal stands where a reader does not see it.
func (p *page) isHidden(x signal) bool {
	start := int(p.tokens[x.from].start)
	i := sort.Search(len(p.hidden), func(i int) bool { return p.hidden[i].end > start })
	return i < len(p.hidden) && p.hidden[i].start <= start
}
