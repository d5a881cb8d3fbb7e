package handlers

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/agent/vault"
	"ash/views/layouts"
	"ash/views/pages"
)

// New answers GET /vault/new?name=: the form for a secret.
func (h *Vault) New(c echo.Context) error {
	name := c.QueryParam("name")
	if vault.CheckName(name) != nil {
		name = ""
	}
	page, err := h.form(c, name)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}

func (h *Vault) form(c echo.Context, name string) (pages.VaultNew, error) {
	frame, err := h.plain(c, "Add a secret", layouts.Vault)
	if err != nil {
		return pages.VaultNew{}, err
	}
	s := h.Secrets.Status(c.Request().Context())
	page := pages.VaultNew{Page: frame, Name: name, Exists: s.Exists, Locked: s.Exists && !s.Unlocked}
	var there []vault.Info
	if s.Unlocked {
		if there, err = h.Secrets.List(); err != nil && agent.CodeOf(err) != agent.CodeLocked {
			return page, err
		}
	}
	for _, k := range knownSecrets(h.Config.Current().Config()) {
		if slices.ContainsFunc(there, func(i vault.Info) bool { return i.Name == k.name }) {
			continue
		}
		page.Known = append(page.Known, pages.KnownSecret{Name: k.name, Title: k.title})
		if k.name == name {
			page.Title, page.Hosts = k.title, strings.Join(k.hosts, ", ")
		}
	}
	return page, nil
}

// Add answers POST /vault/new. The vault is made with the first secret; a locked one takes it in later.
func (h *Vault) Add(c echo.Context) error {
	shown, s, err := h.readSecret(c)
	defer func() { vault.Wipe(s.Value); vault.Wipe(s.Extra) }()
	if err == nil {
		err = h.add(c, s)
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, "/vault")
	}
	if !theirs(err) {
		return err
	}
	page, formErr := h.form(c, shown.Name)
	if formErr != nil {
		return formErr
	}
	page.Hosts, page.Users, page.Problem = shown.Hosts, shown.Users, agent.PublicOf(err)
	return render(c, http.StatusUnprocessableEntity, page.Show())
}

// add makes the vault if there is none, and keeps the secret.
func (h *Vault) add(c echo.Context, s vault.Secret) error {
	ctx := c.Request().Context()
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	if err := vault.CheckName(s.Name); err != nil {
		return err
	}
	if len(s.Value) == 0 {
		return agent.Errorf(agent.CodeInvalid, "Paste the value: it is empty.")
	}
	if state := h.Secrets.Status(ctx); !state.Exists && state.Problem == "" {
		if err := h.Secrets.Create(ctx, pass); err != nil {
			return err
		}
	}
	if s.Hosts == nil {
		s.Hosts = knownHosts(h.Config.Current().Config(), s.Name)
	}
	if _, err = h.Secrets.Put(ctx, s); err != nil {
		return err
	}
	return h.follow(ctx, []string{s.Name}, nil)
}

// readSecret reads the form. shown is what may stand in it again.
func (h *Vault) readSecret(c echo.Context) (shown pages.VaultNew, s vault.Secret, err error) {
	if s.Name, err = line(c, "name", 200); err != nil {
		return shown, s, err
	}
	shown.Name = s.Name
	if shown.Hosts, s.Hosts, err = list(c, "hosts"); err != nil {
		return shown, s, err
	}
	if shown.Users, s.Users, err = list(c, "users"); err != nil {
		return shown, s, err
	}
	for i, host := range s.Hosts {
		s.Hosts[i] = plainHost(host)
	}
	if s.Value, err = secretValue(c); err != nil {
		return shown, s, err
	}
	extra, err := hidden(c, "extra", maxHidden)
	if len(extra) > 0 {
		s.Extra = extra
	}
	return shown, s, err
}

// secretValue reads a value from the field with one line or from the one with several. Space around it is never meant.
func secretValue(c echo.Context) ([]byte, error) {
	value, err := hidden(c, "value", maxHidden)
	if err != nil {
		return nil, err
	}
	lines, err := hidden(c, "lines", maxHidden+maxHidden/8)
	if err != nil {
		return nil, err
	}
	if len(value) > 0 && len(lines) > 0 {
		return nil, agent.Errorf(agent.CodeInvalid, "There are two values now: fill in the field with one line or the one with several.")
	}
	return bytes.TrimSpace(bytes.ReplaceAll(append(value, lines...), []byte("\r\n"), []byte("\n"))), nil
}

// list reads a field of several words with commas or white space between them.
func list(c echo.Context, field string) (shown string, words []string, err error) {
	if shown, err = line(c, field, 8000); err != nil {
		return shown, nil, err
	}
	for w := range strings.FieldsFuncSeq(shown, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		words = append(words, w)
	}
	return shown, words, nil
}

// plainHost makes a host of what a person pastes: an address with scheme and path, capitals, a dot at the end.
func plainHost(s string) string {
	if strings.Contains(s, "://") {
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			s = u.Host
		}
	}
	s, _, _ = strings.Cut(s, "/")
	return strings.ToLower(strings.TrimSuffix(s, "."))
}

// knownSecret is a secret that Ash knows a use for.
type knownSecret struct {
	name, title string
	hosts       []string
}

// knownSecrets lists the keys of the configured providers, of the vendors, and of tools.
func knownSecrets(c config.Config) []knownSecret {
	var out []knownSecret
	add := func(k knownSecret) {
		if vault.CheckName(k.name) == nil && !slices.ContainsFunc(out, func(o knownSecret) bool { return o.name == k.name }) {
			out = append(out, k)
		}
	}
	for _, s := range configured(c) {
		if hosts := hostsOf(s); hosts != nil && !s.Local() {
			add(knownSecret{name: "provider/" + s.Name, title: providerTitle(s), hosts: hosts})
		}
	}
	for _, v := range llm.Vendors() {
		if s := (llm.Settings{Name: v.Kind, Kind: v.Kind}); v.NeedKey && hostsOf(s) != nil {
			add(knownSecret{name: "provider/" + v.Kind, title: v.Title, hosts: hostsOf(s)})
		}
	}
	add(knownSecret{name: "tool/brave", title: "Brave Search", hosts: []string{"api.search.brave.com"}})
	return out
}

func knownHosts(c config.Config, name string) []string {
	for _, k := range knownSecrets(c) {
		if k.name == name {
			return k.hosts
		}
	}
	return nil
}

// configured returns the providers that the settings name, sorted by name.
func configured(c config.Config) []llm.Settings {
	var out []llm.Settings
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		out = append(out, llm.Settings{Name: name, Kind: kindOf(name, p), BaseURL: p.BaseURL})
	}
	return out
}

func providerTitle(s llm.Settings) string {
	if v := s.Vendor(); s.Name == s.Kind && v.Title != "" {
		return v.Title
	}
	return s.Name
}

// hostsOf returns where the key of a provider goes; nil when that is not known.
func hostsOf(s llm.Settings) []string {
	base := s.BaseURL
	if base == "" {
		base = s.Vendor().BaseURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || vault.CheckHost(strings.ToLower(u.Host)) != nil {
		return nil
	}
	return []string{strings.ToLower(u.Host)}
}
