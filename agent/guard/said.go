package guard

import (
	"strings"
	"unicode/utf8"
)

// findSaid finds secrets the way people tell them in a conversation: a word that announces one, perhaps what it is
// for, "is" in some language or a colon, and the value; or the value first.
func findSaid(spans []span, text string, c cues) []span {
	for _, h := range c.said {
		if h.cue == cueCard {
			spans = cardNumber(spans, text, h.end)
			continue
		}
		if name, start := nameBefore(text, h.end); start < h.start && harmless(name) {
			continue // public_key, cache-key
		}
		if partOfName(text, h) {
			continue
		}
		if s, ok := saidAfter(text, h); ok {
			spans = append(spans, s)
		} else if s, ok := saidBefore(text, h); ok {
			spans = append(spans, s)
		}
	}
	if c.farEast {
		spans = farEastSaid(spans, text)
	}
	if c.mail {
		spans = pairs(spans, text)
	}
	return spans
}

// partOfName reports whether a cue is a piece of a path, an address or an identifier: example.org/login, password_encryptions, pass().
func partOfName(text string, h cueHit) bool {
	if h.end+1 < len(text) {
		switch next := text[h.end]; {
		case next == '(', next == '_', next == '@', next == '-' && classOf(text[h.end+1]) == isLetter && !strings.HasPrefix(strings.ToLower(text[h.end+1:min(len(text), h.end+5)]), "code"), next == '/' && text[h.end+1] != ' ' && text[h.end+1] != '/':
			return true
		case (next == '-' || next == '.') && classOf(text[h.end+1])&isLetter != 0 && h.start > 0 && (text[h.start-1] == '/' || text[h.start-1] == '-' || text[h.start-1] == '.'):
			return true
		}
	}
	return h.start > 1 && (text[h.start-1] == '/' && text[h.start-2] != ' ' && classOf(text[h.start-2])&isHigh == 0 || text[h.start-1] == '.' && classOf(text[h.start-2])&isLetter != 0)
}

// pairs finds the password in "jane@example.org / hunter2!", as people note logins.
func pairs(spans []span, text string) []span {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return spans
		}
		at += i + 1
		end := at
		for end < len(text) && end-at < 80 && (classOf(text[end])&(isLetter|isDigit) != 0 || text[end] == '.' || text[end] == '-') {
			end++
		}
		if end == at || !strings.Contains(text[at:end], ".") {
			continue
		}
		rest := strings.TrimLeft(text[end:], " ")
		if len(rest) < 2 || strings.IndexByte("/|", rest[0]) < 0 {
			continue
		}
		w, ok := nextWord(text, len(text)-len(rest)+1)
		if !ok {
			continue
		}
		w = trimmed(text, w)
		if s := text[w.start:w.end]; len(s) >= 6 && len(s) <= 64 && countDigits(s) > 0 && countDigits(s) < len(s) && strings.ContainsAny(s, "!@#$%^&*?+~=_-") && !strings.Contains(s, "/") && !strings.Contains(s, ".") && !dateLike(s) {
			spans = append(spans, span{w.start, w.end, rulePassword, rankSaid})
		}
	}
}

// word is text[start:end], without the punctuation around it.
type word struct {
	start, end int
	quoted     bool
}

// nextWord returns the word after at on the same line.
func nextWord(text string, at int) (w word, ok bool) {
	i := at
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	if i >= len(text) || text[i] == '\n' || text[i] == '\r' {
		return w, false
	}
	w.start = i
	for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) < 0 && i-w.start < maxValue {
		i++
	}
	w.end = i
	for w.start < w.end && strings.IndexByte("\"'`([*", text[w.start]) >= 0 {
		w.quoted = w.quoted || text[w.start] != '(' && text[w.start] != '['
		w.start++
	}
	for _, q := range [...]string{"“", "«", "‘", "„", "「", "『"} {
		if strings.HasPrefix(text[w.start:w.end], q) {
			w.start += len(q)
			w.quoted = true
		}
	}
	return w, w.start < w.end
}

// trimmed takes the punctuation off the end that belongs to the sentence.
func trimmed(text string, w word) word {
	for {
		s := text[w.start:w.end]
		n := len(strings.TrimRight(s, ".,;:)\"'`]*<>"))
		for _, q := range [...]string{"”", "»", "’", "“", "」", "』", "。", "、", "，", "！", "…"} {
			if strings.HasSuffix(s[:n], q) {
				n -= len(q)
			}
		}
		if i := strings.IndexAny(s[:n], "\"'`\\"); i > 0 && w.quoted { // a closing quote within: what follows is not the value's
			n = i
		}
		if n == len(s) {
			return w
		}
		w.end = w.start + n
	}
}

// maxAdjuncts bounds the words between a cue and its value.
const maxAdjuncts = 7

// saidAfter looks for the value behind the cue. Between them may stand what it is for; when that is in words that are not on the
// list, or in another clause, only a value that looks like a secret by itself counts.
func saidAfter(text string, h cueHit) (span, bool) {
	at := h.end
	kind := h.cue
	if before, ok := wordBefore(text, h.start); ok && kind == cueKey && networkWords()[strings.ToLower(text[before.start:before.end])] {
		kind = cuePassword
	}
	company := kind == cuePassword || kind == cuePIN || companyBefore(text, h.start, kind)
	known := true
	if rest, ok := strings.CutPrefix(text[at:], "'s "); ok || strings.HasPrefix(text[at:], "’s ") {
		if ok {
			at = len(text) - len(rest)
		} else {
			at += len("’s ")
		}
		if s, ok := valueOf(text, at, kind, company, false); ok {
			return s, true
		}
	}
	for n := 0; n <= maxAdjuncts; n++ {
		if sign, after := signAt(text, at); sign {
			return valueOf(text, after, kind, company, known || kind != cueKey)
		}
		w, ok := nextWord(text, at)
		if !ok {
			return span{}, false
		}
		raw := strings.ToLower(text[w.start:w.end])
		bare := strings.TrimRight(raw, ".,;!?\"')")
		if copulas()[bare] && len(bare) == len(raw) || copulas()[raw] {
			return valueOf(text, w.end, kind, company, known)
		}
		if weakCopulas()[raw] {
			if s, ok := valueOf(text, w.end, kind, company, false); ok {
				return s, true
			}
		}
		if company && n == 0 || kind == cueKey && n == 0 || company && n <= 4 && kind != cueCode && strong(text, w, kind) {
			if s, ok := valueOf(text, at, kind, company, false); ok && (kind != cueKey || s.end-s.start >= 16) {
				return s, true
			}
		}
		name, _, hasColon := strings.Cut(bare, ":")
		if vetoes()[name] || strings.ContainsAny(raw[len(bare):], ".;!?") {
			return span{}, false
		}
		switch {
		case codeCompany()[name]:
			company = true
		case !adjuncts()[name] && !nameLike(text[w.start:w.end]) || len(bare) != len(raw):
			known = false
		}
		if hasColon {
			return valueOf(text, w.start+len(name)+1, kind, company, known || kind != cueKey)
		}
		at = w.end
	}
	return span{}, false
}

// strong reports whether a word that no "is" announces can be nothing but a secret: long, mixed, and at the end of its clause.
func strong(text string, w word, kind cue) bool {
	end := w.end
	w = trimmed(text, w)
	s := text[w.start:w.end]
	if kind == cuePIN {
		return len(s) >= 4 && len(s) <= 8 && countDigits(s) == len(s) && clauseEnds(text, end)
	}
	n := countDigits(s)
	return len(s) >= 7 && n < len(s) && (n >= 2 || n > 0 && strings.ContainsAny(s, "!@#$%^&*?+~=_-")) && clauseEnds(text, end) && !codeLike(s)
}

// clauseEnds reports whether nothing of the sentence follows but words such as "please".
func clauseEnds(text string, at int) bool {
	w, ok := nextWord(text, at)
	if !ok || at > 0 && strings.IndexByte(".,;!", text[at-1]) >= 0 {
		return true
	}
	switch strings.ToLower(strings.TrimRight(text[w.start:w.end], ".,;!?)")) {
	case "please", "ok", "okay", "thanks", "and", "keep", "for", "bitte", "und", "для", "yes", "right", "btw", "-", "–":
		return true
	}
	return false
}

// nameLike reports whether a word may name what a secret is for: a capitalised or short word of letters.
func nameLike(s string) bool {
	return len(s) <= 20 && (plainWord(s) && s[0] < utf8.RuneSelf && 'A' <= s[0] && s[0] <= 'Z' || strings.HasSuffix(s, "'s") || strings.HasSuffix(s, "’s") || strings.Contains(s, ".com") || strings.Contains(s, "@"))
}

// signAt reports whether the next thing on the line is a sign such as ':' or '=', and where it ends.
func signAt(text string, at int) (bool, int) {
	for at < len(text) && strings.IndexByte(" \t*)\"'`", text[at]) >= 0 {
		at++
	}
	for _, sign := range [...]string{":=", "=>", "->", ":", "=", "→", "：", "–", "—", "- "} {
		if strings.HasPrefix(text[at:], sign) {
			if strings.HasPrefix(text[at:], "://") {
				return false, 0
			}
			return true, at + len(sign)
		}
	}
	return false, 0
}

// valueOf returns the value at at, after adverbs; direct is false when only a value that looks like a secret by itself counts.
func valueOf(text string, at int, kind cue, company, direct bool) (span, bool) {
	for at < len(text) && text[at] == '*' {
		at++
	}
	for range 4 {
		w, ok := nextWord(text, at)
		if !ok {
			if rest := strings.TrimLeft(text[at:], " \t\r\n"); direct && at < len(text) && len(text)-at-len(rest) <= 3 && rest != "" {
				at = len(text) - len(rest) // the value stands on the next line
				if w, ok = nextWord(text, at); !ok {
					return span{}, false
				}
				return judge(text, w, kind, company, false)
			}
			return span{}, false
		}
		lower := strings.ToLower(text[w.start:w.end])
		if adverbs()[lower] || strings.HasSuffix(lower, ":") && adverbs()[strings.TrimSuffix(lower, ":")] {
			at = w.end
			continue
		}
		return judge(text, w, kind, company, direct)
	}
	return span{}, false
}

// companyBefore reports whether words before a cue make it one of a secret.
func companyBefore(text string, start int, kind cue) bool {
	if kind == cueKey || kind == cuePhrase {
		return false
	}
	at := start
	for range 3 {
		w, ok := wordBefore(text, at)
		if !ok {
			return false
		}
		if s := strings.ToLower(text[w.start:w.end]); codeCompany()[s] {
			return true
		}
		at = w.start
	}
	return false
}

// wordBefore returns the word that ends before at on the same line.
func wordBefore(text string, at int) (word, bool) {
	end := at
	for end > 0 && (text[end-1] == ' ' || text[end-1] == '\t') {
		end--
	}
	start := end
	for start > 0 && end-start < 256 && strings.IndexByte(" \t\r\n", text[start-1]) < 0 {
		start--
	}
	return word{start: start, end: end}, start < end
}

// backCopulas stand between a value and the name of a secret that follows: "hunter2 is my password", "X as the PIN".
var backCopulas = words(`is was ist war est era es è é to jest это = as als como comme come jako как are`)

// saidBefore looks for the value in front of the cue.
func saidBefore(text string, h cueHit) (span, bool) {
	at := h.start
	company := h.cue == cuePassword || h.cue == cuePIN || h.cue == cueCode && companyBefore(text, h.start, h.cue)
	for range 5 {
		w, ok := wordBefore(text, at)
		if !ok {
			return span{}, false
		}
		s := strings.ToLower(text[w.start:w.end])
		if backCopulas()[s] {
			v, ok := wordBefore(text, w.start)
			if !ok {
				return span{}, false
			}
			for v.start < v.end && strings.IndexByte("\"'`(", text[v.start]) >= 0 {
				v.start++
				v.quoted = true
			}
			out, ok := judge(text, v, h.cue, company, false)
			return out, ok && (h.cue != cuePassword || countDigits(text[out.start:out.end]) < out.end-out.start)
		}
		if !adjuncts()[s] && !codeCompany()[s] && !nameLike(text[w.start:w.end]) {
			return span{}, false
		}
		at = w.start
	}
	return span{}, false
}
