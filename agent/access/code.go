package access

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	// CodeLength is the length of a pairing code as Offer makes it: two groups of four and a dash. ParseCode takes other spellings, too.
	CodeLength = codeChars + 1
	codeChars  = 8
	codeBytes  = 5 // 40 bits at 5 a character
	linkChars  = 26
	linkBytes  = 16 // 128 bits
)

// newCode makes a pairing code that is easy to read and to type: "7K3M-9QXT".
func newCode() string {
	var b [codeBytes]byte
	_, _ = rand.Read(b[:]) // it never fails: crypto/rand ends the process rather
	text := strings.ToUpper(crockford.EncodeToString(b[:]))
	return text[:4] + "-" + text[4:]
}

// newLink makes what the link of a QR code carries.
func newLink() Secret {
	var b [linkBytes]byte
	_, _ = rand.Read(b[:])
	return Secret(crockford.EncodeToString(b[:]))
}

// spelling takes what people and keyboards do to a code, as Crockford does: case, spaces and dashes mean nothing, O is 0, I and L are 1.
// ok is false for what can be neither a code nor a link.
func spelling(text string) (plain string, ok bool) {
	if len(text) > 128 {
		return "", false
	}
	plain = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r == ' ' || r == '-' || r == '\u2013' || r == '\u00a0' || r == '\t' || r == '\r' || r == '\n':
			return -1
		}
		switch r {
		case 'o':
			return '0'
		case 'i', 'l':
			return '1'
		}
		return r
	}, text)
	if len(plain) != codeChars && len(plain) != linkChars {
		return "", false
	}
	_, err := crockford.DecodeString(plain)
	return plain, err == nil
}

// ParseCode returns a pairing code in the spelling of Offer. ok is false for what can be none.
func ParseCode(text string) (code string, ok bool) {
	plain, ok := spelling(text)
	if !ok || len(plain) != codeChars {
		return "", false
	}
	plain = strings.ToUpper(plain)
	return plain[:4] + "-" + plain[4:], true
}

// newCheck makes the four digits that both screens show. Whoever claims cannot choose them.
func newCheck() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	n := binary.BigEndian.Uint64(b[:]) % 10_000
	return fmt.Sprintf("%02d %02d", n/100, n%100)
}
