package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/memory"
	"ash/views/components"
)

// inboxProposals is how many proposals the inbox shows.
const inboxProposals = 20

// Decide answers POST /memory/proposals/{proposal}: decision=approve|edit|dismiss, text.
func (h *Memory) Decide(c echo.Context) error {
	id, err := param(c, "proposal")
	if err != nil {
		return err
	}
	word, err := line(c, "decision", 20)
	if err != nil {
		return err
	}
	place, err := line(c, "place", 20)
	if err != nil {
		return err
	}
	words := ""
	switch word {
	case "approve", "dismiss":
	case "edit":
		if words, err = text(c, "text"); err != nil {
			return err
		}
		if words = strings.TrimSpace(words); words == "" {
			return agent.Errorf(agent.CodeInvalid, "Say what to keep, or choose No.")
		}
		if len(words) > agent.MaxFact {
			return agent.Errorf(agent.CodeInvalid, "A memory is one statement: at most %d bytes.", agent.MaxFact)
		}
	default:
		return agent.Errorf(agent.CodeInvalid, "There is no such decision.")
	}
	if _, err := h.Decider.Decide(c.Request().Context(), id, memory.Verdict{Approve: word != "dismiss", Text: words}); err != nil {
		return err
	}
	if !ByHTMX(c) {
		if place == string(components.PlaceInbox) {
			return see(c, "/inbox")
		}
		return see(c, "/memory?tab=waiting")
	}
	said := "Done. Ash goes by it from now on."
	if word == "dismiss" {
		said = "Left as it is."
	}
	return render(c, http.StatusOK,
		components.StreamPatch(components.ProposalID(id), components.SwapDelete, ""),
		components.StreamNotice(components.Notice{Kind: components.NoticeOK, Text: said}))
}

// Waiting presents the proposals for the inbox, with how many more there are.
func (h *Memory) Waiting(c echo.Context) (list []components.Proposal, more int, err error) {
	all, next, err := h.Records.Proposals(c.Request().Context(), "", inboxProposals)
	if err != nil {
		return nil, 0, err
	}
	if next != "" {
		totals, err := h.Totals.MemoryTotals(c.Request().Context(), h.Owner)
		if err != nil {
			return nil, 0, err
		}
		more = max(totals.Proposals-len(all), 1)
	}
	list, err = h.proposals(h.presentMemory(c), all, components.PlaceInbox)
	return list, more, err
}
