package access

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// often are words that lists of leaked passwords begin with, in lower case and without what people add to them.
// A passphrase that is one of them, with digits and signs around it, is no secret.
var often = sync.OnceValue(func() []string {
	return strings.Fields(`
password passwort passw0rd p@ssword p@ssw0rd motdepasse contraseña contrasena senha parola wachtwoord kennwort haslo
qwerty qwertz azerty qwertyui qwertyuiop qwertzuiop azertyuiop asdfghjk asdfghjkl asdfasdf zxcvbnm yxcvbnm qazwsx qazwsxedc 1q2w3e4r 1q2w3e4r5t 1qaz2wsx q1w2e3r4
letmein welcome willkommen bienvenue iloveyou iloveu ichliebedich jetaime trustno admin administrator root user guest login master superman batman
football baseball basketball fussball soccer hockey monkey dragon shadow sunshine princess prinzessin michael jennifer jessica charlie jordan
starwars pokemon computer internet samsung google facebook whatever freedom secret geheim hallo hello killer tigger summer sommer winter spring autumn
changeme default testtest test access ashash ash assistant homeassistant localhost example sample temp temporary`)
})

// weakness says in plain words what is wrong with a passphrase; "" for nothing that is plain to see.
func weakness(text string) string {
	lower := strings.ToLower(text)
	switch {
	case utf8.RuneCountInString(text) < MinPassphrase:
		return "The passphrase needs at least 8 characters."
	case distinct(lower) < 5:
		return "The passphrase uses the same few characters over and over."
	case repeats(lower):
		return "The passphrase is the same few characters again and again."
	case sequence(lower):
		return "The passphrase just counts up or down."
	case !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsDigit(r) && !unicode.IsPunct(r) && !unicode.IsSpace(r) }) && utf8.RuneCountInString(text) < 14:
		return "The passphrase is only digits: dates and numbers are guessed first."
	case common(lower):
		return "The passphrase is among the first that anybody would try."
	}
	return ""
}

func distinct(text string) int {
	seen := map[rune]bool{}
	for _, r := range text {
		seen[r] = true
	}
	return len(seen)
}

// repeats reports whether the text is a shorter one, four characters or fewer, said over and over.
func repeats(text string) bool {
	runes := []rune(text)
	for n := 1; n <= 4 && 2*n <= len(runes); n++ {
		same := true
		for i := n; i < len(runes); i++ {
			same = same && runes[i] == runes[i-n]
		}
		if same {
			return true
		}
	}
	return false
}

// sequence reports whether each character follows the one before, or each precedes it.
func sequence(text string) bool {
	runes := []rune(text)
	for _, step := range []rune{1, -1} {
		breaks := 0
		for i := 1; i < len(runes); i++ {
			if runes[i] != runes[i-1]+step {
				breaks++
			}
		}
		if breaks <= len(runes)/8 { // 1234567890 breaks once
			return true
		}
	}
	return false
}

// common reports whether nothing is left but words that are guessed first, once digits, signs and spaces are taken away. Digits that
// stand for letters are tried as such.
func common(text string) bool {
	leet := strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")
	core := strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, form := range []string{text, leet.Replace(text), leet.Replace(core)} {
		if slices.Contains(often(), strings.TrimSpace(form)) || slices.Contains(often(), letters(form)) {
			return true
		}
		rest := letters(form)
		for len(rest) > 0 {
			i := slices.IndexFunc(often(), func(w string) bool { return len(w) >= 4 && strings.HasPrefix(rest, w) })
			if i < 0 {
				break
			}
			rest = rest[len(often()[i]):]
		}
		if rest == "" && letters(form) != "" {
			return true
		}
	}
	return false
}

// letters returns only the letters of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, text)
}
