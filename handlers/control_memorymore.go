package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/memory"
)

// mostUses is how many replies that were given a memory are counted.
const mostUses = 100

type (
	// ControlIntake says which archive is taken in, and how.
	ControlIntake struct {
		File     string `json:"file"`               // in the home
		Name     string `json:"name"`               // of the archive, for people
		Stranger bool   `json:"stranger,omitempty"` // it is not the person's own
		Dry      bool   `json:"dry,omitempty"`
	}
	// ControlProgress is how far the index is. The last line of an answer says Finished or Error.
	ControlProgress struct {
		Stage    string        `json:"stage,omitempty"` // words, notes, meanings
		Done     int           `json:"done"`
		Of       int           `json:"of"`
		Finished bool          `json:"finished,omitempty"`
		Note     string        `json:"note,omitempty"` // what goes on without being waited for
		Error    *ControlError `json:"error,omitempty"`
	}
	// ControlMemoryStats is how much is remembered, and what room it takes in bytes.
	ControlMemoryStats struct {
		Current      int                      `json:"current"`
		Core         int                      `json:"core"`
		Facts        int                      `json:"facts"`
		Patterns     int                      `json:"patterns"`
		Superseded   int                      `json:"superseded"`
		Retired      int                      `json:"retired"`
		Pinned       int                      `json:"pinned"`
		Untrusted    int                      `json:"untrusted"`
		Entities     int                      `json:"entities"`
		Episodes     int                      `json:"episodes"`
		Notes        int                      `json:"notes"`
		Proposals    int                      `json:"proposals"`
		Tombstones   int                      `json:"tombstones"`
		TextBytes    int                      `json:"text_bytes"`
		Database     int64                    `json:"database_bytes"`
		Index        int64                    `json:"index_bytes"`
		Vectors      int64                    `json:"vector_bytes"`
		Items        map[agent.MemoryKind]int `json:"items"`
		Embedder     string                   `json:"embedder,omitempty"`
		Embedded     int                      `json:"embedded"`
		Pending      int                      `json:"pending"`
		EmbedProblem string                   `json:"embed_problem,omitempty"`
	}
)

// show answers GET /memories/:id.
func (h *ControlMemories) show(c echo.Context) error {
	ctx := c.Request().Context()
	f, err := h.named(c)
	if err != nil {
		return err
	}
	chain, err := h.Facts.FactChain(ctx, f.ID)
	if err != nil {
		return err
	}
	used, err := h.Facts.UsedIn(ctx, agent.MemoryFact, string(f.ID), mostUses)
	if err != nil {
		return err
	}
	out := ControlDetail{Used: len(used)}
	if out.Fact, err = h.fact(ctx, f); err != nil {
		return err
	}
	if out.Chain, err = h.facts(ctx, chain); err != nil {
		return err
	}
	if out.Title, err = h.title(ctx, f.Source.Thread); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}

// title is the name of a conversation, "" of one that is gone.
func (h *ControlMemories) title(ctx context.Context, thread agent.ID) (string, error) {
	if thread == "" {
		return "", nil
	}
	t, err := h.Threads.Thread(ctx, thread)
	if agent.CodeOf(err) == agent.CodeNotFound || err == nil && !t.Deleted.IsZero() {
		return "", nil
	}
	return t.Title, err
}

// traces answers GET /memories/:id/traces: what forgetting it would do.
func (h *ControlMemories) traces(c echo.Context) error {
	ctx := c.Request().Context()
	f, err := h.named(c)
	if err != nil {
		return err
	}
	found, err := h.Forgetter.Traces(ctx, memory.Target{Fact: f.ID})
	if err != nil {
		return err
	}
	out := ControlTraces{More: found.More, Plan: planOf(found), Traces: make([]ControlTrace, len(found.List))}
	if out.Fact, err = h.fact(ctx, f); err != nil {
		return err
	}
	for i, t := range found.List {
		title, err := h.title(ctx, t.Thread)
		if err != nil {
			return err
		}
		out.Traces[i] = ControlTrace{Kind: t.Kind, Ref: t.Ref, Text: t.Text, Title: title, Time: t.Time, Ticked: t.Ticked && !t.Manual, Manual: t.Manual}
	}
	return c.JSON(http.StatusOK, out)
}

// forget answers POST /memories/:id/forget: what the person was shown, and nothing else.
func (h *ControlMemories) forget(c echo.Context) error {
	ctx := c.Request().Context()
	var in ControlForget
	if err := readControl(c, &in); err != nil {
		return err
	}
	f, err := h.named(c)
	if err != nil {
		return err
	}
	target := memory.Target{Fact: f.ID}
	found, err := h.Forgetter.Traces(ctx, target)
	if err != nil {
		return err
	}
	if planOf(found) != in.Plan {
		return agent.Errorf(agent.CodeConflict, "What would be forgotten has changed since it was shown. Look at it again.")
	}
	gone, err := h.Forgetter.Forget(ctx, target, nil)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlForgotten{len(gone.Facts), gone.Messages, gone.Due})
}

// endless takes the limits of time off a connection: what is sent depends on how much is remembered.
func endless(c echo.Context) error {
	ctl := http.NewResponseController(c.Response())
	if err := errors.Join(ctl.SetReadDeadline(time.Time{}), ctl.SetWriteDeadline(time.Time{})); err != nil {
		return agent.Wrap(agent.CodeInternal, err, "A long answer could not be prepared on this connection.")
	}
	return nil
}

// export answers GET /memory/export?others=1 with a zip.
func (h *ControlMemories) export(c echo.Context) (err error) {
	if err := endless(c); err != nil {
		return err
	}
	zip, size, err := h.Archive.Export(c.Request().Context(), c.QueryParam("others") != "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, zip.Close()) }()
	c.Response().Header().Set(echo.HeaderContentLength, strconv.FormatInt(size, 10))
	return c.Stream(http.StatusOK, "application/zip", zip)
}

// imports answers POST /memory/import.
func (h *ControlMemories) imports(c echo.Context) error {
	if err := endless(c); err != nil {
		return err
	}
	var in ControlIntake
	if err := readControl(c, &in); err != nil {
		return err
	}
	taken, err := h.Archive.Import(c.Request().Context(), in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, taken)
}

// reindex answers POST /memory/reindex with lines of ControlProgress.
func (h *ControlMemories) reindex(c echo.Context) error {
	if err := endless(c); err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, "application/x-ndjson")
	c.Response().WriteHeader(http.StatusOK)
	lines := json.NewEncoder(c.Response())
	tell := func(p ControlProgress) {
		if lines.Encode(p) == nil { // a reader that left ends the request's context
			c.Response().Flush()
		}
	}
	if err := h.Index.Reindex(c.Request().Context(), tell); err != nil {
		tell(ControlProgress{Error: &ControlError{agent.CodeOf(err), agent.PublicOf(err)}})
	}
	return nil
}

// stats answers GET /memory/stats.
func (h *ControlMemories) stats(c echo.Context) error {
	out, err := h.Index.Stats(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}
