package main

import (
	"context"
	"time"

	"ash/handlers"
)

// memoryIndex is the index that recall reads, for ash memory.
type memoryIndex struct{ *mind }

var _ handlers.ControlIndex = memoryIndex{}

const (
	// indexBeat is how often progress is told.
	indexBeat = 250 * time.Millisecond
	// embedPatience is how long meanings are waited for while none is made.
	embedPatience = 20 * time.Second
)

// Reindex implements handlers.ControlIndex: the notes are looked through, the words are cut anew, and then the meanings.
func (x memoryIndex) Reindex(ctx context.Context, tell func(handlers.ControlProgress)) error {
	if x.notes != nil {
		tell(handlers.ControlProgress{Stage: "notes"})
		if _, err := x.notes.Scan(ctx); err != nil {
			return err
		}
	}
	made := make(chan error, 1)
	go func() { made <- x.recall.Reindex(ctx) }()
	ticker := time.NewTicker(indexBeat)
	defer ticker.Stop()
	for working := true; working; {
		select {
		case err := <-made:
			if err != nil {
				return err
			}
			working = false
		case <-ticker.C:
		}
		done, of, err := x.store.IndexProgress(ctx)
		if err != nil && working {
			continue // the one that works says what is wrong
		}
		tell(handlers.ControlProgress{Stage: "words", Done: done, Of: of})
	}
	x.drop()
	x.meaning.Wake()
	return x.meanings(ctx, tell)
}

// meanings waits until every item has its meaning, as long as there is an embedder that makes them.
func (x memoryIndex) meanings(ctx context.Context, tell func(handlers.ControlProgress)) error {
	ticker := time.NewTicker(indexBeat)
	defer ticker.Stop()
	least, since := -1, time.Now()
	for {
		s := x.settings().Memory
		if s.StaticModel == "" && s.Embedder.String() == "" {
			tell(handlers.ControlProgress{Finished: true})
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		status := x.meaning.Status()
		tell(handlers.ControlProgress{Stage: "meanings", Done: status.Have, Of: status.Have + status.Pending})
		switch {
		case status.Problem != "":
			tell(handlers.ControlProgress{Finished: true, Note: "Meanings are missing: " + status.Problem + " They are made when it answers again."})
			return nil
		case status.Have > 0 && status.Pending == 0 && !status.Indexing:
			tell(handlers.ControlProgress{Finished: true})
			return nil
		case status.Pending != least:
			least, since = status.Pending, time.Now()
		case time.Since(since) > embedPatience:
			tell(handlers.ControlProgress{Finished: true, Note: "Meanings are made while Ash runs."})
			return nil
		}
	}
}

// Stats implements handlers.ControlIndex.
func (x memoryIndex) Stats(ctx context.Context) (handlers.ControlMemoryStats, error) {
	t, err := x.store.MemoryTotals(ctx, x.owner)
	if err != nil {
		return handlers.ControlMemoryStats{}, err
	}
	sizes, err := x.store.MemorySizes(ctx)
	if err != nil {
		return handlers.ControlMemoryStats{}, err
	}
	status := x.meaning.Status()
	out := handlers.ControlMemoryStats{
		Current: t.Current, Core: t.Core, Facts: t.Plain, Patterns: t.Patterns, Superseded: t.Superseded, Retired: t.Retired,
		Pinned: t.Pinned, Untrusted: t.Untrusted, Entities: t.Entities, Episodes: t.Episodes, Notes: sizes.Notes, Proposals: t.Proposals,
		Tombstones: t.Tombstones, TextBytes: t.Bytes, Database: sizes.Database, Index: sizes.Index, Vectors: sizes.Vectors,
		Items: sizes.Items, Embedded: status.Have, Pending: status.Pending, EmbedProblem: status.Problem,
	}
	if s := x.settings().Memory; s.StaticModel != "" {
		out.Embedder = s.StaticModel
	} else {
		out.Embedder = s.Embedder.String()
	}
	return out, nil
}
