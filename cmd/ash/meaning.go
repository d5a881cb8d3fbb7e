package main

import (
	"context"
	"fmt"
	"strings"

	"ash/agent"
	"ash/agent/memory/embed"
)

// choice is what the settings say of finding by meaning. Two that are equal need no change.
type choice struct {
	static string // folder of a static model
	model  agent.ModelRef
	server string // settings of the model's provider
}

func (a *app) chosen() choice {
	c := a.config.Current().Config()
	switch s := c.Memory; {
	case s.StaticModel != "":
		return choice{static: expandHome(s.StaticModel)}
	case s.Embedder != (agent.ModelRef{}):
		return choice{model: s.Embedder, server: fmt.Sprintf("%+v", c.Provider(s.Embedder.Provider))}
	}
	return choice{}
}

// useEmbedder has recall find by meaning as the settings say, and follows them: another embedder makes the index of meaning anew in the
// background, while recall goes on with words and with what is done.
func (a *app) useEmbedder(ctx context.Context) {
	a.beside.Go(func() { a.mind.meaning.Run(ctx) })
	var now choice
	for {
		if next := a.chosen(); next != now {
			a.embedWith(next)
			now = next
		}
		select {
		case <-ctx.Done():
			return
		case <-a.embedder:
		}
	}
}

// embedderStirred has the settings looked at anew.
func (a *app) embedderStirred() {
	select {
	case a.embedder <- struct{}{}:
	default: // they are about to be looked at anyway
	}
}

// embedWith changes the embedder. One that cannot be used says why on the Memory page, and recall goes by words alone.
func (a *app) embedWith(c choice) {
	old := a.mind.static
	a.mind.static = nil
	switch {
	case c.static != "":
		model, err := embed.OpenStatic(c.static)
		if err != nil {
			a.log.Error("memory.static_model cannot be used; recall goes by words alone", "error", err)
			a.mind.meaning.Use(unusable{err})
			break
		}
		a.mind.static = model
		a.mind.meaning.Use(model)
	case c.model != (agent.ModelRef{}):
		a.mind.meaning.Use(embed.NewRemote(embed.RemoteOptions{
			Name: c.model.String(), Prefixes: embed.PrefixesOf(c.model.Name),
			Open: func() (agent.Embedder, error) { return a.providers.Embedder(c.model) },
		}))
	default:
		a.mind.meaning.Use(nil)
	}
	a.mind.drop()
	if old != nil {
		if err := old.Close(); err != nil {
			a.log.Warn("the static model of before could not be closed", "error", err)
		}
	}
}

// unusable is an embedder that cannot be had.
type unusable struct{ err error }

var _ embed.Embedder = unusable{}

func (u unusable) Space(context.Context) (embed.Space, error)               { return embed.Space{}, u.err }
func (u unusable) Query(context.Context, string) ([]float32, error)         { return nil, u.err }
func (u unusable) Documents(context.Context, []string) ([][]float32, error) { return nil, u.err }

// meaningState says on the Memory page how finding by meaning stands; "" when it is off.
func (a *app) meaningState() string {
	c := a.chosen()
	if c == (choice{}) {
		return ""
	}
	name := c.model.String()
	if c.static != "" {
		name = c.static[strings.LastIndexAny(c.static, `/\`)+1:]
	}
	s := a.mind.meaning.Status()
	all := s.Have + s.Pending
	state := "by " + name
	if all > 0 && s.Pending > 0 {
		state += fmt.Sprintf(": %d of %d items done", s.Have, all)
	}
	if s.Problem != "" {
		state += ". " + s.Problem
	}
	return state
}
