package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/attachment"
	"ash/agent/config"
	"ash/agent/feed"
	"ash/agent/identity"
	"ash/agent/llm"
	"ash/agent/prompt"
	"ash/agent/spend"
	"ash/agent/vault"
	"ash/store"
)

// frames is how many frames of a streaming answer a page gets a second, at most.
const frames = 30

// modelFlags name a model server without any config file.
type modelFlags struct {
	model   string
	baseURL string
}

func (f *modelFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.model, "model", "", "model to use: openai/NAME, anthropic/NAME, ollama/NAME, offline, or any configured provider")
	flags.StringVar(&f.baseURL, "base-url", "", "where the provider of --model is reached")
}

// overrides are the flags as settings, which win over the file and the environment.
func (f modelFlags) overrides() ([]config.Override, error) {
	if f.model == "" {
		if f.baseURL != "" {
			return nil, usageError{errors.New("--base-url needs --model")}
		}
		return nil, nil
	}
	ref := llm.ParseRef(f.model)
	out := []config.Override{{Key: "models.order", Value: ref.String(), Flag: "--model"}}
	if f.baseURL != "" {
		out = append(out, config.Override{Key: "providers." + ref.Provider + ".base_url", Value: f.baseURL, Flag: "--base-url"})
	}
	return out, nil
}

// app is everything behind the doors: what serve and chat have in common.
type app struct {
	home      string
	lock      *homeLock
	config    *config.Book
	log       *slog.Logger
	veil      *veil // what log writes to
	store     *store.Store
	book      *identity.Book
	files     *attachment.Store
	vault     *vault.Vault
	ring      keyring       // of the desktop; tests set another
	secrets   *ringVault    // the vault as doors have it
	ringOff   chan struct{} // the settings no longer want the keyring
	byItself  atomic.Bool   // the vault was unlocked last without a person
	started   time.Time
	doors     *access.Doors
	network   *network
	providers *llm.Providers
	spending  *spend.Book
	announce  *announcer
	hands     *hands
	mind      *mind
	sizes     *sizes
	works     works
	embedder  chan struct{} // the settings may name another one
	feed      *feed.Feed
	engine    *agent.Engine
	owner     agent.Person
	reach     func(netip.AddrPort) bool // tests only: see material
	quit      context.CancelFunc        // ends the server; nil when there is none
	stopping  context.CancelFunc        // ends what runs beside: ledger, watching of the config file
	settling  *settling                 // when the start is over
	beside    sync.WaitGroup
	closing   []func() // ends what the doors began in the background
}

// openApp takes the home and opens everything in it. The caller closes it.
//
// quiet keeps everything but errors out of the log, for commands that talk on standard error themselves. Tests set up
// more.
func openApp(ctx context.Context, home string, overrides []config.Override, quiet bool, setUp ...func(*app)) (_ *app, err error) {
	a := &app{home: home, started: time.Now(), settling: newSettling(), ring: newKeyring(), ringOff: make(chan struct{}, 1)}
	for _, f := range setUp {
		f(a)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.closeSoon(ctx))
		}
	}()
	if a.lock, err = lockHome(home); err != nil {
		return nil, err
	}
	if a.config, err = config.Open(config.Options{Home: home, Environ: os.Environ(), Overrides: overrides}); err != nil {
		return nil, err
	}
	logging := a.config.Current().Config().Log
	if quiet && logging.Level != "debug" {
		logging.Level = "error"
	}
	a.veil = &veil{to: os.Stderr}
	a.log = newLogger(logging, a.veil)
	if err = a.openStore(ctx); err != nil {
		return nil, err
	}
	a.doors = access.NewDoors(a.store, access.DoorOptions{Log: a.log, Idle: a.sessionSpan})
	settings := a.config.Current().Config()
	if a.book, err = identity.Open(ctx, settings.Workspace.Path, a.store, identity.Options{Tokens: prompt.Tokens, Log: a.log}); err != nil {
		return nil, err
	}
	if a.files, err = attachment.Open(filepath.Join(home, "attachments"), attachment.Options{PDF: pdfReader(), Documents: a.readsDocuments, Log: a.log}); err != nil {
		return nil, err
	}
	if err = a.openVault(settings.Vault); err != nil {
		return nil, err
	}
	a.network = newNetwork(a.config, newCertificate(a.home, a.vault), a.doors.Ready, a.log)
	if a.spending, a.announce, err = newSpending(ctx, a.store, func() config.Config { return a.config.Current().Config() }, a.log); err != nil {
		return nil, err
	}
	if a.providers, err = newProviders(settings, providerKeys{a.vault}, a.builtIn(), a.spending, a.log); err != nil {
		return nil, err
	}
	if err = os.MkdirAll(filesFolder(settings), 0o700); err != nil {
		return nil, err
	}
	a.start()
	a.settling.putOff()
	return a, nil
}

// sessionSpan is how long a device that is not used stays signed in.
func (a *app) sessionSpan() time.Duration {
	return time.Duration(a.config.Current().Config().Doors.SessionDays) * 24 * time.Hour
}

// openStore opens the database and puts in order what a crash left open.
func (a *app) openStore(ctx context.Context) (err error) {
	if a.store, err = store.Open(ctx, store.Options{Path: databasePath(a.home), Logger: a.log}); err != nil {
		return err
	}
	found, err := a.store.Recover(ctx)
	if err != nil {
		return err
	}
	if found != (agent.Recovery{}) {
		a.log.Warn("the last run ended in the middle of something; nothing is resumed by itself",
			"turns", found.Turns, "replies", found.Replies, "calls", found.Calls)
	}
	a.owner, err = a.store.Owner(ctx)
	return err
}

// start wires the engine and the ledger.
func (a *app) start() {
	a.feed = feed.New(time.Second / frames)
	a.announce.feed = a.feed
	ctx, cancel := context.WithCancel(context.Background())
	a.stopping = cancel
	a.embedder = make(chan struct{}, 1)
	a.mind = newMind(a.store, a.owner.ID, func() config.Config { return a.config.Current().Config() }, a.log)
	a.mind.proposed = func() { a.feed.Publish(agent.Envelope{Event: agent.MemoryEvent{Waiting: true}}) }
	a.mind.openNotes(ctx, a.settling)
	a.sizes = newSizes(a.store, a.log)
	helping := &helpers{store: a.store, feed: a.feed}
	secrets := &secretValues{vault: a.vault}
	a.hands = newHands(material{
		home: a.home, settings: func() config.Config { return a.config.Current().Config() },
		store: a.store, private: privateTexts{a.book, a.mind}, vault: a.vault, secrets: secrets, mind: a.mind, attachments: a.files, helpers: helping, log: a.log, reach: a.reach,
	})
	a.veil.draw(a.hands.guard.Redact)
	builder := prompt.New(prompt.Options{
		Identity: a.book, Memory: a.mind, Blobs: a.files, Redact: a.hands.guard.Redact, Log: a.log,
		Settings: func() prompt.Settings {
			c := a.config.Current().Config()
			return prompt.Settings{MaxMessages: c.History.MaxContextMessages, MaxTokens: c.Models.MaxTokens}
		},
	})
	a.engine = agent.NewEngine(agent.Options{
		Store: a.store, Prompter: builder, Models: a.providers, Publisher: a.feed,
		Tools: a.hands.box, Redact: a.hands.guard.Redact, Inspect: a.hands.inspector.file,
		Sieve:    func() agent.Sieve { return a.hands.guard.Sieve() },
		Settings: func() agent.Settings { return engineSettings(a.config.Current().Config()) },
		Unlocks:  a.vault.Unlocks,
		Logger:   a.log,
	})
	helping.engine, secrets.engine = a.engine, a.engine
	if n, err := a.engine.StopOrphans(context.Background()); err != nil || n > 0 {
		a.log.Warn("helpers that nobody waits for any more were stopped", "helpers", n, "error", err)
	}
	a.beside.Go(func() { a.keepLedger(ctx) })
	a.beside.Go(func() { a.tidy(ctx) })
	a.beside.Go(func() { a.takeUp(ctx) })
	a.beside.Go(func() { a.sizes.run(ctx) })
	a.beside.Go(func() { a.learnOn(ctx) })
	a.beside.Go(func() { a.minders(ctx) })
	a.beside.Go(func() { a.watchVault(ctx) })
	a.beside.Go(func() { a.unlockByItself(ctx) })
	a.beside.Go(func() { a.forgetRing(ctx) })
	a.beside.Go(func() {
		a.config.Follow(ctx, configPoll, func(err error) {
			if err != nil {
				a.log.Error("config.toml was changed, but what it says cannot be used; the old settings stay", "error", err)
			}
		})
	})
	a.later(ctx, a.keepUp)
	a.later(ctx, a.keepMind)
	a.later(ctx, a.useEmbedder)
	a.config.Subscribe(func(was, now *config.Snapshot) {
		defer a.ringSwitched(was, now)
		defer a.embedderStirred() // when the providers are as they are to be
		c := now.Config()
		if err := a.providers.Reload(providerSettings(c), c.Models.Order); err != nil {
			a.log.Error("model providers could not be set up anew; the old ones stay", "error", err)
			return
		}
		a.providers.SetRetry(retry(c))
		a.vault.SetIdle(vaultIdle(c.Vault))
	})
}

// configPoll is how often config.toml is looked at for changes made by an editor.
const configPoll = 2 * time.Second

func engineSettings(c config.Config) agent.Settings {
	return agent.Settings{
		Bounds: c.Turn.Bounds(), MaxMessages: c.History.MaxContextMessages,
		MaxTokens: c.Models.MaxTokens, Temperature: c.Models.Temperature,
		Titles: true, TitleModel: c.Models.TitleModel.String(), Summarise: c.History.Summarise,
	}
}

// ledgerPause gathers events, so that the trace costs at most one write a second.
const ledgerPause = time.Second

// keepLedger writes the trace of events until ctx ends.
func (a *app) keepLedger(ctx context.Context) {
	for batch := range a.feed.Tap(ctx) {
		if len(batch.Events) == 0 {
			continue
		}
		if err := a.store.AppendEvents(context.WithoutCancel(ctx), batch.Events); err != nil {
			a.log.Error("events could not be written to the ledger", "events", len(batch.Events), "error", err)
		}
		select {
		case <-time.After(ledgerPause):
		case <-ctx.Done():
		}
	}
}

// rest puts away running answers, then ends every stream.
func (a *app) rest(ctx context.Context) error {
	if a.engine == nil {
		return nil
	}
	err := a.engine.Close(ctx)
	a.feed.Close()
	return err
}

// closeSoon is close within closeTimeout, whether ctx has ended or not.
func (a *app) closeSoon(ctx context.Context) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer done()
	return a.close(ctx)
}

// close gives everything back, in the opposite order of opening.
func (a *app) close(ctx context.Context) error {
	var errs []error
	if a.engine != nil {
		errs = append(errs, a.rest(ctx))
		for _, end := range a.closing {
			end()
		}
		a.stopping()
		a.beside.Wait()
	}
	if a.mind != nil {
		errs = append(errs, a.mind.close())
	}
	if a.hands != nil {
		errs = append(errs, a.hands.close(ctx))
	}
	if a.providers != nil {
		a.providers.Close()
	}
	if a.spending != nil {
		errs = append(errs, a.spending.Close(ctx))
	}
	if a.vault != nil {
		errs = append(errs, a.vault.Close())
	}
	if a.files != nil {
		errs = append(errs, a.files.Close())
	}
	if a.book != nil {
		errs = append(errs, a.book.Close())
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if a.lock != nil {
		errs = append(errs, a.vanish(), a.lock.release())
	}
	return errors.Join(errs...)
}

// readsDocuments reports whether the default model reads PDFs itself, so that a
// scanned one is worth keeping.
func (a *app) readsDocuments() bool {
	_, info, err := a.providers.Pick(context.Background(), "")
	return err == nil && info.Documents
}

// databasePath is where a home has its database.
func databasePath(home string) string { return filepath.Join(home, "ash.db") }

// newLogger writes what the settings ask for to standard error.
func newLogger(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo // the config allows only the four names
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// pdfCommand is the hidden command that reads one PDF in a process of its own.
const pdfCommand = "pdf-text"

// pdfReader reads PDFs in a process of its own, so that a hostile file can take
// down only that; where the binary does not know its own path, in this one.
func pdfReader() attachment.PDFReader {
	self, err := os.Executable()
	if err != nil {
		return attachment.InProcess{}
	}
	return attachment.Subprocess{Path: self, Args: []string{pdfCommand}}
}
