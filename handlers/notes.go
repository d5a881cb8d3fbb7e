package handlers

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/identity"
	"ash/agent/memory/notes"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	notesPage      = 100 // entries of a folder on a page
	trashShown     = 20
	backlinksShown = 50
	maxNote        = 800 // characters of a path
)

// Notes are the pages of the person's Markdown notes.
type Notes struct {
	*Frame
	Folder  NoteFolder
	Beside  NoteBeside
	Waiting func(ctx context.Context) (int, error) // proposals, for the tab; nil: none
}

// NoteFolder keeps the notes as files. Its place is package notes.
type NoteFolder interface {
	List(ctx context.Context, folder, after string, limit int) (page []notes.Entry, more bool, err error)
	// Read returns a note as it is now; one that is not there is Missing.
	Read(ctx context.Context, name string) (notes.Note, error)
	// Save is CodeConflict with a *notes.Conflict inside when the note is not what the text was made from.
	Save(ctx context.Context, d notes.Draft) (notes.Note, error)
	Rename(ctx context.Context, from, to, base string) (notes.Renamed, error)
	Delete(ctx context.Context, name, base string) (notes.Trashed, error)
	Restore(ctx context.Context, id agent.ID) (notes.Note, error)
}

// NoteBeside is what stands beside the notes.
type NoteBeside interface {
	NoteLinks
	NoteOrigins
}

// NoteLinks knows what leads where, and what was deleted.
type NoteLinks interface {
	Backlinks(ctx context.Context, name string) ([]string, error)
	// Resolve returns the note that a wiki link's target means, CodeNotFound for none.
	Resolve(ctx context.Context, target string) (string, error)
	Trash(ctx context.Context, limit int) ([]notes.Trashed, error)
	// Purge removes a deleted note for good.
	Purge(ctx context.Context, id agent.ID) error
}

// NoteOrigins knows whose words notes are.
type NoteOrigins interface {
	// Whose returns what was declared of a folder.
	Whose(ctx context.Context, folder string) (notes.Whose, error)
	// Own declares that a folder's notes are the person's.
	Own(ctx context.Context, folder string) error
	// Import declares that they come from elsewhere.
	Import(ctx context.Context, folder, source string) error
	// Vouch makes a note the person's own as it is now.
	Vouch(ctx context.Context, name, hash string) error
}

// List answers GET /memory/notes?folder=.
func (h *Notes) List(c echo.Context) error {
	ctx := c.Request().Context()
	frame, err := h.plain(c, "Notes", layouts.Memory)
	if err != nil {
		return err
	}
	folder := strings.Trim(c.QueryParam("folder"), "/")
	page := pages.Notes{Page: frame, Folder: folder, Title: brief(path.Base(folder)), Later: c.QueryParam("after") != "", Counts: map[pages.MemoryTab]int{}}
	page.Crumbs = noteCrumbs(folder)
	list, more, err := h.Folder.List(ctx, folder, c.QueryParam("after"), notesPage)
	if err != nil {
		return err
	}
	for _, e := range list {
		page.Items = append(page.Items, h.noteRow(e))
	}
	if more && len(list) > 0 {
		page.Next = further(c, list[len(list)-1].Path)
	}
	if page.Whose, err = h.whose(ctx, folder); err != nil {
		return err
	}
	page.Whose.Asks = page.Whose.Unknown && slices.ContainsFunc(page.Items, func(r pages.NoteRow) bool { return r.Unvouched })
	if h.Waiting != nil {
		n, err := h.Waiting(ctx)
		if err != nil {
			return err
		}
		page.Counts[pages.TabWaiting] = n
	}
	gone, err := h.Beside.Trash(ctx, trashShown)
	if err != nil {
		return err
	}
	for _, g := range gone {
		shown := pages.NoteGone{ID: g.ID, Path: visible(g.Path), When: "deleted " + waited(h.Now().Sub(g.Deleted)), CSRF: Token(c)}
		if string(g.ID) == c.QueryParam("deleted") {
			page.Deleted = &shown
		}
		page.Trash = append(page.Trash, shown)
	}
	return render(c, http.StatusOK, page.Show())
}

func (h *Notes) noteRow(e notes.Entry) pages.NoteRow {
	r := pages.NoteRow{Path: e.Path, Name: visible(e.Name), Folder: e.Folder, Problem: visible(e.Problem), Outside: e.Labels.Untrusted(), Unvouched: notes.Unvouched(e.Path, e.Labels)}
	if e.Folder {
		return r
	}
	r.When, r.Size = e.Modified.In(h.Zone).Format("2 Jan 2006"), components.Bytes(e.Size)
	if !strings.EqualFold(e.Title, e.Name) {
		r.Title = visible(agent.Clip(e.Title, 160))
	}
	return r
}

// briefly is how many characters of a name stand in a heading; the whole is below it, or in the list.
const briefly = 90

// brief is a name for a heading.
func brief(name string) string {
	if runes := []rune(name); len(runes) > briefly {
		name = strings.TrimSpace(string(runes[:briefly-1])) + "…"
	}
	return visible(name)
}

// noteCrumbs are the folders above one, the top first; none above the top.
func noteCrumbs(folder string) []pages.Choice {
	if folder == "" || folder == "." {
		return nil
	}
	out := []pages.Choice{{Title: "Notes"}}
	for i, r := range folder {
		if r == '/' {
			out = append(out, pages.Choice{Value: folder[:i], Title: brief(path.Base(folder[:i]))})
		}
	}
	return out
}

// New answers POST /memory/notes/new: an empty note, open in the editor.
func (h *Notes) New(c echo.Context) error {
	name, err := line(c, "name", maxNote)
	if err != nil {
		return err
	}
	folder, err := line(c, "folder", maxNote)
	if err != nil {
		return err
	}
	file, err := notes.Path(path.Join(folder, strings.Trim(name, "/")))
	if err != nil {
		return err
	}
	heading := strings.TrimSuffix(path.Base(file), path.Ext(file))
	_, err = h.Folder.Save(c.Request().Context(), notes.Draft{Path: file, Text: "# " + heading + "\n\n"})
	var there *notes.Conflict
	if err != nil && !errors.As(err, &there) { // one of that name is opened
		return err
	}
	return see(c, pages.NoteURL(file))
}

// Show answers GET /memory/notes/file?path=.
func (h *Notes) Show(c echo.Context) error {
	note, err := h.Folder.Read(c.Request().Context(), c.QueryParam("path"))
	if err != nil {
		return err
	}
	if note.Missing {
		return agent.Errorf(agent.CodeNotFound, "There is no note of that name. It may have been deleted or moved in another editor.")
	}
	page, err := h.editor(c, note)
	if err != nil {
		return err
	}
	page.Saved = c.QueryParam("saved") == "1"
	if n, err := strconv.Atoi(c.QueryParam("unlinked")); err == nil && n > 0 {
		page.Unlinked = n
	}
	return render(c, http.StatusOK, page.Show())
}

// editor is the page of a note.
func (h *Notes) editor(c echo.Context, n notes.Note) (pages.Note, error) {
	title := brief(n.Title)
	if title == "" {
		title = brief(strings.TrimSuffix(path.Base(n.Path), path.Ext(n.Path)))
	}
	frame, err := h.plain(c, title, layouts.Memory)
	if err != nil {
		return pages.Note{}, err
	}
	page := pages.Note{
		Page: frame, Path: n.Path, Name: brief(path.Base(n.Path)), Title: title, Text: n.Text, Base: n.Hash, Preview: h.notePreview(n.Text), Size: components.Bytes(n.Size),
		MaxLength: notes.MaxText, Problem: visible(n.Problem), Missing: n.Missing, Sources: strangers(n.Labels), Unvouched: notes.Unvouched(n.Path, n.Labels),
		Crumbs: append([]pages.Choice{{Title: "Notes"}}, folderCrumbs(n.Path)...),
	}
	if !n.Modified.IsZero() {
		page.Changed = "Changed " + n.Modified.In(h.Zone).Format("2 January 2006, 15:04")
	}
	switch {
	case n.Cut:
		page.Fixed = "Only the beginning of this note is shown: it is too long to be edited here. Use another editor."
	case n.Immutable:
		page.Fixed = "Saving it here would lose a part of it. Use another editor."
	}
	if n.Missing {
		return page, nil
	}
	links, err := h.Beside.Backlinks(c.Request().Context(), n.Path)
	page.Backlinks = links[:min(len(links), backlinksShown)]
	page.MoreLinks = len(links) - len(page.Backlinks)
	return page, err
}

// folderCrumbs are the folders a note stands in, below the top.
func folderCrumbs(file string) []pages.Choice {
	dir := path.Dir(file)
	if dir == "." {
		return nil
	}
	above := noteCrumbs(dir)
	return append(above[1:], pages.Choice{Value: dir, Title: brief(path.Base(dir))})
}

// Save answers POST /memory/notes/file. Whoever saves second gets both texts and decides.
func (h *Notes) Save(c echo.Context) error {
	f, err := noteForm(c)
	if err != nil {
		return err
	}
	words, err := text(c, "text")
	if err != nil {
		return err
	}
	again := c.FormValue("again") == "1"
	_, err = h.Folder.Save(c.Request().Context(), notes.Draft{Path: f.path, Base: f.base, Text: words, Again: again})
	var conflict *notes.Conflict
	switch {
	case errors.As(err, &conflict):
		return h.conflict(c, words, conflict.Current)
	case err != nil:
		return h.refused(c, f, words, again, err)
	}
	return see(c, pages.NoteURL(f.path)+"&saved=1")
}

// refused shows the editor again with the text that could not be saved, so that it is not lost.
func (h *Notes) refused(c echo.Context, f noteFields, words string, again bool, cause error) error {
	status := http.StatusServiceUnavailable
	switch agent.CodeOf(cause) {
	case agent.CodeInvalid:
		status = http.StatusUnprocessableEntity
	case agent.CodeExhausted:
		status = http.StatusInsufficientStorage
	case agent.CodeConflict:
		status = http.StatusConflict
	case agent.CodeUnavailable, agent.CodeLocked:
	default:
		return cause
	}
	now, err := h.Folder.Read(c.Request().Context(), f.path)
	if err != nil {
		now = notes.Note{Path: f.path, Missing: true}
	}
	page, err := h.editor(c, now)
	if err != nil {
		return errors.Join(cause, err)
	}
	page.Text, page.Base, page.Preview, page.Fixed, page.Saved = words, f.base, h.notePreview(words), "", false
	page.Again, page.Unsaved, page.Refused = again, true, agent.PublicOf(cause)
	return render(c, status, page.Show())
}

// State answers GET /memory/notes/state?path=&base=: nothing while the note is what the editor was opened with, otherwise what became of it.
func (h *Notes) State(c echo.Context) error {
	now, err := h.Folder.Read(c.Request().Context(), c.QueryParam("path"))
	if agent.CodeOf(err) == agent.CodeUnavailable { // it is being written: the page asks again
		return c.NoContent(http.StatusNoContent)
	}
	if err != nil {
		return err
	}
	if now.Hash == c.QueryParam("base") {
		return c.HTML(http.StatusOK, "")
	}
	return render(c, http.StatusOK, pages.NoteNow(now.Path, now.Missing, now.Modified.In(h.Zone)))
}

// conflict shows the stored text beside the one that could not be saved.
func (h *Notes) conflict(c echo.Context, mine string, theirs notes.Note) error {
	page, err := h.editor(c, theirs)
	if err != nil {
		return err
	}
	page.Gone, page.Again, page.Unsaved = theirs.Missing, theirs.Missing, true
	there, err := clean(theirs.Text) // with line ends as forms have them: else every line would differ
	if err != nil {
		return err
	}
	page.Conflict = &pages.Conflict{
		Mine: mine, Theirs: there, Base: theirs.Hash, At: theirs.Modified.In(h.Zone), Lines: diffLines(identity.Compare(there, mine)),
	}
	page.Text, page.Preview = mine, h.notePreview(mine)
	return render(c, http.StatusConflict, page.Show())
}

// noteFields are the fields that every form of a note has.
type noteFields struct{ path, base string }

func noteForm(c echo.Context) (f noteFields, err error) {
	if f.path, err = text(c, "path"); err != nil {
		return f, err
	}
	f.base, err = line(c, "base", 64)
	return f, err
}

// Preview answers POST /memory/notes/preview.
func (h *Notes) Preview(c echo.Context) error {
	words, err := text(c, "text")
	if err != nil {
		return err
	}
	return c.HTML(http.StatusOK, h.notePreview(words))
}

// Rename answers POST /memory/notes/rename.
func (h *Notes) Rename(c echo.Context) error {
	f, err := noteForm(c)
	if err != nil {
		return err
	}
	to, err := line(c, "to", maxNote)
	if err != nil {
		return err
	}
	if to, err = notes.Path(strings.Trim(to, "/")); err != nil {
		return err
	}
	if to == f.path {
		return see(c, pages.NoteURL(to))
	}
	done, err := h.Folder.Rename(c.Request().Context(), f.path, to, f.base)
	if err != nil {
		return err
	}
	back := pages.NoteURL(to)
	if n := len(done.Failed); n > 0 {
		back += "&unlinked=" + strconv.Itoa(n)
	}
	return see(c, back)
}

// Link answers GET /memory/notes/link?to=: what a wiki link means.
func (h *Notes) Link(c echo.Context) error {
	to, err := clean(c.QueryParam("to"))
	if err != nil {
		return err
	}
	file, err := h.Beside.Resolve(c.Request().Context(), agent.Clip(to, maxNote))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, pages.NoteURL(file))
}
