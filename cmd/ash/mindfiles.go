package main

import (
	"context"
	"sync/atomic"
	"time"

	"ash/agent/guard"
	"ash/agent/memory/notes"
	"ash/agent/memory/recall"
	"ash/store"
)

// openNotes begins to keep the notes: they are looked at when the start is over. Without a folder that can be used there are none, and the log says why.
func (m *mind) openNotes(ctx context.Context, start *settling) {
	reads := guard.New(guard.Options{Log: m.log}) // of its own: the tools' one is made later
	m.shelving.begin(ctx, func(ctx context.Context) (left bool) { return start.wait(ctx) && m.shelveStale(ctx) })
	folder, err := notes.Open(ctx, m.settings().Memory.Notes, m.store, m.store, notes.Options{
		OnChange: func(paths []string) { m.notesChanged(ctx, paths) },
		Suspect:  func(ctx context.Context, text string) bool { return reads.Scan(ctx, guard.Memory, text).Flagged },
		Log:      m.log, After: start.over,
	})
	if err != nil {
		m.log.Error("there are no notes: the folder cannot be used", "error", err)
		return
	}
	m.shelving.open(folder)
	m.notes = folder
	m.shelving.stir()
}

const (
	// staleNotes is how many notes are taken up in one transaction: others wait for the writer meanwhile.
	staleNotes = 25
	// atOnce is up to how many notes whoever changed them waits until recall has taken them up.
	atOnce = 8
	// shelveAgain is when notes that could not be read are tried again.
	shelveAgain = time.Minute
)

// shelving is the goroutine that has recall take up what is stale, with what it waits for. It runs beside everything else: the first
// 20,000 notes take minutes.
type shelving struct {
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	folder atomic.Pointer[notes.Folder]
}

// begin starts the goroutine. work says whether something is left to be tried again.
func (s *shelving) begin(ctx context.Context, work func(context.Context) (left bool)) {
	s.wake, s.done = make(chan struct{}, 1), make(chan struct{})
	ctx, s.cancel = context.WithCancel(ctx)
	go func() {
		defer close(s.done)
		var again <-chan time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
			case <-again:
			}
			if again = nil; work(ctx) {
				again = time.After(shelveAgain)
			}
		}
	}()
}

func (s *shelving) open(f *notes.Folder) { s.folder.Store(f) }

func (s *shelving) stir() {
	select {
	case s.wake <- struct{}{}:
	default: // it is about to look anyway
	}
}

func (s *shelving) end() {
	if s.cancel != nil {
		s.cancel()
		<-s.done
	}
}

// notesChanged has recall take up the notes that changed: few of them before it returns, so that what was saved is found at once.
func (m *mind) notesChanged(ctx context.Context, paths []string) {
	if len(paths) > atOnce || m.shelve(ctx, paths) > 0 {
		m.shelving.stir()
	}
	m.show(ctx)
}

// shelveStale has recall take up all notes that are stale, and reports whether some could not be.
func (m *mind) shelveStale(ctx context.Context) (left bool) {
	after, failed := "", 0
	for ctx.Err() == nil {
		paths, err := m.store.StaleNotes(ctx, after, staleNotes)
		if err != nil {
			if ctx.Err() == nil {
				m.log.Warn("it cannot be said which notes recall has not taken up; it is tried again", "error", err)
			}
			return true
		}
		if len(paths) == 0 {
			break
		}
		after = paths[len(paths)-1]
		failed += m.shelve(ctx, paths)
	}
	m.show(ctx)
	if failed > 0 && ctx.Err() == nil {
		m.log.Warn("some notes could not be taken up by recall; it is tried again", "notes", failed)
	}
	return failed > 0
}

// show has replies recall what was taken up: they take the index as it stands.
func (m *mind) show(ctx context.Context) {
	if err := m.recall.CatchUp(ctx); err != nil && ctx.Err() == nil {
		m.log.Warn("recall could not be brought up to date; the end of the next turn does it", "error", err)
	}
}

// shelve has recall take up notes and returns how many it could not. Two at once do no harm: the store takes only what was made of a
// note as it is.
func (m *mind) shelve(ctx context.Context, paths []string) (failed int) {
	folder := m.shelving.folder.Load()
	if folder == nil { // not open yet
		return len(paths)
	}
	list := make([]store.NotePassages, 0, len(paths))
	for _, path := range paths {
		note, passages, err := folder.Passages(ctx, path)
		switch {
		case err != nil && ctx.Err() == nil:
			m.log.Debug("a note could not be read for recall", "note", path, "error", err)
			failed++
		case err == nil && !note.Missing:
			list = append(list, passagesOf(note, passages))
		}
	}
	if err := m.store.IndexNotes(ctx, list); err != nil {
		if ctx.Err() == nil {
			m.log.Warn("notes could not be taken up by recall; it is tried again", "notes", len(list), "error", err)
		}
		return len(paths)
	}
	m.drop()
	m.meaning.Wake()
	return failed
}

// passagesOf is what recall holds of a note.
func passagesOf(note notes.Note, list []notes.Passage) store.NotePassages {
	items := make([]recall.Item, len(list))
	for i, p := range list {
		items[i] = recall.Item{Part: p.Part, Time: note.Modified, Labels: note.Labels, Text: p.Text, Lead: note.Title + " " + p.Heading}
	}
	return store.NotePassages{Path: note.Path, Hash: note.Hash, Labels: note.Labels, Passages: items}
}

// close ends the watching of notes and gives the static model back.
func (m *mind) close() error {
	var err error
	m.shelving.end()
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
