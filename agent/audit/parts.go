package audit

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Image is what commands run in.
type Image struct {
	Tag     string // "" where there is none to build
	Built   bool
	Created time.Time
	Engine  string // "Docker", "bubblewrap"; "" for none
}

// How old the image may be: fixes of its programs come only with a new one.
const (
	imageAges = 60 * 24 * time.Hour
	imageOld  = 180 * 24 * time.Hour
)

// OldImage checks the age of the image that commands run in.
type OldImage struct {
	Look func(ctx context.Context) (Image, error)
	Now  func() time.Time
}

// Name implements Check.
func (OldImage) Name() string { return "Sandbox image" }

// Run implements Check.
func (o OldImage) Run(ctx context.Context, report func(Finding)) (string, error) {
	i, err := o.Look(ctx)
	switch {
	case err != nil:
		return "", err
	case i.Engine == "":
		return "no sandbox: commands are off", nil
	case i.Tag == "" || !i.Built:
		return i.Engine + ", without an image", nil
	}
	age := o.Now().Sub(i.Created)
	f := Finding{Severity: Low, Place: i.Tag, Link: "/tools", Remedy: "Build it anew: ash sandbox build"}
	switch {
	case age > imageOld:
		f.Severity = Medium
	case age <= imageAges:
		return i.Tag, nil
	}
	f.Text = fmt.Sprintf("The image that commands run in was built %d days ago: its programs lack the fixes since.", int(age.Hours()/24))
	report(f)
	return i.Tag, nil
}

// Module is a part that Ash is made of.
type Module struct {
	Path    string // "golang.org/x/net"; "stdlib" for Go's own
	Version string // "v0.30.0"; of stdlib "1.26.0"
}

// Flaw is a known one of a module.
type Flaw struct {
	ID     string // "GO-2026-1234"
	Module Module
}

// Dependencies checks the parts of this program against a database of known flaws.
type Dependencies struct {
	Modules func() []Module
	Ask     func(ctx context.Context, list []Module) ([]Flaw, error) // nil: nobody is to be asked
}

// Name implements Check.
func (Dependencies) Name() string { return "Known flaws of parts" }

// Run implements Check.
func (d Dependencies) Run(ctx context.Context, report func(Finding)) (string, error) {
	list := d.Modules()
	if len(list) == 0 {
		return "This program does not know what it is made of, so nothing was compared.", nil
	}
	unknown := Finding{Severity: Info, Text: fmt.Sprintf("The %d parts of this program were not compared with known flaws.", len(list)), Remedy: "Keep Ash up to date, and look again when the network is there."}
	if d.Ask == nil {
		unknown.Text += " Nobody on the network was asked."
		unknown.Remedy = "Keep Ash up to date. To have them compared, tick the box above the report, or: ash audit --flaws"
		report(unknown)
		return "not asked", nil
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	flaws, err := d.Ask(ctx, list)
	if err != nil {
		unknown.Text += " The database of flaws cannot be reached."
		report(unknown)
		return "not reached", nil // it is told as a finding: a machine without network is nothing to fail at
	}
	by := map[Module][]string{}
	var order []Module
	for _, f := range flaws {
		if by[f.Module] == nil {
			order = append(order, f.Module)
		}
		by[f.Module] = append(by[f.Module], f.ID)
	}
	for _, m := range order {
		ids := by[m]
		report(Finding{Severity: Medium, Text: fmt.Sprintf("A part of this program has a known flaw: %s %s.", m.Path, m.Version), Place: strings.Join(ids[:min(len(ids), 5)], ", "),
			Remedy: "Update Ash. Whether the flaw can be reached in Ash its notes of release say."})
	}
	return fmt.Sprintf("%d parts compared", len(list)), nil
}

// Surroundings are what stands around the program.
type Surroundings struct {
	Root     bool     // it runs as the administrator
	Keys     []string // names of variables of the environment that hold keys
	Plain    []string // addresses that keys or conversations go to without encryption, with the setting: "providers.x.base_url = http://…"
	Unlocked string   // how the vault is opened without the person, in words; "" when it is not
}

// Environment checks what the program is started with, and where it sends things.
type Environment struct {
	Look func(ctx context.Context) (Surroundings, error)
}

// Name implements Check.
func (Environment) Name() string { return "Surroundings" }

// Run implements Check.
func (e Environment) Run(ctx context.Context, report func(Finding)) (string, error) {
	s, err := e.Look(ctx)
	if s.Root {
		report(Finding{Severity: Medium, Text: "Ash runs as root: a mistake in it could touch the whole machine.", Remedy: "Run it as an ordinary user, in a home that belongs to that user."})
	}
	for _, p := range s.Plain {
		report(Finding{Severity: High, Text: "What you say, and the key, go over the network without encryption.", Place: p, Link: "/settings/models", Remedy: "Use the https address of that server."})
	}
	for _, k := range s.Keys {
		report(Finding{Severity: Info, Text: "A key comes from the environment, where every program you start can read it.", Place: "variable " + k, Link: "/vault", Remedy: "Keep it in the vault instead: ash vault import"})
	}
	if s.Unlocked != "" {
		report(Finding{Severity: Info, Text: "The vault is opened without you at the start: " + s.Unlocked + ".", Link: "/vault", Remedy: "Nothing to do if you want that: who can read that place can open the vault."})
	}
	return "", err
}
