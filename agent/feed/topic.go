package feed

import (
	"ash/agent"
)

// Bounds of one topic.
const (
	maxEntries = 128      // events kept, a stretch of deltas counting as one
	maxBytes   = 64 << 10 // text kept while no reply is open
	maxOpen    = 8 << 20  // text kept while one is, so that a reader can rebuild it
	maxStretch = 64 << 10 // bytes of one stretch of deltas
)

// topic is the recent events of one thread, or of the house. Entries are
// numbered from the first the topic ever had, so that positions survive trimming.
type topic struct {
	entries   []entry
	first     int    // number of entries[0]
	bytes     int    // text held by entries
	lost      uint64 // newest sequence number no longer kept
	newest    uint64
	openReply agent.ID // the reply being written, if any
	openAt    int      // number of the entry that opened it
	readers   map[*reader]struct{}
}

// entry is one event, or a stretch of deltas of the same lane grown together.
type entry struct {
	event agent.Envelope
	lane  agent.ID // of deltas: the message or call they belong to
	text  []byte   // of deltas
	dead  bool     // covered by the event that ended its lane
}

// append adds an event and says how urgent it is.
func (t *topic) append(e agent.Envelope) urgency {
	t.newest = e.ID.Seq
	switch ev := e.Event.(type) {
	case agent.AssistantDelta:
		t.extend(e, ev.Message, ev.Text)
		return paced
	case agent.ToolProgress:
		t.extend(e, ev.Call, ev.Text)
		return paced
	case agent.AssistantEvent:
		if ev.Message.State == agent.MessageOpen {
			t.openReply, t.openAt = ev.Message.ID, t.first+len(t.entries)
		} else {
			t.bury(ev.Message.ID)
		}
	case agent.ToolResultEvent:
		t.bury(ev.Call.ID)
	}
	t.push(entry{event: e})
	if ev, ok := e.Event.(agent.ThreadEvent); ok && !ev.Moved {
		return leisurely
	}
	return atOnce
}

// extend adds a delta to the last entry when it continues it.
func (t *topic) extend(e agent.Envelope, lane agent.ID, text string) {
	if n := len(t.entries); n > 0 {
		last := &t.entries[n-1]
		if last.lane == lane && sameKind(last.event.Event, e.Event) && len(last.text) < maxStretch {
			last.text = append(last.text, text...)
			last.event.ID, last.event.Time = e.ID, e.Time
			t.bytes += len(text)
			return
		}
	}
	t.push(entry{event: e, lane: lane, text: []byte(text)})
}

func sameKind(a, b agent.Event) bool {
	x, ok := a.(agent.AssistantDelta)
	y, ok2 := b.(agent.AssistantDelta)
	return ok == ok2 && x.Thinking == y.Thinking
}

// bury drops the deltas of a lane that has ended, and the event that opened it.
func (t *topic) bury(lane agent.ID) {
	for i := range t.entries {
		e := &t.entries[i]
		if e.lane == lane || (t.openReply == lane && t.first+i == t.openAt) {
			t.bytes -= e.size()
			e.dead, e.text, e.event.Event = true, nil, nil
		}
	}
	if t.openReply == lane {
		t.openReply = ""
	}
}

func (t *topic) push(e entry) {
	t.entries = append(t.entries, e)
	t.bytes += e.size()
	limit := maxBytes
	if t.openReply != "" {
		limit = maxOpen
	}
	cut := 0
	for len(t.entries)-cut > maxEntries || (t.bytes > limit && len(t.entries)-cut > 1) {
		old := &t.entries[cut]
		t.bytes -= old.size()
		if !old.dead {
			t.lost = old.event.ID.Seq
		}
		*old = entry{}
		cut++
	}
	t.entries = t.entries[cut:]
	t.first += cut
}

// size is what an entry holds, in bytes, roughly.
func (e *entry) size() int {
	if e.dead {
		return 0
	}
	n := 256 + len(e.text)
	switch ev := e.event.Event.(type) {
	case agent.UserEvent:
		n += messageSize(ev.Message)
	case agent.AssistantEvent:
		n += messageSize(ev.Message)
	case agent.ToolCallEvent:
		n += callSize(ev.Call)
	case agent.ToolResultEvent:
		n += callSize(ev.Call)
	case agent.ConfirmRequest:
		n += callSize(ev.Call)
	case agent.ConfirmResponse:
		n += callSize(ev.Call)
	}
	return n
}

func messageSize(m agent.Message) int {
	n := partsSize(m.Parts)
	for _, c := range m.Calls {
		n += callSize(c)
	}
	return n
}

func callSize(c agent.ToolCall) int { return len(c.Arguments) + partsSize(c.Result) }

func partsSize(parts []agent.Part) int {
	n := 0
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			n += len(p.Text)
		case agent.Thinking:
			n += len(p.Text) + len(p.Signature) + len(p.Redacted)
		case agent.File:
			n += len(p.Extract)
		}
	}
	return n
}

// urgency is how soon a reader is told of an event.
type urgency int

const (
	atOnce    urgency = iota
	paced             // deltas: at the pace of frames
	leisurely         // rows of lists: with what comes next, or after a moment
)

// wake tells readers that there is something, at most once until they look.
func (t *topic) wake(u urgency) {
	for r := range t.readers {
		select {
		case r.signals[u] <- struct{}{}:
		default:
		}
	}
}
