package handlers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/attachment"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// exportSize is how many messages an export holds at most.
const exportSize = 20_000

// Threads is what the person does with a conversation as a whole.
type Threads struct {
	*Frame
	Threads ThreadReader
	Engine  ThreadEngine
	Paths   interface {
		Path(ctx context.Context, head agent.ID, limit int) ([]agent.Message, error)
	}
	Summaries SummaryStore
}

// ThreadEngine changes threads and tells everybody who shows them.
type ThreadEngine interface {
	PatchThread(ctx context.Context, id agent.ID, p agent.ThreadPatch) (agent.Thread, error)
}

// Menu answers GET /chat/{thread}/menu.
func (h *Threads) Menu(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	head := h.present(c).head(t)
	if ByHTMX(c) {
		return render(c, http.StatusOK, components.ThreadMenu(head))
	}
	page, err := h.plain(c, t.Title, layouts.Chat)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, pages.ThreadMenu{Page: page, Head: head}.Show())
}

// Rename answers POST /chat/{thread}/title.
func (h *Threads) Rename(c echo.Context) error {
	title, err := line(c, "title", 200)
	if err != nil {
		return err
	}
	if title == "" {
		return agent.Errorf(agent.CodeInvalid, "A conversation needs a name.")
	}
	by := agent.TitlePerson
	return h.patch(c, agent.ThreadPatch{Title: &title, TitleSource: &by})
}

// Model answers POST /chat/{thread}/model: the model for what is said from here on.
func (h *Threads) Model(c echo.Context) error {
	model, err := line(c, "model", 200)
	if err != nil {
		return err
	}
	return h.patch(c, agent.ThreadPatch{Model: &model})
}

// Pin answers POST /chat/{thread}/pin.
func (h *Threads) Pin(c echo.Context) error {
	yes, err := flag(c, "pinned")
	if err != nil {
		return err
	}
	return h.patch(c, agent.ThreadPatch{Pinned: &yes})
}

// Archive answers POST /chat/{thread}/archive.
func (h *Threads) Archive(c echo.Context) error {
	yes, err := flag(c, "archived")
	if err != nil {
		return err
	}
	return h.patch(c, agent.ThreadPatch{Archived: &yes})
}

// patch changes the thread in the address and answers. Pages learn of the change over the
// stream; the answer repeats it for the page that asked, where it is keyed by id.
func (h *Threads) patch(c echo.Context, p agent.ThreadPatch) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	if t, err = h.Engine.PatchThread(c.Request().Context(), t.ID, p); err != nil {
		return err
	}
	if !ByHTMX(c) {
		return see(c, chatPath(t.ID))
	}
	if p.Archived == nil {
		return c.NoContent(http.StatusNoContent)
	}
	notice := components.Notice{Kind: components.NoticeOK, Text: "Taken out of the archive."}
	if *p.Archived {
		notice.Text = "Archived."
		notice.Undo = &components.Undo{Label: "Undo", Action: chatPath(t.ID) + "/archive", Name: "archived", Value: "0", CSRF: Token(c)}
	}
	return render(c, http.StatusOK, components.StreamThreadGone(t.ID), components.StreamNotice(notice))
}

// Delete answers POST /chat/{thread}/delete. A deleted conversation can be brought
// back until it is purged.
func (h *Threads) Delete(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	yes := true
	if _, err := h.Engine.PatchThread(c.Request().Context(), t.ID, agent.ThreadPatch{Deleted: &yes}); err != nil {
		return err
	}
	if ByHTMX(c) && !shows(c, t.ID) {
		return render(c, http.StatusOK, components.StreamThreadGone(t.ID), components.StreamNotice(deletedNotice(t.ID, Token(c))))
	}
	return see(c, "/chat?deleted="+string(t.ID))
}

// Restore answers POST /chat/{thread}/restore.
func (h *Threads) Restore(c echo.Context) error {
	id, err := param(c, "thread")
	if err != nil {
		return err
	}
	no := false
	if _, err := h.Engine.PatchThread(c.Request().Context(), id, agent.ThreadPatch{Deleted: &no}); err != nil {
		return err
	}
	return see(c, chatPath(id))
}

func deletedNotice(id agent.ID, token string) components.Notice {
	return components.Notice{
		Kind: components.NoticeOK, Text: "Conversation deleted.",
		Undo: &components.Undo{Label: "Undo", Action: chatPath(id) + "/restore", CSRF: token},
	}
}

// shows reports whether the page that asks is the thread's own.
func shows(c echo.Context, id agent.ID) bool {
	u, err := url.Parse(c.Request().Header.Get("HX-Current-URL"))
	return err == nil && u.Path == chatPath(id)
}

// flag reads a field that is "1" or "0".
func flag(c echo.Context, field string) (bool, error) {
	s, err := line(c, field, 8)
	if err == nil && s != "0" && s != "1" {
		err = agent.Errorf(agent.CodeInvalid, "The form is incomplete. Reload the page and try again.")
	}
	return s == "1", err
}

// Export answers GET /chat/{thread}/export: the conversation as Markdown.
func (h *Threads) Export(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	var path []agent.Message
	if t.Head != "" {
		if path, err = h.Paths.Path(c.Request().Context(), t.Head, exportSize); err != nil {
			return err
		}
	}
	title := t.Title
	if title == "" {
		title = "Conversation"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", title)
	if len(path) == exportSize {
		fmt.Fprintf(&b, "\n*The last %d messages.*\n", exportSize)
	}
	ids := make([]agent.ID, len(path))
	for i, m := range path {
		ids[i] = m.ID
	}
	spoke, err := h.voices(c.Request().Context(), ids)
	if err != nil {
		return err
	}
	for _, m := range path {
		writeMarkdown(&b, m, spoke, h.present(c))
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentDisposition, disposition("attachment", attachment.CleanName(title+".md")))
	return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", []byte(b.String()))
}

// writeMarkdown writes one message: who, when, the words, and the names of files
// and tools. Reasoning is left out.
func writeMarkdown(b *strings.Builder, m agent.Message, spoke voices, p presenter) {
	who := "You"
	if m.Role == agent.RoleAssistant {
		who = "Ash"
		if m.Model.Name != "" {
			who += " (" + m.Model.String() + ")"
		}
	}
	when := p.at(m.Created).Format("2 January 2006, 15:04")
	if name, said := spoke.of(m.ID); name != "" || said != "" {
		who, when = cmp.Or(name, who), cmp.Or(said, when)
	}
	fmt.Fprintf(b, "\n## %s, %s\n\n", who, when)
	for _, f := range p.files(m.Parts) {
		fmt.Fprintf(b, "- attached: %s (%s)\n", f.Name, components.Bytes(f.Size))
	}
	for _, call := range m.Calls {
		fmt.Fprintf(b, "- used %s: %s\n", call.Name, call.State)
	}
	if words := m.Text(); words != "" {
		b.WriteString(words + "\n")
	}
	if m.Error != nil {
		fmt.Fprintf(b, "\n*%s*\n", m.Error.Public)
	}
}
