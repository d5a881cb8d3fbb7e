package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/vault"
	"ash/views/layouts"
	"ash/views/pages"
)

// AccessLog reads what was done with the vault.
type AccessLog interface {
	// Read returns the accesses that keep lets pass, the newest first, after the first skip of them and at most limit. more says that there are further ones.
	Read(ctx context.Context, keep func(vault.Access) bool, skip, limit int) (found []vault.Access, more bool, err error)
}

const (
	accessSize = 50
	maxSkipped = 100_000 // accesses before a page; the log holds fewer
)

// Log answers GET /vault/log?name=&action=&refused=1&skip=: who wanted which secret, when, for what, and whether it was allowed.
func (h *Vault) Log(c echo.Context) error {
	filter := pages.AccessFilter{
		Name: strings.TrimSpace(agent.Clip(c.QueryParam("name"), 200)), Action: c.QueryParam("action"), Refused: c.QueryParam("refused") != "",
	}
	var err error
	if filter.Name, err = clean(filter.Name); err != nil {
		return err
	}
	if filter.Action != "" && !slices.ContainsFunc(pages.AccessActions(), func(a pages.Choice) bool { return a.Value == filter.Action }) {
		return agent.Errorf(agent.CodeInvalid, "The log has no such action.")
	}
	skip := 0
	if s := c.QueryParam("skip"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > maxSkipped {
			return agent.Errorf(agent.CodeInvalid, "There is no such page of the log.")
		}
		skip = n
	}
	found, more, err := h.Accesses.Read(c.Request().Context(), func(a vault.Access) bool {
		return (filter.Action == "" || string(a.Action) == filter.Action) && (!filter.Refused || !a.Allowed) &&
			(filter.Name == "" || strings.Contains(a.Name, filter.Name) || strings.Contains(a.User, filter.Name) || strings.Contains(a.Host, filter.Name))
	}, skip, accessSize)
	if err != nil {
		return err
	}
	frame, err := h.plain(c, "Access log", layouts.Vault)
	if err != nil {
		return err
	}
	page := pages.AccessLog{Page: frame, Filter: filter, Later: skip > 0, Now: h.Now().In(h.Zone)}
	for _, a := range found {
		page.Lines = append(page.Lines, pages.AccessLine{
			At: a.At.In(h.Zone), Action: string(a.Action), Name: visible(a.Name), User: visible(a.User), Host: visible(a.Host), For: visible(agent.FirstWords(a.For, notifyText)),
			Allowed: a.Allowed, Why: whyRefused(a.Why),
		})
	}
	if more {
		query := url.Values{"skip": {strconv.Itoa(skip + accessSize)}}
		for k, v := range map[string]string{"name": filter.Name, "action": filter.Action} {
			if v != "" {
				query.Set(k, v)
			}
		}
		if filter.Refused {
			query.Set("refused", "1")
		}
		page.Next = "/vault/log?" + query.Encode()
	}
	return render(c, http.StatusOK, page.Show())
}

// whyRefused puts the code of a refusal into words.
func whyRefused(code agent.Code) string {
	switch code {
	case "":
		return ""
	case agent.CodeLocked:
		return "it was locked"
	case agent.CodeDenied:
		return "not allowed"
	case agent.CodeNotFound:
		return "not there"
	case agent.CodeConflict:
		return "there already, or changed meanwhile"
	case agent.CodeInvalid:
		return "a mistake in what was asked"
	}
	return "it did not work"
}
