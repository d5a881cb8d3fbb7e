package main

import (
	"context"
	"path/filepath"
	"runtime/debug"
	"time"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/config"
	"ash/agent/prompt"
	"ash/handlers"
	"ash/static"
	"ash/views/markdown"
	"ash/web"
)

// server builds what answers at the doors. address is where browsers find it,
// "" when only the socket is served.
func (a *app) server(address string) (*web.Server, error) {
	return web.New(web.Config{
		Home: a.home, Log: a.log, Routes: a.routes(address),
		Doors: a.doors, Admission: a.network.admission, Certified: a.network.proof.insists, Mask: a.hands.guard.Mask,
		Ready:    a.ready,
		Stopping: a.rest,
	})
}

// routes gives every handler what it needs.
func (a *app) routes(address string) web.Routes {
	md := markdown.New()
	frame := &handlers.Frame{
		Markdown: md, Reader: a.store, Undoer: undoer{a.hands.files},
		Settings:  func() config.Config { return a.config.Current().Config() },
		Latest:    a.feed.Last,
		Proposals: a.store.ProposalCount,
		Now:       time.Now, Zone: time.Local,
	}
	well, guarded := a.newWellness(address), a.newSafety(address)
	frame.Keys = &handlers.KeyKeeper{Secrets: a.secrets, Config: a.config, Providers: a.providers}
	safe := &handlers.Vault{
		Frame: frame, Secrets: a.secrets, Config: a.config,
		Notes: handlers.PhraseFile(filepath.Join(a.home, "recovery-phrase.json")), Accesses: vaultLog(a.home), Kept: a.secretsKept,
	}
	frame.Lock = safe.Mark
	tokens := access.New(a.store, access.Options{Log: a.log})
	control := handlers.Control{
		Engine: a.engine, Threads: a.store, Feed: a.feed, Owner: a.owner.ID,
		Version: versionString(), Address: address,
		Halt: a.hands.sandbox.Halt, Places: &places{home: a.home, config: a.config},
		Memory: a.newRemembering(), Book: a.newMemories(), Tokens: tokens, Doctor: well, Audit: guarded,
		Doors: a.doors, Reach: func() []string { return a.network.State().Reachable() }, Vault: a.secrets, Kept: a.secretsKept, Keyring: a.keyring(),
	}
	mind := &handlers.Memory{
		Frame: frame, Owner: a.owner.ID, Facts: a.store, Entities: a.store, Names: a.store, Totals: a.store, Recall: memorySearch{a.mind},
		Records: a.store, Book: a.mind.book, Decider: a.mind.book, Forgetter: a.mind.book, Redact: a.hands.guard.Redact, Meaning: a.meaningState, Sizes: a.sizes,
	}
	events := &handlers.Events{
		Frame: frame, Feed: a.feed, Threads: a.store, Tails: a.store, Summaries: a.store, Memory: mind, Stream: md, Log: a.log,
	}
	receipts := &handlers.Receipts{Frame: frame, Facts: a.store, Episodes: a.store}
	settings := &handlers.Settings{Frame: frame, Config: a.config, Book: a.book, Facts: a.facts(time.Now()), Meaning: a.meaningState, Sandbox: a.hands.sandbox}
	spending := &handlers.Spending{Settings: settings, Book: a.spending, Usage: a.spending, Turns: a.engine, Thread: a.store}
	settings.Spent = spending.Refused
	return web.Routes{
		Problem:     frame.Problem,
		Chat:        &handlers.Chat{Frame: frame, Threads: a.store, Tails: a.store, Summaries: a.store},
		Messages:    &handlers.Messages{Frame: frame, Engine: a.engine, Turns: a.engine, Threads: a.store, Files: a.files, Receipts: receipts, Owner: a.owner.ID, Vault: safe},
		Threads:     &handlers.Threads{Frame: frame, Threads: a.store, Engine: a.engine, Paths: a.store, Summaries: a.store},
		Attachments: &handlers.Attachments{Files: a.files},
		Search:      &handlers.Search{Frame: frame, Memories: memoryFinder{a.mind}},
		Identity:    &handlers.Identity{Frame: frame, Book: a.book, Tokens: prompt.Tokens},
		Settings:    settings,
		Spending:    spending,
		Tokens:      &handlers.Tokens{Frame: frame, Tokens: tokens},
		Data:        &handlers.Data{Frame: frame, Keeper: dataPage{a}, Home: a.home},
		Health:      &handlers.Health{Frame: frame, Doctor: well},
		Safety:      &handlers.Safety{Frame: frame, Auditor: guarded},
		Models:      &handlers.Models{Frame: frame, Config: a.config, Providers: a.providers},
		Setup: &handlers.Setup{
			Frame: frame, Config: a.config, Providers: a.providers, Prober: a.providers,
			Skipped: handlers.SkipMark(filepath.Join(a.home, "setup-skipped")),
			Own:     func() []string { return []string{"http://" + address} },
		},
		Tools: &handlers.Tools{
			Frame: frame, Runs: a.store, Box: a.hands.box, Policy: a.hands.policy, Sandbox: a.hands.sandbox,
			Security: securityPage{a.store}, Config: a.config,
			Trier: trier{a.engine, a.owner.ID}, Halter: halter{a.engine, a.hands.sandbox}, Memory: mind,
		},
		Memory:  mind,
		Notes:   a.notesPage(frame),
		Vault:   safe,
		Later:   &handlers.Later{Frame: frame},
		SignIn:  &handlers.SignIn{Frame: frame, Doors: a.doors},
		Trust:   &handlers.Trust{Frame: frame, Authority: a.network.proof.trusted},
		Doors:   &handlers.Doors{Frame: frame, Keeping: a.doors, Pairing: a.doors, Network: a.network, Config: a.config, Vault: a.vault, Authority: a.network.proof.trusted},
		Thread:  events.Thread,
		House:   events.House,
		Inbox:   events.Inbox,
		Control: control.Register,
		Assets:  static.Handler(),
		API:     a.newAPI(tokens),
	}
}

// memorySearch is the search of the Memory page.
type memorySearch struct{ mind *mind }

func (s memorySearch) Recall(ctx context.Context, query string, k int) ([]agent.Recollection, error) {
	return s.mind.search(ctx, query, k)
}

// notesPage is nil where there are no notes.
func (a *app) notesPage(frame *handlers.Frame) *handlers.Notes {
	if a.mind.notes == nil {
		return nil
	}
	return &handlers.Notes{Frame: frame, Folder: a.mind.notes, Beside: a.mind.notes, Waiting: a.store.ProposalCount}
}

// ready says whether Ash can take messages.
func (a *app) ready(ctx context.Context) error {
	if err := a.store.Writable(); err != nil {
		return err
	}
	_, err := a.store.Owner(ctx)
	return err
}

// facts is what the About page tells.
func (a *app) facts(started time.Time) func(context.Context) (handlers.Facts, error) {
	return func(ctx context.Context) (handlers.Facts, error) {
		now := time.Now()
		stats, err := a.store.Stats(ctx, time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location()))
		if err != nil {
			return handlers.Facts{}, err
		}
		spent, err := a.spending.Forecast(ctx) // what Settings → Spending says: turns are not all that costs
		return handlers.Facts{
			Version: versionString(), Commit: commit(), Home: a.home, Started: started,
			Database: stats.Bytes, Threads: int(stats.Threads), Messages: int(stats.Messages), Spent: spent.Spent,
		}, err
	}
}

// commit is the revision this binary was built from, "" when it does not know.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
