package handlers

import (
	"context"
	"net/http"
	"path/filepath"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access/keypair"
	"ash/agent/config"
	"ash/agent/vault"
	"ash/views/components"
	"ash/views/pages"
)

// asks says what the vault needs before Ash can make a certificate of its own.
func (h *Doors) asks(ctx context.Context) components.KeyPlace {
	switch s := h.Vault.Status(ctx); {
	case s.Problem != "":
		return components.KeyAmiss
	case !s.Exists:
		return components.KeyNoVault
	case !s.Unlocked && h.Authority() == nil:
		return components.KeyLocked
	}
	return components.KeyOpen
}

// HTTPS answers POST /settings/doors/https: whether devices of the network speak with Ash encrypted; and for the first time passphrase, of the vault
// that keeps the key: it is made or unlocked on the way.
func (h *Doors) HTTPS(c echo.Context) error {
	on, err := line(c, "on", 10)
	if err != nil {
		return err
	}
	if on == "1" {
		switch problem, err := h.openVault(c); {
		case err != nil:
			return err
		case problem != "":
			return h.show(c, http.StatusUnprocessableEntity, func(p *pages.Doors) { p.HTTPSProblem = problem })
		}
	}
	if err := h.set(c.Request().Context(), config.Change{Key: "doors.https", Value: trueOr(on == "1")}); err != nil {
		return err
	}
	if !VisitorOf(c).Here { // this answer may leave by the door that is about to speak otherwise
		return render(c, http.StatusOK, pages.DoorsClosed{Page: h.bare(c, "Changed"), Moved: true}.Show())
	}
	h.Network.Apply(c.Request().Context())
	return see(c, "/settings/doors#https")
}

// openVault makes or unlocks the vault where a certificate needs it. A problem is for its field.
func (h *Doors) openVault(c echo.Context) (problem string, err error) {
	ctx := c.Request().Context()
	if h.Config.Current().Config().Doors.Certificate != "" {
		return "", nil
	}
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return "", err
	}
	defer vault.Wipe(pass)
	switch h.asks(ctx) {
	case components.KeyAmiss:
		return "The vault cannot keep the key as it stands; its page says why.", nil
	case components.KeyNoVault:
		err = h.Vault.Create(ctx, pass)
	case components.KeyLocked:
		err = h.Vault.Unlock(ctx, pass)
	}
	if err != nil && theirs(err) {
		return agent.PublicOf(err), nil
	}
	return "", err
}

// Certificate answers POST /settings/doors/certificate: certificate, certificate_key. They are read before they are kept. Neither: Ash's own is
// used again.
func (h *Doors) Certificate(c echo.Context) error {
	var files keypair.Files
	for field, into := range map[string]*string{"certificate": &files.Certificate, "certificate_key": &files.Key} {
		var err error
		if *into, err = line(c, field, 1000); err != nil {
			return err
		}
	}
	refused := func(p *pages.Doors, problem string) {
		p.CertificateProblem, p.Certificate, p.CertificateKey = problem, files.Certificate, files.Key
	}
	if problem := h.uncertified(files); problem != "" {
		return h.show(c, http.StatusUnprocessableEntity, func(p *pages.Doors) { refused(p, problem) })
	}
	return h.change(c, refused,
		config.Change{Key: "doors.certificate", Value: files.Certificate, Remove: files.Certificate == ""},
		config.Change{Key: "doors.certificate_key", Value: files.Key, Remove: files.Key == ""})
}

// uncertified says why files cannot be taken; "" when they can.
func (h *Doors) uncertified(files keypair.Files) string {
	if files.None() {
		return ""
	}
	for _, path := range []string{files.Certificate, files.Key} {
		if path != "" && !filepath.IsAbs(path) {
			return "Write the whole path of the file on this machine, from the root of its disk: “" + agent.Clip(visible(path), 80) + "” begins somewhere else."
		}
	}
	if _, err := keypair.Load(files, h.Now()); err != nil {
		return agent.PublicOf(err)
	}
	return ""
}
