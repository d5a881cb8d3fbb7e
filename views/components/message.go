package components

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ash/agent"
)

// Message is one article of a conversation.
type Message struct {
	ID      agent.ID
	Thread  agent.ID
	Role    agent.Role
	Speaker string // whoever said it, by the name an import gave; "" is the person, or Ash
	Said    string // when, in the words of an import that no date was found in; Created is then not shown
	State   agent.MessageState
	Created time.Time
	At      time.Time // its place among the messages on the page; zero is Created
	Text    string    // source: what the person wrote, or the Markdown of the answer; the text Edit starts from
	HTML    string    // safe HTML of the body of an answer; the person's own words are shown from Text
	Files   []File

	Thinking    string        // safe HTML of the reasoning; "" when there is none
	ThinkingFor time.Duration // how long it took; 0 when unknown
	Calls       []Call
	Attempts    []Attempt      // providers tried for this answer, in order
	Failure     *agent.Failure // why it was cut or failed
	Sources     []string       // where untrusted content in it came from
	Memories    int            // that were given to it

	Index    int      // place among the variants, from 1; 0 counts as 1
	Siblings int      // number of variants, itself included
	Previous agent.ID // variant before; "" at the first
	Next     agent.ID // variant after; "" at the last

	Model string // "provider/name" for people
	Usage agent.Usage
	Day   string   // label above the first message of a day; MarkDays sets it
	After *Summary // divider above this message: what came before is sent as a summary
	Head  bool     // the conversation ends here: Regenerate, Continue and ↑ apply
	// Unfinished: the turn ended here without a last answer, as when Ash was killed before it began one; Continue is offered.
	Unfinished bool
	Unlock     *Unlock  // what would help a failed answer: the passphrase of the vault
	Key        *KeyForm // or a key of the provider
	CSRF       string
}

// Short returns the last 12 characters of an id: enough to be unique on a page,
// short enough to be named in every streamed patch.
func Short(id agent.ID) string {
	return string(id[max(len(id)-12, 0):])
}

// MarkDays sets Day on the first message of each day.
func MarkDays(messages []Message, now time.Time) {
	last := ""
	for i := range messages {
		day := messages[i].day()
		if day != "" && day != last {
			messages[i].Day = DayLabel(messages[i].Created, now)
		}
		last = day
	}
}

// DayLabel names the day of t as seen from now: "Today", "Yesterday", the
// weekday within a week, else the date.
func DayLabel(t, now time.Time) string {
	now = now.In(t.Location())
	days := int(midnight(now).Sub(midnight(t)).Hours()+12) / 24
	switch {
	case days == 0:
		return "Today"
	case days == 1:
		return "Yesterday"
	case days > 1 && days < 7:
		return t.Format("Monday")
	case t.Year() == now.Year():
		return t.Format("Monday, 2 January")
	}
	return t.Format("2 January 2006")
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

func dayKey(t time.Time) string { return t.Format(time.DateOnly) }

// place is what orders a message among those on the page.
func (m Message) place() string {
	if m.At.IsZero() {
		return millis(m.Created)
	}
	return millis(m.At)
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// day is the day it was said on, "" when nobody knows.
func (m Message) day() string {
	if m.Said != "" {
		return ""
	}
	return dayKey(m.Created)
}

// name is who speaks.
func (m Message) name() string {
	switch {
	case m.Speaker != "":
		return m.Speaker
	case m.Role == agent.RoleAssistant:
		return "Ash"
	}
	return "You"
}

// open reports whether the answer is still being written.
func (m Message) open() bool { return m.State == agent.MessageOpen }

// resumable reports whether Continue makes sense.
func (m Message) resumable() bool {
	switch m.State {
	case agent.MessageCut, agent.MessageStopped, agent.MessageFailed:
		return true
	}
	return false
}

// nothing reports whether no answer came at all, so that trying again is all there is to offer.
func (m Message) nothing() bool { return m.State == agent.MessageFailed && m.HTML == "" }

// path is the address under which the message's own actions live.
func (m Message) path(action string) string {
	return "/chat/" + string(m.Thread) + "/messages/" + string(m.ID) + "/" + action
}

// receipt says in one line what the answer took.
func (m Message) receipt() string {
	var parts []string
	if n := m.Usage.Input + m.Usage.Output; n > 0 {
		parts = append(parts, Count(n)+" tokens")
	}
	if m.Usage.Cost > 0 {
		parts = append(parts, Money(m.Usage.Cost))
	}
	if m.Usage.Duration > 0 {
		parts = append(parts, Seconds(m.Usage.Duration))
	}
	return strings.Join(parts, " · ")
}

// Attempt is one try at one provider, as the person sees it.
type Attempt struct {
	Model  string // "provider/name"
	Number int    // from 1 over the whole chain
	Failed string // why it failed; "" while it is tried
	Wait   time.Duration
	Next   string // the model tried next; "" when none
}

// text says in one sentence what is going on.
func (a Attempt) text() string {
	switch {
	case a.Failed == "":
		return "Asking " + a.Model + "…"
	case a.Next != "":
		return a.Model + ": " + a.Failed + " Trying " + a.Next + " instead."
	case a.Wait > 0:
		return fmt.Sprintf("%s: %s Trying again in %s.", a.Model, a.Failed, Seconds(a.Wait))
	}
	return a.Model + ": " + a.Failed
}

// Summary is the divider that stands where older messages are sent to the model
// as a summary. The messages themselves stay.
type Summary struct {
	ID       agent.ID
	Thread   agent.ID
	HTML     string // safe HTML of the summary
	Disabled bool   // the person took it back
	CSRF     string
}

// File is an attachment: on a message, or as a chip in the composer.
type File struct {
	Hash    string // SHA-256, lower-case hex
	Name    string
	Size    int64  // bytes
	Media   string // sniffed media type
	URL     string // where the bytes are served; "" when they are not
	Image   bool   // shown as a picture
	Note    string // what the model gets of it, for example "first 200 KB of text"
	Problem string // refused: why, and what to do

	Findings []Finding // orders to the assistant in it
}
