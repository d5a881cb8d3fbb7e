package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/attachment"
	"ash/agent/config"
	"ash/agent/egress"
	"ash/agent/guard"
	"ash/agent/policy"
	"ash/agent/sandbox"
	"ash/agent/tool"
	"ash/agent/tool/askperson"
	"ash/agent/tool/files"
	"ash/agent/tool/shell"
	"ash/agent/tool/subagent"
	"ash/agent/tool/webfetch"
	"ash/agent/tool/websearch"
	"ash/agent/vault"
	"ash/store"
)

// hands is what the assistant acts with: the tools, what decides about them, and where commands run.
type hands struct {
	guard   *guard.Guard
	policy  *policy.Policy
	origins *policy.Files
	files   *files.Files
	sandbox *sandbox.Sandbox
	ready   *readiness
	box     *tool.Box

	inspector inspector
}

// material is what hands are made of. Helpers come later: they need the engine, which needs the hands.
type material struct {
	home        string
	settings    func() config.Config
	store       *store.Store
	private     policy.PrivateTexts
	vault       *vault.Vault  // its values are taken out of all that is written
	secrets     guard.Secrets // taken out of all that is written
	mind        *mind
	attachments *attachment.Store
	helpers     subagent.Helpers
	log         *slog.Logger
	reach       func(netip.AddrPort) bool // tests only: servers of their own on loopback
}

// newHands wires the tools.
func newHands(m material) *hands {
	h := &hands{guard: guard.New(guard.Options{Log: m.log, Secrets: m.secrets})}
	h.inspector = inspector{h.guard, m.store, m.log}
	root := func(t agent.Thread) string { return threadRoot(t, m.settings()) }
	h.policy = policy.New(policy.Options{
		Rules: m.store, Log: m.store, Private: m.private, Root: root, Logger: m.log,
		Orders: func(text string) bool { return h.guard.Scan(context.Background(), guard.Message, text).Flagged },
	})
	h.origins = policy.NewFiles(policy.FilesOptions{
		Records: m.store, Own: func(folder string) bool { return isOwn(m.settings().Files.Own, folder) }, Logger: m.log,
	})
	h.files = files.New(files.Options{
		Provenance: h.origins, Versions: m.store, Attachments: m.attachments, Redact: h.guard.Redact,
		Folders: func() []files.Folder { return furtherFolders(m.settings().Files.Folders) },
		Home:    m.home, Own: func() string { return filesFolder(m.settings()) }, Mount: "/work", Log: m.log,
	})
	pages := egress.New(egress.Options{Log: m.log, AllowTest: m.reach})
	h.sandbox = newSandbox(m.home, m.settings, gateway{pages}, m.log)
	h.ready = newReadiness(h.sandbox)
	all := h.files.Tools()
	all = append(all,
		shell.New(shell.Options{Sandbox: commands{h.ready, h.sandbox}, Provenance: h.origins, Places: workplaces{m.store}, Log: m.log}),
		webfetch.New(webfetch.Options{Client: pages.Client(egress.Limits{}), Documents: m.attachments}),
		websearch.New(searchOptions(m, pages)),
		askperson.New(),
		subagent.New(subagent.Options{Helpers: m.helpers, Tools: h.names, Log: m.log}),
	)
	all = append(all, memoryTools(m.mind, h.guard.Redact)...)
	h.box = tool.NewBox(tool.Options{
		Policy: h.policy, Inspector: h.inspector, Files: m.attachments, Redact: h.guard.Redact,
		Root: root, Parallel: func() map[tool.Family]int { return lanes(m.settings().Tools.Parallel) }, Log: m.log,
	}, all...)
	return h
}

// names are those of the tools that a thread may use now.
func (h *hands) names(ctx context.Context, t agent.Thread) []string {
	specs := h.box.Specs(ctx, t)
	out := make([]string, len(specs))
	for i, s := range specs {
		out[i] = s.Name
	}
	return out
}

// lanes gives every family of tools the same room.
func lanes(n int) map[tool.Family]int {
	return map[tool.Family]int{
		tool.FamilyFiles: n, tool.FamilyCommands: n, tool.FamilyWeb: n, tool.FamilyHelpers: n, tool.FamilyMemory: n,
	}
}

// filesFolder is what tools see of the workspace.
func filesFolder(c config.Config) string { return filepath.Join(c.Workspace.Path, "files") }

// threadRoot is the folder a thread may see.
func threadRoot(t agent.Thread, c config.Config) string {
	if t.Root != "" {
		return t.Root
	}
	return filesFolder(c)
}

// isOwn reports whether folder is, or lies in, one that the person declared their own.
func isOwn(own []string, folder string) bool {
	return slices.ContainsFunc(own, func(o string) bool {
		rel, err := filepath.Rel(expandHome(o), folder)
		return err == nil && filepath.IsLocal(rel)
	})
}

// furtherFolders reads the setting files.folders.
func furtherFolders(list []string) []files.Folder {
	out := make([]files.Folder, 0, len(list))
	for _, entry := range list {
		path, write := strings.CutSuffix(entry, ":rw")
		if path = expandHome(path); filepath.IsAbs(path) {
			out = append(out, files.Folder{Path: path, Write: write})
		}
	}
	return out
}

// expandHome puts the person's home folder in the place of a leading ~.
func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || (rest != "" && rest[0] != '/' && rest[0] != filepath.Separator) {
		return filepath.Clean(path)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Clean(path)
	}
	return filepath.Join(home, rest)
}

// searchOptions wires the web search. A server the person configured is reached wherever it is, all others as any page.
func searchOptions(m material, pages *egress.Guarded) websearch.Options {
	limits := egress.Limits{Time: 10 * time.Second}
	return websearch.Options{
		Client: pages.Client(limits),
		Endpoint: func(hostport string) *http.Client {
			return egress.New(egress.Options{Log: m.log, Allow: []string{hostport}}).Client(limits)
		},
		Backend: func() string { return m.settings().Search.Backend },
		SearXNG: func() string { return m.settings().Search.SearXNG },
		Key:     func(ctx context.Context) (string, error) { return braveKey(ctx, m.vault, m.settings().Search) },
		HasKey:  func(context.Context) bool { return hasBraveKey(m.settings().Search) },
	}
}
