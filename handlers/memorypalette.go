package handlers

import (
	"context"
	"strings"
	"time"

	"ash/agent"
	"ash/views/components"
	"ash/views/pages"
)

const (
	paletteFacts   = 6 // memories in the palette
	paletteNames   = 4 // people and things
	paletteNotes   = 4
	paletteTitle   = 100 // characters of a memory
	paletteMeaning = 3   // characters from which memories are looked for
)

// MemoryFinder finds memories while their words are still being typed.
type MemoryFinder interface {
	// FindFacts returns the current facts that answer a query or hold the beginning of its last word, the best first.
	FindFacts(ctx context.Context, query string, limit int) ([]agent.Fact, error)
	// FindEntities returns who and what has a name that begins with the query, those with most facts first.
	FindEntities(ctx context.Context, query string, limit int) ([]agent.Entity, error)
	// FindNotes returns the notes whose title or path holds every word of the query.
	FindNotes(ctx context.Context, query string, limit int) ([]NoteTitle, error)
}

// NoteTitle is a note in a list.
type NoteTitle struct {
	Path     string // below notes/
	Title    string
	Modified time.Time
}

// paletteMemory adds what memory has for a query: facts, people and things, notes.
func (h *Search) paletteMemory(ctx context.Context, query string, add func(string, []components.PaletteItem)) error {
	var items []components.PaletteItem
	if len([]rune(query)) >= paletteMeaning || !ascii(query) { // a character of Chinese is a word
		facts, err := h.Memories.FindFacts(ctx, query, paletteFacts)
		if err != nil {
			return err
		}
		for _, f := range facts {
			items = append(items, components.PaletteItem{
				Icon: components.IconBrain, Title: agent.FirstWords(visible(onOneLine(f.Text)), paletteTitle), URL: components.FactPath(f.ID),
				Hint: components.DayLabel(f.Said.In(h.Zone), h.Now()),
			})
		}
		add("Memories", items)
	}
	names, err := h.Memories.FindEntities(ctx, query, paletteNames)
	if err != nil {
		return err
	}
	items = nil
	for _, e := range names {
		items = append(items, components.PaletteItem{
			Icon: components.IconUserRound, Title: visible(e.Name), URL: components.EntityPath(e.ID), Hint: components.Plural(e.Facts, "fact", "facts"),
		})
	}
	add("People and things", items)
	found, err := h.Memories.FindNotes(ctx, query, paletteNotes)
	if err != nil {
		return err
	}
	items = nil
	for _, n := range found {
		items = append(items, components.PaletteItem{Icon: components.IconFileText, Title: visible(n.Title), URL: pages.NoteURL(n.Path), Hint: visible(n.Path)})
	}
	add("Notes", items)
	return nil
}

func ascii(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 }) }
