package guard

import (
	"strings"
	"unicode/utf8"
)

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
	if placeholder(s) && kind != cuePIN || stopValues()[strings.ToLower(s)] || strings.Contains(s, "://") || strings.HasPrefix(s, "www.") || strings.HasPrefix(s, markOpen[:len(markOpen)-1]) {
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
	return ok && units()[strings.ToLower(strings.TrimRight(text[w.start:w.end], ".,;!?)"))]
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
		if len(s) < 3 || len(s) > 8 || !plainWord(s) || s[0] < 'a' || stopValues()[s] || adjuncts()[s] {
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
