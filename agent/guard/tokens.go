package guard

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Rules for what is recognised by punctuation rather than words.
var (
	ruleTemplate = rule{name: "chat-template", family: famFence, why: "It holds the control tokens of a chat model.", weight: .45}
	ruleTag      = rule{name: "role-tag", family: famFence, why: "It pretends to be a message of the system or a tool.", weight: .33}
	ruleUserTag  = rule{name: "turn-tag", family: famFence, why: "It looks like a turn of another conversation.", weight: .14}
	ruleName     = rule{name: "named", family: famAddress, why: "It speaks to the assistant rather than to a reader.", weight: .34}
	ruleCalled   = rule{name: "called", family: famAddress, why: "It speaks to the assistant rather than to a reader.", weight: .46}
	ruleAnnounce = rule{name: "announced", family: famOverride, why: "It announces instructions.", weight: .34}
	ruleTurns    = rule{name: "forged-turns", family: famRole, why: "It pretends to be a conversation with the assistant.", weight: .3}
	ruleLabel    = rule{name: "role-label", family: famRole, why: "It pretends to be a message of the system or a tool.", weight: .22}
)

// tokenSignals finds control tokens and forged role labels.
func (p *page) tokenSignals() []signal {
	var out []signal
	for _, h := range p.at[cToken] {
		before, after := p.around(h)
		switch {
		case strings.HasSuffix(before, "<|") || strings.HasPrefix(after, "|>") || strings.HasSuffix(before, "<<") && strings.HasPrefix(after, ">>"),
			strings.HasSuffix(before, "<｜") || strings.HasSuffix(before, "[") && strings.HasPrefix(after, "]") && p.word(h, "lnst"), strings.HasSuffix(before, "[/") && strings.HasPrefix(after, "]") && p.word(h, "lnst"):
			out = append(out, signal{rule: &ruleTemplate, from: h.from, to: h.to, weight: ruleTemplate.weight})
		case (strings.HasSuffix(before, "<") || strings.HasSuffix(before, "</") || strings.HasSuffix(before, ":")) && (strings.HasPrefix(after, ">") || strings.HasPrefix(after, " ")) && h.to-h.from >= 2,
			strings.HasSuffix(before, "[") && strings.HasPrefix(after, "]") && h.to-h.from >= 2:
			out = append(out, signal{rule: &ruleTag, from: h.from, to: h.to, weight: ruleTag.weight})
		}
	}
	out = append(out, p.names()...)
	turns := int32(-100)
	for _, h := range p.at[cLabel] {
		before, after := p.around(h)
		tag := (strings.HasSuffix(before, "<") || strings.HasSuffix(before, "</")) && strings.HasPrefix(after, ">")
		box := strings.HasSuffix(before, "[") && strings.HasPrefix(after, "]")
		line := p.tokens[h.from].brk >= brkLine || strings.HasSuffix(before, "#") || strings.HasSuffix(before, "# ") || strings.HasSuffix(before, "**") || strings.HasSuffix(before, "| ")
		colon := strings.HasPrefix(after, ":") || strings.HasPrefix(after, "]:") || strings.HasPrefix(after, "**:") || strings.HasPrefix(after, ":**") || strings.HasPrefix(after, "：")
		pipe := strings.HasSuffix(before, "<|") && strings.HasPrefix(after, "|>")
		switch {
		case pipe:
			out = append(out, signal{rule: &ruleTemplate, from: h.from, to: h.to, weight: ruleTemplate.weight})
		case (tag || box) && p.human(h):
			out = append(out, signal{rule: &ruleUserTag, from: h.from, to: h.to, weight: ruleUserTag.weight})
		case tag || box:
			out = append(out, signal{rule: &ruleTag, from: h.from, to: h.to, weight: ruleTag.weight})
		case colon && line:
			if h.from-turns < 40 && h.from > turns+1 {
				out = append(out, signal{rule: &ruleTurns, from: h.from, to: h.to, weight: ruleTurns.weight})
			}
			turns = h.from
			out = append(out, signal{rule: &ruleLabel, from: h.from, to: h.to, weight: ruleLabel.weight})
		case strings.HasSuffix(before, `"role": "`) || strings.HasSuffix(before, `"role":"`) || strings.HasSuffix(before, `role\": \"`) || strings.HasSuffix(before, `role\":\"`):
			if p.human(h) {
				out = append(out, signal{rule: &ruleUserTag, from: h.from, to: h.to, weight: ruleUserTag.weight})
				continue
			}
			out = append(out, signal{rule: &ruleTag, from: h.from, to: h.to, weight: ruleTag.weight})
		}
	}
	return out
}

// names finds the assistant called by a name, and announcements, before a colon or comma.
func (p *page) names() []signal {
	var out []signal
	for _, h := range p.at[cAssist] {
		_, after := p.around(h)
		if p.tokens[h.from].brk >= brkSoft && h.to < int32(len(p.tokens)) && (strings.HasPrefix(after, ":") || strings.HasPrefix(after, ",") || strings.HasPrefix(after, "：") || strings.HasPrefix(after, "，")) && p.beginsClause(h) && !(h.to == h.from+1 && strings.HasPrefix(after, ":")) {
			w := ruleName.weight
			if b := p.text[p.tokens[h.from].start]; 'a' <= b && b <= 'z' {
				w *= .4 // more often a variable or a field than a name
			}
			out = append(out, signal{rule: &ruleName, from: h.from, to: h.to, weight: w})
		}
	}
	for _, h := range p.at[cAINoun] {
		_, after := p.around(h)
		called := strings.HasPrefix(after, ":") || strings.HasPrefix(after, " :") || strings.HasPrefix(after, ",") || strings.HasPrefix(after, "：") || strings.HasPrefix(after, "，") || strings.HasPrefix(after, "!") || strings.HasPrefix(after, "،")
		if called && p.beginsCall(h) && p.prose(h) {
			out = append(out, signal{rule: &ruleCalled, from: h.from, to: h.to, weight: ruleCalled.weight})
		}
	}
	for _, h := range p.at[cAnnounce] {
		_, after := p.around(h)
		if (strings.HasPrefix(after, ":") || strings.HasPrefix(after, "：") || strings.HasPrefix(after, "**:") || strings.HasPrefix(after, " :")) && p.beginsClause(h) {
			w := ruleAnnounce.weight
			if h.to == h.from+1 && !unspacedAt(p.text, int(p.tokens[h.from].start)) {
				w *= .4 // a mere "Instructions:" heads recipes too
			}
			out = append(out, signal{rule: &ruleAnnounce, from: h.from, to: h.to, weight: w})
		}
	}
	return out
}

// beginsClause reports whether a hit begins a sentence, a line, a quotation or a comment.
func (p *page) beginsClause(h hit) bool {
	if p.tokens[h.from].brk >= brkLine {
		return true
	}
	before, _ := p.around(h)
	if n := len(before); n >= 2 && before[n-1] == '-' && classOf(before[n-2])&(isLetter|isDigit) != 0 {
		return false // the second half of a compound
	}
	before = strings.TrimRight(before, " \t*")
	return strings.HasSuffix(before, "\"") || strings.HasSuffix(before, "#") || strings.HasSuffix(before, ">") || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "//") || strings.HasSuffix(before, ":") || strings.HasSuffix(before, "(") || strings.HasSuffix(before, "[")
}

// beginsCall reports whether a clause begins at a hit or up to three words before it: "Attention all", "Note for the", "To any".
func (p *page) beginsCall(h hit) bool {
	for i := h.from; i >= 0 && i >= h.from-3; i-- {
		if p.beginsClause(hit{from: i, to: i + 1}) {
			return i == h.from || p.calls(i)
		}
		if p.tokens[i].brk >= brkSoft {
			return false
		}
	}
	return false
}

// prose reports whether a name is one in prose rather than a variable: short ones have capitals, and words follow.
func (p *page) prose(h hit) bool {
	start, end := p.tokens[h.from].start, p.tokens[h.to-1].end
	if name := p.text[start:end]; len(name) <= 3 && strings.ToUpper(name) != name {
		return false
	}
	if unspacedAt(p.text, int(start)) {
		return true
	}
	n := int(h.to)
	return n+1 < len(p.tokens) && p.tokens[n].brk < brkHard && p.tokens[n+1].brk < brkSoft
}

// calls reports whether token i is a word that calls on somebody.
func (p *page) calls(i int32) bool {
	t := p.tokens[i]
	switch strings.ToLower(p.text[t.start:t.end]) {
	case "attention", "note", "notice", "to", "for", "hey", "hello", "hi", "dear", "hidden", "message", "warning", "important", "all", "any", "instructions", "instruction", "an", "achtung", "hinweis", "attenzione", "atención", "atenção", "внимание", "nota", "uwaga", "dikkat", "instruction:", "memo", "reminder", "info":
		return true
	}
	return false
}

// human reports whether a label is one of the person's or the assistant's turns, which also name elements of ordinary documents.
func (p *page) human(h hit) bool {
	t := p.tokens[h.from]
	switch strings.ToLower(p.text[t.start:t.end]) {
	case "user", "human", "assistant", "function", "instruction", "instructions", "response", "tool", "ai", "root", "operator", "admin", "sys":
		return h.to == h.from+1
	}
	return false
}

// word reports whether a hit is exactly the folded word.
func (p *page) word(h hit, folded string) bool {
	t := p.tokens[h.from]
	return h.to == h.from+1 && int(t.end-t.start) == len(folded)
}

// around returns a few bytes before and after a hit.
func (p *page) around(h hit) (before, after string) {
	a, b := int(p.tokens[h.from].start), int(p.tokens[h.to-1].end)
	return p.text[max(0, a-12):a], p.text[b:min(len(p.text), b+4)]
}

// destinations finds addresses on the network and returns them as hits of the word they begin with.
func (p *page) destinations() []hit {
	var out []hit
	add := func(at int) {
		i := sort.Search(len(p.tokens), func(i int) bool { return int(p.tokens[i].end) > at })
		if i < len(p.tokens) {
			out = append(out, hit{cDest, int32(i), int32(i + 1)})
		}
	}
	for at := 0; ; {
		i := strings.Index(p.text[at:], "://")
		if i < 0 {
			break
		}
		at += i + 3
		add(at)
	}
	for at := 0; ; {
		i := strings.IndexByte(p.text[at:], '@')
		if i < 0 {
			break
		}
		at += i + 1
		if at > 1 && classOf(p.text[at-2])&(isLetter|isDigit) != 0 && address(p.text, at-1) {
			add(at)
		}
	}
	return out
}

// unspacedAt reports whether the character at i is of a script without spaces.
func unspacedAt(text string, i int) bool {
	if text[i] < 0xe0 {
		return false
	}
	c, _ := utf8.DecodeRuneInString(text[i:])
	return unspaced(c)
}
