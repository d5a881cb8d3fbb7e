package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/identity"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	versionsShown = 50 // in the history
	diffContext   = 3  // unchanged lines kept around a change
)

// Identity edits SOUL.md, USER.md and TOOLS.md.
type Identity struct {
	*Frame
	Book   IdentityBook
	Tokens func(string) int // estimates the length of a text
}

// IdentityBook keeps the files and their versions.
type IdentityBook interface {
	Read(ctx context.Context, file string) (identity.Document, error)
	Save(ctx context.Context, file, base, text string) (identity.Version, error)
	Restore(ctx context.Context, id agent.ID, base string) (identity.Version, error)
	History(ctx context.Context, file string, limit int) ([]identity.Version, error)
	Version(ctx context.Context, id agent.ID) (identity.Version, error)
}

// Show answers GET /identity/{slug}.
func (h *Identity) Show(c echo.Context) error {
	page, err := h.editor(c)
	if err != nil {
		return err
	}
	page.Saved = c.QueryParam("saved") == "1"
	return render(c, http.StatusOK, page.Show())
}

// Save answers POST /identity/{slug}. Whoever saves second gets both texts and decides.
func (h *Identity) Save(c echo.Context) error {
	file, err := identityFile(c)
	if err != nil {
		return err
	}
	words, err := text(c, "text")
	if err != nil {
		return err
	}
	base, err := line(c, "base", 64)
	if err != nil {
		return err
	}
	_, err = h.Book.Save(c.Request().Context(), file, base, words)
	var conflict *identity.Conflict
	if errors.As(err, &conflict) {
		return h.conflict(c, words, conflict.Current)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, c.Request().URL.Path+"?saved=1")
}

// conflict shows the stored text beside the one that could not be saved.
func (h *Identity) conflict(c echo.Context, mine string, theirs identity.Document) error {
	page, err := h.editor(c)
	if err != nil {
		return err
	}
	found := &pages.Conflict{
		Mine: mine, Theirs: theirs.Text, Base: theirs.Hash, At: theirs.Modified.In(h.Zone),
		Source: "another editor", Lines: diffLines(identity.Compare(theirs.Text, mine)),
	}
	if len(page.History) > 0 && page.History[0].Source != sourceWords(identity.SourceOutside) {
		found.Source = "another tab"
	}
	page.Conflict, page.Text, page.Base = found, mine, theirs.Hash
	page.Preview = h.Markdown.HTML("preview", mine)
	page.Tokens = h.Tokens(mine)
	return render(c, http.StatusConflict, page.Show())
}

// Preview answers POST /identity/{slug}/preview.
func (h *Identity) Preview(c echo.Context) error {
	if _, err := identityFile(c); err != nil {
		return err
	}
	words, err := text(c, "text")
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, pages.PreviewFragment(h.Markdown.HTML("preview", words), h.Tokens(words), 0))
}

// Version answers GET /identity/{slug}/versions/{version}: what has changed since.
func (h *Identity) Version(c echo.Context) error {
	v, err := h.version(c, c.Param("version"))
	if err != nil {
		return err
	}
	page, err := h.editor(c)
	if err != nil {
		return err
	}
	page.Diff = &pages.Diff{Version: h.presentVersion(v), Lines: diffLines(identity.Compare(v.Text, page.Text))}
	if ByHTMX(c) {
		return render(c, http.StatusOK, pages.DiffView(page.File.Slug, *page.Diff, Token(c)))
	}
	return render(c, http.StatusOK, page.Show())
}

// Restore answers POST /identity/{slug}/restore. What is there now stays in the history, so
// nothing can be lost by it.
func (h *Identity) Restore(c echo.Context) error {
	id, err := line(c, "version", 64)
	if err != nil {
		return err
	}
	v, err := h.version(c, id)
	if err != nil {
		return err
	}
	now, err := h.Book.Read(c.Request().Context(), v.File)
	if err != nil {
		return err
	}
	if _, err := h.Book.Restore(c.Request().Context(), v.ID, now.Hash); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/identity/"+slugOf(v.File)+"?saved=1")
}

// version reads a version of the file in the address.
func (h *Identity) version(c echo.Context, raw string) (identity.Version, error) {
	file, err := identityFile(c)
	if err != nil {
		return identity.Version{}, err
	}
	id, err := agent.ParseID(raw)
	if err != nil {
		return identity.Version{}, err
	}
	v, err := h.Book.Version(c.Request().Context(), id)
	if err == nil && v.File != file {
		err = agent.Errorf(agent.CodeNotFound, "There is no such version of %s.", file)
	}
	return v, err
}

// editor is the page of the file in the address.
func (h *Identity) editor(c echo.Context) (pages.Identity, error) {
	ctx := c.Request().Context()
	file, err := identityFile(c)
	if err != nil {
		return pages.Identity{}, err
	}
	doc, err := h.Book.Read(ctx, file)
	if err != nil {
		return pages.Identity{}, err
	}
	history, err := h.Book.History(ctx, file, versionsShown)
	if err != nil {
		return pages.Identity{}, err
	}
	frame, err := h.plain(c, file, layouts.Settings)
	if err != nil {
		return pages.Identity{}, err
	}
	page := pages.Identity{
		Page: frame, File: identityCard(file), Text: doc.Text, Base: doc.Hash,
		Preview: h.Markdown.HTML("preview", doc.Text), Tokens: doc.Tokens, MaxLength: identity.MaxSize,
	}
	switch {
	case doc.Problem != "":
		page.Notices = append(page.Notices, components.Notice{Kind: components.NoticeError, Text: doc.Problem})
	case doc.Missing:
		page.Notices = append(page.Notices, components.Notice{Kind: components.NoticeInfo, Text: file + " was deleted outside of Ash. Saving writes it again."})
	}
	for _, f := range identity.Files() {
		page.Files = append(page.Files, identityCard(f))
	}
	for i, v := range history {
		shown := h.presentVersion(v)
		shown.Current = i == 0 && v.Hash == doc.Hash
		page.History = append(page.History, shown)
	}
	return page, nil
}

func (h *Identity) presentVersion(v identity.Version) pages.Version {
	return pages.Version{ID: v.ID, Created: v.Created.In(h.Zone), Source: sourceWords(v.Source), Size: v.Size}
}

func sourceWords(s identity.Source) string {
	switch s {
	case identity.SourceDefault:
		return "as delivered"
	case identity.SourcePage:
		return "saved here"
	case identity.SourceOutside:
		return "changed in another editor"
	case identity.SourceRestore:
		return "restored"
	}
	return string(s)
}

// diffLines presents a comparison; long runs of unchanged lines become a gap.
func diffLines(all []identity.Line) []components.DiffLine {
	near := make([]bool, len(all))
	for i, l := range all {
		if l.Op != identity.Equal {
			for j := max(i-diffContext, 0); j <= min(i+diffContext, len(all)-1); j++ {
				near[j] = true
			}
		}
	}
	var out []components.DiffLine
	for i, l := range all {
		switch {
		case near[i]:
			out = append(out, components.DiffLine{Op: diffOp(l.Op), Text: l.Text, Old: l.Old, New: l.New})
		case i == 0 || near[i-1]:
			out = append(out, components.DiffLine{Op: components.DiffGap, Text: "…"})
		}
	}
	return out
}

func diffOp(op identity.Op) components.DiffOp {
	switch op {
	case identity.Insert:
		return components.DiffAdded
	case identity.Delete:
		return components.DiffRemoved
	}
	return components.DiffSame
}

// identityFile returns the file that the address names by its slug.
func identityFile(c echo.Context) (string, error) {
	for _, f := range identity.Files() {
		if slugOf(f) == c.Param("slug") {
			return f, nil
		}
	}
	return "", agent.Errorf(agent.CodeNotFound, "There is no identity file of that name.")
}

func slugOf(file string) string { return strings.ToLower(strings.TrimSuffix(file, ".md")) }

func identityCard(file string) pages.IdentityFile {
	card := pages.IdentityFile{Slug: slugOf(file), Name: file}
	switch file {
	case identity.Soul:
		card.Purpose = "Who Ash is: its character, its voice, what it holds to."
	case identity.User:
		card.Purpose = "Who you are: what Ash should always know about you."
	case identity.Tools:
		card.Purpose = "How Ash is to work: conventions for tools, places and habits."
	}
	return card
}
