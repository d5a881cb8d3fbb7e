package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/memory/archive"
	"ash/agent/memory/recall"
)

// ControlMemory is what the command line asks of memory.
type ControlMemory interface {
	archive.Keeper
	Recall(ctx context.Context, q recall.Query) ([]agent.Recollection, error)
	// CatchUp brings the index up to date.
	CatchUp(ctx context.Context) error
}

// The wire forms of memory.
type (
	// ControlImport is a piece of an archive, at most what is stored in one transaction.
	ControlImport struct {
		Messages []archive.Message `json:"messages"`
		Last     bool              `json:"last"` // index what was imported
	}
	// ControlImported says how many messages were new.
	ControlImported struct {
		Added int `json:"added"`
	}
	// ControlQuery is a question to memory.
	ControlQuery struct {
		Query  string `json:"query"`
		Limit  int    `json:"k"`
		Tokens int    `json:"tokens,omitempty"`
	}
	// ControlHits is the answer.
	ControlHits struct {
		Hits []agent.Recollection `json:"hits"`
	}
)

// memory adds the routes of memory to g.
func (h Control) memory(g *echo.Group) {
	if h.Memory == nil {
		return
	}
	g.POST("/recall", h.recall)
	g.POST("/import", h.imports)
}

// recall answers POST /recall.
func (h Control) recall(c echo.Context) error {
	var in ControlQuery
	if err := readControl(c, &in); err != nil {
		return err
	}
	hits, err := h.Memory.Recall(c.Request().Context(), recall.Query{Text: in.Query, Limit: in.Limit, Tokens: in.Tokens})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlHits{Hits: hits})
}

// imports answers POST /import: one piece of an archive that the command line has checked.
func (h Control) imports(c echo.Context) error {
	var in ControlImport
	if err := readControl(c, &in); err != nil {
		return err
	}
	added, err := h.Memory.ImportMessages(c.Request().Context(), in.Messages)
	if err == nil && in.Last {
		err = h.Memory.CatchUp(c.Request().Context())
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlImported{Added: added})
}
