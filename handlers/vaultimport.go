package handlers

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/agent/vault"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	envKept = 15 * time.Minute // a file between its preview and the choice
	envMost = 4                // files that are kept at once; the oldest goes first
)

// drafts are .env files between preview and choice. They are held in memory, so that their values need not go back to the page.
type drafts struct {
	mu   sync.Mutex
	held map[string]draft
}

type draft struct {
	data  []byte
	until time.Time
}

// hold keeps a file and returns the word that stands for it.
func (d *drafts) hold(data []byte, now time.Time) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		d.held = map[string]draft{}
	}
	d.sweep(now)
	for len(d.held) >= envMost {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(d.held)), func(a, b string) int { return d.held[a].until.Compare(d.held[b].until) })
		d.drop(oldest)
	}
	word := rand.Text()
	d.held[word] = draft{data, now.Add(envKept)}
	time.AfterFunc(envKept+time.Second, func() { d.mu.Lock(); defer d.mu.Unlock(); d.drop(word) })
	return word
}

// get returns a copy of a file, nil when it is no longer held. The caller wipes it.
func (d *drafts) get(word string, now time.Time) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep(now)
	return slices.Clone(d.held[word].data)
}

func (d *drafts) done(word string) { d.mu.Lock(); defer d.mu.Unlock(); d.drop(word) }

func (d *drafts) sweep(now time.Time) {
	for word, x := range d.held {
		if now.After(x.until) {
			d.drop(word)
		}
	}
}

func (d *drafts) drop(word string) {
	vault.Wipe(d.held[word].data)
	delete(d.held, word)
}

// ImportForm answers GET /vault/import.
func (h *Vault) ImportForm(c echo.Context) error { return h.importing(c, http.StatusOK, "", "") }

func (h *Vault) importing(c echo.Context, status int, about, problem string) error {
	page, err := h.importPage(c)
	if err != nil {
		return err
	}
	page.About, page.Problem = about, problem
	return render(c, status, page.Show())
}

func (h *Vault) importPage(c echo.Context) (pages.VaultImport, error) {
	frame, err := h.plain(c, "Bring secrets in", layouts.Vault)
	s := h.Secrets.Status(c.Request().Context())
	return pages.VaultImport{Page: frame, Exists: s.Exists, Locked: s.Exists && !s.Unlocked}, err
}

// Preview answers POST /vault/import/env: lines or a file; shows which names it would make.
func (h *Vault) Preview(c echo.Context) error {
	data, err := upload(c, "env", 1<<20)
	if err == nil && len(data) == 0 {
		err = agent.Errorf(agent.CodeInvalid, "Paste the lines or choose a file first.")
	}
	var lines []vault.Variable
	if err == nil {
		lines, err = vault.ParseEnv(data)
	}
	if err == nil && len(lines) == 0 {
		err = agent.Errorf(agent.CodeInvalid, "There is nothing to bring in: no line sets a variable.")
	}
	if err != nil {
		vault.Wipe(data)
		if !theirs(err) {
			return err
		}
		return h.importing(c, http.StatusUnprocessableEntity, "env", agent.PublicOf(err))
	}
	page, err := h.importPage(c)
	if err != nil {
		vault.Wipe(data)
		return err
	}
	page.Draft = h.drafts.hold(data, h.Now())
	page.Rows, err = h.rows(lines)
	for _, l := range lines {
		vault.Wipe(l.Value)
	}
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}

// rows proposes a name for each line.
func (h *Vault) rows(lines []vault.Variable) ([]pages.EnvRow, error) {
	there, err := h.Secrets.List()
	if err != nil && agent.CodeOf(err) != agent.CodeLocked {
		return nil, err
	}
	known := envNames(h.Config.Current().Config())
	taken := map[string]bool{}
	for _, i := range there {
		taken[i.Name] = true
	}
	var out []pages.EnvRow
	for _, l := range lines {
		row := pages.EnvRow{Key: l.Key, Empty: len(l.Value) == 0}
		if k, ok := known[l.Key]; ok {
			row.Name, row.Hosts, row.Take = k.name, strings.Join(k.hosts, ", "), true
		} else {
			row.Name = envName(l.Key)
		}
		row.There = taken[row.Name]
		taken[row.Name] = true
		row.Take = row.Take && !row.There && !row.Empty
		out = append(out, row)
	}
	return out, nil
}

// envNames says which secrets the usual variables are.
func envNames(c config.Config) map[string]knownSecret {
	out := map[string]knownSecret{"BRAVE_API_KEY": {}, "BRAVE_SEARCH_API_KEY": {}}
	for _, k := range knownSecrets(c) {
		if k.name == "tool/brave" {
			out["BRAVE_API_KEY"], out["BRAVE_SEARCH_API_KEY"] = k, k
		}
	}
	for _, v := range llm.Vendors() {
		s := llm.Settings{Name: v.Kind, Kind: v.Kind}
		for _, key := range v.KeyEnv {
			if _, first := out[key]; !first && hostsOf(s) != nil {
				out[key] = knownSecret{name: "provider/" + v.Kind, title: v.Title, hosts: hostsOf(s)}
			}
		}
	}
	return out
}

// envName proposes a name for a variable that Ash does not know: GITHUB_TOKEN is plugin/github/token.
func envName(key string) string {
	first, rest, _ := strings.Cut(strings.ToLower(strings.Trim(key, "_")), "_")
	name := "plugin/" + first + "/" + cmp.Or(strings.Trim(rest, "_"), "key")
	if vault.CheckName(name) != nil {
		return ""
	}
	return name
}

// Choose answers POST /vault/import/choose: draft, take (keys, repeated), name.<key>, hosts.<key>, passphrase of a vault to be made.
func (h *Vault) Choose(c echo.Context) error {
	word, err := line(c, "draft", 64)
	if err != nil {
		return err
	}
	data := h.drafts.get(word, h.Now())
	defer vault.Wipe(data)
	if len(data) == 0 {
		return h.importing(c, http.StatusUnprocessableEntity, "env", "That took longer than the file is held in memory. Bring it again.")
	}
	chosen, err := h.chosen(c)
	var done vault.Imported
	if err == nil {
		done, err = h.bring(c, data, chosen)
	}
	if err != nil && !theirs(err) {
		return err
	}
	page, pageErr := h.importPage(c)
	if pageErr != nil {
		return pageErr
	}
	if err != nil && len(done.Added)+len(done.Later) == 0 {
		return h.again(c, page, word, data, agent.PublicOf(err))
	}
	h.drafts.done(word)
	page.Outcome = &pages.ImportOutcome{Added: done.Added, Later: done.Later, There: done.There}
	if err != nil {
		page.Outcome.Problem = agent.PublicOf(err)
	}
	return render(c, http.StatusOK, page.Show())
}

// again shows the choice with what was wrong and what was typed.
func (h *Vault) again(c echo.Context, page pages.VaultImport, word string, data []byte, problem string) error {
	lines, err := vault.ParseEnv(data)
	if err != nil {
		return err
	}
	page.Rows, err = h.rows(lines)
	for _, l := range lines {
		vault.Wipe(l.Value)
	}
	if err != nil {
		return err
	}
	form := c.Request().PostForm
	for i := range page.Rows {
		row := &page.Rows[i]
		row.Take = slices.Contains(form["take"], row.Key)
		if name, err := line(c, "name."+row.Key, 200); err == nil {
			row.Name = name
		}
		if hosts, err := line(c, "hosts."+row.Key, 8000); err == nil {
			row.Hosts = hosts
		}
	}
	page.Draft, page.About, page.Problem = word, "choose", problem
	return render(c, http.StatusUnprocessableEntity, page.Show())
}

// chosen reads and checks what is to be kept under which name, so that nothing is kept when one of them is wrong.
func (h *Vault) chosen(c echo.Context) (map[string]vault.Secret, error) {
	out := map[string]vault.Secret{}
	names := map[string]bool{}
	for _, key := range c.Request().PostForm["take"] {
		name, err := line(c, "name."+key, 200)
		if err != nil {
			return nil, err
		}
		if err := vault.CheckName(name); err != nil {
			return nil, agent.Wrap(agent.CodeInvalid, err, "%s: %s", agent.Clip(key, 80), agent.PublicOf(err))
		}
		if names[name] {
			return nil, agent.Errorf(agent.CodeInvalid, "Two lines would get the name %s. Give one of them another.", name)
		}
		names[name] = true
		_, hosts, err := list(c, "hosts."+key)
		if err != nil {
			return nil, err
		}
		for i, host := range hosts {
			if hosts[i] = plainHost(host); vault.CheckHost(hosts[i]) != nil {
				return nil, agent.Errorf(agent.CodeInvalid, "%s: %s", agent.Clip(key, 80), agent.PublicOf(vault.CheckHost(hosts[i])))
			}
		}
		out[key] = vault.Secret{Name: name, Hosts: hosts}
	}
	if len(out) == 0 {
		return nil, agent.Errorf(agent.CodeInvalid, "Choose at least one line.")
	}
	return out, nil
}

// bring makes the vault if there is none, and adds what was chosen.
func (h *Vault) bring(c echo.Context, data []byte, chosen map[string]vault.Secret) (done vault.Imported, err error) {
	ctx := c.Request().Context()
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return done, err
	}
	defer vault.Wipe(pass)
	if s := h.Secrets.Status(ctx); !s.Exists && s.Problem == "" {
		if err := h.Secrets.Create(ctx, pass); err != nil {
			return done, err
		}
	}
	done, err = h.Secrets.ImportEnv(ctx, data, func(key string) (vault.Secret, bool) { s, ok := chosen[key]; return s, ok })
	return done, errors.Join(err, h.follow(ctx, brought(done), nil))
}

// brought are the names that are in the vault now, of those that were to be brought in.
func brought(done vault.Imported) []string { return slices.Concat(done.Added, done.Later, done.There) }

// ImportCopy answers POST /vault/import/copy: an export of a vault, and its passphrase.
func (h *Vault) ImportCopy(c echo.Context) error {
	data, err := upload(c, "copy", 25<<20)
	if err != nil {
		return err
	}
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	if len(data) == 0 {
		return h.importing(c, http.StatusUnprocessableEntity, "copy", "Choose the file first.")
	}
	done, err := h.Secrets.Import(c.Request().Context(), bytes.NewReader(data), pass)
	err = errors.Join(err, h.follow(c.Request().Context(), brought(done), nil))
	if err != nil && !theirs(err) {
		return err
	}
	if err != nil && len(done.Added)+len(done.Later) == 0 {
		return h.importing(c, http.StatusUnprocessableEntity, "copy", agent.PublicOf(err))
	}
	page, pageErr := h.importPage(c)
	if pageErr != nil {
		return pageErr
	}
	page.Outcome = &pages.ImportOutcome{Added: done.Added, Later: done.Later, There: done.There}
	if err != nil {
		page.Outcome.Problem = agent.PublicOf(err)
	}
	return render(c, http.StatusOK, page.Show())
}

// upload reads a file, or what was pasted in its stead. The caller wipes it.
func upload(c echo.Context, field string, limit int) ([]byte, error) {
	if err := ParseForm(c.Request()); err != nil {
		return nil, err
	}
	if form := c.Request().MultipartForm; form != nil && len(form.File[field]) > 0 && form.File[field][0].Size > 0 {
		f, err := form.File[field][0].Open()
		if err != nil {
			return nil, agent.Wrap(agent.CodeUnavailable, err, "The file could not be read. Send it again.")
		}
		defer func() { _ = f.Close() }() // read only: nothing can be lost
		data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
		if err != nil {
			return nil, agent.Wrap(agent.CodeUnavailable, err, "The file could not be read. Send it again.")
		}
		if len(data) > limit {
			return nil, agent.Errorf(agent.CodeInvalid, "The file is larger than such a file can be.")
		}
		return data, nil
	}
	return hidden(c, field+"-lines", limit)
}
