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
	if before, ok := wordBefore(text, h.start); ok && kind == cueKey && networkWords[strings.ToLower(text[before.start:before.end])] {
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
		if copulas[bare] && len(bare) == len(raw) || copulas[raw] {
			return valueOf(text, w.end, kind, company, known)
		}
		if weakCopulas[raw] {
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
		if vetoes[name] || strings.ContainsAny(raw[len(bare):], ".;!?") {
			return span{}, false
		}
		switch {
		case codeCompany[name]:
			company = true
		case !adjuncts[name] && !nameLike(text[w.start:w.end]) || len(bare) != len(raw):
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
		if adverbs[lower] || strings.HasSuffix(lower, ":") && adverbs[strings.TrimSuffix(lower, ":")] {
			at = w.end
			continue
		}
		return judge(text, w, kind, company, direct)
	}
	return span{}, false
}

// judge decides whether a word is the secret that a cue announced.
func judge(text string, w word, kind cue, company, direct bool) (span, bool) {
	if kind == cuePhrase {
		return phrase(text, w)
	}
	if w.quoted && kind == cuePassword && direct {
		if s, ok := quotedPhrase(text, w); ok {
			return s, true
		}
	}
	w = trimmed(text, w)
	if w.end <= w.start {
		return span{}, false
	}
	s := text[w.start:w.end]
	if placeholder(s) && kind != cuePIN || stopValues[strings.ToLower(s)] || strings.Contains(s, "://") || strings.HasPrefix(s, "www.") || strings.HasPrefix(s, markOpen[:len(markOpen)-1]) {
		return span{}, false
	}
	digits := countDigits(s)
	good := false
	switch kind {
	case cuePIN, cueCode:
		w, good = pin(text, w, company)
	case cueKey:
		good = keySaid(s, digits)
	case cuePassword:
		good = passwordSaid(text, w, s, digits, direct)
	}
	return span{w.start, w.end, kind.rule(), rankSaid}, good
}

// pin accepts 3 to 12 digits, perhaps in groups, and for codes also a few letters or keys of a keypad.
func pin(text string, w word, company bool) (word, bool) {
	if !company || unitFollows(text, w.end) {
		return w, false
	}
	s := text[w.start:w.end]
	digits := countDigits(s)
	for _, b := range []byte(s) {
		if c := classOf(b); c&(isDigit|isLetter) == 0 && strings.IndexByte("#*-", b) < 0 {
			return w, false
		}
	}
	for digits < 8 { // groups: 49 21, 12 - 34 - 56
		next, ok := nextWord(text, w.end)
		if !ok || digits == 0 {
			break
		}
		g := trimmed(text, next)
		if n := countDigits(text[g.start:g.end]); n == 0 || n != g.end-g.start || n > 4 || len(s) > 4 {
			break
		}
		digits += countDigits(text[g.start:g.end])
		w.end = g.end
	}
	return w, digits >= 3 && len(s) <= 16 && digits <= 12
}

// keySaid accepts what looks drawn by chance.
func keySaid(s string, digits int) bool {
	if len(s) < 8 || digits == 0 || strings.ContainsAny(s, "()[]{}<>$;") || strings.Contains(s, "@") && strings.Contains(s, ".") {
		return false
	}
	if digits == len(s) || dateLike(s) {
		return false
	}
	return entropy(s) > 2.5 && (!codeLike(s) || digits*3 >= len(s))
}

// passwordSaid accepts what is no ordinary word; after "is" or a colon also a word that ends the sentence and is not said of passwords.
func passwordSaid(text string, w word, s string, digits int, direct bool) bool {
	if len(s) < 3 || len(s) > 128 || strings.ContainsAny(s, "()[]{}<>;") || strings.HasPrefix(s, "$") && codeLike(s[1:]) || dateLike(s) || namesCode(s) {
		return false
	}
	if digits == len(s) {
		return direct && len(s) >= 4 && len(s) <= 24 && !unitFollows(text, w.end)
	}
	letters := digits + strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	symbols := strings.ContainsAny(s, "!@#$%^&*?+~=_-.")
	upper := 0
	for i := 1; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			upper++
		}
	}
	switch {
	case strings.Contains(s, "@") && strings.Contains(s, ".") && digits == 0: // a mail address
		return false
	case digits > 0 && letters >= 0:
		return len(s) >= 5 && !(!direct && codeLike(s)) && !strings.HasSuffix(s, "%") && !unitFollows(text, w.end) && !(!direct && codeLike(s) && strings.ContainsAny(s, "._")) && (direct || digits >= 2 || symbols || len(s) >= 7)
	case symbols && len(s) >= 5 && !codeLike(strings.TrimRight(s, "!?")):
		return direct || strings.ContainsAny(s[:len(s)-1], "!@#$%^&*?+~=")
	case symbols && direct && len(s) >= 8 && strings.ContainsAny(strings.TrimRight(s, "!?."), "!@#$%^&*?+~=") && !strings.Contains(s, "()"):
		return true
	case upper >= 2 && len(s) >= 6:
		return direct && !allUpper(s) && !codeLike(s)
	case direct && strings.Count(s, "-") >= 2 && len(s) >= 14: // correct-horse-battery
		return true
	}
	return direct && w.quoted && len(s) >= 5 && plainWord(s)
}

// namesCode reports whether s is a path, a query, an expression or a name such as UTF-16 rather than something made up.
func namesCode(s string) bool {
	if strings.HasPrefix(s, "/") || strings.HasPrefix(s, "?") || strings.HasPrefix(s, "\\") || strings.HasPrefix(s, "+") || strings.Contains(s, "=\\\"") {
		return true
	}
	if i := strings.IndexByte(s, '-'); i > 0 && allUpper(s) && countDigits(s[i+1:]) == len(s)-i-1 && countDigits(s[:i]) == 0 {
		return true
	}
	return strings.Count(s, "/") >= 2 || strings.HasSuffix(s, "'s")
}

func allUpper(s string) bool { return strings.ToUpper(s) == s }

// dateLike reports whether s is a date, a time, a version or an address of numbers.
func dateLike(s string) bool {
	for i := range len(s) {
		if b := s[i]; (b < '0' || b > '9') && strings.IndexByte(".:/-", b) < 0 {
			return i > 0 && (s[i] == 'T' && i >= 8 || s[0] == 'v') || i == 0 && s[0] == 'v' && len(s) > 1 && dateLike(s[1:])
		}
	}
	return strings.ContainsAny(s, ".:/-")
}

// unitFollows reports whether the next word says that a number counted something.
func unitFollows(text string, at int) bool {
	if at < len(text) && text[at] == '-' {
		return true
	}
	w, ok := nextWord(text, at)
	return ok && units[strings.ToLower(strings.TrimRight(text[w.start:w.end], ".,;!?)"))]
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
		if s := strings.ToLower(text[w.start:w.end]); codeCompany[s] {
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
		if backCopulas[s] {
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
		if !adjuncts[s] && !codeCompany[s] && !nameLike(text[w.start:w.end]) {
			return span{}, false
		}
		at = w.start
	}
	return span{}, false
}

// quotedPhrase returns several quoted words: a passphrase.
func quotedPhrase(text string, w word) (span, bool) {
	open := text[w.start-1]
	if strings.IndexByte("\"'`", open) < 0 {
		return span{}, false
	}
	i := strings.IndexByte(text[w.start:min(len(text), w.start+200)], open)
	if i < 0 {
		return span{}, false
	}
	s := text[w.start : w.start+i]
	if n := len(strings.Fields(s)); n < 2 || n > 12 || strings.ContainsAny(s, "\n<>{}") || (n < 4 && countDigits(s) == 0 && !strings.ContainsAny(s, "!#$%&*+=_")) {
		return span{}, false
	}
	return span{w.start, w.start + i, rulePassword, rankSaid}, true
}

// phrase accepts the 12 to 24 words of a wallet's recovery phrase.
func phrase(text string, w word) (span, bool) {
	n, end, at := 0, w.start, w.start
	for n < 25 {
		next, ok := nextWord(text, at)
		if !ok {
			break
		}
		next = trimmed(text, next)
		s := text[next.start:next.end]
		if len(s) < 3 || len(s) > 8 || !plainWord(s) || s[0] < 'a' || stopValues[s] || adjuncts[s] {
			break
		}
		n++
		end, at = next.end, next.end
		if at < len(text) && text[at] == ',' {
			at++
		}
	}
	return span{w.start, end, rulePhrase, rankSaid}, n >= 12
}

// cardNumber finds a payment card's number shortly after a word such as card: 13 to 19 digits in groups whose check digit is right.
func cardNumber(spans []span, text string, at int) []span {
	limit := min(len(text), at+80)
	for i := at; i < limit; i++ {
		if classOf(text[i]) != isDigit {
			continue
		}
		end, digits, sum := i, make([]byte, 0, 19), 0
		for end < len(text) && len(digits) < 20 && (classOf(text[end]) == isDigit || (text[end] == ' ' || text[end] == '-') && end+1 < len(text) && classOf(text[end+1]) == isDigit) {
			if classOf(text[end]) == isDigit {
				digits = append(digits, text[end]-'0')
			}
			end++
		}
		for k := range digits {
			d := int(digits[len(digits)-1-k])
			if k%2 == 1 {
				if d *= 2; d > 9 {
					d -= 9
				}
			}
			sum += d
		}
		if n := len(digits); n >= 13 && n <= 19 && sum%10 == 0 && strings.IndexByte("3456", digits[0]+'0') >= 0 {
			return append(spans, span{i, end, ruleCard, rankSaid})
		}
		i = end
	}
	return spans
}

// farEastSaid finds values after cues in scripts without spaces.
func farEastSaid(spans []span, text string) []span {
	for _, c := range farEastCues {
		for at := 0; ; {
			i := strings.Index(text[at:], c.text)
			if i < 0 {
				break
			}
			at += i + len(c.text)
			start, limit := at, min(len(text), at+36)
			for start < limit && (text[start] >= utf8.RuneSelf || strings.IndexByte(" :=\"'`", text[start]) >= 0) {
				start++
			}
			end := start
			for end < len(text) && end-start < maxValue && text[end] > ' ' && text[end] < 0x7f && strings.IndexByte("\"'`,;", text[end]) < 0 {
				end++
			}
			s := strings.TrimRight(text[start:end], ".)")
			if len(s) < 4 || placeholder(s) || plainWord(s) || codeLike(s) && countDigits(s) == 0 || strings.HasPrefix(s, "[") || dateLike(s) {
				continue
			}
			if c.cue == cueKey && !keySaid(s, countDigits(s)) {
				continue
			}
			spans = append(spans, span{start, start + len(s), c.cue.rule(), rankSaid})
		}
	}
	return spans
}
