package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ash/agent"
)

// Models checks that there is a model to answer.
type Models struct {
	Look func(ctx context.Context) ([]string, error) // the models in the order they are asked, without the built-in one
}

// Name implements Check.
func (Models) Name() string { return "Models" }

// Run implements Check.
func (m Models) Run(ctx context.Context) Finding {
	list, err := m.Look(ctx)
	switch {
	case err != nil:
		return unseen(err, "")
	case len(list) == 0:
		return Finding{Severity: Note, Text: "No model is set up yet, so the built-in one answers: it finds and quotes what is stored, and can do little else.",
			Fix: "Choose one in the page, under Settings → Models.", Link: PageModels}
	case len(list) == 1:
		return Finding{Severity: OK, Text: list[0] + " answers. No other stands in when it fails."}
	}
	return Finding{Severity: OK, Text: list[0] + " answers. When it fails: " + strings.Join(list[1:], ", ") + "."}
}

// Key is what is known of a provider's key, never the key.
type Key struct {
	Needed  bool
	Present bool
	Locked  bool   // it lies in the vault, which is locked
	Place   string // "the environment variable X"; "" for none
	Problem string // why the place that should hold it cannot be used
}

// Provider checks that one model provider can be reached and takes the key.
type Provider struct {
	Title  string // as in the settings
	Used   bool   // it stands in the order of fallback
	Local  bool   // a server of the person's own
	Key    func(ctx context.Context) Key
	Ask    func(ctx context.Context) error // one cheap request; nil asks nothing
	Really bool                            // the request asks a model for words
	Public bool                            // the request is answered whatever the key
}

// Name implements Check.
func (p Provider) Name() string { return "Provider " + p.Title }

// Patience implements Patient.
func (p Provider) Patience() time.Duration {
	if p.Really {
		return time.Minute
	}
	return 15 * time.Second
}

// Run implements Check.
func (p Provider) Run(ctx context.Context) Finding {
	bad := Problem
	if !p.Used {
		bad = Warning // nothing is asked of it by itself
	}
	k := p.Key(ctx)
	switch {
	case k.Locked:
		return Finding{Severity: Note, Text: "Its key lies in the vault, which is locked, so it was not tried.", Fix: "Unlock the vault and look again.", Link: PageVault}
	case k.Problem != "":
		return Finding{Severity: bad, Text: "Its key cannot be used: " + k.Problem + ".", Fix: "Set it right under Settings → Models.", Link: PageModels}
	case k.Needed && !k.Present:
		return Finding{Severity: bad, Text: "It needs a key, and there is none.", Fix: "Paste one under Settings → Models, or set the variable of the provider.", Link: PageModels}
	}
	key := ""
	if k.Present {
		key = " It has a key from " + k.Place + "."
	}
	if p.Ask == nil {
		return Finding{Severity: OK, Text: "It is set up." + key}
	}
	if err := p.Ask(ctx); err != nil {
		return p.refused(ctx, err, bad, k)
	}
	switch {
	case p.Really:
		return Finding{Severity: OK, Text: "Its model answers." + key}
	case k.Present && p.Public:
		return Finding{Severity: OK, Text: "It answers." + key + " Whether it takes the key shows with --full: what was asked, it tells anybody."}
	case k.Present:
		return Finding{Severity: OK, Text: "It answers and takes the key from " + k.Place + "."}
	}
	return Finding{Severity: OK, Text: "It answers."}
}

func (p Provider) refused(ctx context.Context, err error, bad Severity, k Key) Finding {
	switch {
	case ctx.Err() != nil:
		return Finding{Severity: bad, Text: "It did not answer in time.", Fix: p.reach(), Link: PageModels}
	case agent.CodeOf(err) == agent.CodeLocked:
		return Finding{Severity: Note, Text: agent.PublicOf(err), Fix: "Unlock the vault and look again.", Link: PageVault}
	case agent.CodeOf(err) == agent.CodeDenied && k.Present:
		return Finding{Severity: bad, Text: "It refuses the key from " + k.Place + ". " + agent.PublicOf(err), Fix: "Make a new key at the provider and paste it under Settings → Models.", Link: PageModels}
	case agent.CodeOf(err) == agent.CodeExhausted:
		return Finding{Severity: Warning, Text: "It answers, but takes no more for now. " + agent.PublicOf(err), Fix: "Wait, or look at your account there."}
	}
	return Finding{Severity: bad, Text: agent.PublicOf(err), Fix: p.reach(), Link: PageModels}
}

func (p Provider) reach() string {
	if p.Local {
		return "Start that server, or correct its address under Settings → Models."
	}
	return "Check the network and the address under Settings → Models."
}

// Embedder checks what finds by meaning.
type Embedder struct {
	Title string                          // "" when none is set
	Ask   func(ctx context.Context) error // embeds one word
}

// Name implements Check.
func (Embedder) Name() string { return "Finding by meaning" }

// Patience implements Patient: a model may have to be loaded.
func (Embedder) Patience() time.Duration { return 30 * time.Second }

// Run implements Check.
func (e Embedder) Run(ctx context.Context) Finding {
	if e.Title == "" {
		return Finding{Severity: OK, Text: "It is off: things are found by their words."}
	}
	if e.Ask == nil {
		return Finding{Severity: OK, Text: e.Title + " is set up; it was not tried."}
	}
	if err := e.Ask(ctx); err != nil {
		if agent.CodeOf(err) == agent.CodeLocked {
			return Finding{Severity: Note, Text: e.Title + " needs a key from the vault, which is locked, so it was not tried.", Fix: "Unlock the vault and look again.", Link: PageVault}
		}
		return Finding{Severity: Warning, Text: e.Title + " cannot be used; things are found by their words alone. " + agent.PublicOf(err),
			Fix: "Set memory.embedder or memory.static_model right, or take them out."}
	}
	return Finding{Severity: OK, Text: e.Title + " answers."}
}

// Sandboxes is what commands run in.
type Sandboxes struct {
	Off     bool   // by the settings
	Ready   bool   // commands can run
	Problem string // why not, and how to get there
	Name    string // "Docker 28.1", "bubblewrap"
	Image   string // tag; "" where there is none to build
	Built   bool
	Created time.Time
	Notes   []string
}

// Sandbox checks that commands can run.
type Sandbox struct {
	Look func(ctx context.Context) (Sandboxes, error)
}

// Name implements Check.
func (Sandbox) Name() string { return "Sandbox" }

// Patience implements Patient: an engine that is asleep takes a while.
func (Sandbox) Patience() time.Duration { return 20 * time.Second }

// Run implements Check.
func (s Sandbox) Run(ctx context.Context) Finding {
	box, err := s.Look(ctx)
	switch {
	case err != nil:
		return unseen(err, "")
	case box.Off:
		return Finding{Severity: OK, Text: "Commands are switched off in the settings."}
	case box.Image != "" && !box.Built:
		return Finding{Severity: Warning, Text: box.Name + " is there, but the image " + box.Image + " is not built, so no command can run.", Details: box.Notes,
			Fix: "Build it once; it takes a minute or two and the network.", Command: "ash sandbox build", Link: PageTools}
	case !box.Ready:
		return Finding{Severity: Warning, Text: "No command can run. " + box.Problem, Details: box.Notes, Fix: "Everything else works without it.", Link: PageTools}
	}
	text := "Commands run in " + box.Name + "."
	if box.Image != "" {
		text = fmt.Sprintf("Commands run in %s, in the image %s of %s.", box.Name, box.Image, box.Created.Format(time.DateOnly))
	}
	return Finding{Severity: OK, Text: text, Details: box.Notes}
}
