package config

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Book holds the settings a running server goes by. Readers take the current
// [Snapshot]; an edit takes effect for whoever reads next, and is told to subscribers.
// Use [Open]; safe for use by many goroutines.
type Book struct {
	options Options
	current atomic.Pointer[Snapshot]

	changing sync.Mutex // one change at a time, so that subscribers hear of them in order

	mu          sync.Mutex // guards what follows
	subscribers map[int]func(before, now *Snapshot)
	next        int
}

// Open loads the settings. Errors are those of [Load].
func Open(o Options) (*Book, error) {
	s, err := Load(o)
	if err != nil {
		return nil, err
	}
	b := &Book{options: o, subscribers: make(map[int]func(before, now *Snapshot))}
	b.current.Store(s)
	return b, nil
}

// Current returns what holds now.
func (b *Book) Current() *Snapshot { return b.current.Load() }

// Edit changes the file as the function [Edit] does, and what holds with it.
func (b *Book) Edit(ctx context.Context, version string, changes []Change) (*Snapshot, error) {
	b.changing.Lock()
	defer b.changing.Unlock()
	s, err := Edit(ctx, b.options, version, changes)
	if err != nil {
		return nil, err
	}
	b.publish(s)
	return s, nil
}

// Reload reads the file anew. When it has problems, what held before still does.
// Errors are those of [Load].
func (b *Book) Reload() error {
	b.changing.Lock()
	defer b.changing.Unlock()
	s, err := Load(b.options)
	if err != nil {
		return err
	}
	b.publish(s)
	return nil
}

// publish makes s what holds and tells the subscribers, unless nothing is new.
func (b *Book) publish(s *Snapshot) {
	before := b.current.Swap(s)
	if before.version == s.version {
		return
	}
	b.mu.Lock()
	hear := make([]func(before, now *Snapshot), 0, len(b.subscribers))
	for i := range b.next {
		if f, ok := b.subscribers[i]; ok {
			hear = append(hear, f)
		}
	}
	b.mu.Unlock()
	for _, f := range hear {
		f(before, s)
	}
}

// Subscribe has f called after every change, in order, until cancel is called; a change under way may
// still be told after that. f must be quick and must not change the settings itself.
func (b *Book) Subscribe(f func(before, now *Snapshot)) (cancel func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.next
	b.next++
	b.subscribers[id] = f
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subscribers, id)
	}
}

// Follow reloads the settings whenever the file was changed from outside (by an editor or "ash config set"),
// looking every so often, until ctx is done. report hears of a changed file that cannot be used, once for each state of it.
func (b *Book) Follow(ctx context.Context, every time.Duration, report func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := stamp{size: -1} // equal to none: what happened since Open is seen at the first look
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := b.stamp(); now != last {
			last = now
			if err := b.Reload(); err != nil {
				report(err)
			}
		}
	}
}

// stamp is what tells one state of the file from another without reading it.
type stamp struct {
	modified time.Time
	size     int64
	mode     os.FileMode
}

func (b *Book) stamp() stamp {
	info, err := os.Lstat(b.options.Path())
	if err != nil {
		return stamp{} // gone, or not to be seen: Reload says which
	}
	return stamp{info.ModTime(), info.Size(), info.Mode()}
}
