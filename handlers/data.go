package handlers

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/inventory"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

// DataKeeper knows what lies in the home.
type DataKeeper interface {
	Measure(ctx context.Context) (inventory.Report, error)
	Snapshots() ([]inventory.Snapshot, error)
	DeleteSnapshots(names []string) error
	// Archive prepares everything as one archive. write may be called once; copied is closed afterwards, whether it was or not.
	Archive(ctx context.Context) (write func(ctx context.Context, w io.Writer, at time.Time) error, copied io.Closer, err error)
	// Delete decides that everything goes, and has the server end. What was decided is durable when it returns nil.
	Delete(ctx context.Context) error
}

// Data is Settings → Data: where everything lies, taking it away, deleting it.
type Data struct {
	*Frame
	Keeper DataKeeper
	Home   string
}

const (
	// deleteWord is what the person types to delete everything.
	deleteWord = "delete everything"
	// measureTime bounds how long a page waits for sizes.
	measureTime = 3 * time.Second
	// maxSnapshots bounds how many snapshots one form names.
	maxSnapshots = 1000
)

// Show answers GET /settings/data.
func (h *Data) Show(c echo.Context) error { return h.show(c, http.StatusOK, "") }

func (h *Data) show(c echo.Context, status int, problem string) error {
	frame, err := h.settings(c, "data", "Data")
	if err != nil {
		return err
	}
	page := pages.Data{SettingsFrame: frame, Home: h.Home, Problem: problem}
	if page.Inventory, err = h.inventory(c); err != nil {
		return err
	}
	list, err := h.Keeper.Snapshots()
	if err != nil {
		return err
	}
	for i, s := range list {
		page.Snapshots = append(page.Snapshots, pages.Snapshot{Name: s.Name, Bytes: s.Bytes, Made: s.Made.In(h.Zone), Newest: i == 0})
	}
	return render(c, status, page.Show())
}

// inventory measures what lies in the home, for as long as a page may take.
func (h *Data) inventory(c echo.Context) (pages.Inventory, error) {
	ctx, done := context.WithTimeout(c.Request().Context(), measureTime)
	defer done()
	r, err := h.Keeper.Measure(ctx)
	out := pages.Inventory{Bytes: r.Bytes, Partial: r.Partial}
	for _, name := range r.Foreign {
		out.Foreign = append(out.Foreign, visible(name))
	}
	for _, p := range r.Parts {
		title, note := kindWords(p.Kind)
		part := pages.Part{Title: title, Note: note, Bytes: p.Bytes, Files: p.Files, Share: share(p.Bytes, r.Bytes)}
		for _, e := range p.Where {
			part.Where = append(part.Where, pages.Entry{Name: visible(e.Name), Bytes: e.Bytes})
			if filepath.IsAbs(e.Name) {
				out.Elsewhere = append(out.Elsewhere, visible(e.Name))
			}
		}
		if p.Kind == inventory.Inner {
			part.Where = nil // locks and leftovers say nothing to anybody
		}
		out.Parts = append(out.Parts, part)
	}
	return out, err
}

// share is how much of all a part is, in hundredths, at least one for what is there.
func share(part, all int64) int {
	if part == 0 || all == 0 {
		return 0
	}
	return max(int(part*100/all), 1)
}

// kindWords names a part of the home and says what it is.
func kindWords(k inventory.Kind) (title, note string) {
	switch k {
	case inventory.Database:
		return "Database", "conversations, memory, what tools did; with the log of what was written last"
	case inventory.Attachments:
		return "Attachments", "files given to Ash"
	case inventory.Notes:
		return "Notes", "Markdown"
	case inventory.Workspace:
		return "Workspace", "identity, and the files Ash works on"
	case inventory.Vault:
		return "Vault", "secrets, encrypted"
	case inventory.Settings:
		return "Settings", ""
	case inventory.Logs:
		return "Logs", "who asked the vault for what"
	case inventory.Snapshots:
		return "Snapshots", "older copies of the database"
	case inventory.Inner:
		return "Inner workings", "locks, sockets, the key of this server's cookies"
	}
	return string(k), ""
}

// Export answers POST /settings/data/export with the archive itself.
func (h *Data) Export(c echo.Context) error {
	ctx, at := c.Request().Context(), h.Now().In(h.Zone)
	write, copied, err := h.Keeper.Archive(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = copied.Close() }() // read only, and it has no name
	head := c.Response().Header()
	head.Set(echo.HeaderContentType, "application/gzip")
	head.Set(echo.HeaderContentDisposition, `attachment; filename="`+inventory.ArchiveName(at)+`.tar.gz"`)
	c.Response().WriteHeader(http.StatusOK)
	if err := write(ctx, c.Response(), at); err != nil {
		panic(http.ErrAbortHandler) // it has begun: only a broken connection tells the browser that it is not whole
	}
	return nil
}

// DeleteSnapshots answers POST /settings/data/snapshots: those named.
func (h *Data) DeleteSnapshots(c echo.Context) error {
	if err := ParseForm(c.Request()); err != nil {
		return err
	}
	names := c.Request().PostForm["snapshot"]
	var err error
	if len(names) == 0 || len(names) > maxSnapshots {
		err = agent.Errorf(agent.CodeInvalid, "Choose which snapshots are to go.")
	} else {
		if yes, err := h.sureOf(c, names); err != nil || !yes {
			return err
		}
		err = h.Keeper.DeleteSnapshots(names)
	}
	switch {
	case err != nil && theirs(err) && !ByHTMX(c):
		return h.show(c, http.StatusUnprocessableEntity, agent.PublicOf(err))
	case err != nil:
		return err
	}
	return see(c, "/settings/data")
}

// sureOf asks once more about snapshots that there are. Others are for the keeper to refuse.
func (h *Data) sureOf(c echo.Context, names []string) (bool, error) {
	there, err := h.Keeper.Snapshots()
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(there, func(s inventory.Snapshot) bool { return s.Name == name }) {
			return true, nil
		}
	}
	return h.sure(c, pages.Sure{
		Question: "Delete " + components.Plural(len(names), "snapshot", "snapshots") + " for good?", Yes: "Delete", Back: "/settings/data",
	})
}

// DeleteForm answers GET /settings/data/delete: what goes, what stays, and the word to type.
func (h *Data) DeleteForm(c echo.Context) error { return h.deleteForm(c, http.StatusOK, "", "") }

func (h *Data) deleteForm(c echo.Context, status int, typed, problem string) error {
	frame, err := h.settings(c, "data", "Delete everything")
	if err != nil {
		return err
	}
	page := pages.DeleteEverything{SettingsFrame: frame, Home: h.Home, Word: deleteWord, Typed: typed, Problem: problem}
	if page.Inventory, err = h.inventory(c); err != nil {
		return err
	}
	return render(c, status, page.Show())
}

// Delete answers POST /settings/data/delete with the last page there is.
func (h *Data) Delete(c echo.Context) error {
	typed, err := line(c, "word", 200)
	if err != nil {
		return err
	}
	if !strings.EqualFold(typed, deleteWord) {
		return h.deleteForm(c, http.StatusUnprocessableEntity, typed, "Nothing was deleted. Type the words “"+deleteWord+"” to delete all of it.")
	}
	page := pages.Deleted{Page: layouts.Page{Title: "Deleted", Theme: h.theme()}, Home: h.Home}
	measured, err := h.inventory(c)
	if err != nil {
		return err
	}
	page.Stays = slices.Concat(measured.Elsewhere, measured.Foreign)
	if err := h.Keeper.Delete(c.Request().Context()); err != nil {
		return err
	}
	c.Response().Header().Set("Connection", "close") // the server ends
	return render(c, http.StatusOK, page.Show())
}
