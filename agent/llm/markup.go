package llm

import (
	"strings"

	"ash/agent"
)

// maxCallBody bounds the text between <tool_call> and </tool_call>, in bytes.
const maxCallBody = 1 << 20

// Markup takes the markup some models write into their answers out of a streamed text:
// <think>…</think> becomes DeltaThinking, <tool_call>{"name":…,"arguments":{…}}</tool_call> becomes
// DeltaCall, and a tag left over on its own is dropped. Tags may be split over any number of pieces; the result does not
// depend on where. Inside Markdown code nothing is touched, so that a person can ask about the tags themselves.
//
// A call that cannot be read becomes one honest sentence instead of markup.
type Markup struct {
	next    func() int // gives each call its index
	state   markupState
	close   string // the tag that ends the state
	pending string // may be the beginning of a tag
	body    []byte // of the open call
	lost    bool   // the open call is too large and is dropped
	trim    bool   // white space is dropped until something else comes
	spoken  bool   // some text has been passed on
	code    int    // length of the backtick run that opened the current code, 0 outside
	run     int    // length of the backtick run being read
}

type markupState uint8

const (
	inText markupState = iota
	inThinking
	inCall
)

// NewMarkup makes a filter; next gives each call found its index within the reply.
func NewMarkup(next func() int) *Markup { return &Markup{next: next} }

// tags are those recognised in text. All begin with '<'.
var tags = [...]struct {
	text  string
	state markupState
	close string
}{
	{"<think>", inThinking, "</think>"},
	{"<thinking>", inThinking, "</thinking>"},
	{"<tool_call>", inCall, "</tool_call>"},
	{"</think>", inText, ""},
	{"</thinking>", inText, ""},
	{"</tool_call>", inText, ""},
}

const unreadableCall = "(The model tried to use a tool, but wrote the call in a form that cannot be read.)"

// Text takes the next piece and yields what has become clear. It reports false when yield did.
func (m *Markup) Text(s string, yield func(agent.Delta) bool) bool {
	if m.state == inText && m.plain(s) {
		m.spoken = m.spoken || s != ""
		return s == "" || yield(agent.Delta{Kind: agent.DeltaText, Text: s})
	}
	if m.pending != "" {
		s, m.pending = m.pending+s, ""
	}
	for s != "" {
		var ok bool
		switch m.state {
		case inText:
			s, ok = m.text(s, yield)
		case inThinking:
			s, ok = m.thinking(s, yield)
		default:
			s, ok = m.call(s, yield)
		}
		if !ok {
			return false
		}
	}
	return true
}

// plain is the quick way for most pieces: nothing is open and nothing opens.
func (m *Markup) plain(s string) bool {
	return m.pending == "" && !m.trim && m.run == 0 && m.code == 0 &&
		strings.IndexByte(s, '<') < 0 && strings.IndexByte(s, '`') < 0
}

// text passes text on up to the next tag. It returns what is still to be looked at.
func (m *Markup) text(s string, yield func(agent.Delta) bool) (rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '`' {
			m.run++
			continue
		}
		if m.run > 0 {
			m.endRun()
		}
		if c == '\n' && m.code < 3 {
			m.code = 0 // a code span that is not closed on its line was none
		}
		if c != '<' || m.code > 0 {
			continue
		}
		tag, partial := matchTag(s[i:])
		switch {
		case partial:
			m.pending = s[i:]
			return "", m.emit(agent.DeltaText, s[:i], yield)
		case tag >= 0:
			t := tags[tag]
			ok := m.emit(agent.DeltaText, s[:i], yield)
			if t.state == inText && m.spoken && ok {
				ok = m.emit(agent.DeltaText, "\n\n", yield) // what stood before the tag was something else than what follows
			}
			m.state, m.close, m.trim = t.state, t.close, true
			return s[i+len(t.text):], ok
		}
	}
	return "", m.emit(agent.DeltaText, s, yield)
}

// endRun opens or closes code when a run of backticks is over.
func (m *Markup) endRun() {
	switch {
	case m.code == 0:
		m.code = m.run
	case m.run == m.code, m.code >= 3 && m.run > m.code:
		m.code = 0
	}
	m.run = 0
}

func (m *Markup) thinking(s string, yield func(agent.Delta) bool) (rest string, ok bool) {
	body, rest, closed := cutTag(s, m.close)
	ok = m.emit(agent.DeltaThinking, body, yield)
	if closed {
		m.state, m.trim = inText, true
		return rest, ok
	}
	m.pending = rest
	return "", ok
}

func (m *Markup) call(s string, yield func(agent.Delta) bool) (rest string, ok bool) {
	body, rest, closed := cutTag(s, m.close)
	if len(m.body)+len(body) > maxCallBody {
		m.lost = true
		m.body = m.body[:0]
	}
	if !m.lost {
		m.body = append(m.body, body...)
	}
	if closed {
		return rest, m.endCall(yield)
	}
	m.pending = rest
	return "", true
}

// End yields what was held back. A call whose closing tag never came counts when it can be read.
func (m *Markup) End(yield func(agent.Delta) bool) bool {
	s := m.pending
	m.pending = ""
	switch m.state {
	case inText:
		return m.emit(agent.DeltaText, s, yield)
	case inThinking:
		return m.emit(agent.DeltaThinking, s, yield)
	}
	m.body = append(m.body, s...)
	return m.endCall(yield)
}

// endCall yields the call in body, or says that it cannot be read.
func (m *Markup) endCall(yield func(agent.Delta) bool) bool {
	calls := parseCalls(m.body)
	lost := m.lost || len(calls) == 0
	m.state, m.trim, m.lost, m.body = inText, true, false, nil
	if lost {
		ok := m.emit(agent.DeltaText, unreadableCall+"\n\n", yield)
		m.trim = true
		return ok
	}
	for _, c := range calls {
		c.Index = m.next()
		if !yield(agent.Delta{Kind: agent.DeltaCall, Call: &c}) {
			return false
		}
	}
	return true
}

func (m *Markup) emit(kind agent.DeltaKind, s string, yield func(agent.Delta) bool) bool {
	if m.trim {
		s = strings.TrimLeft(s, " \t\r\n")
		m.trim = s == ""
	}
	if s == "" {
		return true
	}
	m.spoken = m.spoken || kind == agent.DeltaText
	return yield(agent.Delta{Kind: kind, Text: s})
}

// matchTag looks for a tag at the beginning of s: its index in tags or -1, and whether s is only the beginning of one.
func matchTag(s string) (tag int, partial bool) {
	for i, t := range tags {
		if strings.HasPrefix(s, t.text) {
			return i, false
		}
		if strings.HasPrefix(t.text, s) {
			partial = true
		}
	}
	return -1, partial
}

// cutTag cuts s at tag. When the tag is not there, rest is the end of s that may be its beginning.
func cutTag(s, tag string) (body, rest string, found bool) {
	if body, rest, found = strings.Cut(s, tag); found {
		return body, rest, true
	}
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return s[:len(s)-n], s[len(s)-n:], false
		}
	}
	return s, "", false
}
