package vault

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"ash/agent"
)

// The first lines of what the files hold when they are opened.
const (
	identityHead = "# ash vault identity 1"
	secretHead   = "ash-secret 1\n"
	indexHead    = "ash-index 1 "
)

// padTo hides how long a secret is: what is encrypted is filled up to a multiple of it.
const padTo = 512

var errPayload = errors.New("what it holds is not what the vault wrote")

// keys are what unlocking yields.
type keys struct {
	vault string // id of the vault they belong to
	id    *age.X25519Identity
	mac   []byte // proves what this vault wrote itself
}

func newKeys(vault string) (*keys, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "No key could be made.")
	}
	k := &keys{vault: vault, id: id, mac: make([]byte, 32)}
	rand.Read(k.mac)
	return k, nil
}

func (k *keys) wipe() {
	if k != nil {
		Wipe(k.mac)
		wipeIdentity(k.id)
	}
}

// sign returns the proof that this vault wrote text as what.
func (k *keys) sign(what string, text []byte) string {
	h := hmac.New(sha256.New, k.mac)
	h.Write([]byte("ash vault " + what + "\n"))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

func (k *keys) signed(what string, text []byte, proof string) bool {
	return hmac.Equal([]byte(k.sign(what, text)), []byte(proof))
}

// encode writes keys as a file that age's own tool takes as an identity, so that without Ash
// "age -d identity-1.age > key" and "age -d -i key secrets/…" give a person all they own.
func (k *keys) encode() []byte {
	return fmt.Appendf(nil, "%s\n# vault: %s\n# mac: %x\n%s\n", identityHead, k.vault, k.mac, k.id)
}

func decodeKeys(plain []byte) (*keys, error) {
	lines := bytes.Split(plain, []byte("\n"))
	if len(lines) != 5 || string(lines[0]) != identityHead || len(lines[4]) != 0 {
		return nil, errPayload
	}
	vault, ok1 := bytes.CutPrefix(lines[1], []byte("# vault: "))
	proof, ok2 := bytes.CutPrefix(lines[2], []byte("# mac: "))
	if !ok1 || !ok2 || len(proof) != 64 {
		return nil, errPayload
	}
	k := &keys{vault: string(vault), mac: make([]byte, 32)}
	if _, err := agent.ParseID(k.vault); err != nil {
		return nil, errPayload
	}
	if _, err := hex.Decode(k.mac, proof); err != nil {
		return nil, errPayload
	}
	id, err := age.ParseX25519Identity(string(lines[3]))
	if err != nil {
		return nil, errPayload // the cause would repeat the key
	}
	k.id = id
	again := k.encode()
	defer Wipe(again)
	if !bytes.Equal(again, plain) {
		return nil, errPayload
	}
	return k, nil
}

// label is what stands inside the encrypted file of a secret beside its value, and is checked on reading.
type label struct {
	Vault   string    `json:"vault"`
	File    string    `json:"file"` // its own name, so that a copy under another is refused
	Name    string    `json:"name"`
	Version int       `json:"version"` // 0: added while locked, not yet numbered
	Hosts   []string  `json:"hosts"`
	Users   []string  `json:"users"`
	Extra   bool      `json:"extra"` // the value is itself encrypted to a passphrase of its own
	Added   time.Time `json:"added"`
	Length  int       `json:"length"` // bytes of the value
}

func (l label) same(o label) bool {
	return l.Vault == o.Vault && l.File == o.File && l.Name == o.Name && l.Version == o.Version && l.Extra == o.Extra &&
		l.Added.Equal(o.Added) && slices.Equal(l.Hosts, o.Hosts) && slices.Equal(l.Users, o.Users)
}

// check refuses a label that this package would not have written.
func (l label) check() error {
	if err := CheckName(l.Name); err != nil {
		return err
	}
	hosts, users, err := binding(l.Name, l.Hosts, l.Users)
	if err != nil {
		return err
	}
	if l.Version < 0 || l.Length < 0 || l.Hosts == nil || !slices.Equal(hosts, l.Hosts) || !slices.Equal(users, l.Users) || l.Added.Location() != time.UTC {
		return errPayload
	}
	return nil
}

// encodeSecret makes what is encrypted: a line that says what it is, the label as a line of JSON, the value as it is, and zeros up to a multiple of padTo.
func encodeSecret(l label, value []byte) ([]byte, error) {
	l.Length = len(value)
	meta, err := json.Marshal(l)
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "The secret could not be written.")
	}
	size := len(secretHead) + len(meta) + 1 + len(value)
	out := make([]byte, 0, (size+padTo-1)/padTo*padTo)
	out = append(append(append(out, secretHead...), meta...), '\n')
	return append(out, value...)[:cap(out)], nil
}

// decodeSecret is the reverse; value is a part of plain. It accepts exactly what encodeSecret writes.
func decodeSecret(plain []byte) (l label, value []byte, err error) {
	rest, ok := bytes.CutPrefix(plain, []byte(secretHead))
	if !ok {
		return l, nil, errPayload
	}
	meta, rest, ok := bytes.Cut(rest, []byte("\n"))
	if !ok || strictJSON(meta, &l) != nil || l.check() != nil || l.Length > len(rest) {
		return l, nil, errPayload
	}
	value = rest[:l.Length]
	again, err := encodeSecret(l, value)
	if err != nil {
		return l, nil, err
	}
	defer Wipe(again)
	if !bytes.Equal(again, plain) {
		return l, nil, errPayload
	}
	return l, value, nil
}

// strictJSON reads one JSON value and refuses fields it does not know.
func strictJSON(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return errPayload // the cause may repeat what was read
	}
	if d.More() {
		return errPayload
	}
	return nil
}

// ref names a file of the vault and proves its content.
type ref struct {
	File string `json:"file"`
	Sum  string `json:"sum"` // SHA-256, hexadecimal
}

func refer(file string, data []byte) ref {
	sum := sha256.Sum256(data)
	return ref{file, hex.EncodeToString(sum[:])}
}

func (r ref) proves(data []byte) bool { return refer(r.File, data) == r }

// standing is what a version of a secret is at present.
type standing string

const (
	current standing = "current" // the one that is used
	former  standing = "former"  // kept until the current one is confirmed
	waiting standing = "waiting" // added while locked over one that was there; waits for a word
)

// version is one value of a secret.
type version struct {
	Number   int       `json:"number"` // from 1
	Standing standing  `json:"standing"`
	Hosts    []string  `json:"hosts"`
	Users    []string  `json:"users"`
	Extra    bool      `json:"extra"`
	Added    time.Time `json:"added"`
	Sealed   ref       `json:"sealed"`
}

// entry is a secret.
type entry struct {
	Name     string    `json:"name"`
	Versions []version `json:"versions"` // oldest first; exactly one is current
}

// index is the list of all that the vault holds. It names every other file with its hash, and is itself named by root.
type index struct {
	Vault    string   `json:"vault"`
	Serial   uint64   `json:"serial"`
	Identity ref      `json:"identity"`
	Recovery ref      `json:"recovery"` // zero: there is none
	Phrase   string   `json:"phrase"`   // recipient of the recovery phrase; "" without one
	Entries  []entry  `json:"entries"`  // by name
	Taken    []string `json:"taken"`    // what was added while locked and taken in, so that a file put back is not taken again
}

func (x *index) encode(k *keys) ([]byte, error) {
	body, err := json.Marshal(x)
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "The index of the vault could not be written.")
	}
	return slices.Concat([]byte(indexHead+k.sign("index", body)+"\n"), body), nil
}

func decodeIndex(plain []byte, k *keys) (*index, error) {
	head, body, ok := bytes.Cut(plain, []byte("\n"))
	proof, ok2 := strings.CutPrefix(string(head), indexHead)
	if !ok || !ok2 || !k.signed("index", body, proof) {
		return nil, errPayload
	}
	x := new(index)
	if err := strictJSON(body, x); err != nil {
		return nil, err
	}
	return x, x.check(k)
}

// check holds the invariants of an index, though only the vault itself can have written it.
func (x *index) check(k *keys) error {
	if x.Vault != k.vault || x.Serial == 0 || (x.Phrase == "") != (x.Recovery == ref{}) {
		return errPayload
	}
	for i, e := range x.Entries {
		if CheckName(e.Name) != nil || i > 0 && x.Entries[i-1].Name >= e.Name || e.at(current) < 0 {
			return errPayload
		}
		for n, v := range e.Versions {
			if v.Number < 1 || n > 0 && e.Versions[n-1].Number >= v.Number || e.at(v.Standing) != n || !isSecretFile(v.Sealed.File) {
				return errPayload
			}
		}
	}
	return nil
}

// clone returns a copy that can be changed without changing x.
func (x *index) clone() *index {
	c := *x
	c.Taken = slices.Clone(x.Taken)
	c.Entries = slices.Clone(x.Entries)
	for i := range c.Entries {
		c.Entries[i].Versions = slices.Clone(c.Entries[i].Versions)
	}
	return &c
}

// find returns where a name is, or would be.
func (x *index) find(name string) (int, bool) {
	return slices.BinarySearchFunc(x.Entries, name, func(e entry, n string) int { return strings.Compare(e.Name, n) })
}

// at returns the version of that standing, -1 when there is none.
func (e *entry) at(s standing) int {
	return slices.IndexFunc(e.Versions, func(v version) bool { return v.Standing == s })
}

// drop removes the version of that standing, if there is one.
func (e *entry) drop(s standing) {
	if i := e.at(s); i >= 0 {
		e.Versions = slices.Delete(e.Versions, i, i+1)
	}
}

// next is the number of a new version.
func (e *entry) next() int {
	if len(e.Versions) == 0 {
		return 1
	}
	return e.Versions[len(e.Versions)-1].Number + 1
}

func (v version) label(vault, name string) label {
	return label{
		Vault: vault, File: v.Sealed.File, Name: name, Version: v.Number,
		Hosts: v.Hosts, Users: v.Users, Extra: v.Extra, Added: v.Added,
	}
}
