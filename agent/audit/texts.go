package audit

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Text is a piece of what is read.
type Text struct {
	Place string // "notes/a.md", "message 0197…"; of a file, lines are added
	Link  string // of a page that shows it
	Text  string
	Line  int  // of the file its first line is; 0: it has no lines
	Fresh int  // bytes at its begin that the piece before had, too: what lies wholly in there is known
	Grave bool // a secret here is open to more than the person: to programs, tools, models
	// Until is how many characters were read of a text that is longer; 0: all of it. Of several pieces the last one says so.
	Until int
	Kind  Kind
}

// Kind says what a text is.
type Kind string

// The kinds of text.
const (
	KindConfig   Kind = "config"   // settings, units of the service
	KindLog      Kind = "log"      // written by Ash
	KindNote     Kind = "note"     // of the person's
	KindIdentity Kind = "identity" // SOUL.md, USER.md, TOOLS.md
	KindFile     Kind = "file"     // of the workspace
	KindMemory   Kind = "memory"   // facts, summaries
	KindMessage  Kind = "message"
	KindResult   Kind = "result"  // of a tool
	KindScratch  Kind = "scratch" // of the sandbox
)

// Source gives texts, one after the other, in pieces. An error of yield ends it and comes back.
type Source interface {
	Texts(ctx context.Context, yield func(Text) error) error
}

// Hit is a secret in a text.
type Hit struct {
	Rule       string
	Start, End int
}

// Secrets checks for secrets that lie in plain text.
type Secrets struct {
	Title  string // of the check
	Source Source
	Find   func(text string) []Hit
	Blind  func(ctx context.Context) string // what Find cannot see now, in words; nil or "": nothing
}

// Name implements Check.
func (s Secrets) Name() string { return s.Title }

// placesKept is how many places of one and the same secret are told; secretsKept how many secrets are told apart.
const (
	placesKept  = 5
	secretsKept = 2000
)

// weakRules are rules of the scanner that are often wrong about harmless text.
var weakRules = [...]string{"generic-api-key", "password", "pin", "key", "code", "recovery-phrase", "payment-card"}

// met is a secret that was found, by its keyed hash.
type met struct {
	finding Finding
	places  int
	order   int
}

// Run implements Check.
func (s Secrets) Run(ctx context.Context, report func(Finding)) (string, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return "", err
	}
	found := map[[sha256.Size]byte]*met{}
	texts, bytes, beyond := 0, int64(0), 0
	var short shortened
	err := s.Source.Texts(ctx, func(t Text) error {
		texts++
		bytes += int64(len(t.Text) - t.Fresh)
		short.note(t)
		for _, h := range s.Find(t.Text) {
			if h.End <= t.Fresh {
				continue
			}
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(t.Text[h.Start:h.End]))
			id := [sha256.Size]byte(mac.Sum(nil))
			place := placeOf(t, h.Start)
			m, known := found[id]
			switch {
			case !known && len(found) >= secretsKept:
				beyond++
			case !known:
				found[id] = &met{finding: secretFinding(t, h, place), places: 1, order: len(found)}
			default:
				m.add(t, h, place)
			}
		}
		return ctx.Err()
	})
	list := make([]*met, 0, len(found))
	for _, m := range found {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *met) int {
		return cmp.Or(cmp.Compare(a.finding.Severity.Rank(), b.finding.Severity.Rank()), cmp.Compare(a.order, b.order))
	})
	for _, m := range list {
		if more := m.places - 1 - len(m.finding.More); more > 0 {
			m.finding.More = append(m.finding.More, fmt.Sprintf("and %d more places", more))
		}
		report(m.finding)
	}
	if beyond > 0 {
		report(Finding{Severity: High, Text: fmt.Sprintf("There are %d more places with secrets that are not told apart.", beyond), Remedy: "See to the ones that are listed, then look again."})
	}
	short.tell(report)
	note := fmt.Sprintf("%d texts, %d MB", texts, bytes>>20)
	if s.Blind != nil {
		if words := s.Blind(ctx); words != "" {
			note += "; " + words
		}
	}
	return note, err
}

// add notes another place of a secret. Overlapping pieces of one file tell of it twice.
func (m *met) add(t Text, h Hit, place string) {
	if place == m.finding.Place || slices.Contains(m.finding.More, place) {
		return
	}
	m.places++
	if len(m.finding.More) < placesKept-1 {
		m.finding.More = append(m.finding.More, place)
	}
	if other := secretFinding(t, h, place); other.Severity.Rank() < m.finding.Severity.Rank() { // the worst place is told first
		other.More = append([]string{m.finding.Place}, m.finding.More...)
		other.More = slices.DeleteFunc(other.More, func(p string) bool { return p == place })
		m.finding = other
	}
}

func secretFinding(t Text, h Hit, place string) Finding {
	f := Finding{Severity: High, Rule: h.Rule, Place: place, Link: t.Link}
	weak := slices.Contains(weakRules[:], h.Rule)
	f.Text = fmt.Sprintf("A secret lies in plain text in %s: %s, %d characters.", kindWords(t.Kind), strings.ReplaceAll(h.Rule, "-", " "), h.End-h.Start)
	switch {
	case weak && (t.Kind == KindMessage || t.Kind == KindResult || t.Kind == KindMemory || t.Kind == KindFile):
		f.Severity = Low
		f.Text = fmt.Sprintf("What looks like a secret lies in %s: %s, %d characters.", kindWords(t.Kind), strings.ReplaceAll(h.Rule, "-", " "), h.End-h.Start)
	case weak, t.Kind == KindMessage, t.Kind == KindResult, t.Kind == KindMemory:
		f.Severity = Medium
	}
	f.Remedy = "Make a new one where it comes from, keep it in the vault (ash vault add), and take it out here."
	switch t.Kind {
	case KindMessage, KindResult:
		f.Remedy = "Make a new one where it comes from and keep it in the vault. Deleting the conversation removes it here."
	case KindMemory:
		f.Remedy = "Make a new one where it comes from, keep it in the vault, and forget this on the Memory page."
	case KindLog:
		f.Remedy = "Make a new one where it comes from, and remove the log."
	}
	return f
}

func kindWords(k Kind) string {
	switch k {
	case KindConfig:
		return "the settings"
	case KindLog:
		return "a log"
	case KindNote:
		return "a note"
	case KindIdentity:
		return "the identity files"
	case KindMemory:
		return "memory"
	case KindMessage:
		return "a message"
	case KindResult:
		return "what a tool was given or answered"
	case KindScratch:
		return "the files of the sandbox"
	}
	return "a file"
}

// placeOf names the place of a byte in a text.
func placeOf(t Text, at int) string {
	if t.Line == 0 {
		return t.Place
	}
	return fmt.Sprintf("%s:%d", t.Place, t.Line+strings.Count(t.Text[:at], "\n"))
}

// Sign is an instruction in a text that was planted for the assistant.
type Sign struct {
	Rule  string
	Why   string // one sentence
	Start int
}

// Planted checks for instructions that somebody planted in what the assistant reads as its own.
type Planted struct {
	Source Source
	Scan   func(ctx context.Context, k Kind, text string) []Sign // nil for a text that is well
}

// Name implements Check.
func (Planted) Name() string { return "Planted instructions" }

// Run implements Check.
func (p Planted) Run(ctx context.Context, report func(Finding)) (string, error) {
	texts := 0
	var short shortened
	err := p.Source.Texts(ctx, func(t Text) error {
		texts++
		short.note(t)
		signs := slices.DeleteFunc(p.Scan(ctx, t.Kind, t.Text), func(s Sign) bool { return s.Start < t.Fresh })
		if len(signs) > 0 {
			report(plantedFinding(t, signs[0]))
		}
		return ctx.Err()
	})
	short.tell(report)
	return fmt.Sprintf("%d texts", texts), err
}

// shortened counts the texts that were not read to their end.
type shortened struct {
	texts, until int
	link         string
	places       []string // the first ones
}

func (s *shortened) note(t Text) {
	if t.Until == 0 {
		return
	}
	s.texts++
	s.until = max(s.until, t.Until)
	if len(s.places) < placesKept {
		s.places = append(s.places, t.Place)
	}
	if s.link == "" {
		s.link = t.Link
	}
}

// tell says what was left out, if anything was.
func (s *shortened) tell(report func(Finding)) {
	if s.texts == 0 {
		return
	}
	f := Finding{Severity: Info, Place: s.places[0], More: s.places[1:], Link: s.link, Remedy: "What comes after that nobody looked at. Nothing to do if you know what these texts hold."}
	f.Text = fmt.Sprintf("Only the first %d MB of %d texts was read.", s.until>>20, s.texts)
	if s.texts == 1 {
		f.Text = fmt.Sprintf("Only the first %d MB of one text was read.", s.until>>20)
	}
	if more := s.texts - len(s.places); more > 0 {
		f.More = append(f.More, fmt.Sprintf("and %d more", more))
	}
	report(f)
}

func plantedFinding(t Text, s Sign) Finding {
	f := Finding{Severity: High, Rule: s.Rule, Place: placeOf(t, s.Start), Link: t.Link, Text: "Words to the assistant that somebody may have planted stand in " + kindWords(t.Kind) + ". " + s.Why}
	switch t.Kind {
	case KindIdentity:
		f.Remedy = "Every answer follows this file. If you did not write that, go back to an earlier version."
	case KindMemory:
		f.Remedy = "If you did not say that, forget it on the Memory page."
	case KindNote:
		f.Severity, f.Remedy = Medium, "If you did not write that, take it out of the note."
	default:
		f.Severity, f.Remedy = Info, "It came from outside and is fenced as such; Ash asks before it acts on it. Nothing to do, unless you approved something after it that you did not want."
	}
	return f
}
