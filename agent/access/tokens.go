package access

import (
	"context"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"ash/agent"
)

const (
	// MaxTokens bounds the tokens that are not revoked.
	MaxTokens = 100
	// usedEvery is how often the use of a token is written down at most.
	usedEvery = time.Minute
)

// Store keeps tokens.
type Store interface {
	// AddToken keeps a token with the hash of its secret. CodeConflict when one that is not revoked has the name,
	// CodeExhausted when there are limit of those.
	AddToken(ctx context.Context, t Token, hash []byte, limit int) error
	// Tokens returns all tokens, the newest first, those that are revoked as well.
	Tokens(ctx context.Context) ([]Token, error)
	// TokenByHash returns the token of a secret's hash, with the hash as it is kept; CodeNotFound for none.
	TokenByHash(ctx context.Context, hash []byte) (t Token, kept []byte, err error)
	// RevokeToken ends a token for good. Revoking it again changes nothing.
	RevokeToken(ctx context.Context, id agent.ID, at time.Time) error
	// UseToken notes a use, unless one at or after since is noted.
	UseToken(ctx context.Context, id agent.ID, at, since time.Time) error
}

// Options adjust Tokens. The zero value is ready for use.
type Options struct {
	Now func() time.Time
	Log *slog.Logger // never gets a secret; nil discards
}

// Tokens makes, checks and revokes the tokens of programs. It is safe for concurrent use.
type Tokens struct {
	store Store
	limit *limiter
	now   func() time.Time
	log   *slog.Logger

	mu       sync.Mutex
	watchers map[agent.ID]chan struct{} // by token: closed when it is revoked
}

// New returns the tokens in a store.
func New(store Store, o Options) *Tokens {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Tokens{store: store, limit: newLimiter(o.Now), now: o.Now, log: o.Log, watchers: map[agent.ID]chan struct{}{}}
}

// Watch returns a channel that is closed when the token is revoked, at once when it is not usable: what is open for it has to end then.
func (t *Tokens) Watch(ctx context.Context, token agent.ID) <-chan struct{} {
	t.mu.Lock()
	ended := t.watchers[token]
	if ended == nil {
		ended = make(chan struct{})
		t.watchers[token] = ended
	}
	t.mu.Unlock()
	// Watched first, looked at second: whatever ends the token in between closes the channel.
	list, err := t.store.Tokens(ctx)
	if err != nil || !slices.ContainsFunc(list, func(x Token) bool { return x.ID == token && x.Usable(t.now()) }) {
		t.ended(token)
	}
	return ended
}

// ended closes what Watch returned for a token.
func (t *Tokens) ended(token agent.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ended := t.watchers[token]; ended != nil {
		close(ended)
		delete(t.watchers, token)
	}
}

// NewToken is what a token is made of.
type NewToken struct {
	Name    string
	Scopes  []string
	Expires time.Time // zero: never
}

// Create makes a token. The secret is returned this once and kept nowhere.
//
// Errors: CodeInvalid for a bad name, unknown scopes and an expiry that is over; CodeConflict for a name that is taken;
// CodeExhausted with MaxTokens.
func (t *Tokens) Create(ctx context.Context, n NewToken) (Token, Secret, error) {
	name, err := checkName(n.Name)
	if err != nil {
		return Token{}, "", err
	}
	scopes, err := ParseScopes(n.Scopes)
	if err != nil {
		return Token{}, "", err
	}
	now := t.now().UTC().Truncate(time.Microsecond)
	if !n.Expires.IsZero() && !n.Expires.After(now) {
		return Token{}, "", agent.Errorf(agent.CodeInvalid, "The token would be expired from the start.")
	}
	secret := NewSecret()
	hash, ok := secret.Hash()
	if !ok {
		return Token{}, "", agent.Errorf(agent.CodeInternal, "A token could not be made.")
	}
	made := Token{
		ID: agent.NewID(), Name: name, Hint: secret.Hint(), Scopes: scopes, Created: now,
		Expires: n.Expires.UTC().Truncate(time.Microsecond),
	}
	if err := t.store.AddToken(ctx, made, hash, MaxTokens); err != nil {
		return Token{}, "", err
	}
	t.log.InfoContext(ctx, "an API token was made", "token", made.ID, "scopes", fmt.Sprint(scopes))
	return made, secret, nil
}

// List returns all tokens, the newest first, those that are revoked as well.
func (t *Tokens) List(ctx context.Context) ([]Token, error) { return t.store.Tokens(ctx) }

// Revoke ends the token with this id, or with this name among those that are not revoked. From the moment it returns the
// token is refused. CodeNotFound when there is none.
func (t *Tokens) Revoke(ctx context.Context, idOrName string) (Token, error) {
	all, err := t.store.Tokens(ctx)
	if err != nil {
		return Token{}, err
	}
	wanted := strings.Join(strings.Fields(idOrName), " ")
	for _, x := range all {
		if string(x.ID) != wanted && (!x.Revoked.IsZero() || !strings.EqualFold(x.Name, wanted)) {
			continue
		}
		if !x.Revoked.IsZero() {
			return x, nil
		}
		x.Revoked = t.now().UTC().Truncate(time.Microsecond)
		if err := t.store.RevokeToken(ctx, x.ID, x.Revoked); err != nil {
			return Token{}, err
		}
		t.ended(x.ID)
		t.log.InfoContext(ctx, "an API token was revoked", "token", x.ID)
		return x, nil
	}
	return Token{}, agent.Errorf(agent.CodeNotFound, "There is no token %q. List them with: ash token list", agent.Clip(wanted, 80))
}

// Refused says that somebody is not let in. It does not say why.
type Refused struct {
	// Wait is how long the caller has to wait before it is looked at again; 0 for not at all.
	Wait time.Duration
	// Looked says of a passphrase that it was looked at; without it, the attempt came too early, and counts for nothing.
	Looked bool
}

// Error implements error.
func (r *Refused) Error() string {
	if r.Wait > 0 {
		return fmt.Sprintf("too many attempts; wait %v", r.Wait)
	}
	return "no usable token"
}

// Authenticate returns the token of a secret that somebody at an address presents. *Refused for one that is not usable, whatever the
// reason; other errors are of the store.
func (t *Tokens) Authenticate(ctx context.Context, presented Secret, from netip.Addr) (Token, error) {
	hash, formed := presented.Hash()
	if wait := t.limit.wait(from, hash); wait > 0 {
		return Token{}, &Refused{Wait: wait}
	}
	if !formed {
		return Token{}, t.refuse(ctx, from, "", "it is no token")
	}
	found, kept, err := t.store.TokenByHash(ctx, hash)
	switch {
	case agent.CodeOf(err) == agent.CodeNotFound:
		return Token{}, t.refuse(ctx, from, "", "it is unknown")
	case err != nil:
		return Token{}, err
	// The index found it already; comparing hashes of 256 random bits gives nothing away, and this does not rest on that.
	case subtle.ConstantTimeCompare(hash, kept) != 1:
		return Token{}, t.refuse(ctx, from, "", "it is unknown")
	}
	now := t.now()
	if !found.Usable(now) {
		t.limit.disproved(hash)
		why := "it has expired"
		if !found.Revoked.IsZero() {
			why = "it is revoked"
		}
		return Token{}, t.refuse(ctx, from, found.ID, why)
	}
	t.limit.worked(hash)
	if now.Sub(found.Used) >= usedEvery {
		if err := t.store.UseToken(ctx, found.ID, now, now.Add(-usedEvery)); err != nil && ctx.Err() == nil {
			t.log.WarnContext(ctx, "the use of an API token could not be noted", "token", found.ID, "error", err)
		}
	}
	return found, nil
}

// refuse counts the failure and tells the log why.
func (t *Tokens) refuse(ctx context.Context, from netip.Addr, token agent.ID, why string) error {
	wait, begins := t.limit.failed(from)
	level := slog.LevelDebug
	if begins {
		level = slog.LevelWarn
	}
	t.log.LogAttrs(ctx, level, "an API token was refused",
		slog.String("why", why), slog.String("token", string(token)), slog.String("from", from.String()), slog.Duration("wait", wait))
	return &Refused{}
}
