package keypair

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"ash/agent"
)

// maxFile bounds a file, in bytes. A chain of certificates with its key has some thousand.
const maxFile = 1 << 20

// Soon is how long before its end a certificate is worth a word. Who renews by themselves does so a month before (Let's Encrypt, Tailscale).
const Soon = 14 * 24 * time.Hour

// Files are where a certificate and its key lie, both as PEM.
type Files struct {
	Certificate string // the server's own certificate first, then the ones it rests on
	Key         string // "": in the same file
}

// None reports whether nothing is named.
func (f Files) None() bool { return f == Files{} }

func (f Files) key() string {
	if f.Key == "" {
		return f.Certificate
	}
	return f.Key
}

// Stamp is another one once either file was written anew, replaced, or taken away.
func (f Files) Stamp() string {
	var b strings.Builder
	for _, path := range []string{f.Certificate, f.key()} {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintf(&b, "%s gone\n", path)
			continue
		}
		fmt.Fprintf(&b, "%s %d %d %o\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return b.String()
}

// Load reads the pair. Errors are CodeInvalid and say what to do: a file that is missing or cannot be read, no certificate or no key in it, a key of
// another certificate, a key that others may read. For a certificate that is over, or not good yet, there is an error and the pair as well.
func Load(f Files, now time.Time) (*tls.Certificate, error) {
	if f.Certificate == "" {
		return nil, agent.Errorf(agent.CodeInvalid, "Name the file of the certificate, too.")
	}
	chain, err := read(f.Certificate, f.Key == "")
	if err != nil {
		return nil, err
	}
	key := chain
	if f.Key != "" {
		if key, err = read(f.Key, true); err != nil {
			return nil, err
		}
		defer clear(key)
	}
	defer clear(chain)
	if !holds(chain, func(kind string) bool { return kind == "CERTIFICATE" }) {
		return nil, agent.Errorf(agent.CodeInvalid, "There is no certificate in %s. It begins with -----BEGIN CERTIFICATE-----.", f.Certificate)
	}
	if !holds(key, func(kind string) bool { return strings.HasSuffix(kind, "PRIVATE KEY") }) {
		return nil, agent.Errorf(agent.CodeInvalid, "There is no key in %s. It begins with -----BEGIN PRIVATE KEY-----.", f.key())
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "%s", unpaired(err, f))
	}
	return &pair, timely(pair.Leaf, f, now)
}

// unpaired says why two files do not make a pair, without a word of what is in them.
func unpaired(err error, f Files) string {
	switch {
	case strings.Contains(err.Error(), "does not match"):
		return fmt.Sprintf("The key in %s belongs to another certificate than the first one in %s. Name the two that were made together.", f.key(), f.Certificate)
	case strings.Contains(err.Error(), "private key"):
		return fmt.Sprintf("The key in %s cannot be used. It has to be an RSA, ECDSA or Ed25519 key in PEM, without a passphrase.", f.key())
	}
	return fmt.Sprintf("The certificate in %s cannot be read.", f.Certificate)
}

func timely(leaf *x509.Certificate, f Files, now time.Time) error {
	switch {
	case leaf.IsCA:
		return agent.Errorf(agent.CodeInvalid, "%s is the certificate of an authority. Name one that the authority gave to this machine.", f.Certificate)
	case !now.Before(leaf.NotAfter):
		return agent.Errorf(agent.CodeInvalid, "The certificate in %s ended on %s. Have it renewed; Ash takes the new one by itself.", f.Certificate, leaf.NotAfter.Local().Format("2 January 2006"))
	case now.Before(leaf.NotBefore):
		return agent.Errorf(agent.CodeInvalid, "The certificate in %s is not good before %s. Look at this machine's clock.", f.Certificate, leaf.NotBefore.Local().Format("2 January 2006"))
	}
	return nil
}

// read reads a whole file, a secret one only when nobody else may.
func read(path string, secret bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unread(path, err)
	}
	if !info.Mode().IsRegular() { // a pipe would be waited for
		return nil, agent.Errorf(agent.CodeInvalid, "%s is not a file.", path)
	}
	if info.Size() > maxFile {
		return nil, agent.Errorf(agent.CodeInvalid, "%s is too large to be a certificate or its key.", path)
	}
	if secret && openToOthers(info) {
		return nil, agent.Errorf(agent.CodeInvalid, "Others on this machine may read the key in %s. Close it with: chmod 600 %s", path, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unread(path, err)
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, unread(path, err)
	}
	return data, nil
}

func unread(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return agent.Wrap(agent.CodeInvalid, err, "There is no file %s on this machine.", path)
	case errors.Is(err, fs.ErrPermission):
		return agent.Wrap(agent.CodeInvalid, err, "Ash may not read %s. Give the file to who Ash runs as, or let Ash have a copy.", path)
	}
	return agent.Wrap(agent.CodeInvalid, err, "%s cannot be read.", path)
}

// holds reports whether there is a block of a kind in a PEM text.
func holds(text []byte, kind func(string) bool) bool {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return false
		}
		if kind(block.Type) {
			return true
		}
		text = bytes.TrimSpace(rest)
	}
}

// Names are the names that a certificate is for and that an address can be made of: no wildcards.
func Names(leaf *x509.Certificate) []string {
	var out []string
	for _, name := range leaf.DNSNames {
		name = strings.ToLower(name)
		if !strings.Contains(name, "*") && name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
