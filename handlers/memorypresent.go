package handlers

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/pages"
)

const (
	maxCard       = 600 // of a text on a card, in bytes
	replacesShown = 5   // facts that a proposal names
)

// memoryPresenter makes the views' structs of memory for one request.
type memoryPresenter struct {
	*Frame
	ctx    context.Context
	token  string
	back   string   // where pinning leads back to
	words  []string // looked for: set off
	titles map[agent.ID]string
}

func (f *Frame) presentMemory(c echo.Context) *memoryPresenter {
	return &memoryPresenter{Frame: f, ctx: c.Request().Context(), token: Token(c), back: "/memory", titles: map[agent.ID]string{}}
}

// title is the name of a conversation; "" when it is gone.
func (p *memoryPresenter) title(thread agent.ID) (string, error) {
	if thread == "" {
		return "", nil
	}
	if t, ok := p.titles[thread]; ok {
		return t, nil
	}
	t, err := p.Reader.Summary(p.ctx, thread)
	switch {
	case agent.CodeOf(err) == agent.CodeNotFound || err == nil && !t.Deleted.IsZero():
		p.titles[thread] = ""
	case err != nil:
		return "", err
	default:
		p.titles[thread] = titled(visible(t.Title))
	}
	return p.titles[thread], nil
}

// months puts facts under the months they were said in.
func (p *memoryPresenter) months(list []agent.Fact) ([]pages.MemoryMonth, error) {
	var out []pages.MemoryMonth
	for _, f := range list {
		card, err := p.fact(f)
		if err != nil {
			return nil, err
		}
		out = intoMonth(out, f.Said.In(p.Zone), card)
	}
	return out, nil
}

func intoMonth(months []pages.MemoryMonth, at time.Time, card components.Memory) []pages.MemoryMonth {
	title := at.Format("January 2006")
	if at.Year() <= 1 {
		title = "At some time"
	}
	if n := len(months); n == 0 || months[n-1].Title != title {
		months = append(months, pages.MemoryMonth{Title: title})
	}
	last := &months[len(months)-1]
	last.Items = append(last.Items, card)
	return months
}

// fact presents a fact as a card.
func (p *memoryPresenter) fact(f agent.Fact) (components.Memory, error) {
	m := components.Memory{
		Fact: f.ID, URL: components.FactPath(f.ID), Text: p.marked(f.Text), Word: factWord(f.Kind), When: p.span(f),
		About: abouts(f.Entities), Sources: strangers(f.Labels), Private: private(f.Labels),
		Past: p.past(f), Pinned: f.Pinned, Back: p.back, CSRF: p.token,
	}
	m.Until = p.until(f)
	s, err := p.source(f.Source)
	m.From, m.FromURL = lowerFirst(s.Words), s.URL
	return m, err
}

// past says why a fact no longer holds; "" while it does.
func (p *memoryPresenter) past(f agent.Fact) string {
	switch f.Status {
	case agent.FactSuperseded:
		return "replaced " + f.Updated.In(p.Zone).Format("2 Jan 2006")
	case agent.FactRetired:
		return "no longer true"
	}
	return ""
}

// span says when a fact holds.
func (p *memoryPresenter) span(f agent.Fact) string {
	month := func(t time.Time) string { return t.In(p.Zone).Format("Jan 2006") }
	switch {
	case !f.From.IsZero() && !f.Until.IsZero():
		return month(f.From) + " to " + month(f.Until)
	case !f.Until.IsZero():
		return "until " + month(f.Until)
	case !f.From.IsZero():
		return "since " + month(f.From)
	}
	return "said " + f.Said.In(p.Zone).Format("2 Jan 2006")
}

func factWord(k agent.FactKind) string {
	switch k {
	case agent.FactCore:
		return "About me"
	case agent.FactPattern:
		return "Pattern"
	}
	return "Fact"
}

// source says where a fact came from, and leads there.
func (p *memoryPresenter) source(s agent.Provenance) (pages.MemorySource, error) {
	out := pages.MemorySource{Quote: visible(s.Quote), Run: s.Run}
	title, err := p.title(s.Thread)
	if err != nil {
		return out, err
	}
	if title != "" {
		out.URL, out.Go = messageURL(s.Thread, s.Message), "To the message"
	}
	switch s.Kind {
	case agent.SourcePerson:
		out.Words = "You entered it"
	case agent.SourceAPI:
		out.Words = "Entered through the " + visible(s.Via)
	case agent.SourceNote:
		out.Words, out.URL, out.Go = "From the note "+visible(s.Note), noteURL(s.Note), "Open the note"
	case agent.SourceMemories:
		out.Words = "Put together from other memories"
	case agent.SourceImport:
		out.Words = "Imported"
		if title != "" {
			out.Words = "Imported, from “" + title + "”"
		}
	default:
		switch {
		case title != "":
			out.Words = "Said in “" + title + "”"
		case s.Thread != "":
			out.Words = "Said in a conversation that is deleted"
		default:
			out.Words = "Said in a conversation"
		}
	}
	return out, nil
}

// until says that a fact expires, or has; "" when it does not.
func (p *memoryPresenter) until(f agent.Fact) string {
	switch {
	case f.Expires.IsZero() || f.Status != agent.FactCurrent:
		return ""
	case !f.Expires.After(p.Now()):
		return "expired: not recalled"
	}
	return "not recalled from " + f.Expires.In(p.Zone).Format("2 January 2006")
}

// messageURL jumps to a message of a conversation.
func messageURL(thread, message agent.ID) string {
	if message == "" {
		return chatPath(thread)
	}
	return chatPath(thread) + "?at=" + string(message) + "#m-" + string(message)
}

// noteURL is the page of a note.
func noteURL(path string) string {
	return pages.NoteURL(path)
}

// episode presents what a conversation was about.
func (p *memoryPresenter) episode(e agent.Episode) (components.Memory, error) {
	title, err := p.title(e.Thread)
	m := components.Memory{
		URL: chatPath(e.Thread), Text: p.marked(e.Text), Word: "Conversation", When: p.days(e.Began, e.Ended),
		About: abouts(e.Entities), Sources: strangers(e.Labels), Private: private(e.Labels), Forget: "/memory/forget?thread=" + string(e.Thread),
	}
	if title != "" {
		m.From, m.FromURL = "“"+title+"”", chatPath(e.Thread)
	}
	return m, err
}

func (p *memoryPresenter) days(a, b time.Time) string {
	first, last := a.In(p.Zone).Format("2 Jan 2006"), b.In(p.Zone).Format("2 Jan 2006")
	if a.IsZero() || first == last {
		return last
	}
	return first + " to " + last
}

// found presents something recalled.
func (p *memoryPresenter) found(x foundMemory) (components.Memory, error) {
	if x.fact != nil {
		m, err := p.fact(*x.fact)
		m.Why = whys(x.Why)
		return m, err
	}
	m := components.Memory{
		Text: p.marked(x.Text), Why: whys(x.Why), From: visible(x.Source), Sources: strangers(x.Labels), Private: private(x.Labels),
	}
	if !x.Time.IsZero() {
		m.When = x.Time.In(p.Zone).Format("2 Jan 2006")
	} else {
		m.When = visible(agent.Clip(x.Said, 60))
	}
	title, err := p.title(x.Thread)
	switch x.Kind {
	case agent.MemoryNote:
		m.Word, m.URL = "Note", noteURL(x.Ref)
	case agent.MemoryEpisode:
		m.Word, m.URL = "Conversation", chatPath(x.Thread)
	default:
		m.Word, m.URL, m.Forget = "Message", messageURL(x.Thread, agent.ID(x.Ref)), "/memory/forget?message="+x.Ref
	}
	if title != "" {
		m.From, m.FromURL = strings.TrimSpace(visible(x.Speaker)+" in “"+title+"”"), m.URL
	}
	return m, err
}

// proposals presents what waits for the person's word, with what it would take the place of.
func (h *Memory) proposals(p *memoryPresenter, list []agent.Proposal, place components.Place) ([]components.Proposal, error) {
	out := make([]components.Proposal, 0, len(list))
	for _, x := range list {
		s, err := p.source(x.Fact.Source)
		if err != nil {
			return nil, err
		}
		shown := components.Proposal{
			ID: x.ID, Retire: x.Action == agent.ActionRetire, Text: visible(x.Fact.Text), Kind: x.Fact.Kind, Why: visible(x.Why),
			Quote: s.Quote, From: lowerFirst(s.Words), FromURL: s.URL, Since: "proposed " + waited(p.Now().Sub(x.Created)),
			Sources: strangers(x.Fact.Labels), At: x.Created.UnixMicro(), Place: place, CSRF: p.token,
		}
		for _, id := range x.Fact.Supersedes[:min(len(x.Fact.Supersedes), replacesShown)] {
			old, err := h.Facts.Fact(p.ctx, id)
			if agent.CodeOf(err) == agent.CodeNotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
			shown.Replaces = append(shown.Replaces, visible(old.Text))
		}
		out = append(out, shown)
	}
	return out, nil
}

func abouts(list []agent.Entity) []components.About {
	out := make([]components.About, 0, len(list))
	for _, e := range list {
		if e.ID != "" {
			out = append(out, components.About{ID: e.ID, Name: visible(e.Name)})
		}
	}
	return out
}

// strangers names the sources of labels that a stranger may have written under.
func strangers(l agent.Labels) []string {
	var out []string
	for _, x := range l {
		s := visible(x.Source)
		if name, ok := strings.CutPrefix(s, "import:"); ok {
			s = "imported, “" + name + "”"
		}
		if x.Kind == agent.LabelUntrusted && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func private(l agent.Labels) bool {
	return slices.ContainsFunc(l, func(x agent.Label) bool { return x.Private || x.Kind == agent.LabelPrivate })
}

func whys(list []string) []string {
	out := make([]string, 0, len(list))
	for _, w := range list {
		out = append(out, visible(w))
	}
	return out
}

// marked clips a text for a card and sets off the words that were looked for.
func (p *memoryPresenter) marked(s string) []agent.SnippetPart {
	short := agent.Clip(s, maxCard)
	if len(short) < len(s) {
		short = strings.TrimSpace(short) + "…"
	}
	return setOff(visible(short), p.words)
}

// setOff splits a text so that words like those sought stand alone.
func setOff(s string, sought []string) []agent.SnippetPart {
	if len(sought) == 0 {
		return []agent.SnippetPart{{Text: s}}
	}
	var out []agent.SnippetPart
	add := func(t string, match bool) {
		switch n := len(out); {
		case t == "":
		case n > 0 && out[n-1].Match == match:
			out[n-1].Text += t
		default:
			out = append(out, agent.SnippetPart{Text: t, Match: match})
		}
	}
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool { return !wordRune(r) })
		if end < 0 {
			end = len(s)
		}
		if end > 0 {
			add(s[:end], slices.ContainsFunc(sought, func(w string) bool { return alike(w, strings.ToLower(s[:end])) }))
			s = s[end:]
			continue
		}
		end = strings.IndexFunc(s, wordRune)
		if end < 0 {
			end = len(s)
		}
		add(s[:end], false)
		s = s[end:]
	}
	return out
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// soughtWords are the words of a question that are worth setting off.
func soughtWords(query string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !wordRune(r) }) {
		if len(w) > 2 {
			out = append(out, w)
		}
	}
	return out
}

// alike reports whether two words in lower case are the same but for their ending: it only sets off what
// was found, and decides nothing.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	x, y := []rune(a), []rune(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n >= 4 && n*10 >= max(len(x), len(y))*7
}

func lowerFirst(s string) string {
	for i, r := range s {
		return string(unicode.ToLower(r)) + s[i+len(string(r)):]
	}
	return s
}

// totalsLine says under the heading how much is remembered.
func totalsLine(t agent.MemoryTotals) string {
	if t.Current+t.Episodes == 0 {
		return "What Ash remembers, where each thing came from, and a way to correct or forget it."
	}
	return components.Plural(t.Current, "fact", "facts") + " · " + components.Plural(t.Episodes, "conversation", "conversations") + " · " +
		components.Plural(t.Entities, "name", "names")
}
