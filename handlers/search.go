package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	hitLimit     = 50  // results of a search
	paletteLimit = 8   // conversations in the palette
	queryLimit   = 200 // bytes of a search
)

// Search finds conversations, memories, notes, pages and commands.
type Search struct {
	*Frame
	Memories MemoryFinder // nil: there is no memory
}

// Find answers GET /search: results as a page, or in the column of conversations.
func (h *Search) Find(c echo.Context) error {
	query, err := queryText(c)
	if err != nil {
		return err
	}
	var found []agent.SearchHit
	if query != "" {
		if found, err = h.Reader.Search(c.Request().Context(), query, hitLimit+1); err != nil {
			return err
		}
	}
	capped := len(found) > hitLimit
	found = found[:min(len(found), hitLimit)]
	spoke, err := h.voices(c.Request().Context(), hitIDs(found))
	if err != nil {
		return err
	}
	hits := h.present(c).hits(found, spoke)
	if !ByHTMX(c) {
		page, err := h.plain(c, "Search", layouts.Chat)
		if err != nil {
			return err
		}
		return render(c, http.StatusOK, pages.Search{Page: page, Query: query, Hits: hits, Capped: capped}.Show())
	}
	list := components.ThreadList{Query: query, Hits: hits}
	if query == "" {
		if list, err = h.rows(c, agent.ThreadFilter{Limit: listSize}, ""); err != nil {
			return err
		}
	}
	return render(c, http.StatusOK, components.Rows(list))
}

// Palette answers GET /palette: what the command palette offers for a query.
func (h *Search) Palette(c echo.Context) error {
	query, err := queryText(c)
	if err != nil {
		return err
	}
	var groups []components.PaletteGroup
	add := func(title string, items []components.PaletteItem) {
		if len(items) > 0 {
			groups = append(groups, components.PaletteGroup{Title: title, Items: items})
		}
	}
	found, err := h.paletteThreads(c, query)
	if err != nil {
		return err
	}
	add("Go to", matching(palettePages(), query))
	add("Conversations", found)
	if h.Memories != nil && query != "" {
		if err := h.paletteMemory(c.Request().Context(), query, add); err != nil {
			return err
		}
	}
	add("Commands", matching(paletteCommands(), query))
	return render(c, http.StatusOK, components.PaletteResults(query, groups, Token(c)))
}

// paletteThreads finds conversations: the newest, or those that hold query, each once.
func (h *Search) paletteThreads(c echo.Context, query string) ([]components.PaletteItem, error) {
	ctx := c.Request().Context()
	var items []components.PaletteItem
	add := func(t agent.Thread) {
		url := chatPath(t.ID)
		for _, it := range items {
			if it.URL == url {
				return
			}
		}
		title := t.Title
		if title == "" {
			title = "New conversation"
		}
		if len(items) < paletteLimit {
			items = append(items, components.PaletteItem{
				Icon: components.IconMessageCircle, Title: title, URL: url,
				Hint: components.DayLabel(t.Updated.In(h.Zone), h.Now()),
			})
		}
	}
	if query == "" {
		recent, _, err := h.Reader.Threads(ctx, agent.ThreadFilter{Limit: paletteLimit})
		for _, t := range recent {
			add(t.Thread)
		}
		return items, err
	}
	hits, err := h.Reader.Search(ctx, query, hitLimit)
	for _, hit := range hits {
		add(hit.Thread)
	}
	return items, err
}

func palettePages() []components.PaletteItem {
	items := []components.PaletteItem{
		{Icon: components.IconMessageCircle, Title: "Conversations", URL: "/chat"},
		{Icon: components.IconBrain, Title: "Memory", URL: "/memory"},
		{Icon: components.IconUserRound, Title: "People and things", Hint: "what memory is about", URL: "/memory/entities"},
		{Icon: components.IconFileText, Title: "Notes", URL: "/memory/notes"},
		{Icon: components.IconInbox, Title: "Inbox", Hint: "what waits for you", URL: "/inbox"},
		{Icon: components.IconWrench, Title: "Tools", URL: "/tools"},
		{Icon: components.IconHistory, Title: "Runs", Hint: "what tools have done", URL: "/tools/runs"},
		{Icon: components.IconLock, Title: "Vault", URL: "/vault"},
		{Icon: components.IconFileText, Title: "SOUL.md", Hint: "who Ash is", URL: "/identity/soul"},
		{Icon: components.IconFileText, Title: "USER.md", Hint: "who you are", URL: "/identity/user"},
		{Icon: components.IconFileText, Title: "TOOLS.md", Hint: "how Ash works", URL: "/identity/tools"},
	}
	for _, s := range pages.SettingsSections() {
		items = append(items, components.PaletteItem{Icon: s.Icon, Title: "Settings: " + s.Title, Hint: s.Hint, URL: s.Path()})
	}
	return items
}

func paletteCommands() []components.PaletteItem {
	theme := func(title, value string, icon components.Icon) components.PaletteItem {
		return components.PaletteItem{Icon: icon, Title: title, URL: "/settings/theme", Post: true, Name: "theme", Value: value}
	}
	return []components.PaletteItem{
		{Icon: components.IconSquarePen, Title: "New conversation", URL: "/chat/new"},
		{Icon: components.IconPlus, Title: "Remember something", Hint: "a fact, by hand", URL: "/memory/new"},
		{Icon: components.IconArchive, Title: "Archive", URL: "/chat?archived=1"},
		{Icon: components.IconSearch, Title: "Search everywhere", URL: "/search"},
		{Icon: components.IconPlug, Title: "Set up a model", URL: "/setup"},
		{Icon: components.IconOctagonX, Title: "Stop everything", Hint: "turns, commands, helpers", URL: "/stop", Post: true},
		theme("Light theme", "light", components.IconSun),
		theme("Dark theme", "dark", components.IconMoon),
		theme("Theme of the device", "system", components.IconSunMoon),
	}
}

// matching keeps the items whose title or hint holds every word of the query.
func matching(items []components.PaletteItem, query string) []components.PaletteItem {
	words := strings.Fields(strings.ToLower(query))
	var out []components.PaletteItem
next:
	for _, it := range items {
		where := strings.ToLower(it.Title + " " + it.Hint)
		for _, w := range words {
			if !strings.Contains(where, w) {
				continue next
			}
		}
		out = append(out, it)
	}
	return out
}

// queryText reads ?q=, cut to a length nobody types.
func queryText(c echo.Context) (string, error) {
	q, err := clean(c.QueryParam("q"))
	q = agent.Clip(strings.TrimSpace(q), queryLimit)
	return q, err
}
