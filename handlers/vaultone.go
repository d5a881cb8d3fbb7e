package handlers

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/vault"
	"ash/views/layouts"
	"ash/views/pages"
)

// One answers GET /vault/secret?name=: everything about a secret but its value.
func (h *Vault) One(c echo.Context) error {
	if !h.Secrets.Status(c.Request().Context()).Unlocked {
		return c.Redirect(http.StatusSeeOther, "/vault")
	}
	page, err := h.one(c, c.QueryParam("name"))
	if err != nil {
		return err
	}
	page.Done = told(c.QueryParam("done"))
	return render(c, http.StatusOK, page.Show())
}

// told says what just went well; the address holds only a word for it.
func told(what string) string {
	switch what {
	case "rotate":
		return "The new value is in use."
	case "confirm":
		return "Settled: there is one value now."
	case "revert":
		return "Settled: the value is as it was."
	case "bind":
		return "Changed."
	}
	return ""
}

func (h *Vault) one(c echo.Context, name string) (pages.VaultOne, error) {
	all, err := h.Secrets.List()
	if err != nil {
		return pages.VaultOne{}, err
	}
	i := slices.IndexFunc(all, func(i vault.Info) bool { return i.Name == name })
	if i < 0 {
		return pages.VaultOne{}, agent.Errorf(agent.CodeNotFound, "There is no secret of that name in the vault.")
	}
	frame, err := h.plain(c, name, layouts.Vault)
	return pages.VaultOne{Page: frame, VaultSecret: h.secret(all[i]), Now: h.Now().In(h.Zone)}, err
}

// Rotate answers POST /vault/rotate: name and value.
func (h *Vault) Rotate(c echo.Context) error {
	return h.alter(c, "rotate", func(name string) error {
		value, err := secretValue(c)
		if err != nil {
			return err
		}
		defer vault.Wipe(value)
		extra, err := hidden(c, "extra", maxHidden)
		if err != nil {
			return err
		}
		defer vault.Wipe(extra)
		if len(extra) == 0 {
			extra = nil
		}
		if len(value) == 0 {
			return agent.Errorf(agent.CodeInvalid, "Paste the new value: it is empty.")
		}
		_, err = h.Secrets.Rotate(c.Request().Context(), name, value, extra)
		return err
	})
}

// Confirm answers POST /vault/confirm: the new value stays.
func (h *Vault) Confirm(c echo.Context) error {
	return h.alter(c, "confirm", func(name string) error { return h.Secrets.Confirm(c.Request().Context(), name) })
}

// Revert answers POST /vault/revert: the value before stays.
func (h *Vault) Revert(c echo.Context) error {
	return h.alter(c, "revert", func(name string) error { return h.Secrets.Revert(c.Request().Context(), name) })
}

// Bind answers POST /vault/bind: hosts and users anew.
func (h *Vault) Bind(c echo.Context) error {
	return h.alter(c, "bind", func(name string) error {
		_, hosts, err := list(c, "hosts")
		if err != nil {
			return err
		}
		for i, host := range hosts {
			hosts[i] = plainHost(host)
		}
		_, users, err := list(c, "users")
		if err != nil {
			return err
		}
		return h.Secrets.Bind(c.Request().Context(), name, hosts, users)
	})
}

// Delete answers POST /vault/delete.
func (h *Vault) Delete(c echo.Context) error {
	return h.alter(c, "delete", func(name string) error {
		if err := h.Secrets.Delete(c.Request().Context(), name); err != nil {
			return err
		}
		return h.follow(c.Request().Context(), nil, []string{name})
	})
}

// alter changes a secret and shows its page again, with what went wrong in the form that it concerns.
func (h *Vault) alter(c echo.Context, what string, change func(name string) error) error {
	name, err := line(c, "name", 200)
	if err != nil {
		return err
	}
	err = change(name)
	switch {
	case err == nil && what == "delete":
		return c.Redirect(http.StatusSeeOther, "/vault")
	case err == nil:
		return c.Redirect(http.StatusSeeOther, "/vault/secret?"+url.Values{"name": {name}, "done": {what}}.Encode())
	case agent.CodeOf(err) == agent.CodeLocked:
		return c.Redirect(http.StatusSeeOther, "/vault")
	case !theirs(err):
		return err
	}
	page, missing := h.one(c, name)
	if missing != nil {
		return err
	}
	page.Problem, page.About = agent.PublicOf(err), what
	if what == "confirm" || what == "revert" {
		page.About = "settle"
	}
	return render(c, http.StatusUnprocessableEntity, page.Show())
}
