package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"ash/agent"
	"ash/agent/egress"
	"ash/agent/guard"
	"ash/agent/policy"
	"ash/agent/sandbox"
	"ash/agent/tool/files"
	"ash/agent/tool/shell"
	"ash/agent/vault"
	"ash/store"
)

// What one package asks for in its own words, another gives in its own: the wings of the house do not know each other.

// gateway lets commands out through the checks that pages are fetched with.
type gateway struct{ guarded *egress.Guarded }

func (g gateway) Open(ctx context.Context, dir string, hosts []string) (sandbox.Passage, error) {
	return g.guarded.Open(ctx, dir, hosts)
}

// inspector has results and attached files scanned, and what is found written to the security log.
type inspector struct {
	guard *guard.Guard
	store *store.Store
	log   *slog.Logger
}

// Inspect implements tool.Inspector.
func (i inspector) Inspect(ctx context.Context, c agent.ToolCall, text string) []agent.Finding {
	return i.scan(ctx, policy.SecurityEvent{Thread: c.Thread, Call: c.ID, Tool: c.Name}, text)
}

// file is an agent.Inspect.
func (i inspector) file(ctx context.Context, thread agent.ID, text string) []agent.Finding {
	return i.scan(ctx, policy.SecurityEvent{Thread: thread, Source: "an attached file"}, text)
}

// scan logs each finding as an event at the place given.
func (i inspector) scan(ctx context.Context, place policy.SecurityEvent, text string) []agent.Finding {
	report := i.guard.Scan(ctx, guard.Tool, text)
	if !report.Flagged {
		return nil
	}
	out := make([]agent.Finding, 0, len(report.Findings))
	for _, f := range report.Findings {
		excerpt := agent.Clip(i.guard.Redact(text[f.Start:f.End]), 200)
		out = append(out, agent.Finding{Rule: f.Rule, Why: f.Why, Excerpt: excerpt})
		place.Time, place.Kind, place.Rule, place.Detail = time.Now().UTC(), policy.EventFinding, f.Rule, f.Family
		if err := i.store.LogSecurity(ctx, place); err != nil {
			i.log.Warn("a finding was not logged", "rule", f.Rule, "error", err)
		}
	}
	return out
}

// workplaces keeps the folder a thread's commands last stood in.
type workplaces struct{ store *store.Store }

func (w workplaces) SetWorkDir(ctx context.Context, thread agent.ID, dir string) error {
	_, err := w.store.PatchThread(ctx, thread, agent.ThreadPatch{WorkDir: &dir})
	return err
}

// commands runs the shell tool's commands in the sandbox.
type commands struct {
	*readiness
	sandbox *sandbox.Sandbox
}

func (c commands) Run(ctx context.Context, cmd shell.Command, out func([]byte)) (shell.Result, error) {
	r, err := c.sandbox.Run(ctx, sandbox.Command{
		Thread: cmd.Thread, Root: cmd.Root, ReadOnly: cmd.ReadOnly, Dir: cmd.Dir, Line: cmd.Line, Hosts: cmd.Hosts, Timeout: cmd.Timeout,
	}, out)
	return shell.Result{
		Exit: r.Exit, TimedOut: r.TimedOut, OutOfMemory: r.OutOfMemory, Truncated: r.Truncated,
		Endless: r.Endless, Dir: r.Dir, Overflow: r.Overflow, Hosts: r.Hosts,
	}, err
}

// securityPage is the newest of the security log, as the Tools page shows it.
type securityPage struct{ store *store.Store }

func (s securityPage) SecurityEvents(ctx context.Context, limit int) ([]policy.SecurityEvent, error) {
	events, _, err := s.store.SecurityEvents(ctx, 0, limit)
	return events, err
}

// undoer takes back what file tools changed.
type undoer struct{ *files.Files }

// Undoable reports whether the last change of a call can still be brought back.
func (u undoer) Undoable(ctx context.Context, call agent.ID) bool {
	changes, err := u.Changes(ctx, call)
	return err == nil && len(changes) > 0 && changes[0].Kept
}

// Undone reports whether the last change of a call took the one before back.
func (u undoer) Undone(ctx context.Context, call agent.ID) bool {
	changes, err := u.Changes(ctx, call)
	return err == nil && len(changes) > 0 && len(changes)%2 == 0
}

// secretValues are the exact values that must never be written: what the vault holds, and the keys that programs lent for a turn.
type secretValues struct {
	vault  *vault.Vault
	engine *agent.Engine // nil until there is one
}

func (s *secretValues) Values() []string {
	held := s.vault.Values()
	if s.engine == nil {
		return held
	}
	lent := s.engine.LentKeys()
	if len(lent) == 0 {
		return held
	}
	return slices.Concat(held, lent)
}
