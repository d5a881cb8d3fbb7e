package learn

import (
	"slices"
	"strings"
	"time"

	"ash/agent"
)

const (
	maxPath    = 2000     // messages of a conversation that are read
	maxChunk   = 60       // messages of one run
	maxSaid    = 64 << 10 // bytes of one message that are looked at for phrases
	maxTold    = 6 << 10  // bytes of one message of the person in a call
	maxReplied = 800      // bytes of one answer of Ash in a call
)

// said is one thing said, as learning may see it.
type said struct {
	Message agent.ID
	Time    time.Time
	Own     bool   // the owner's words; else Ash's, for context only
	Text    string // with Own as it stands in the message
}

// fresh returns the messages of a path that come after through. When through is on another branch, those made after it
// count: ids are ordered by time.
func fresh(path []agent.Message, through agent.ID) []agent.Message {
	if through == "" {
		return path
	}
	if i := slices.IndexFunc(path, func(m agent.Message) bool { return m.ID == through }); i >= 0 {
		return path[i+1:]
	}
	i := slices.IndexFunc(path, func(m agent.Message) bool { return m.ID > through })
	if i < 0 {
		return nil
	}
	return path[i:]
}

// material is what one run looks at.
type material struct {
	thread  agent.Thread
	through agent.ID // the last message it covers
	began   time.Time
	ended   time.Time
	said    []said
	more    bool // further messages wait for a run of their own
}

// gather takes from path, which ends with the messages to look at, those of one run: at most maxChunk messages, and no
// more than room bytes of what a call would send. whole says that path begins with the conversation.
func (l *Learner) gather(t agent.Thread, path, list []agent.Message, whole bool, room int) material {
	m := material{thread: t}
	var before agent.Labels
	for _, p := range path[:len(path)-len(list)] {
		before = before.Union(allLabels(p))
	}
	tainted := !whole || before.Untrusted()
	used := 0
	for i, p := range list {
		// The labels of a reply's calls come after its text, those of what it was given before: both are counted here, since
		// neither costs more than a line of context.
		tainted = tainted || allLabels(p).Untrusted()
		pieces := l.pieces(p, tainted)
		size := 0
		for _, s := range pieces {
			size += min(len(s.Text), maxTold) + 80
		}
		if i > 0 && (i >= maxChunk || used+size > room) {
			m.more = true
			break
		}
		used += size
		m.said = append(m.said, pieces...)
		m.through, m.ended = p.ID, p.Created
		if i == 0 {
			m.began = p.Created
		}
	}
	return m
}

// pieces returns what of a message may be learned from, or stand beside it.
func (l *Learner) pieces(m agent.Message, tainted bool) []said {
	var out []said
	if m.Role == agent.RoleUser {
		if m.Author != l.o.Owner || m.State != agent.MessageComplete {
			return nil
		}
		for _, p := range m.Parts {
			if t, ok := p.(agent.Text); ok && !t.Labels.Untrusted() && strings.TrimSpace(t.Text) != "" {
				out = append(out, said{m.ID, m.Created, true, agent.Clip(t.Text, maxSaid)})
			}
		}
		return out
	}
	if text := strings.TrimSpace(m.Text()); text != "" && !tainted && m.State == agent.MessageComplete {
		out = append(out, said{m.ID, m.Created, false, agent.Clip(text, maxReplied)})
	}
	for _, c := range m.Calls { // answers to Ash's questions are the person's words as well
		if c.Question && c.Decision != nil && c.Decision.Approve && c.Decision.By == l.o.Owner && strings.TrimSpace(c.Decision.Answer) != "" {
			out = append(out, said{m.ID, c.Decision.At, true, agent.Clip(c.Decision.Answer, maxSaid)})
		}
	}
	return out
}

// allLabels are those of a message and of what was recalled for it.
func allLabels(m agent.Message) agent.Labels {
	all := m.Labels()
	for _, r := range m.Recalled {
		all = all.Union(r.Labels)
	}
	return all
}

// own returns the owner's words, joined.
func (m material) own() string {
	var b strings.Builder
	for _, s := range m.said {
		if s.Own {
			b.WriteString(s.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// ownWords reports whether there is anything to learn from.
func (m material) ownWords() bool {
	return slices.ContainsFunc(m.said, func(s said) bool { return s.Own })
}
