package feed

import (
	"slices"
	"time"

	"ash/agent"
)

// reader is one subscription: how far it has read in each of its topics.
type reader struct {
	places  []place
	resync  bool                         // must be told that something was missed
	idle    bool                         // nothing happened for Idle
	signals [leisurely + 1]chan struct{} // by urgency
	paced   time.Time                    // when deltas were last delivered
}

// place is a position in a topic: the number of the next entry, and how much
// of it was read already if it is a stretch of deltas that is still growing.
type place struct {
	topic  *topic
	next   int
	offset int
	seen   uint64
}

// join registers a reader of topics after since. f.mu is held.
func (f *Feed) join(topics []*topic, since agent.EventID) *reader {
	r := &reader{}
	for u := range r.signals {
		r.signals[u] = make(chan struct{}, 1)
	}
	known := since.Boot == f.boot && since.Seq <= f.seq
	for _, t := range topics {
		if !known || since.Seq < t.lost {
			r.resync = true
		}
	}
	for _, t := range topics {
		p := place{topic: t, next: t.first + len(t.entries), seen: f.seq}
		if !r.resync {
			p.seen = since.Seq
			i := slices.IndexFunc(t.entries, func(e entry) bool { return e.event.ID.Seq > since.Seq })
			if i >= 0 {
				p.next = t.first + i
			}
		}
		p.rewind()
		r.places = append(r.places, p)
		if t.readers == nil {
			t.readers = map[*reader]struct{}{}
		}
		t.readers[r] = struct{}{}
	}
	return r
}

// rewind goes back to the opening of a reply that is still open, so that the reader can rebuild it.
func (p *place) rewind() {
	if t := p.topic; t.openReply != "" && t.openAt >= t.first && t.openAt < p.next {
		p.next, p.offset = t.openAt, 0
	}
}

func (f *Feed) leave(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range r.places {
		delete(p.topic.readers, r)
	}
	if t := f.all; len(t.readers) == 0 {
		*t = topic{}
	}
}

// collect takes everything a reader has not seen, in order of publication.
func (f *Feed) collect(r *reader) agent.Batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range r.places {
		p := &r.places[i]
		if p.next < p.topic.first && p.topic.lost > p.seen {
			r.resync = true
		}
	}
	if r.resync {
		for i := range r.places {
			r.places[i].skip()
		}
	}
	b := agent.Batch{Resync: r.resync, Last: f.id(f.seq)}
	r.resync = false
	deltas := false
	for i := range r.places {
		b.Events, deltas = r.places[i].read(b.Events, deltas)
	}
	if len(r.places) > 1 {
		slices.SortStableFunc(b.Events, func(x, y agent.Envelope) int {
			switch {
			case x.ID.Seq < y.ID.Seq:
				return -1
			case x.ID.Seq > y.ID.Seq:
				return 1
			}
			return 0
		})
	}
	if deltas {
		r.paced = time.Now()
	}
	return b
}

// skip goes to the end, or to the opening of a reply that is still open: the store has the rest.
func (p *place) skip() {
	p.next, p.offset = p.topic.first+len(p.topic.entries), 0
	p.seen = p.topic.newest
	p.rewind()
}

// read appends what is new in a topic to events.
func (p *place) read(events []agent.Envelope, deltas bool) ([]agent.Envelope, bool) {
	t := p.topic
	if p.next < t.first {
		p.next, p.offset = t.first, 0
	}
	for p.next < t.first+len(t.entries) {
		e := &t.entries[p.next-t.first]
		switch {
		case e.dead:
		case e.lane != "":
			if len(e.text) > p.offset {
				events = append(events, e.delta(p.offset))
				deltas = true
			}
			if p.next == t.first+len(t.entries)-1 { // may still grow
				p.offset = len(e.text)
				p.seen = e.event.ID.Seq
				return events, deltas
			}
		default:
			events = append(events, e.event)
		}
		p.seen = e.event.ID.Seq
		p.next++
		p.offset = 0
	}
	return events, deltas
}

// delta returns the stretch's text from offset on as one event.
func (e *entry) delta(offset int) agent.Envelope {
	out := e.event
	text := string(e.text[offset:])
	switch ev := out.Event.(type) {
	case agent.AssistantDelta:
		ev.Text = text
		out.Event = ev
	case agent.ToolProgress:
		ev.Text = text
		out.Event = ev
	}
	return out
}
