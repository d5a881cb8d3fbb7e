package vault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"filippo.io/age"

	"ash/agent"
)

// Names in the folder of the vault.
const (
	sentinelFile = "vault.json"
	rootFile     = "current"
	secretsDir   = "secrets"
	newDir       = "new"
	tempPrefix   = ".ash-"
)

const format = 1

// sentinel says that a folder is a vault and which; it is written once. Without it the folder is not
// trusted: it may be the empty mount point of a disk that is not there.
type sentinel struct {
	Format int    `json:"ash_vault"`
	Vault  string `json:"vault"`
}

func (s sentinel) encode() []byte {
	return fmt.Appendf(nil, "{\"ash_vault\":%d,\"vault\":%q}\n", s.Format, s.Vault)
}

func decodeSentinel(text []byte) (s sentinel, err error) {
	if err := strictJSON(text, &s); err != nil {
		return s, err
	}
	if _, err := agent.ParseID(s.Vault); err != nil || s.Format != format || !bytes.Equal(s.encode(), text) {
		return s, errPayload
	}
	return s, nil
}

// root is the one file that says what the vault is at present: replacing it is every change there is. It can be read
// while locked, so that adding works; it is believed only when the keys prove it.
type root struct {
	Format    int    `json:"ash_vault"`
	Vault     string `json:"vault"`
	Serial    uint64 `json:"serial"`
	Recipient string `json:"recipient"` // what is added is encrypted to it
	Identity  ref    `json:"identity"`
	Recovery  ref    `json:"recovery"` // zero: there is none
	Index     ref    `json:"index"`
}

func (r root) encode(k *keys) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "The vault could not be written.")
	}
	return fmt.Appendf(body, "\n%s\n", k.sign("root", body)), nil
}

// decodeRoot reads a root without believing it.
func decodeRoot(text []byte) (r root, err error) {
	body, proof, ok := bytes.Cut(text, []byte("\n"))
	if !ok || len(proof) != 65 || proof[64] != '\n' {
		return r, errPayload
	}
	if err := strictJSON(body, &r); err != nil {
		return r, err
	}
	again, err := json.Marshal(r)
	if err != nil || !bytes.Equal(again, body) || r.Format != format || r.Serial == 0 {
		return r, errPayload
	}
	if _, err := agent.ParseID(r.Vault); err != nil {
		return r, errPayload
	}
	if _, err := age.ParseX25519Recipient(r.Recipient); err != nil {
		return r, errPayload
	}
	for prefix, f := range map[string]ref{"identity-": r.Identity, "recovery-": r.Recovery, "index-": r.Index} {
		none := f == ref{} && prefix == "recovery-"
		if !none && (!strings.HasPrefix(f.File, prefix) || !isTopFile(f.File)) {
			return r, errPayload
		}
	}
	return r, nil
}

// proven reports whether the holder of the keys wrote text.
func (k *keys) proven(text []byte) bool {
	body, proof, _ := bytes.Cut(text, []byte("\n"))
	return k.signed("root", body, strings.TrimSuffix(string(proof), "\n"))
}

// The names of files bear the serial of the change that made them.

func identityName(serial uint64) string { return fmt.Sprintf("identity-%d.age", serial) }
func recoveryName(serial uint64) string { return fmt.Sprintf("recovery-%d.age", serial) }
func indexName(serial uint64) string    { return fmt.Sprintf("index-%d.age", serial) }

func secretName(serial uint64) string {
	return fmt.Sprintf("%s/%d-%s.age", secretsDir, serial, token(8))
}

// isTopFile reports whether the vault gives that name to files beside its root.
func isTopFile(name string) bool {
	kind, serial, ok := strings.Cut(strings.TrimSuffix(name, ".age"), "-")
	return ok && strings.HasSuffix(name, ".age") && (kind == "identity" || kind == "recovery" || kind == "index") && isSerial(serial)
}

// isSecretFile reports whether the vault gives that name to the files of secrets.
func isSecretFile(name string) bool {
	base, ok := strings.CutPrefix(name, secretsDir+"/")
	serial, random, ok2 := strings.Cut(strings.TrimSuffix(base, ".age"), "-")
	return ok && ok2 && strings.HasSuffix(base, ".age") && isSerial(serial) && isToken(random, 8)
}

// isNewFile reports whether the vault gives that name to what is added while locked.
func isNewFile(name string) bool {
	base, ok := strings.CutPrefix(name, newDir+"/")
	return ok && strings.HasSuffix(base, ".age") && isToken(strings.TrimSuffix(base, ".age"), 16)
}

// serialOf returns the serial in the name of a file, 0 for names without one.
func serialOf(name string) uint64 {
	if !isTopFile(name) && !isSecretFile(name) {
		return 0
	}
	base := strings.TrimSuffix(strings.TrimPrefix(name, secretsDir+"/"), ".age")
	first, second, _ := strings.Cut(base, "-")
	if isTopFile(name) {
		first = second
	}
	n, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func isSerial(s string) bool {
	n, err := strconv.ParseUint(s, 10, 64)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}
