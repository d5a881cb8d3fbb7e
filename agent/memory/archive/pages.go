package archive

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ash/agent"
)

// page is a file for people.
type page struct {
	name string
	text []byte
}

const (
	indexPage  = "index.md"
	pageFolder = "memory/"
)

// isPage reports whether a file is for people alone.
func isPage(name string) bool {
	rest, deep := strings.CutPrefix(name, pageFolder)
	return name == indexPage || deep && strings.HasSuffix(rest, ".md") && !strings.Contains(rest, "/")
}

// pagesOf writes what is remembered for people. m is in its order.
func pagesOf(m *Memory) []page {
	w := &writer{memory: m, about: map[agent.ID][]agent.Fact{}}
	for _, f := range m.Facts {
		for _, e := range f.Entities {
			if f.Status == agent.FactCurrent {
				w.about[e.ID] = append(w.about[e.ID], f)
			}
		}
	}
	w.kind(agent.FactCore, "about-me", "About me", "Who you are and how you want things: part of every prompt.")
	w.years(agent.FactPlain, "facts", "Facts")
	w.kind(agent.FactPattern, "patterns", "Patterns", "What was noticed over several conversations: offered, not asserted.")
	w.history()
	w.entities()
	w.episodes()
	w.proposals()
	return append([]page{{indexPage, w.index()}}, w.pages...)
}

// writer makes pages.
type writer struct {
	memory *Memory
	about  map[agent.ID][]agent.Fact
	pages  []page
	lines  []string // of the index
}

// add ends a page, which the index then leads to.
func (w *writer) add(name, title string, n int, body *bytes.Buffer) {
	if n == 0 {
		return
	}
	file := pageFolder + name + ".md"
	w.pages = append(w.pages, page{file, body.Bytes()})
	w.lines = append(w.lines, fmt.Sprintf("- [%s](%s) (%d)\n", title, file, n))
}

func (w *writer) index() []byte {
	var b bytes.Buffer
	b.WriteString("# What Ash remembers\n\nThese pages are for reading. `ash memory import` takes back what stands in `data/` and `notes/`; changes in the pages are not taken back.\n\n")
	for _, line := range w.lines {
		b.WriteString(line)
	}
	if n := len(w.memory.Tombstones); n > 0 {
		fmt.Fprintf(&b, "- Forgotten: %d. Nothing of it is here but marks that keep it from being learned again.\n", n)
	}
	if len(w.memory.Notes) == 0 {
		return b.Bytes()
	}
	fmt.Fprintf(&b, "\n## Notes (%d)\n\n", len(w.memory.Notes))
	for _, n := range w.memory.Notes {
		fmt.Fprintf(&b, "- [%s](%s)\n", plain(strings.TrimSuffix(n.Path, ".md")), (&url.URL{Path: notesFolder + n.Path}).EscapedPath())
	}
	return b.Bytes()
}

// current returns current facts of a kind, the latest said first.
func (w *writer) current(kind agent.FactKind) []agent.Fact {
	var list []agent.Fact
	for _, f := range w.memory.Facts {
		if f.Status == agent.FactCurrent && f.Kind == kind {
			list = append(list, f)
		}
	}
	return latestFirst(list)
}

func latestFirst(list []agent.Fact) []agent.Fact {
	ordered(list, func(a, b agent.Fact) int { return cmp.Or(b.Said.Compare(a.Said), cmp.Compare(a.ID, b.ID)) })
	return list
}

func (w *writer) kind(kind agent.FactKind, name, title, what string) {
	list := w.current(kind)
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", title, what)
	for _, f := range list {
		b.WriteString(factLine(f))
	}
	w.add(name, title, len(list), &b)
}

// years puts the facts of each year on a page.
func (w *writer) years(kind agent.FactKind, name, title string) {
	list := w.current(kind)
	for len(list) > 0 {
		year := list[0].Said.Year()
		n := slices.IndexFunc(list, func(f agent.Fact) bool { return f.Said.Year() != year })
		if n < 0 {
			n = len(list)
		}
		var b bytes.Buffer
		heading := title + ", said in " + strconv.Itoa(year)
		fmt.Fprintf(&b, "# %s\n\n", heading)
		for _, f := range list[:n] {
			b.WriteString(factLine(f))
		}
		w.add(name+"-"+strconv.Itoa(year), heading, n, &b)
		list = list[n:]
	}
}

// factLine is a fact as an item of a list.
func factLine(f agent.Fact) string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if !f.Said.IsZero() {
		add("said %s", day(f.Said))
	}
	if !f.From.IsZero() {
		add("true from %s", day(f.From))
	}
	if !f.Until.IsZero() {
		add("true until %s", day(f.Until))
	}
	if !f.Expires.IsZero() {
		add("expires %s", day(f.Expires))
	}
	if f.Pinned {
		add("pinned")
	}
	add("%s", sourceWords(f.Source))
	for _, l := range f.Labels {
		if l.Kind == agent.LabelUntrusted {
			add("from others: %s", plain(l.Source))
		}
	}
	line := "- " + plain(f.Text) + "\n  *" + strings.Join(notes, "; ") + "*\n"
	if f.Source.Quote != "" && f.Source.Quote != f.Text {
		line += "  > " + plain(f.Source.Quote) + "\n"
	}
	return line
}

func sourceWords(s agent.Provenance) string {
	switch s.Kind {
	case agent.SourcePerson:
		return "entered by hand"
	case agent.SourceNote:
		return "from the note " + plain(s.Note)
	case agent.SourceImport:
		return "imported"
	case agent.SourceMemories:
		return "put together from other memories"
	}
	return "from a conversation"
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// plain shows a text on one line in Markdown, with no mark in it that means anything: what strangers wrote loads no picture.
func plain(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if strings.ContainsRune("\\`*_[]<>!#|&~$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// history shows what no longer holds, each below what took its place.
func (w *writer) history() {
	texts := map[agent.ID]string{}
	var list []agent.Fact
	for _, f := range w.memory.Facts {
		texts[f.ID] = f.Text
		if f.Status != agent.FactCurrent {
			list = append(list, f)
		}
	}
	var b bytes.Buffer
	b.WriteString("# History\n\nWhat was corrected, replaced or ended. It is not recalled.\n\n")
	for _, f := range latestFirst(list) {
		b.WriteString(factLine(f))
		if next, ok := texts[f.Successor]; ok {
			b.WriteString("  Replaced by: " + plain(next) + "\n")
		}
	}
	w.add("history", "History", len(list), &b)
}

func (w *writer) entities() {
	list := slices.Clone(w.memory.Entities)
	ordered(list, func(a, b agent.Entity) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	var b bytes.Buffer
	b.WriteString("# People, places, projects and things\n\n")
	for _, e := range list {
		fmt.Fprintf(&b, "## %s\n\n%s", plain(e.Name), e.Kind)
		if len(e.Aliases) > 0 {
			names := make([]string, len(e.Aliases))
			for i, a := range e.Aliases {
				names[i] = plain(a)
			}
			b.WriteString(", also " + strings.Join(names, ", "))
		}
		b.WriteString("\n\n")
		for _, f := range latestFirst(w.about[e.ID]) {
			b.WriteString("- " + plain(f.Text) + "\n")
		}
		b.WriteByte('\n')
	}
	w.add("about", "People, places, projects and things", len(list), &b)
}

func (w *writer) episodes() {
	titles := map[agent.ID]string{}
	for _, t := range w.memory.Conversations {
		titles[t.ID] = t.Title
	}
	list := slices.Clone(w.memory.Episodes)
	ordered(list, func(a, b agent.Episode) int { return cmp.Or(b.Ended.Compare(a.Ended), cmp.Compare(a.Thread, b.Thread)) })
	var b bytes.Buffer
	b.WriteString("# What conversations were about\n\n")
	for _, e := range list {
		title := titles[e.Thread]
		if title == "" {
			title = "A conversation"
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n%s\n\n", plain(title), day(e.Ended), plain(e.Text))
	}
	w.add("conversations", "What conversations were about", len(list), &b)
}

func (w *writer) proposals() {
	var b bytes.Buffer
	b.WriteString("# Proposals that wait for your word\n\n")
	for _, p := range w.memory.Proposals {
		word := "Keep"
		if p.Action == agent.ActionRetire {
			word = "End"
		}
		b.WriteString("- " + word + ": " + plain(p.Fact.Text) + "\n")
		if p.Why != "" {
			b.WriteString("  *" + plain(p.Why) + "*\n")
		}
	}
	w.add("proposals", "Proposals", len(w.memory.Proposals), &b)
}
