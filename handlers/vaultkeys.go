package handlers

import (
	"bytes"
	"net/http"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/vault"
	"ash/views/layouts"
	"ash/views/pages"
)

// Keys answers GET /vault/keys: the passphrase, the recovery phrase, new keys, a copy.
func (h *Vault) Keys(c echo.Context) error {
	return h.keys(c, http.StatusOK, func(p *pages.VaultKeys) { p.Done = c.QueryParam("done") })
}

func (h *Vault) keys(c echo.Context, status int, more func(*pages.VaultKeys)) error {
	s := h.Secrets.Status(c.Request().Context())
	if !s.Exists || s.Problem != "" {
		return c.Redirect(http.StatusSeeOther, "/vault")
	}
	frame, err := h.plain(c, "Passphrase and recovery", layouts.Vault)
	if err != nil {
		return err
	}
	note, err := h.Notes.Read()
	if err != nil {
		return err
	}
	page := pages.VaultKeys{Page: frame, Unlocked: s.Unlocked, Phrase: phraseState(s, note)}
	more(&page)
	if page.Done == "passphrase" {
		page.Notes = s.Notes
	}
	return render(c, status, page.Show())
}

// ChangePassphrase answers POST /vault/passphrase: was and now.
func (h *Vault) ChangePassphrase(c echo.Context) error {
	was, err := hidden(c, "was", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(was)
	now, err := hidden(c, "now", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(now)
	return h.renewed(c, "passphrase", h.Secrets.ChangePassphrase(c.Request().Context(), was, now))
}

// RotateIdentity answers POST /vault/identity: everything is encrypted to new keys.
func (h *Vault) RotateIdentity(c echo.Context) error {
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	return h.renewed(c, "identity", h.Secrets.RotateIdentity(c.Request().Context(), pass))
}

// renewed shows the page of the keys again, with what went wrong in the form that it concerns.
func (h *Vault) renewed(c echo.Context, what string, err error) error {
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, "/vault/keys?done="+what)
	case !theirs(err):
		return err
	}
	return h.keys(c, http.StatusUnprocessableEntity, func(p *pages.VaultKeys) { p.About, p.Problem = what, agent.PublicOf(err) })
}

// Export answers POST /vault/export: all secrets as one file, encrypted to the passphrase that came along.
func (h *Vault) Export(c echo.Context) error {
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	var file bytes.Buffer
	if err := h.Secrets.Export(c.Request().Context(), &file, pass); err != nil {
		return h.renewed(c, "export", err)
	}
	name := "ash-vault-" + h.Now().In(h.Zone).Format("2006-01-02") + ".age"
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return c.Blob(http.StatusOK, "application/octet-stream", file.Bytes())
}

// Mend answers POST /vault/mend: how=repair|accept|anew puts a vault right that cannot be opened as it stands.
func (h *Vault) Mend(c echo.Context) error {
	how, err := line(c, "how", 20)
	if err != nil {
		return err
	}
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	ctx := c.Request().Context()
	switch how {
	case "repair":
		err = h.Secrets.Repair(ctx, pass)
	case "accept":
		err = h.Secrets.Accept(ctx, pass)
	case "anew":
		err = h.Secrets.Abandon(ctx)
	default:
		err = agent.Errorf(agent.CodeInvalid, "There is no such way to put the vault right.")
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, "/vault")
	}
	if !theirs(err) {
		return err
	}
	page, pageErr := h.page(c)
	if pageErr != nil {
		return pageErr
	}
	if page.Problem == nil {
		return err
	}
	page.Problem.Wrong = agent.PublicOf(err)
	return render(c, http.StatusUnprocessableEntity, page.Show())
}
