package handlers

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/vault"
	"ash/views/layouts"
	"ash/views/pages"
)

// remindAfter is how long a recovery phrase can be put off before other pages hint at it.
const remindAfter = 3 * 24 * time.Hour

// PhraseNote is what the vault itself does not know of its recovery phrase. It holds none of its words.
type PhraseNote struct {
	Offered time.Time `json:"offered,omitzero"` // first
	Later   time.Time `json:"later,omitzero"`   // put off last
	Made    time.Time `json:"made,omitzero"`    // shown on a page last
	Written time.Time `json:"written,omitzero"` // typed back last
}

// PhraseFile is the path of the file that keeps the note.
type PhraseFile string

// Read returns the note; the zero note when none was kept.
func (p PhraseFile) Read() (n PhraseNote, err error) {
	data, err := os.ReadFile(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		return PhraseNote{}, agent.Wrap(agent.CodeUnavailable, err, "What is known of the recovery phrase cannot be read: %s. Remove that file; it holds no secret.", string(p))
	}
	return n, nil
}

// Write keeps the note: as before or as after, whenever Ash ends.
func (p PhraseFile) Write(n PhraseNote) (err error) {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(string(p)), ".phrase-*")
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "That could not be remembered: the home of Ash cannot be written to.")
	}
	defer func() {
		if err != nil {
			err = agent.Wrap(agent.CodeUnavailable, errors.Join(err, f.Close(), os.Remove(f.Name())), "That could not be remembered: the home of Ash cannot be written to.")
		}
	}()
	if _, err := f.Write(append(data, '\n')); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), string(p))
}

// phraseState is how far the recovery phrase of a vault has come.
func phraseState(s vault.Status, n PhraseNote) pages.PhraseState {
	switch {
	case s.Recovery && !n.Made.After(n.Written): // also one that was made on the command line, which has its own way to ask
		return pages.PhraseWritten
	case s.Recovery:
		return pages.PhraseMade
	case !n.Later.IsZero():
		return pages.PhrasePostponed
	}
	return pages.PhraseNone
}

// asked is a recovery phrase that was shown and is to be typed back: two of its words, never the whole.
type asked struct {
	mu    sync.Mutex
	at    [2]int // places of the words, from 1
	words [2]string
	shown time.Time
}

// askedFor is how long the two words are kept.
const askedFor = time.Hour

// Phrase answers GET /vault/phrase: what it is for, and the button that makes it.
func (h *Vault) Phrase(c echo.Context) error {
	page, err := h.phrasePage(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}

func (h *Vault) phrasePage(c echo.Context) (pages.Phrase, error) {
	frame, err := h.plain(c, "Recovery phrase", layouts.Vault)
	if err != nil {
		return pages.Phrase{}, err
	}
	note, err := h.Notes.Read()
	if err != nil {
		return pages.Phrase{}, err
	}
	s := h.Secrets.Status(c.Request().Context())
	return pages.Phrase{Page: frame, Exists: s.Exists, Unlocked: s.Unlocked, State: phraseState(s, note)}, nil
}

// NewPhrase answers POST /vault/phrase: the 24 words, for the only time.
func (h *Vault) NewPhrase(c echo.Context) error {
	page, err := h.phrasePage(c)
	if err != nil {
		return err
	}
	words, err := h.newPhrase(c.Request().Context())
	if agent.CodeOf(err) == agent.CodeLocked {
		return c.Redirect(http.StatusSeeOther, "/vault")
	}
	if err != nil {
		return err
	}
	page.Words = words
	return render(c, http.StatusOK, page.Show())
}

// newPhrase makes a phrase and remembers which two of its words will be asked for. The one that was shown last is the one that is good.
func (h *Vault) newPhrase(ctx context.Context) ([]string, error) {
	h.asked.mu.Lock()
	defer h.asked.mu.Unlock()
	phrase, err := h.Secrets.NewPhrase(ctx)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(phrase)
	first, err := rand.Int(rand.Reader, big.NewInt(int64(len(words)/2)))
	if err != nil {
		return nil, err
	}
	second, err := rand.Int(rand.Reader, big.NewInt(int64(len(words)-len(words)/2)))
	if err != nil {
		return nil, err
	}
	i, j := int(first.Int64()), len(words)/2+int(second.Int64())
	h.asked.at, h.asked.words, h.asked.shown = [2]int{i + 1, j + 1}, [2]string{strings.Clone(words[i]), strings.Clone(words[j])}, h.Now()
	return words, h.note(func(n *PhraseNote) { n.Made = h.Now().UTC() })
}

// note changes the note.
func (h *Vault) note(change func(*PhraseNote)) error {
	n, err := h.Notes.Read()
	if err != nil {
		return err
	}
	change(&n)
	return h.Notes.Write(n)
}

// CheckForm answers GET /vault/phrase/check: asks for two of the words.
func (h *Vault) CheckForm(c echo.Context) error { return h.check(c, http.StatusOK, "") }

// Check answers POST /vault/phrase/check: first and second.
func (h *Vault) Check(c echo.Context) error {
	var typed [2]string
	for i, field := range []string{"first", "second"} {
		b, err := hidden(c, field, 100)
		if err != nil {
			return err
		}
		typed[i] = string(bytes.ToLower(bytes.TrimSpace(b)))
	}
	h.asked.mu.Lock()
	right := h.fresh() && typed == h.asked.words
	if right {
		h.asked.words = [2]string{}
	}
	h.asked.mu.Unlock()
	if !right {
		return h.check(c, http.StatusUnprocessableEntity, "Those are not the words you were shown. Look at what you wrote down; if it is not at hand, make a new phrase.")
	}
	if err := h.note(func(n *PhraseNote) { n.Written = h.Now().UTC() }); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/vault/keys?done=phrase")
}

// fresh reports whether two words are waited for; h.asked is locked.
func (h *Vault) fresh() bool {
	return h.asked.words[0] != "" && h.Now().Sub(h.asked.shown) < askedFor
}

func (h *Vault) check(c echo.Context, status int, problem string) error {
	page, err := h.phrasePage(c)
	if err != nil {
		return err
	}
	h.asked.mu.Lock()
	at, fresh := h.asked.at, h.fresh()
	h.asked.mu.Unlock()
	if !fresh {
		return c.Redirect(http.StatusSeeOther, "/vault/phrase")
	}
	page.Asked, page.Problem = at[:], problem
	return render(c, status, page.Show())
}

// Postpone answers POST /vault/phrase/later.
func (h *Vault) Postpone(c echo.Context) error {
	if err := h.note(func(n *PhraseNote) { n.Later = h.Now().UTC() }); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/vault")
}

// RecoverForm answers GET /vault/recover.
func (h *Vault) RecoverForm(c echo.Context) error { return h.recovering(c, http.StatusOK, "") }

// Recover answers POST /vault/recover: the phrase and a new passphrase.
func (h *Vault) Recover(c echo.Context) error {
	phrase, err := hidden(c, "phrase", 4096)
	if err != nil {
		return err
	}
	defer vault.Wipe(phrase)
	now, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(now)
	if err := h.Secrets.Recover(c.Request().Context(), string(phrase), now); err != nil {
		if !theirs(err) {
			return err
		}
		return h.recovering(c, http.StatusUnprocessableEntity, agent.PublicOf(err))
	}
	return c.Redirect(http.StatusSeeOther, "/vault")
}

func (h *Vault) recovering(c echo.Context, status int, problem string) error {
	frame, err := h.plain(c, "Recover the vault", layouts.Vault)
	if err != nil {
		return err
	}
	return render(c, status, pages.Recover{Page: frame, Made: h.Secrets.Status(c.Request().Context()).Recovery, Problem: problem}.Show())
}
