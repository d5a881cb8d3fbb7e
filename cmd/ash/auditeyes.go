package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/audit"
	"ash/agent/config"
	"ash/agent/guard"
	"ash/agent/policy"
	"ash/agent/sandbox"
)

// auditor makes the checks of the audit over the running Ash. address is where its pages are; ask has known flaws looked up, nil asks nobody.
func (a *app) auditor(address string, ask flawAsker) *audit.Audit {
	c := a.config.Current().Config()
	eyes := a.ownEyes(address)
	beyond := &unread{}
	checks := []audit.Check{
		audit.Exposure{Look: func(ctx context.Context) ([]audit.Listener, error) { return a.listeners(ctx, address) }},
		a.signIn(),
		audit.Drift{Look: func(ctx context.Context) ([]audit.Loose, error) { return drift(ctx, eyes.places()) }},
		audit.VaultUse{Files: a.vaultLogs, Now: time.Now, Zone: time.Local},
		audit.Secrets{Title: "Secrets in files", Source: withUnread(a.filesToRead(c, beyond), beyond), Find: a.findSecrets, Blind: a.unseenSecrets},
		audit.Secrets{Title: "Secrets in conversations and memory", Find: a.findSecrets, Blind: a.unseenSecrets, Source: audit.Together{
			audit.SourceFunc(a.store.AuditMemory), audit.SourceFunc(a.store.AuditVersions), audit.SourceFunc(a.store.AuditMessages), audit.SourceFunc(a.store.AuditCalls),
		}},
		audit.Planted{Scan: a.scanPlanted, Source: a.mayBePlanted(c)},
		a.standingRules(),
		audit.OldImage{Look: a.imageState, Now: time.Now},
		audit.Environment{Look: func(context.Context) (audit.Surroundings, error) { return a.surroundings(c), nil }},
		audit.Strays{Look: func(ctx context.Context) ([]audit.Stray, error) { return straysAndCopies(ctx, eyes.places()) }, Now: time.Now},
		audit.Dependencies{Modules: modules, Ask: ask},
	}
	return audit.New(audit.Options{Redact: a.hands.guard.Redact, Home: a.home, Version: versionString(), Fixers: a.fixers(eyes.places())}, checks...)
}

func (a *app) signIn() audit.SignIn { return audit.SignIn{Look: a.ways, Now: time.Now} }

func (a *app) standingRules() audit.Rules {
	return audit.Rules{Look: a.standing, Home: personHome(), Now: time.Now}
}

// listeners are the addresses pages are served at, and what the settings say.
func (a *app) listeners(ctx context.Context, address string) ([]audit.Listener, error) {
	c := a.config.Current().Config()
	ready, err := a.doors.Ready(ctx) // whoever comes from elsewhere has to sign in, if anybody can
	if err != nil {
		return nil, err
	}
	out := []audit.Listener{{Address: c.Server.Listen, From: "the settings", Local: isLoopback(c.Server.Listen), SignIn: ready}}
	if host := strings.TrimPrefix(address, "http://"); host != "" && host != c.Server.Listen {
		out = append(out, audit.Listener{Address: host, From: "the running Ash", Local: isLoopback(host), SignIn: ready})
	}
	for _, at := range a.network.State().Reachable() {
		u, err := url.Parse(at)
		if err != nil {
			continue
		}
		out = append(out, audit.Listener{Address: u.Host, From: "the running Ash", Local: isLoopback(u.Host), SignIn: ready, TLS: u.Scheme == "https"})
	}
	return out, nil
}

// isLoopback reports whether an address, with or without a port, is of this machine alone.
func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// ways are the passphrase, the devices and the tokens.
func (a *app) ways(ctx context.Context) (audit.Way, error) {
	var w audit.Way
	phc, err := a.store.Passphrase(ctx)
	if err != nil {
		return w, err
	}
	if w.Passphrase = phc != ""; w.Passphrase {
		// "$argon2id$v=19$m=65536,t=3,p=4$…": only the costs are read
		if parts := strings.Split(phc, "$"); len(parts) > 3 {
			if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d", &w.Memory, &w.Passes); n != 2 || err != nil {
				w.Memory, w.Passes = 1, 1 // nothing that can be read is as good as nothing
			}
		}
	}
	listeners, err := a.listeners(ctx, "")
	if err != nil {
		return w, err
	}
	for _, l := range listeners {
		w.Open = w.Open || !l.Local
	}
	devices, err := a.doors.Devices(ctx) // those whose time is over are none
	if err != nil {
		return w, err
	}
	for _, d := range devices {
		w.Devices = append(w.Devices, audit.Device{ID: d.ID, Name: d.Name, Seen: d.Seen})
	}
	tokens, err := a.store.Tokens(ctx)
	if err != nil {
		return w, err
	}
	for _, t := range tokens {
		if t.Revoked.IsZero() {
			w.Tokens = append(w.Tokens, audit.Token{ID: t.ID, Name: t.Name, Wide: slices.Contains(t.Scopes, access.ScopeAdmin), Created: t.Created, Used: t.Used, Expires: t.Expires})
		}
	}
	return w, nil
}

func drift(ctx context.Context, p homePlaces) ([]audit.Loose, error) {
	list, err := loose(ctx, p)
	out := make([]audit.Loose, len(list))
	for i, l := range list {
		out[i] = audit.Loose{Path: l.path, What: l.what, Mode: uint32(l.mode), Bad: l.bad}
		if l.mode == 0 {
			out[i].Help = l.command
		}
	}
	return out, err
}

// vaultLogs are the files of the vault's access log, the oldest first.
func (a *app) vaultLogs(context.Context) ([]audit.LogFile, error) {
	path := vaultLog(a.home).Path
	var out []audit.LogFile
	for _, p := range []string{path + ".1", path} {
		if info, err := os.Lstat(p); err == nil && info.Mode().IsRegular() {
			out = append(out, audit.LogFile{Name: "logs/" + filepath.Base(p), Open: func() (io.ReadCloser, error) {
				f, err := os.Open(p)
				if err != nil {
					return nil, agent.Wrap(agent.CodeUnavailable, err, "The access log of the vault cannot be read.")
				}
				return f, nil
			}})
		}
	}
	return out, nil
}

// unread counts files that were not read, or not to their end.
type unread struct{ files int }

// withUnread has a source say at its end what it left out.
func withUnread(s audit.Source, u *unread) audit.Source {
	return audit.SourceFunc(func(ctx context.Context, yield func(audit.Text) error) error {
		u.files = 0
		if err := s.Texts(ctx, yield); err != nil {
			return err
		}
		if u.files > 0 {
			return agent.Errorf(agent.CodeExhausted, "%d files were not read, or not to their end: they are too large, or too many, or not readable.", u.files)
		}
		return nil
	})
}

// filesToRead are the files of a home in which no secret should lie. The vault is encrypted, the database is read by itself, attachments are
// what the person put there.
func (a *app) filesToRead(c config.Config, u *unread) audit.Source {
	trees := []audit.Tree{
		{Path: filepath.Join(a.home, config.FileName), Name: config.FileName, Kind: audit.KindConfig, Link: func(string) string { return "/settings/general" }},
		{Path: filepath.Join(a.home, "logs"), Name: "logs", Kind: audit.KindLog},
		{Path: c.Memory.Notes, Name: "notes", Kind: audit.KindNote, Link: noteLink},
	}
	trees = append(trees, identityTrees(c)...)
	trees = append(trees, audit.Tree{Path: filesFolder(c), Name: "workspace/files", Kind: audit.KindFile})
	for _, dir := range scratchFolders(a.home) {
		trees = append(trees, audit.Tree{Path: dir, Name: filepath.Base(dir), Kind: audit.KindScratch})
	}
	for _, unit := range serviceFiles() {
		trees = append(trees, audit.Tree{Path: unit, Kind: audit.KindConfig})
	}
	return audit.FileSource{Trees: trees, Beyond: func(n int) { u.files += n }}
}

// mayBePlanted is what the assistant reads as its own, or read once.
func (a *app) mayBePlanted(c config.Config) audit.Source {
	u := &unread{}
	trees := append(identityTrees(c), audit.Tree{Path: c.Memory.Notes, Name: "notes", Kind: audit.KindNote, Link: noteLink})
	return withUnread(audit.Together{
		audit.FileSource{Trees: trees, Beyond: func(n int) { u.files += n }},
		audit.SourceFunc(a.store.AuditMemory), audit.SourceFunc(a.store.AuditCalls),
	}, u)
}

// unseenSecrets says what findSecrets cannot see now.
func (a *app) unseenSecrets(ctx context.Context) string {
	if s := a.vault.Status(ctx); s.Exists && !s.Unlocked {
		return "the vault is locked, so its own values were not looked for"
	}
	return ""
}

// scratchFolders are where the sandbox keeps what commands wrote beside their folder.
func scratchFolders(home string) []string {
	list := []string{filepath.Join(home, "sandbox")}
	if more, err := filepath.Glob(filepath.Join(os.TempDir(), "ash-sandbox-*")); err == nil {
		list = append(list, more...)
	}
	return list
}

func identityTrees(c config.Config) []audit.Tree {
	var out []audit.Tree
	for file, slug := range map[string]string{"SOUL.md": "soul", "USER.md": "user", "TOOLS.md": "tools"} {
		out = append(out, audit.Tree{Path: filepath.Join(c.Workspace.Path, file), Name: "workspace/" + file, Kind: audit.KindIdentity, Link: func(string) string { return "/identity/" + slug }})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

func noteLink(rel string) string {
	if strings.HasPrefix(rel, ".") || !strings.HasSuffix(rel, ".md") {
		return ""
	}
	return "/memory/notes/file?path=" + url.QueryEscape(rel)
}

func (a *app) findSecrets(text string) []audit.Hit {
	found := a.hands.guard.FindSecrets(text)
	out := make([]audit.Hit, len(found))
	for i, s := range found {
		out[i] = audit.Hit{Rule: s.Rule, Start: s.Start, End: s.End}
	}
	return out
}

// scanPlanted scans as Ash does when such a text comes in.
func (a *app) scanPlanted(ctx context.Context, k audit.Kind, text string) []audit.Sign {
	channel := guard.Memory
	if k == audit.KindResult {
		channel = guard.Tool
	}
	report := a.hands.guard.Scan(ctx, channel, text)
	if !report.Flagged {
		return nil
	}
	out := make([]audit.Sign, len(report.Findings))
	for i, f := range report.Findings {
		out[i] = audit.Sign{Rule: f.Rule, Why: f.Why, Start: f.Start}
	}
	return out
}

// standing are the rules that allow.
func (a *app) standing(ctx context.Context) ([]audit.Rule, error) {
	list, err := a.hands.policy.Rules(ctx)
	var out []audit.Rule
	for _, r := range list {
		if r.Verdict != agent.Allow {
			continue
		}
		any := r.Tool == policy.AnyTool
		out = append(out, audit.Rule{
			ID: r.ID, Words: ruleWords(r), Tool: r.Tool, Match: r.Match, Thread: r.Thread, Uses: r.Uses, Used: r.Used, Made: r.Created,
			Runs:   any || r.Tool == "shell",
			Sends:  any || r.Tool == "web_fetch" || r.Tool == "web_search",
			Writes: any || slices.Contains([]string{"file_write", "file_edit", "note_write", "remember", "correct", "forget"}, r.Tool),
		})
	}
	return out, err
}

func ruleWords(r policy.Rule) string {
	words := policy.Describe(r)
	if r.Tool != policy.AnyTool && r.Match == "" {
		words = r.Tool + ": " + words
	}
	return words
}

func (a *app) imageState(ctx context.Context) (audit.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	st := a.hands.sandbox.Status(ctx)
	i := audit.Image{Tag: st.Image.Tag, Built: st.Image.Built, Created: st.Image.Created}
	if st.Engine != sandbox.EngineOff {
		i.Engine = strings.TrimSpace(st.Name + " " + st.Version)
	}
	return i, nil
}

// surroundings are what this process was started with, and where it sends things in the clear.
func (a *app) surroundings(c config.Config) audit.Surroundings {
	s := audit.Surroundings{Root: os.Geteuid() == 0}
	for _, p := range a.providers.Status() {
		if k := p.Key; k.Place == "environment" {
			s.Keys = append(s.Keys, k.Name)
		}
		if inTheClear(p.Settings.BaseURL) {
			s.Plain = append(s.Plain, "providers."+p.Settings.Name+".base_url = "+p.Settings.BaseURL)
		}
	}
	if inTheClear(c.Search.SearXNG) {
		s.Plain = append(s.Plain, "search.searxng_url = "+c.Search.SearXNG)
	}
	slices.Sort(s.Keys)
	s.Keys = slices.Compact(s.Keys)
	switch {
	case c.Vault.PassphraseFile != "":
		s.Unlocked = "its passphrase lies in the file " + c.Vault.PassphraseFile
	case c.Vault.Keyring:
		s.Unlocked = "the keyring of your desktop has its passphrase"
	}
	return s
}

// inTheClear reports whether an address is reached over a network without encryption.
func inTheClear(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.EqualFold(u.Scheme, "http") && u.Host != "" && !isLoopback(u.Host)
}

func personHome() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// straysAndCopies are temporary files and copies of the database.
func straysAndCopies(ctx context.Context, p homePlaces) ([]audit.Stray, error) {
	left, err := strays(ctx, p, time.Now())
	var out []audit.Stray
	for _, l := range left {
		out = append(out, audit.Stray{Path: l.path, Bytes: l.bytes})
	}
	copies, globErr := filepath.Glob(filepath.Join(p.home, "backups", "ash-*.db"))
	if err == nil {
		err = globErr
	}
	for _, path := range copies {
		if info, statErr := os.Lstat(path); statErr == nil && info.Mode().IsRegular() {
			out = append(out, audit.Stray{Path: path, Bytes: info.Size(), Made: info.ModTime(), Copy: true})
		}
	}
	return out, err
}
