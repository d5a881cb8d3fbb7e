package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Open replies are saved when this much text is unsaved, or when the oldest
// unsaved text is this old, whichever comes first. What is much waits a moment all the same: the answer of a
// fast model is over by then, and its end would wait for a write that it replaces.
const (
	saveBytes = 2 << 10
	saveAfter = time.Second
	saveSoon  = 20 * time.Millisecond
)

// saver stores the text of open replies as they grow: many replies in one
// transaction, appended text only, so that the disk is never on the road of a delta.
type saver struct {
	store  ReplyStore
	logger *slog.Logger
	kick   chan struct{} // a reply has saveBytes unsaved, or the first text came
	done   chan struct{} // the loop ended

	storing sync.Mutex // held while a batch is stored: forget waits for it

	mu      sync.Mutex // guards the rest
	pending map[ID]*unsaved
	broken  map[ID]bool // could not be saved once: what is stored stays a true beginning
	full    bool        // some reply has saveBytes unsaved
	closed  bool
}

type unsaved struct {
	text, thinking []byte
	covered        EventID
}

func newSaver(store ReplyStore, logger *slog.Logger) *saver {
	s := &saver{
		store: store, logger: logger,
		kick: make(chan struct{}, 1), done: make(chan struct{}),
		pending: map[ID]*unsaved{},
		broken:  map[ID]bool{},
	}
	go s.loop()
	return s
}

// add notes new text of an open reply.
func (s *saver) add(message ID, text string, thinking bool, covered EventID) {
	s.mu.Lock()
	if s.broken[message] {
		s.mu.Unlock()
		return
	}
	first := len(s.pending) == 0
	u := s.pending[message]
	if u == nil {
		u = &unsaved{}
		s.pending[message] = u
	}
	if thinking {
		u.thinking = append(u.thinking, text...)
	} else {
		u.text = append(u.text, text...)
	}
	u.covered = covered
	full := !s.full && len(u.text)+len(u.thinking) >= saveBytes
	s.full = s.full || full
	s.mu.Unlock()
	if first || full {
		s.wake()
	}
}

func (s *saver) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// forget drops what is unsaved of a reply that is about to be closed, and
// waits for a batch under way, so that no progress arrives after the end.
func (s *saver) forget(message ID) {
	s.storing.Lock()
	defer s.storing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, message)
	delete(s.broken, message)
}

// close stores the rest and ends the loop. No add may follow.
func (s *saver) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake()
	<-s.done
}

func (s *saver) loop() {
	defer close(s.done)
	timer := time.NewTimer(saveAfter)
	defer timer.Stop()
	for range s.kick {
		timer.Reset(saveAfter)
		for due, soon := false, false; !due && !s.idle(); {
			if !soon && s.much() {
				soon = true
				timer.Reset(saveSoon)
			}
			select {
			case <-timer.C:
				due = true
			case <-s.kick:
			}
		}
		s.flush()
		if s.ended() {
			return
		}
	}
}

// idle reports whether there is nothing to wait for: nothing is unsaved, or the rest is to be saved now.
func (s *saver) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || len(s.pending) == 0
}

func (s *saver) much() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

func (s *saver) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && len(s.pending) == 0
}

// flush stores everything unsaved. A reply that could not be saved goes on
// unsaved: its end is stored whole, and until then what is stored has no gap.
func (s *saver) flush() {
	s.storing.Lock()
	defer s.storing.Unlock()
	s.mu.Lock()
	taken := s.pending
	s.pending, s.full = map[ID]*unsaved{}, false
	s.mu.Unlock()
	if len(taken) == 0 {
		return
	}
	batch := make([]ReplyProgress, 0, len(taken))
	for id, u := range taken {
		batch = append(batch, ReplyProgress{Message: id, Text: string(u.text), Thinking: string(u.thinking), Covered: u.covered})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.store.SaveProgress(ctx, batch); err != nil {
		s.logger.Error("open replies could not be saved; their end will be stored whole", "replies", len(batch), "error", err)
		s.mu.Lock()
		for id := range taken {
			s.broken[id] = true
		}
		s.mu.Unlock()
	}
}
