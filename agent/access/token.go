package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"hash/crc32"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ash/agent"
)

// Scope is what a token may be used for.
type Scope string

// The scopes. Each allows what it names and nothing else; ScopeAdmin allows everything.
const (
	ScopeRead   Scope = "read"   // read memory and conversations
	ScopeChat   Scope = "chat"   // write messages and read their answers
	ScopeMemory Scope = "memory" // read and change memory
	ScopeAdmin  Scope = "admin"  // everything
)

// Scopes returns all scopes, the narrowest first.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeChat, ScopeMemory, ScopeAdmin} }

// MaxName bounds the name of a token, in characters.
const MaxName = 64

// Token is a program's permission to use the API, without the secret that proves it.
type Token struct {
	ID      agent.ID
	Name    string // unique among those that are not revoked, ignoring case
	Hint    string // how its secret begins, to tell it from others
	Scopes  []Scope
	Created time.Time
	Used    time.Time // last time, to the minute or so; zero: never
	Expires time.Time // zero: never
	Revoked time.Time // zero: it is not
}

// Usable reports whether the token lets anybody in at a time.
func (t Token) Usable(at time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || at.Before(t.Expires))
}

// Allows reports whether the token has one of the scopes, or ScopeAdmin.
func (t Token) Allows(oneOf ...Scope) bool {
	return slices.ContainsFunc(t.Scopes, func(s Scope) bool { return s == ScopeAdmin || slices.Contains(oneOf, s) })
}

// Via says for people that something came through the token.
func (t Token) Via() string { return "API token " + t.Name }

const (
	// Prefix begins every secret, so that people and scanners know it for what it is.
	Prefix = "ash_"
	// SecretLength is the length of a secret in characters.
	SecretLength = len(Prefix) + keyLength + sumLength

	keyBytes   = 32
	keyLength  = 52 // 256 bits at 5 a character
	sumLength  = 7  // 32 bits
	hintLength = len(Prefix) + 6
)

// crockford is Crockford's base 32 in lower case: no letter that is taken for a digit, and nothing that ends a word where it
// is copied by a double click (https://www.crockford.com/base32.html).
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Secret is what a program presents: Prefix, 256 random bits, and a checksum that tells a mistyped one from a wrong
// one without a look into the store. It prints as its hint, so that it does not get into a log by accident; String(secret)
// is the whole.
type Secret string

// NewSecret makes one.
func NewSecret() Secret {
	var key [keyBytes]byte
	_, _ = rand.Read(key[:]) // it never fails: crypto/rand ends the process rather
	return secretOf(key[:])
}

func secretOf(key []byte) Secret {
	text := Prefix + crockford.EncodeToString(key)
	return Secret(text + checksum(text))
}

func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	return crockford.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// String returns the hint, not the secret.
func (s Secret) String() string { return s.Hint() + "…" }

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// Hint returns how the secret begins: 30 of its 256 bits.
func (s Secret) Hint() string { return string(s[:min(hintLength, len(s))]) }

// Hash returns what is kept of a secret. ok is false for what cannot be one: another form, or a checksum that does not fit.
func (s Secret) Hash() (hash []byte, ok bool) {
	text := string(s)
	if len(text) != SecretLength || !strings.HasPrefix(text, Prefix) {
		return nil, false
	}
	body := text[:SecretLength-sumLength]
	key, err := crockford.DecodeString(body[len(Prefix):])
	// The last character has bits to spare: only one way to write a key counts.
	if err != nil || crockford.EncodeToString(key) != body[len(Prefix):] || checksum(body) != text[len(body):] {
		return nil, false
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:], true
}

// ParseScopes reads scopes from the names a person wrote, each once and in the order of Scopes. CodeInvalid for an unknown one and for none.
func ParseScopes(names []string) ([]Scope, error) {
	var out []Scope
	for _, name := range names {
		s := Scope(strings.ToLower(strings.TrimSpace(name)))
		if !slices.Contains(Scopes(), s) {
			return nil, agent.Errorf(agent.CodeInvalid, "There is no scope %q. The scopes are read, chat, memory and admin.", agent.Clip(name, 40))
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, agent.Errorf(agent.CodeInvalid, "A token needs at least one scope: read, chat, memory or admin.")
	}
	slices.SortFunc(out, func(a, b Scope) int { return slices.Index(Scopes(), a) - slices.Index(Scopes(), b) })
	return slices.Compact(out), nil
}

// checkName returns a name as it is kept. CodeInvalid for one that a list could not show, or that looks like an id.
func checkName(name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	n := utf8.RuneCountInString(name)
	plain := utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	if n == 0 || n > MaxName || !plain {
		return "", agent.Errorf(agent.CodeInvalid, "The name of a token has 1 to %d characters, on one line.", MaxName)
	}
	if _, err := agent.ParseID(name); err == nil || strings.HasPrefix(name, Prefix) {
		return "", agent.Errorf(agent.CodeInvalid, "Name the token after the program that uses it, so that you know it again.")
	}
	return name, nil
}
