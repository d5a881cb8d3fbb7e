package handlers

import (
	"context"

	"ash/agent/policy"
	"ash/views/pages"
)

// securityLog presents the newest lines of the security log.
func (h *Tools) securityLog(ctx context.Context) ([]pages.LogLine, error) {
	if h.Security == nil {
		return nil, nil
	}
	events, err := h.Security.SecurityEvents(ctx, logSize)
	if err != nil {
		return nil, err
	}
	out := make([]pages.LogLine, 0, len(events))
	for _, e := range events {
		out = append(out, pages.LogLine{
			When: e.Time.In(h.Zone), Kind: logWords(e.Kind), Tool: e.Tool, Rule: visible(e.Rule), Source: visible(e.Source), Detail: visible(e.Detail),
			Call: e.Call, Bad: e.Kind == policy.EventFinding || e.Kind == policy.EventLeak,
		})
	}
	return out, nil
}

// logWords says in words what a line of the security log is about.
func logWords(k policy.EventKind) string {
	switch k {
	case policy.EventFlow:
		return "Asked because of what was read"
	case policy.EventLeak:
		return "Private or unreadable text on its way out"
	case policy.EventDenied:
		return "Refused by a rule"
	case policy.EventFinding:
		return "A result tried to give orders"
	case policy.EventGrant:
		return "You gave a standing permission"
	case policy.EventRevoked:
		return "You took a permission back"
	}
	return string(k)
}
