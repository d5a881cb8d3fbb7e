package guard

import (
	"strings"
)

// hashLike reports whether s is a UUID or a hexadecimal digest (git, MD5, SHA).
func hashLike(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "sha256-"), "sha512-")
	switch len(s) {
	case 32, 40, 56, 64, 96, 128:
		for i := range len(s) {
			if !hexed.has(s[i]) {
				return false
			}
		}
		return true
	case 36:
		for i := range len(s) {
			if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !hexed.has(s[i]) {
				return false
			}
		}
		return true
	}
	return false
}

// fillers are pieces of values that stand for a secret and are none.
var fillers = [...]string{
	"xxxx", "your", "example", "placeholder", "changeme", "change_me", "change-me", "redacted", "****", "....", "...", "…", "insert", "replace", "dummy",
	"<", "${", "{{", "todo", "1234567890abcdef", "0123456789abcdef", "abcdefghijklmnop", "abcdef123456", "[secret", "sample", "-here", "_here", "goes-here", "fixme", "notreal", "not-a-real", "my-api-key", "my_api_key", "mysecret",
}

// placeholder reports whether s is a filler: of too few different characters, or says so.
func placeholder(s string) bool {
	if len(s) >= 6 {
		var seen [256]bool
		n := 0
		for i := range len(s) {
			if !seen[s[i]] {
				seen[s[i]] = true
				n++
			}
		}
		if n <= 2 || len(s) >= 16 && n <= 4 {
			return true
		}
	}
	lower := strings.ToLower(s)
	for _, f := range fillers {
		if strings.Contains(lower, f) {
			// In a long random key four letters come about by chance.
			if len(f) > 5 || len(s) < 30 || f == "xxxx" || f == "****" || f == "...." || f == "..." || f == "${" || f == "{{" || f == "<" {
				return true
			}
		}
	}
	return false
}

// plainWord reports whether s is letters only, as words are: lower case, or with a capital first.
func plainWord(s string) bool {
	for i := range len(s) {
		b := s[i]
		if 'a' <= b && b <= 'z' || i == 0 && 'A' <= b && b <= 'Z' || b >= 0x80 {
			continue
		}
		return false
	}
	return true
}

// codeLike reports whether an unquoted value is an expression rather than a literal: a call, a member, an index, a path.
func codeLike(s string) bool {
	if strings.ContainsAny(s, "()[]{}<>$*;\\,|") {
		return true
	}
	if strings.HasPrefix(s, "@") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "&") || strings.HasPrefix(s, "!") || strings.HasPrefix(s, "%") {
		return true
	}
	if strings.Contains(s, "://") {
		return true
	}
	return wordy(s) || identifier(s)
}

// identifier reports whether s is a name in a program: letters and hardly a digit, in humps as long as those of words.
func identifier(s string) bool {
	humps, vowels, gap, letters, digits := 1, 0, 0, 0, 0
	for i := range len(s) {
		b := s[i]
		if b == '.' && i > 0 && i < len(s)-1 {
			humps, gap = humps+1, 0
			continue
		}
		if classOf(b) == isDigit && i > 0 {
			digits++
			continue
		}
		if classOf(b) != isLetter {
			return false
		}
		letters++
		if i > 0 && 'A' <= b && b <= 'Z' && 'a' <= s[i-1] && s[i-1] <= 'z' {
			humps, gap = humps+1, 0
		}
		if strings.IndexByte("aeiouyAEIOUY", b) >= 0 {
			vowels, gap = vowels+1, 0
		} else if gap++; gap > 6 {
			return false
		}
	}
	if digits > 2 || digits > 0 && letters < 12 {
		return false
	}
	return letters >= 5*humps && vowels*4 >= letters || strings.IndexByte(s, '.') > 0 && letters >= 4*humps && vowels*4 >= letters
}

// wordy reports whether s is made of words and small numbers: snake_case, kebab-case, dotted.path, camelCase.
func wordy(s string) bool {
	words, digits := 0, 0
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '_' || r == '-' || r == '/' || r == ':' }) {
		if wordLike(w) {
			words++
		} else if n := countDigits(w); n == len(w) && n <= 4 {
			digits++
		} else {
			return false
		}
	}
	return words > 0
}

// wordLike reports whether w reads like an English word or several in camelCase: letters, vowels among them.
func wordLike(w string) bool {
	vowels, upper, gap, longest := 0, 0, 0, 0
	for i := range len(w) {
		b := w[i]
		switch {
		case 'A' <= b && b <= 'Z':
			upper++
		case b < 'a' || b > 'z':
			return i > 2 && i == len(w)-1 && '0' <= b && b <= '9' // sha1, value2
		}
		if strings.IndexByte("aeiouyAEIOUY", b) >= 0 {
			vowels++
			gap = 0
		} else {
			gap++
			longest = max(longest, gap)
		}
	}
	if upper == len(w) {
		return len(w) <= 12
	}
	return (vowels*5 >= len(w) && longest <= 5 || len(w) <= 3) && upper*3 <= len(w)+1
}

func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			n++
		}
	}
	return n
}
