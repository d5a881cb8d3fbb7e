package handlers

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/vault"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// Secrets is what pages need of the vault; *vault.Vault is one.
type Secrets interface {
	Lockable
	SecretStore
	SecretSettler
	VaultKeeper
	VaultCopier
	VaultMender
}

// Lockable says how the vault is, and opens and closes it.
type Lockable interface {
	Status(ctx context.Context) vault.Status
	Watch() vault.Glance
	Create(ctx context.Context, passphrase []byte) error
	Unlock(ctx context.Context, passphrase []byte) error
	Lock(ctx context.Context)
}

// SecretStore lists and changes what lies in it.
type SecretStore interface {
	List() ([]vault.Info, error)
	Put(ctx context.Context, s vault.Secret) (later bool, err error)
	Bind(ctx context.Context, name string, hosts, users []string) error
	Delete(ctx context.Context, name string) error
}

// SecretSettler gives a secret another value, and says which of two stays.
type SecretSettler interface {
	Rotate(ctx context.Context, name string, value, extra []byte) (later bool, err error)
	Confirm(ctx context.Context, name string) error
	Revert(ctx context.Context, name string) error
}

// VaultKeeper changes what opens it.
type VaultKeeper interface {
	NewPhrase(ctx context.Context) (string, error)
	Recover(ctx context.Context, phrase string, now []byte) error
	ChangePassphrase(ctx context.Context, was, now []byte) error
	RotateIdentity(ctx context.Context, passphrase []byte) error
}

// VaultCopier brings secrets in and takes them along.
type VaultCopier interface {
	Export(ctx context.Context, w io.Writer, passphrase []byte) error
	Import(ctx context.Context, r io.Reader, passphrase []byte) (vault.Imported, error)
	ImportEnv(ctx context.Context, data []byte, place func(key string) (vault.Secret, bool)) (vault.Imported, error)
}

// VaultMender puts right what cannot be opened as it stands.
type VaultMender interface {
	Repair(ctx context.Context, passphrase []byte) error
	Accept(ctx context.Context, passphrase []byte) error
	Abandon(ctx context.Context) error
}

// Vault is all that a person sees of the vault, but for what chat, Setup and Settings show in place.
//
// No value ever stands in an answer: what was typed is lost when a form comes back with a mistake.
type Vault struct {
	*Frame
	Secrets  Secrets
	Config   Config
	Notes    PhraseFile
	Accesses AccessLog
	// Kept has the settings follow what lies in the vault: secrets that were added, and that are gone. nil: they do not.
	Kept func(ctx context.Context, kept, gone []string) error

	asked  asked
	drafts drafts
}

// Show answers GET /vault.
func (h *Vault) Show(c echo.Context) error {
	page, err := h.page(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}

// Open answers POST /vault/unlock: passphrase, and back, the page to go on with.
func (h *Vault) Open(c echo.Context) error {
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	back, err := line(c, "back", 500)
	if err != nil {
		return err
	}
	back = local(back, "/vault")
	if err := h.Secrets.Unlock(c.Request().Context(), pass); err != nil {
		return h.notOpened(c, back, err)
	}
	return c.Redirect(http.StatusSeeOther, back)
}

// notOpened shows the page again with what was wrong in place. A vault that is not as it was left says so by itself.
func (h *Vault) notOpened(c echo.Context, back string, cause error) error {
	if !theirs(cause) {
		return cause
	}
	page, err := h.page(c)
	if err != nil {
		return err
	}
	page.Unlock.Problem, page.Unlock.Back = agent.PublicOf(cause), back
	return render(c, http.StatusUnprocessableEntity, page.Show())
}

// Lock answers POST /vault/lock.
func (h *Vault) Lock(c echo.Context) error {
	h.Secrets.Lock(c.Request().Context())
	return c.Redirect(http.StatusSeeOther, "/vault")
}

func (h *Vault) page(c echo.Context) (pages.Vault, error) {
	frame, err := h.plain(c, "Vault", layouts.Vault)
	if err != nil {
		return pages.Vault{}, err
	}
	s := h.Secrets.Status(c.Request().Context())
	page := pages.Vault{
		Page: frame, Exists: s.Exists, Unlocked: s.Unlocked, Problem: amiss(s), Notes: s.Notes, Incoming: s.Incoming,
		Since: s.Since.In(h.Zone), LocksAt: s.LocksAt, Now: h.Now().In(h.Zone),
		Unlock: components.Unlock{Key: "vault", To: "/vault/unlock", Phrase: s.Recovery, CSRF: Token(c)},
	}
	if !s.LocksAt.IsZero() {
		page.LocksAt = s.LocksAt.In(h.Zone)
	}
	if !s.Unlocked {
		return page, nil
	}
	all, err := h.Secrets.List()
	if agent.CodeOf(err) == agent.CodeLocked { // at this moment
		page.Unlocked = false
		return page, nil
	}
	if err != nil {
		return page, err
	}
	note, err := h.Notes.Read()
	if err != nil {
		return page, err
	}
	if page.Phrase = phraseState(s, note); page.Phrase == pages.PhraseNone && note.Offered.IsZero() {
		if err := h.note(func(n *PhraseNote) { n.Offered = h.Now().UTC() }); err != nil {
			return page, err
		}
	}
	for _, info := range all {
		page.Secrets = append(page.Secrets, h.secret(info))
	}
	return page, nil
}

// Mark is what every page shows of the vault. It costs next to nothing.
func (h *Vault) Mark(ctx context.Context) (components.VaultMark, error) {
	m := components.VaultMark{Unlocked: h.Secrets.Watch().Unlocked}
	note, err := h.Notes.Read()
	if err != nil || note.Offered.IsZero() || h.Now().Sub(later(note.Offered, note.Later)) < remindAfter {
		return m, err
	}
	s := h.Secrets.Status(ctx)
	m.Remind = s.Exists && s.Problem == "" && phraseState(s, note) != pages.PhraseWritten
	return m, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (h *Vault) secret(i vault.Info) pages.VaultSecret {
	return pages.VaultSecret{
		Name: i.Name, Hosts: i.Hosts, Users: i.Users, Extra: i.Extra, Version: i.Version, Added: i.Added.In(h.Zone),
		Former: i.Former, Waits: i.Waiting, WaitsAt: i.WaitDate.In(h.Zone),
	}
}

// commands are what a sentence of the vault about itself may end with, and what this page can do in their place.
var commands = []struct{ begins, mend string }{
	{"ash vault repair", "repair"}, {"ash vault accept", "accept"}, {"ash vault create --anew", "anew"},
	{"chmod ", ""}, {"sudo chown ", ""}, {"mkdir ", ""}, {"rm ", ""}, {"mv ", ""},
}

// amiss takes apart what the vault says is wrong with it; nil when all is well.
func amiss(s vault.Status) *pages.VaultProblem {
	if s.Problem == "" {
		return nil
	}
	for _, known := range commands {
		if i := strings.LastIndex(s.Problem, ": "+known.begins); i >= 0 {
			return &pages.VaultProblem{Text: s.Problem[:i+1], Command: s.Problem[i+2:], Mend: known.mend}
		}
	}
	return &pages.VaultProblem{Text: s.Problem}
}

// follow has the settings name what was added and forget what is gone.
func (h *Vault) follow(ctx context.Context, kept, gone []string) error {
	if h.Kept == nil || len(kept)+len(gone) == 0 {
		return nil
	}
	return h.Kept(ctx, kept, gone)
}

// theirs reports whether a failure is for the person to put right, so that it is said in place.
func theirs(err error) bool {
	switch agent.CodeOf(err) {
	case agent.CodeInvalid, agent.CodeDenied, agent.CodeConflict, agent.CodeLocked, agent.CodeNotFound, agent.CodeExhausted:
		return true
	}
	return false
}

// maxHidden bounds what is typed unseen, in bytes: a value of the longest kind.
const maxHidden = vault.MaxValue + 2

// hidden reads a field whose content nobody may see again; it is taken out of the form. The caller wipes it.
func hidden(c echo.Context, field string, limit int) ([]byte, error) {
	if err := ParseForm(c.Request()); err != nil {
		return nil, err
	}
	r := c.Request()
	s := r.PostForm.Get(field)
	r.PostForm.Del(field)
	r.Form.Del(field)
	if r.MultipartForm != nil {
		delete(r.MultipartForm.Value, field)
	}
	if len(s) > limit {
		return nil, agent.Errorf(agent.CodeInvalid, "That is too long: at most %s.", components.Bytes(int64(limit)))
	}
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return nil, agent.Errorf(agent.CodeInvalid, "That is no text. Copy it again.")
	}
	return []byte(s), nil
}

// local returns an address if it is one of Ash's own pages, else the other one.
func local(address, otherwise string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.ContainsAny(address, "\\\r\n\t") {
		return otherwise
	}
	return address
}
