package vault

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // the word list
	"slices"
	"strings"

	"filippo.io/age"

	"ash/agent"
)

// english is the English word list of BIP-39: 2048 words, sorted, told apart by their first four letters.
//
//go:embed english.txt
var english string

// PhraseWords is how many words a recovery phrase has: 256 bits and 8 of checksum, 11 to a word.
const PhraseWords = 24

const entropyBytes = 32

// words returns the list, in order.
func words() []string { return strings.Fields(english) }

// newPhrase returns a fresh recovery phrase and the identity it stands for.
func newPhrase() (string, *age.X25519Identity, error) {
	entropy := make([]byte, entropyBytes)
	rand.Read(entropy) // never fails: crypto/rand ends the process first
	defer Wipe(entropy)
	id, err := phraseIdentity(entropy)
	return encodePhrase(entropy), id, err
}

// encodePhrase is BIP-39 for 256 bits: the entropy, the first byte of its SHA-256, 11 bits to a word.
func encodePhrase(entropy []byte) string {
	list, sum := words(), sha256.Sum256(entropy)
	data := append(slices.Clone(entropy), sum[0])
	defer Wipe(data)
	said := make([]string, 0, PhraseWords)
	acc, bits := 0, 0
	for _, b := range data {
		acc, bits = acc<<8|int(b), bits+8
		if bits >= 11 {
			bits -= 11
			said = append(said, list[acc>>bits])
			acc &= 1<<bits - 1
		}
	}
	return strings.Join(said, " ")
}

// decodePhrase reads a phrase as a person types it: any case and white space, numbers and punctuation of a written list
// between the words, and words cut to four letters or more. CodeInvalid says what is wrong and never repeats the phrase.
func decodePhrase(phrase string) ([]byte, error) {
	if len(phrase) > 4096 {
		return nil, wrongCount(-1)
	}
	typed := strings.FieldsFunc(strings.ToLower(phrase), func(r rune) bool { return r < 'a' || r > 'z' })
	if len(typed) != PhraseWords {
		return nil, wrongCount(len(typed))
	}
	list := words()
	data := make([]byte, 0, entropyBytes+1)
	acc, bits := 0, 0
	for n, w := range typed {
		i, found := slices.BinarySearch(list, w)
		if !found && (len(w) < 4 || i == len(list) || !strings.HasPrefix(list[i], w)) {
			Wipe(data)
			return nil, agent.Errorf(agent.CodeInvalid, "Word %d of the phrase is not one of the list. Check its spelling.", n+1)
		}
		acc, bits = acc<<11|i, bits+11
		for bits >= 8 {
			bits -= 8
			data = append(data, byte(acc>>bits))
			acc &= 1<<bits - 1
		}
	}
	entropy := data[:entropyBytes]
	if sum := sha256.Sum256(entropy); sum[0] != data[entropyBytes] {
		Wipe(data)
		return nil, agent.Errorf(agent.CodeInvalid, "These are words of the list, but not together: one is wrong or two are swapped. Check them against what you wrote down.")
	}
	return entropy, nil
}

func wrongCount(n int) error {
	if n < 0 {
		return agent.Errorf(agent.CodeInvalid, "A recovery phrase has %d words.", PhraseWords)
	}
	return agent.Errorf(agent.CodeInvalid, "A recovery phrase has %d words; these are %d.", PhraseWords, n)
}

// phraseIdentity derives the identity that a phrase stands for: HKDF-SHA256 of the entropy.
func phraseIdentity(entropy []byte) (*age.X25519Identity, error) {
	scalar, err := hkdf.Key(sha256.New, entropy, nil, "ash vault recovery 1", 32)
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "The recovery phrase could not be used.")
	}
	defer Wipe(scalar)
	id, err := age.ParseX25519Identity(strings.ToUpper(bech32("age-secret-key-", scalar)))
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "The recovery phrase could not be used.")
	}
	return id, nil
}
