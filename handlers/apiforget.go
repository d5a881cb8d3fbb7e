package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/memory"
)

func forgetParams() []apiParam {
	return []apiParam{
		idParam(),
		{name: "dry_run", in: "query", kind: kindFlag, about: "true shows all that holds the memory, and changes nothing."},
		{name: "plan", in: "query", kind: kindText, about: "plan of a dry run: 409 when what would be forgotten has changed since."},
		{name: "trace", in: "query", kind: kindTraces, about: "Exactly these traces are forgotten with the memory, by their key. Left out: those that a dry run marks forget."},
		{name: "If-Match", in: "header", kind: kindText, about: "The memory's version: 412 when it has changed since."},
	}
}

func (h *API) forgetRoutes() []APIRoute {
	writing := []access.Scope{access.ScopeMemory}
	return []APIRoute{
		{
			Method: http.MethodDelete, Path: "/memories/{id}", Handle: h.Forget,
			name: "forgetMemory", summary: "Forget a memory for good",
			about: "With it goes all that says it: its history, passages of messages, summaries, proposals. It is hidden from everything at once, and can be " +
				"taken back until undo_until; then it is overwritten, and does not come back by itself.",
			scopes: writing, params: forgetParams(), fails: []int{403, 404, 409, 412, 415, 422},
			answers: []apiAnswer{{status: 200, about: "What was forgotten; of a dry run, what would be.", body: reflect.TypeFor[APIForgotten](), or: reflect.TypeFor[APITraces]()}},
		},
		{
			Method: http.MethodGet, Path: "/forgettings", Handle: h.Forgettings,
			name: "listForgettings", summary: "What can still be taken back",
			scopes: writing, fails: []int{403, 422},
			answers: []apiAnswer{{status: 200, about: "The oldest first.", body: reflect.TypeFor[APIForgettings]()}},
		},
		{
			Method: http.MethodPost, Path: "/forgettings/{id}/undo", Handle: h.Unforget,
			name: "undoForgetting", summary: "Take forgetting back",
			scopes: writing, params: []apiParam{idParam()}, fails: []int{403, 404, 415, 422},
			answers: []apiAnswer{{status: 204, about: "All is as it was."}},
		},
	}
}

// Forget answers DELETE /memories/{id}.
func (h *API) Forget(c echo.Context) error {
	ctx := c.Request().Context()
	if err := checkMedia(c.Request(), false); err != nil {
		return err
	}
	q, err := readQuery(c, forgetParams())
	if err != nil {
		return err
	}
	dry, err := q.flag("dry_run")
	if err != nil {
		return err
	}
	f, err := h.fact(c)
	if err != nil {
		return err
	}
	if _, err := matched(c.Request(), f, false); err != nil {
		return err
	}
	target := memory.Target{Fact: f.ID}
	keys := q.values["trace"]
	if dry || len(keys) > 0 || q.text("plan") != "" {
		found, err := h.Forgetter.Traces(ctx, target)
		if err != nil {
			return err
		}
		if dry {
			return answer(c, http.StatusOK, apiTraces(f.ID, found))
		}
		if keys, err = chosen(found, keys, memory.Trace{Kind: memory.TraceFact, Ref: string(f.ID)}.Key()); err != nil {
			return err
		}
		if plan := q.text("plan"); plan != "" && plan != planOf(found) {
			return agent.Errorf(agent.CodeConflict, "What would be forgotten has changed since it was shown. Look at it again.")
		}
	}
	done, err := h.Forgetter.Forget(ctx, target, keys)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, apiForgotten(done))
}

// chosen checks the traces that a caller wants forgotten; the memory itself is always among them. nil for none named: the book's own choice.
func chosen(found memory.Traces, keys []string, own string) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if len(keys) > maxTraces {
		return nil, agent.Errorf(agent.CodeInvalid, "At most %d traces can be named.", maxTraces)
	}
	for _, key := range keys {
		i := slices.IndexFunc(found.List, func(t memory.Trace) bool { return t.Key() == key })
		if i < 0 {
			return nil, agent.Errorf(agent.CodeInvalid, "There is no trace %q of this memory. A dry run lists them.", agent.Clip(key, 100))
		}
		if found.List[i].Manual {
			return nil, agent.Errorf(agent.CodeInvalid, "%q is a file of the owner's: only they change it.", agent.Clip(key, 100))
		}
	}
	return append(slices.Clone(keys), own), nil
}

func apiTraces(id agent.ID, found memory.Traces) APITraces {
	out := APITraces{Memory: id, Plan: planOf(found), Traces: make([]APITrace, 0, len(found.List)), More: found.More}
	for _, t := range found.List {
		out.Traces = append(out.Traces, apiTrace(t))
	}
	return out
}

// planOf tells one list of traces from another.
func planOf(found memory.Traces) string {
	sum := sha256.New()
	for _, t := range found.List {
		sum.Write([]byte(t.Key() + "\x00" + strings.Join(t.Passages, "\x00") + "\x01"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Forgettings answers GET /forgettings.
func (h *API) Forgettings(c echo.Context) error {
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	list, err := h.Forgetter.Forgettings(c.Request().Context())
	if err != nil {
		return err
	}
	out := APIForgettings{Forgettings: make([]APIForgotten, 0, len(list))}
	for _, f := range list {
		out.Forgettings = append(out.Forgettings, apiForgotten(f))
	}
	return answer(c, http.StatusOK, out)
}

// Unforget answers POST /forgettings/{id}/undo.
func (h *API) Unforget(c echo.Context) error {
	if err := checkMedia(c.Request(), false); err != nil {
		return err
	}
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	id, err := param(c, "id")
	if err != nil {
		return err
	}
	err = h.Forgetter.Restore(c.Request().Context(), id)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return agent.Wrap(agent.CodeNotFound, err, "There is nothing to take back: it is gone for good, or never was forgotten.")
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
