// Package feed fans the events of conversations out to subscribers: web pages,
// the command line, the ledger, later chat channels and the Lens.
//
// Delivery guarantee: every event reaches every subscriber that keeps up, in
// order, exactly once. Deltas of one reply are coalesced; once a reply has
// ended its deltas are dropped, because the event that ends it carries the
// whole. A subscriber that missed more than the feed keeps is told to
// resynchronise from the store. Publishing never waits for a subscriber, and
// what is kept is bounded whatever subscribers do.
package feed

import (
	"context"
	"crypto/rand"
	"iter"
	"sync"
	"time"

	"ash/agent"
)

// Idle is how often a subscriber to whom nothing happens gets an empty batch,
// so that it can tell its own reader that it is there.
const Idle = 15 * time.Second

// moment is how long a change in a list waits for others, so that a house full of
// conversations does not tell every page of each on its own.
const moment = 50 * time.Millisecond

// maxTopics is how many threads' events are kept; beyond it, those idle longest go first.
const maxTopics = 64

// Feed implements agent.Feed and agent.Publisher. Its methods may be called
// from any goroutine.
type Feed struct {
	boot   string
	pace   time.Duration
	closed chan struct{}
	end    sync.Once

	mu      sync.Mutex // guards the rest; never held while waiting
	seq     uint64
	house   *topic // events of no thread
	all     *topic // everything but deltas, kept only while somebody taps it
	threads map[agent.ID]*topic
	dropped uint64 // newest sequence number of any topic that was dropped
}

// New returns an empty feed with a fresh boot id. Deltas reach a subscriber at
// most once per pace (0: at once); the first of a stretch is not delayed, nor is any other event but
// those that only change a row in a list.
func New(pace time.Duration) *Feed {
	return &Feed{
		boot:    rand.Text()[:10],
		pace:    pace,
		closed:  make(chan struct{}),
		house:   &topic{},
		all:     &topic{},
		threads: map[agent.ID]*topic{},
	}
}

// Close ends every subscription, after what was published before. Publishing afterwards is allowed
// and need reach nobody.
func (f *Feed) Close() { f.end.Do(func() { close(f.closed) }) }

// Last implements agent.Feed.
func (f *Feed) Last() agent.EventID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.id(f.seq)
}

// Subscribers returns how many subscriptions are open.
func (f *Feed) Subscribers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.house.readers) + len(f.all.readers)
}

func (f *Feed) id(seq uint64) agent.EventID { return agent.EventID{Boot: f.boot, Seq: seq} }

// Publish implements agent.Publisher.
func (f *Feed) Publish(e agent.Envelope) agent.EventID {
	now := time.Now().UTC()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	e.ID, e.Time = f.id(f.seq), now
	t := f.house
	if e.Thread != "" {
		t = f.topic(e.Thread)
	}
	u := t.append(e)
	t.wake(u)
	if u != paced && len(f.all.readers) > 0 {
		f.all.wake(f.all.append(e))
	}
	return e.ID
}

// topic returns the topic of a thread. A new one knows nothing of what its predecessor
// was dropped with.
func (f *Feed) topic(thread agent.ID) *topic {
	if t := f.threads[thread]; t != nil {
		return t
	}
	if len(f.threads) >= maxTopics {
		f.dropIdle()
	}
	t := &topic{lost: f.dropped}
	f.threads[thread] = t
	return t
}

// dropIdle makes room: of the topics nobody reads and no reply is open in, the
// one idle longest goes.
func (f *Feed) dropIdle() {
	var victim agent.ID
	oldest := f.seq + 1
	for id, t := range f.threads {
		if len(t.readers) == 0 && t.openReply == "" && t.newest < oldest {
			victim, oldest = id, t.newest
		}
	}
	if victim != "" {
		delete(f.threads, victim)
		f.dropped = max(f.dropped, oldest)
	}
}

// Subscribe implements agent.Feed.
func (f *Feed) Subscribe(ctx context.Context, thread agent.ID, since agent.EventID) iter.Seq[agent.Batch] {
	return func(yield func(agent.Batch) bool) {
		topics := []*topic{f.house}
		f.mu.Lock()
		if thread != "" {
			topics = append(topics, f.topic(thread))
		}
		r := f.join(topics, since)
		f.mu.Unlock()
		f.deliver(ctx, r, yield)
	}
}

// Tap follows everything but deltas, of all threads, from now on. It is for the ledger.
func (f *Feed) Tap(ctx context.Context) iter.Seq[agent.Batch] {
	return func(yield func(agent.Batch) bool) {
		f.mu.Lock()
		r := f.join([]*topic{f.all}, f.id(f.seq))
		f.mu.Unlock()
		f.deliver(ctx, r, yield)
	}
}

func (f *Feed) deliver(ctx context.Context, r *reader, yield func(agent.Batch) bool) {
	defer f.leave(r)
	for {
		batch := f.collect(r)
		if (len(batch.Events) > 0 || batch.Resync || r.idle) && !yield(batch) {
			return
		}
		if !f.wait(ctx, r) {
			break
		}
	}
	if ctx.Err() != nil {
		return
	}
	if last := f.collect(r); len(last.Events) > 0 || last.Resync { // published in the instant before Close
		yield(last)
	}
}

// wait blocks until there is something to deliver. After deltas were delivered,
// further ones are held back until the pace allows them, and rows of lists wait a
// moment for company; nothing else is delayed.
func (f *Feed) wait(ctx context.Context, r *reader) bool {
	r.idle = false
	timer := time.NewTimer(Idle)
	defer timer.Stop()
	due := time.Now().Add(Idle)
	for waiting := false; ; waiting = true {
		var at time.Time
		select {
		case <-r.signals[atOnce]:
			return true
		case <-r.signals[paced]:
			at = r.paced.Add(f.pace)
		case <-r.signals[leisurely]:
			at = time.Now().Add(moment)
		case <-timer.C:
			r.idle = !waiting
			return true
		case <-ctx.Done():
			return false
		case <-f.closed:
			return false
		}
		left := time.Until(at)
		if left <= 0 {
			return true
		}
		if at.Before(due) {
			due = at
			timer.Reset(left)
		}
	}
}

var (
	_ agent.Feed      = (*Feed)(nil)
	_ agent.Publisher = (*Feed)(nil)
)
