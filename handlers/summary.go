package handlers

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/views/components"
)

// SummaryStore keeps the summaries that stand for older messages.
type SummaryStore interface {
	Summaries(ctx context.Context, thread agent.ID) ([]agent.Summary, error)
	// AddSummary of a summary that is there already changes Disabled only.
	AddSummary(ctx context.Context, s agent.Summary) error
}

// Summary answers POST /chat/{thread}/summaries/{summary}: take a summary back, or use it again.
func (h *Threads) Summary(c echo.Context) error {
	t, err := openThread(c, h.Threads)
	if err != nil {
		return err
	}
	id, err := param(c, "summary")
	if err != nil {
		return err
	}
	disabled, err := flag(c, "disabled")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	all, err := h.Summaries.Summaries(ctx, t.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(s agent.Summary) bool { return s.ID == id })
	if i < 0 {
		return agent.Errorf(agent.CodeNotFound, "There is no such summary in this conversation.")
	}
	all[i].Disabled = disabled
	if err := h.Summaries.AddSummary(ctx, all[i]); err != nil {
		return err
	}
	if !ByHTMX(c) {
		return see(c, chatPath(t.ID)+"#y-"+components.Short(id))
	}
	divider := h.present(c).summary(all[i])
	return render(c, http.StatusOK, components.StreamComponent("y-"+components.Short(id), components.SwapReplace, components.SummaryDivider(divider)))
}

// summary presents the divider above the first message that a summary does not cover.
func (p presenter) summary(s agent.Summary) components.Summary {
	return components.Summary{
		ID: s.ID, Thread: s.Thread, Disabled: s.Disabled, CSRF: p.token,
		HTML: p.markdown.HTML("z-"+components.Short(s.ID), s.Text),
	}
}

// divide puts the dividers of summaries (newest first) into a conversation made of nodes.
// Where several end at the same message, the newest counts.
func (p presenter) divide(conv *components.Conversation, nodes []agent.Node, summaries []agent.Summary) {
	for _, n := range nodes {
		i := slices.IndexFunc(summaries, func(s agent.Summary) bool { return n.Parent != "" && s.To == n.Parent })
		at := slices.IndexFunc(conv.Messages, func(m components.Message) bool { return m.ID == n.ID })
		if i >= 0 && at >= 0 {
			divider := p.summary(summaries[i])
			conv.Messages[at].After = &divider
		}
	}
}
