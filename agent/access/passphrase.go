package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"ash/agent"
)

// cost is what hashing a passphrase takes.
type cost struct {
	time    uint32
	memory  uint32 // KiB
	threads uint8
}

// usualCost is the second recommended option of RFC 9106, 4. A hash that was made with less is made anew at the next sign-in.
var usualCost = cost{time: 3, memory: 64 << 10, threads: 4}

const (
	saltLength = 16
	hashLength = 32
)

// phc is a hash of a passphrase with what it was made with (https://github.com/P-H-C/phc-string-format).
type phc struct {
	cost
	salt, hash []byte
}

// String writes it down.
func (p phc) String() string {
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.time, p.threads, b.EncodeToString(p.salt), b.EncodeToString(p.hash))
}

// parsePHC reads what String writes, and nothing else. Costs are bounded: a damaged one must not eat the machine's memory.
func parsePHC(text string) (phc, error) {
	bad := func(what string) (phc, error) {
		return phc{}, agent.Wrap(agent.CodeInternal, fmt.Errorf("hash of the passphrase: %s", what), "The passphrase that is kept is damaged. Set a new one at the machine itself: ash doors passphrase")
	}
	if len(text) > 512 {
		return bad("too long")
	}
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return bad("another form")
	}
	var p phc
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.time, &p.threads); n != 3 || err != nil {
		return bad("no costs")
	}
	if p.threads < 1 || p.threads > 16 || p.time < 1 || p.time > 64 || p.memory < 8*uint32(p.threads) || p.memory > 1<<20 {
		return bad("costs out of bounds")
	}
	var err error
	if p.salt, err = base64.RawStdEncoding.Strict().DecodeString(parts[4]); err != nil || len(p.salt) < 8 || len(p.salt) > 64 {
		return bad("salt")
	}
	if p.hash, err = base64.RawStdEncoding.Strict().DecodeString(parts[5]); err != nil || len(p.hash) < 16 || len(p.hash) > 64 {
		return bad("hash")
	}
	if p.String() != text {
		return bad("another spelling")
	}
	return p, nil
}

// normal returns a passphrase in the one form (NFC, RFC 8265, 4.2) that all keyboards and systems agree on. The caller wipes it.
func normal(passphrase []byte) []byte {
	return norm.NFC.Append(make([]byte, 0, len(passphrase)+16), passphrase...)
}

func (c cost) hash(passphrase, salt []byte, length int) []byte {
	text := normal(passphrase)
	defer clear(text)
	return argon2.IDKey(text, salt, c.time, c.memory, c.threads, uint32(length)) //nolint:gosec // at most 64
}

// newPHC hashes a passphrase with a salt of its own.
func (c cost) newPHC(passphrase []byte) phc {
	p := phc{cost: c, salt: make([]byte, saltLength)}
	_, _ = rand.Read(p.salt) // it never fails: crypto/rand ends the process rather
	p.hash = c.hash(passphrase, p.salt, hashLength)
	return p
}

func (p phc) fits(passphrase []byte) bool {
	return subtle.ConstantTimeCompare(p.cost.hash(passphrase, p.salt, len(p.hash)), p.hash) == 1
}

// less reports whether c costs a guesser less than other.
func (c cost) less(other cost) bool { return c.time < other.time || c.memory < other.memory }

// slowly waits until no other passphrase is hashed, so that memory is bounded however many try at once; done gives that memory back.
func (d *Doors) slowly(ctx context.Context) (done func(), err error) {
	select {
	case d.slow <- struct{}{}:
		return func() {
			if d.cost.memory >= 8<<10 { // in tests collecting garbage would be most of the work
				debug.FreeOSMemory()
			}
			<-d.slow
		}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// HasPassphrase reports whether the owner's passphrase is set.
func (d *Doors) HasPassphrase(ctx context.Context) (bool, error) {
	text, err := d.store.Passphrase(ctx)
	return text != "", err
}

// Change is a new passphrase.
type Change struct {
	Old, New []byte   // Old is not looked at when there is none
	By       Arrival  // who asks
	Keep     agent.ID // the device it is done on, which stays signed in; "" for none
}

// SetPassphrase sets the owner's passphrase, or changes it when the old one is right. All other devices that came in by the
// old one are signed out; those that were paired stay. Old and New stay the caller's, who wipes them.
//
// Errors: CodeInvalid for a new one that is too weak, *Refused for a wrong old one, CodeConflict when it was changed meanwhile.
func (d *Doors) SetPassphrase(ctx context.Context, c Change) error {
	if err := CheckPassphrase(c.New); err != nil {
		return err
	}
	kept, err := d.store.Passphrase(ctx)
	if err != nil {
		return err
	}
	if kept != "" {
		if kept, err = d.prove(ctx, c.Old, c.By); err != nil {
			return err
		}
	}
	return d.replace(ctx, kept, c.New, c.Keep)
}

// ResetPassphrase sets the passphrase without the old one: for an owner who is at the machine itself. It signs out as SetPassphrase does.
func (d *Doors) ResetPassphrase(ctx context.Context, passphrase []byte) error {
	if err := CheckPassphrase(passphrase); err != nil {
		return err
	}
	kept, err := d.store.Passphrase(ctx)
	if err != nil {
		return err
	}
	if err := d.replace(ctx, kept, passphrase, ""); err != nil {
		return err
	}
	return d.delays.forget(ctx)
}

func (d *Doors) replace(ctx context.Context, was string, passphrase []byte, keep agent.ID) error {
	done, err := d.slowly(ctx)
	if err != nil {
		return err
	}
	text := d.cost.newPHC(passphrase).String()
	done()
	ended, err := d.store.SetPassphrase(ctx, was, text, d.now(), Ending{How: ByPassphrase, Except: keep})
	if err != nil {
		return err
	}
	d.ended(ended)
	d.log.InfoContext(ctx, "the passphrase of the doors was set", "signed_out", len(ended))
	return nil
}

// prove looks whether a passphrase is the owner's, at the price that a wrong one costs whoever tries. It returns the hash that it fits.
// *Refused for a wrong one, for one that is not looked at yet, and when none is set; the three take the same time or none.
func (d *Doors) prove(ctx context.Context, passphrase []byte, by Arrival) (string, error) {
	if len(passphrase) > MaxPassphrase {
		return "", tooLong()
	}
	who, err := d.budgets(ctx, by)
	if err != nil {
		return "", err
	}
	// Counted before it is looked at, and on the disk: neither many at once nor a crash in between make a guess free.
	wait, next, err := d.delays.begin(ctx, who)
	if err != nil {
		return "", err
	}
	if wait > 0 {
		return "", &Refused{Wait: wait}
	}
	kept, fits, err := d.compare(ctx, passphrase)
	if err != nil {
		return "", err
	}
	if !fits {
		d.log.WarnContext(ctx, "a passphrase was refused", "from", by.From.String(), "wait", next)
		return "", &Refused{Looked: true, Wait: next}
	}
	return kept, d.delays.worked(ctx, who)
}

// compare hashes the passphrase and compares it with the one kept; with none kept it takes as long.
func (d *Doors) compare(ctx context.Context, passphrase []byte) (kept string, fits bool, err error) {
	done, err := d.slowly(ctx)
	if err != nil {
		return "", false, err
	}
	defer done()
	if kept, err = d.store.Passphrase(ctx); err != nil {
		return "", false, err
	}
	if kept == "" {
		d.cost.newPHC(passphrase)
		return "", false, nil
	}
	p, err := parsePHC(kept)
	if err != nil {
		return "", false, err
	}
	return kept, p.fits(passphrase), nil
}

// freshen makes the hash of a right passphrase anew when it was made with less than is usual now.
func (d *Doors) freshen(ctx context.Context, kept string, passphrase []byte) {
	p, err := parsePHC(kept)
	if err != nil || !p.cost.less(d.cost) {
		return
	}
	done, err := d.slowly(ctx)
	if err != nil {
		return // the next sign-in will
	}
	text := d.cost.newPHC(passphrase).String()
	done()
	if _, err := d.store.SetPassphrase(ctx, kept, text, d.now(), Ending{}); err != nil {
		d.log.WarnContext(ctx, "the passphrase could not be hashed anew", "error", err)
	}
}

const (
	// MinPassphrase is the least length of a passphrase, in characters.
	MinPassphrase = 8
	// MaxPassphrase is the greatest length of a passphrase, in bytes.
	MaxPassphrase = 1024
)

func tooLong() error {
	return agent.Errorf(agent.CodeInvalid, "The passphrase is longer than %d bytes.", MaxPassphrase)
}

// CheckPassphrase refuses with CodeInvalid a new passphrase that is too short, too long, or among the first that a guesser would try.
func CheckPassphrase(p []byte) error {
	const advice = "Four words that nobody would expect together are a good one."
	if len(p) > MaxPassphrase {
		return tooLong()
	}
	text := string(norm.NFC.Bytes(bytes.TrimSpace(p)))
	switch weak := weakness(text); {
	case strings.ContainsAny(text, "\x00\n\r"), strings.ToValidUTF8(text, "") != text:
		return agent.Errorf(agent.CodeInvalid, "The passphrase holds characters that cannot be typed.")
	case weak != "":
		return agent.Errorf(agent.CodeInvalid, "%s %s", weak, advice)
	}
	return nil
}
