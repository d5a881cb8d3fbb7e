package main

import (
	"context"

	"ash/agent"
	"ash/agent/memory/embed"
	"ash/agent/memory/notes"
	"ash/agent/memory/recall"
)

// openNotes begins to keep the notes. Without a folder that can be used there are none, and the log says why.
func (m *mind) openNotes(ctx context.Context) {
	folder, err := notes.Open(ctx, m.settings().Memory.Notes, m.store, m.store, notes.Options{
		OnChange: func([]string) { m.indexNotes(ctx) }, Log: m.log,
	})
	if err != nil {
		m.log.Error("there are no notes: the folder cannot be used", "error", err)
		return
	}
	m.notes = folder
}

// staleNotes is how many notes are taken up at a time.
const staleNotes = 100

// indexNotes has recall take up the notes that changed.
func (m *mind) indexNotes(ctx context.Context) {
	m.indexing.Lock()
	defer m.indexing.Unlock()
	for ctx.Err() == nil {
		rows, err := m.store.StaleNotes(ctx, staleNotes)
		if err == nil && len(rows) == 0 {
			m.drop()
			m.meaning.Wake()
			return
		}
		for _, row := range rows {
			if err == nil {
				err = m.indexNote(ctx, row.Path)
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				m.log.Warn("a note could not be taken up by recall; it is tried again when notes change", "error", err)
			}
			return
		}
	}
}

func (m *mind) indexNote(ctx context.Context, path string) error {
	note, list, err := m.notes.Passages(ctx, path)
	if err != nil {
		return err
	}
	items := make([]recall.Item, len(list))
	for i, p := range list {
		items[i] = recall.Item{Part: p.Part, Time: note.Modified, Labels: note.Labels, Text: p.Text, Lead: note.Title + " " + p.Heading}
	}
	if err := m.store.PutPassages(ctx, path, items); err != nil {
		return err
	}
	return m.store.NoteIndexed(ctx, path, note.Hash)
}

// useEmbedder has recall find by meaning as the settings say.
func (a *app) useEmbedder(ctx context.Context) {
	s := a.config.Current().Config().Memory
	switch {
	case s.StaticModel != "":
		model, err := embed.OpenStatic(expandHome(s.StaticModel))
		if err != nil {
			a.log.Error("memory.static_model cannot be used; recall goes by words alone", "error", err)
			return
		}
		a.mind.static = model
		a.mind.meaning.Use(model)
	case s.Embedder != (agent.ModelRef{}):
		a.mind.meaning.Use(embed.NewRemote(embed.RemoteOptions{
			Name: s.Embedder.String(), Prefixes: embed.PrefixesOf(s.Embedder.Name),
			Open: func() (agent.Embedder, error) { return a.providers.Embedder(s.Embedder) },
		}))
	default:
		return
	}
	a.mind.meaning.Run(ctx)
}

// close ends the watching of notes and gives the static model back.
func (m *mind) close() error {
	var err error
	if m.notes != nil {
		err = m.notes.Close()
	}
	if m.static != nil {
		if again := m.static.Close(); err == nil {
			err = again
		}
	}
	return err
}
