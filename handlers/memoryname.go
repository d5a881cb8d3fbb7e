package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/memory"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	maxName    = 120 // bytes of a name
	maxAliases = 40  // of one entity
)

// EntityBook changes what somebody or something is called. Facts, links and index follow at once.
type EntityBook interface {
	// EntityNamed returns the entity with a name or alias, ignoring case. CodeNotFound.
	EntityNamed(ctx context.Context, owner agent.ID, name string) (agent.Entity, error)
	// SaveEntity changes name, kind and aliases. CodeConflict when another entity has the name.
	SaveEntity(ctx context.Context, e agent.Entity) error
	// MergeEntities makes one of two: facts, name and aliases of other go to into. It cannot be taken back.
	MergeEntities(ctx context.Context, into, other agent.ID) error
}

// NameForm answers GET /memory/entities/{entity}/edit, as a sheet or as a page.
func (h *Memory) NameForm(c echo.Context) error {
	e, err := h.entity(c)
	if err != nil {
		return err
	}
	form := pages.EntityForm{
		About: about(e), Kind: e.Kind, Name: e.Name, Aliases: strings.Join(e.Aliases, "\n"), Seen: seenEntity(e), CSRF: Token(c),
	}
	if ByHTMX(c) {
		return render(c, http.StatusOK, form.Sheet())
	}
	return h.nameForm(c, http.StatusOK, form)
}

func (h *Memory) nameForm(c echo.Context, status int, form pages.EntityForm) error {
	frame, err := h.plain(c, "Name and kind", layouts.Memory)
	if err != nil {
		return err
	}
	return render(c, status, pages.MemoryName{Page: frame, EntityForm: form}.Show())
}

// entity reads the entity in the address.
func (h *Memory) entity(c echo.Context) (agent.Entity, error) {
	id, err := param(c, "entity")
	if err != nil {
		return agent.Entity{}, err
	}
	return h.Entities.Entity(c.Request().Context(), id)
}

func about(e agent.Entity) components.About {
	return components.About{ID: e.ID, Name: visible(e.Name)}
}

// seenEntity carries through a form what it would change.
func seenEntity(e agent.Entity) string {
	return strings.Join(append([]string{string(e.Kind), e.Name}, e.Aliases...), "\n")
}

// Rename answers POST /memory/entities/{entity}/edit. What cannot be kept stays in the form; a name that
// somebody else has leads to the question whether the two are one.
func (h *Memory) Rename(c echo.Context) error {
	e, err := h.entity(c)
	if err != nil {
		return err
	}
	form, err := readName(c, e)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	next, other, err := h.renamed(ctx, e, form)
	if err == nil && other != "" {
		return see(c, mergePath(e.ID, other))
	}
	if err == nil {
		err = h.Names.SaveEntity(ctx, next)
	}
	switch agent.CodeOf(err) {
	case agent.CodeInvalid, agent.CodeConflict:
		form.Problem, form.Seen = agent.PublicOf(err), seenEntity(e)
		form.Name, form.Aliases = h.Redact(form.Name), h.Redact(form.Aliases)
		return h.nameForm(c, http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	return see(c, components.EntityPath(e.ID)+"?done=renamed")
}

func readName(c echo.Context, e agent.Entity) (pages.EntityForm, error) {
	form := pages.EntityForm{About: about(e), CSRF: Token(c)}
	name, err := text(c, "name")
	if err != nil {
		return form, err
	}
	kind, err := line(c, "kind", 20)
	if err != nil {
		return form, err
	}
	if form.Aliases, err = text(c, "aliases"); err != nil {
		return form, err
	}
	if form.Seen, err = text(c, "seen"); err != nil {
		return form, err
	}
	form.Name, form.Kind = onOneLine(name), agent.EntityKind(kind)
	return form, nil
}

// renamed returns the entity as a form wants it, or which other one has the name already. The old name goes on to find it.
// Errors: CodeInvalid, CodeConflict when the form shows what is no longer so.
func (h *Memory) renamed(ctx context.Context, e agent.Entity, form pages.EntityForm) (next agent.Entity, other agent.ID, err error) {
	if form.Seen != seenEntity(e) {
		return next, "", agent.Errorf(agent.CodeConflict, "This was changed elsewhere meanwhile. Yours stands in the form: save it if it should count.")
	}
	switch form.Kind {
	case agent.EntityPerson, agent.EntityPlace, agent.EntityProject, agent.EntityThing:
	default:
		return next, "", agent.Errorf(agent.CodeInvalid, "Choose what it is: a person, a place, a project or a thing.")
	}
	next = agent.Entity{ID: e.ID, Kind: form.Kind, Name: form.Name}
	if memory.FoldName(next.Name) == "" || len(next.Name) > maxName {
		return next, "", agent.Errorf(agent.CodeInvalid, "A name has 1 to %d bytes.", maxName)
	}
	if other, err = h.bearer(ctx, e.ID, next.Name); err != nil || other != "" {
		return next, other, err
	}
	next.Aliases, err = h.aliases(ctx, e, form)
	return next, "", err
}

// bearer returns which other entity goes by a name; "" when none does.
func (h *Memory) bearer(ctx context.Context, self agent.ID, name string) (agent.ID, error) {
	found, err := h.Names.EntityNamed(ctx, h.Owner, name)
	if agent.CodeOf(err) == agent.CodeNotFound || err == nil && found.ID == self {
		return "", nil
	}
	return found.ID, err
}

// aliases reads other names, one a line, with the name it had.
func (h *Memory) aliases(ctx context.Context, e agent.Entity, form pages.EntityForm) ([]string, error) {
	has := []string{memory.FoldName(form.Name)}
	var out []string
	for alias := range strings.SplitSeq(form.Aliases+"\n"+e.Name, "\n") {
		alias = onOneLine(alias)
		fold := memory.FoldName(alias)
		if fold == "" || slices.Contains(has, fold) {
			continue
		}
		if len(alias) > maxName || len(out) == maxAliases {
			return nil, agent.Errorf(agent.CodeInvalid, "There may be %d other names, each of at most %d bytes.", maxAliases, maxName)
		}
		other, err := h.bearer(ctx, e.ID, alias)
		if err != nil {
			return nil, err
		}
		if other != "" {
			return nil, agent.Errorf(agent.CodeInvalid, "Somebody or something else goes by “%s”. If they are one, merge them instead.", alias)
		}
		has, out = append(has, fold), append(out, alias)
	}
	return out, h.keepable(append(out, form.Name)...)
}

func mergePath(id, other agent.ID) string {
	return components.EntityPath(id) + "/merge?with=" + url.QueryEscape(string(other))
}

// MergeForm answers GET /memory/entities/{entity}/merge?with=: which two would be one, and what happens to each. with is a name or
// an id.
func (h *Memory) MergeForm(c echo.Context) error {
	e, err := h.entity(c)
	if err != nil {
		return err
	}
	name, err := clean(c.QueryParam("with"))
	if err != nil {
		return err
	}
	other, err := h.mergeable(c.Request().Context(), e, onOneLine(name))
	switch agent.CodeOf(err) {
	case agent.CodeInvalid, agent.CodeNotFound:
		form := pages.EntityForm{
			About: about(e), Kind: e.Kind, Name: e.Name, Aliases: strings.Join(e.Aliases, "\n"), Seen: seenEntity(e), CSRF: Token(c),
			With: agent.Clip(onOneLine(name), maxName), MergeProblem: agent.PublicOf(err),
		}
		return h.nameForm(c, http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	frame, err := h.plain(c, "Merge", layouts.Memory)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, pages.MemoryMerge{Page: frame, One: entityRow(e), Other: entityRow(other)}.Show())
}

// mergeable finds the other one of two. CodeInvalid, CodeNotFound.
func (h *Memory) mergeable(ctx context.Context, e agent.Entity, name string) (agent.Entity, error) {
	if name == "" {
		return agent.Entity{}, agent.Errorf(agent.CodeInvalid, "Say by which other name it is known.")
	}
	other, err := h.Entities.Entity(ctx, agent.ID(name))
	if agent.CodeOf(err) == agent.CodeNotFound {
		other, err = h.Names.EntityNamed(ctx, h.Owner, name)
	}
	switch {
	case agent.CodeOf(err) == agent.CodeNotFound:
		return other, agent.Wrap(agent.CodeNotFound, err, "Nobody and nothing is known by the name “%s”. If it is only another name, add it above.", agent.Clip(name, maxName))
	case err == nil && other.ID == e.ID:
		return other, agent.Errorf(agent.CodeInvalid, "“%s” is one already.", agent.Clip(name, maxName))
	}
	return other, err
}

// Merge answers POST /memory/entities/{entity}/merge: one of the two goes on under the name that was chosen.
func (h *Memory) Merge(c echo.Context) error {
	one, err := param(c, "entity")
	if err != nil {
		return err
	}
	with, err := line(c, "with", 64)
	if err != nil {
		return err
	}
	other, err := agent.ParseID(with)
	if err != nil {
		return err
	}
	keep, err := line(c, "keep", 64)
	if err != nil {
		return err
	}
	switch agent.ID(keep) {
	case one:
	case other:
		one, other = other, one
	default:
		return agent.Errorf(agent.CodeInvalid, "Choose the name that stays.")
	}
	err = h.Names.MergeEntities(c.Request().Context(), one, other)
	if agent.CodeOf(err) == agent.CodeNotFound { // sent twice: the first has done it
		if _, err := h.Entities.Entity(c.Request().Context(), one); err != nil {
			return err
		}
		return see(c, components.EntityPath(one))
	}
	if err != nil {
		return err
	}
	return see(c, components.EntityPath(one)+"?done=merged")
}

func entityDone(what string) string {
	switch what {
	case "renamed":
		return "Saved. The name it had goes on to find it."
	case "merged":
		return "They are one now. Both names find it."
	}
	return ""
}
