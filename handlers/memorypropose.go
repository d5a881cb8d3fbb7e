package handlers

import (
	"net/http"
	"strings"

	"github.com/a-h/templ"
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
	done, err := h.Decider.Decide(c.Request().Context(), id, memory.Verdict{Approve: word != "dismiss", Text: words})
	if err != nil {
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
	parts := []templ.Component{components.StreamNotice(components.Notice{Kind: components.NoticeOK, Text: said})}
	if place == string(components.PlaceInbox) {
		return render(c, http.StatusOK, append(parts, components.StreamPatch(components.ProposalID(id), components.SwapDelete, ""))...)
	}
	became, err := h.became(c, id, done)
	if err != nil {
		return err
	}
	n, err := h.Proposals(c.Request().Context())
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, append(parts, became, components.StreamComponent("mem-waiting", components.SwapReplace, components.WaitingBadge(n)))...)
}

// became shows on the Memory page what became of a proposal: the memory that is kept stands in its place.
func (h *Memory) became(c echo.Context, id agent.ID, done []agent.MemoryChange) (templ.Component, error) {
	for _, ch := range done {
		if ch.After == nil || ch.After.Status != agent.FactCurrent {
			continue
		}
		card, err := h.presentMemory(c).fact(*ch.After)
		return components.StreamComponent(components.ProposalID(id), components.SwapReplace, components.MemoryCard(card)), err
	}
	return components.StreamPatch(components.ProposalID(id), components.SwapDelete, ""), nil
}

// waitingList presents the proposals for the inbox, with how many more there are.
func (h *Memory) waitingList(p *memoryPresenter) (list []components.Proposal, more int, err error) {
	all, next, err := h.Records.Proposals(p.ctx, "", inboxProposals)
	if err != nil {
		return nil, 0, err
	}
	if next != "" {
		n, err := p.Proposals(p.ctx)
		if err != nil {
			return nil, 0, err
		}
		more = max(n-len(all), 1)
	}
	list, err = h.proposals(p, all, components.PlaceInbox)
	return list, more, err
}

// proposalsShown names the proposals that a page shows, for the stream's address.
func proposalsShown(list []components.Proposal) string {
	names := make([]string, 0, len(list))
	for _, p := range list {
		names = append(names, components.Short(p.ID))
	}
	return strings.Join(names, ",")
}
