package vault

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"filippo.io/age"
	"golang.org/x/text/unicode/norm"

	"ash/agent"
)

// Work factors of scrypt, as powers of two. 16 takes 64 MB and about a fifth of a second for one try.
const (
	MinWork = 16
	MaxWork = 17
)

// Bounds of a passphrase: characters at least, bytes at most.
const (
	MinPassphrase = 8
	maxPassphrase = 1024
)

// errWrongKey says that a whole file was encrypted to something else.
var errWrongKey = errors.New("no identity opens this file")

// CheckPassphrase refuses one that is too short or too long with CodeInvalid.
func CheckPassphrase(p []byte) error {
	switch {
	case len(p) > maxPassphrase:
		return agent.Errorf(agent.CodeInvalid, "The passphrase is longer than %d bytes.", maxPassphrase)
	case !utf8.Valid(p):
		return agent.Errorf(agent.CodeInvalid, "The passphrase holds characters that are not text.")
	case utf8.RuneCount(bytes.TrimSpace(p)) < MinPassphrase:
		return agent.Errorf(agent.CodeInvalid, "The passphrase needs at least %d characters. Four words that nobody would expect together are a good one.", MinPassphrase)
	}
	return nil
}

// normal returns the passphrase in the one form (NFC) that all keyboards and systems agree on.
func normal(p []byte) string { return norm.NFC.String(string(p)) }

// seal encrypts to recipients.
func seal(plain []byte, to ...age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "Encrypting for the vault failed.")
	}
	return out.Bytes(), nil
}

// unseal decrypts; the caller wipes what it gets. The error is errWrongKey when no identity fits, another when the file is damaged.
func unseal(sealed []byte, with ...age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), with...)
	if err != nil {
		var none *age.NoIdentityMatchError
		if errors.As(err, &none) {
			return nil, errWrongKey
		}
		return nil, err
	}
	plain := make([]byte, 0, len(sealed)) // never grown, so no copies are left behind
	for {
		if len(plain) == cap(plain) { // what is encrypted is always longer than what it holds
			Wipe(plain)
			return nil, errors.New("more came out than went in")
		}
		n, err := r.Read(plain[len(plain):cap(plain)])
		plain = plain[:len(plain)+n]
		if errors.Is(err, io.EOF) {
			return plain, nil
		}
		if err != nil {
			Wipe(plain)
			return nil, err
		}
	}
}

// sealPass encrypts to a passphrase. It takes 2^work KiB of memory: call it between slowly and done.
func sealPass(plain, passphrase []byte, work int) ([]byte, error) {
	to, err := age.NewScryptRecipient(normal(passphrase))
	if err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "The passphrase is empty.")
	}
	to.SetWorkFactor(work)
	return seal(plain, to)
}

// unsealPass decrypts with a passphrase, like unseal and sealPass.
func unsealPass(sealed, passphrase []byte) ([]byte, error) {
	with, err := age.NewScryptIdentity(normal(passphrase))
	if err != nil {
		return nil, errWrongKey
	}
	with.SetMaxWorkFactor(MaxWork) // a planted file must not take a gigabyte
	return unseal(sealed, with)
}
