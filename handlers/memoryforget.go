package handlers

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/identity"
	"ash/agent/memory"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// maxTraces bounds the ticked lines of one form.
const maxTraces = 2000

// Forgetter forgets for good, after a time in which it can be taken back. Its place is package memory.
type Forgetter interface {
	// Traces lists what holds the target; it changes nothing.
	Traces(ctx context.Context, t memory.Target) (memory.Traces, error)
	// Forget hides what has one of the keys, at once. CodeConflict while an answer is written there.
	Forget(ctx context.Context, t memory.Target, keys []string) (memory.Forgetting, error)
	// Restore takes it back; CodeNotFound once it is final.
	Restore(ctx context.Context, id agent.ID) error
	// Finish makes it final now.
	Finish(ctx context.Context, id agent.ID) error
	// Forgettings lists what can still be taken back, the oldest first.
	Forgettings(ctx context.Context) ([]memory.Forgetting, error)
}

// ForgetForm answers GET /memory/forget?fact=|message=|thread=: what would go.
func (h *Memory) ForgetForm(c echo.Context) error {
	w, err := forgetTarget(c.QueryParam("fact"), c.QueryParam("message"), c.QueryParam("thread"))
	if err != nil {
		return err
	}
	frame, err := h.plain(c, "Forget", layouts.Memory)
	if err != nil {
		return err
	}
	found, err := h.Forgetter.Traces(c.Request().Context(), w.target)
	if err != nil {
		return forgottenSince(err)
	}
	page := pages.MemoryForget{
		Page: frame, Name: w.name, Value: w.id, More: found.More, Window: "For a while you can take it back on the Memory page.",
	}
	if page.What, page.Back, err = h.forgetWhat(c, w.target); err != nil {
		return err
	}
	page.Groups, err = h.traceGroups(c, found.List, w.key())
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, page.Show())
}

// wanted is what a form asks to have forgotten.
type wanted struct {
	target memory.Target
	name   string // of the field that says so
	id     agent.ID
}

// key names the target itself among the traces: it goes in any case.
func (w wanted) key() string {
	return memory.Trace{Kind: memory.TraceKind(w.name), Ref: string(w.id)}.Key()
}

func forgetTarget(fact, message, thread string) (w wanted, err error) {
	for _, x := range []struct {
		name, value string
		to          *agent.ID
	}{{"fact", fact, &w.target.Fact}, {"message", message, &w.target.Message}, {"thread", thread, &w.target.Thread}} {
		if x.value == "" {
			continue
		}
		if w.name != "" {
			return w, agent.Errorf(agent.CodeInvalid, "One thing at a time can be forgotten.")
		}
		if w.id, err = agent.ParseID(x.value); err != nil {
			return w, err
		}
		w.name, *x.to = x.name, w.id
	}
	if w.name == "" {
		return w, agent.Errorf(agent.CodeNotFound, "It is not said what to forget.")
	}
	return w, nil
}

// forgetWhat is the text of what is to be forgotten, and the page that Keep leads back to.
func (h *Memory) forgetWhat(c echo.Context, t memory.Target) (what, back string, err error) {
	ctx := c.Request().Context()
	switch {
	case t.Fact != "":
		f, err := h.Facts.Fact(ctx, t.Fact)
		return visible(f.Text), components.FactPath(t.Fact), err
	case t.Thread != "":
		s, err := h.Reader.Summary(ctx, t.Thread)
		return "The conversation “" + titled(visible(s.Title)) + "”", chatPath(t.Thread), err
	}
	m, err := h.Reader.Message(ctx, t.Message)
	return visible(agent.Clip(m.Text(), maxCard)), messageURL(m.Thread, m.ID), err
}

// traceGroups puts traces of one kind together. target is the key of what is to be forgotten itself.
func (h *Memory) traceGroups(c echo.Context, list []memory.Trace, target string) ([]pages.TraceGroup, error) {
	p := h.presentMemory(c)
	var said []agent.ID
	for _, t := range list {
		if t.Kind == memory.TraceMessage {
			said = append(said, agent.ID(t.Ref))
		}
	}
	spoke, err := h.voices(c.Request().Context(), said)
	if err != nil {
		return nil, err
	}
	var out []pages.TraceGroup
	for _, k := range traceKinds() {
		g := pages.TraceGroup{Title: k.title, Note: k.note}
		for _, t := range list {
			if t.Kind != k.kind {
				continue
			}
			l, err := p.trace(t, spoke)
			if err != nil {
				return nil, err
			}
			l.Fixed = t.Key() == target
			g.Lines = append(g.Lines, l)
		}
		if len(g.Lines) > 0 {
			out = append(out, g)
		}
	}
	return out, nil
}

// trace presents one place that holds what is to be forgotten.
func (p *memoryPresenter) trace(t memory.Trace, spoke voices) (pages.TraceLine, error) {
	l := pages.TraceLine{Key: t.Key(), Text: visible(agent.Clip(t.Text, maxCard)), Tick: t.Ticked}
	name, said := spoke.of(agent.ID(t.Ref))
	switch {
	case said != "":
		l.Where = said
	case !t.Time.IsZero():
		l.Where = t.Time.In(p.Zone).Format("2 January 2006, 15:04")
	}
	title, err := p.title(t.Thread)
	if err != nil {
		return l, err
	}
	if title != "" {
		if l.Where != "" {
			l.Where += ", "
		}
		l.Where, l.URL = l.Where+"in “"+title+"”", chatPath(t.Thread)
		if l.Text == "" {
			l.Text = title
		}
	}
	switch {
	case t.Kind == memory.TraceMessage && title != "":
		l.URL = messageURL(t.Thread, agent.ID(t.Ref))
		if who := cmp.Or(name, speakers(t.Role)); who != "" {
			l.Where = who + ", " + l.Where
		}
	case t.Kind == memory.TraceFact:
		l.URL = components.FactPath(agent.ID(t.Ref))
	}
	if t.Manual {
		l.Stays, l.URL = "Ash does not change this file: open it and take it out", fileURL(t.Ref)
		l.Where = visible(t.Ref)
	}
	return l, nil
}

func speakers(r agent.Role) string {
	switch r {
	case agent.RoleUser:
		return "You"
	case agent.RoleAssistant:
		return "Ash"
	}
	return ""
}

// fileURL is where a file that the person edits is opened: an identity file, else a note.
func fileURL(path string) string {
	for _, f := range identity.Files() {
		if f == path {
			return "/identity/" + slugOf(f)
		}
	}
	return noteURL(strings.TrimPrefix(path, "notes/"))
}

type traceKind struct {
	kind        memory.TraceKind
	title, note string
}

func traceKinds() []traceKind {
	return []traceKind{
		{memory.TraceThread, "The conversation", "All that was said in it."},
		{memory.TraceFact, "What is remembered, with its history", ""},
		{memory.TraceMessage, "Messages that say it", "The passage is hidden from every later answer, in its own conversation too. Untick what should stay."},
		{memory.TraceEpisode, "What conversations were about", ""},
		{memory.TraceSummary, "Summaries", "Not used again: what they cover is sent as it was said, without it."},
		{memory.TraceTitle, "Titles of conversations", ""},
		{memory.TraceProposal, "Proposals that wait", ""},
		{memory.TraceFile, "Your own files", "Ash shows where it stands; you change them."},
		{memory.TraceVersion, "Earlier versions of SOUL.md, USER.md and TOOLS.md", ""},
		{memory.TraceSnapshot, "Copies of the database", "A copy holds all that was there when it was made. It goes as a whole, or stays as it is."},
	}
}

// Forget answers POST /memory/forget.
func (h *Memory) Forget(c echo.Context) error {
	if err := ParseForm(c.Request()); err != nil {
		return err
	}
	form := c.Request().PostForm
	w, err := forgetTarget(form.Get("fact"), form.Get("message"), form.Get("thread"))
	if err != nil {
		return err
	}
	keys := form["trace"]
	if len(keys) > maxTraces || slices.ContainsFunc(keys, func(k string) bool { return len(k) > 256 }) {
		return agent.Errorf(agent.CodeInvalid, "That is more than can be forgotten at once. Untick some, then forget the rest.")
	}
	_, err = h.Forgetter.Forget(c.Request().Context(), w.target, append(keys, w.key()))
	if agent.CodeOf(err) == agent.CodeNotFound { // pressed twice, or in two tabs: it is gone
		return see(c, "/memory?done=gone")
	}
	if err != nil {
		return err
	}
	return see(c, "/memory")
}

// Unforget answers POST /memory/forgettings/{forgetting}/undo.
func (h *Memory) Unforget(c echo.Context) error {
	id, err := param(c, "forgetting")
	if err != nil {
		return err
	}
	err = h.Forgetter.Restore(c.Request().Context(), id)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return agent.Wrap(agent.CodeNotFound, err, "There is nothing to take back: that was done already, or it is gone for good.")
	}
	if err != nil {
		return err
	}
	return see(c, "/memory")
}

// Finish answers POST /memory/forgettings/{forgetting}/finish.
func (h *Memory) Finish(c echo.Context) error {
	id, err := param(c, "forgetting")
	if err != nil {
		return err
	}
	if err := h.Forgetter.Finish(c.Request().Context(), id); agent.CodeOf(err) != agent.CodeNotFound && err != nil {
		return err
	}
	return see(c, "/memory")
}

// forgotten presents what can still be taken back.
func (h *Memory) forgotten(c echo.Context) ([]pages.Forgotten, error) {
	list, err := h.Forgetter.Forgettings(c.Request().Context())
	if err != nil {
		return nil, err
	}
	var out []pages.Forgotten
	for _, f := range list {
		due := f.Due.In(h.Zone)
		shown := pages.Forgotten{ID: f.ID, What: forgottenWhat(f), Due: due.Format("15:04"), CSRF: Token(c)}
		if due.Sub(h.Now()) > 12*time.Hour {
			shown.Due = due.Format("2 January, 15:04")
		}
		out = append(out, shown)
	}
	return out, nil
}

func forgottenWhat(f memory.Forgetting) string {
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, components.Plural(n, one, many))
		}
	}
	add(len(f.Facts), "memory", "memories")
	add(f.Messages, "passage of a message", "passages of messages")
	add(len(f.Threads), "conversation", "conversations")
	switch len(parts) {
	case 0:
		return "something"
	case 1:
		return parts[0]
	case 2:
		return parts[0] + " and " + parts[1]
	}
	return parts[0] + ", " + parts[1] + " and " + parts[2]
}
