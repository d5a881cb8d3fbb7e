package handlers

import (
	"context"
	"strings"

	"ash/agent"
	"ash/views/components"
)

// maxReceipt is how much of a memory a receipt shows, in bytes.
const maxReceipt = 240

// Receipts presents which memories a reply was given, as they are now.
type Receipts struct {
	*Frame
	Facts    ReceiptFacts
	Episodes ReceiptEpisodes
}

// ReceiptFacts reads facts.
type ReceiptFacts interface {
	Fact(ctx context.Context, id agent.ID) (agent.Fact, error)
}

// ReceiptEpisodes reads what conversations were about.
type ReceiptEpisodes interface {
	Episode(ctx context.Context, thread agent.ID) (agent.Episode, error)
}

// Of presents a receipt. Of the recollections only Kind, Ref and Why count: what they say now is looked up, so that what was forgotten
// or corrected since does not come back.
func (h *Receipts) Of(ctx context.Context, given []agent.Recollection) (components.Receipt, error) {
	p := &memoryPresenter{Frame: h.Frame, ctx: ctx, titles: map[agent.ID]string{}}
	var r components.Receipt
	for _, g := range given {
		item, err := h.item(p, g)
		if agent.CodeOf(err) == agent.CodeNotFound {
			item, err = components.ReceiptItem{Kind: g.Kind}, nil
		}
		if err != nil {
			return r, err
		}
		item.Kind, item.Why = g.Kind, whys(g.Why)
		r.Items = append(r.Items, item)
	}
	return r, nil
}

func (h *Receipts) item(p *memoryPresenter, g agent.Recollection) (components.ReceiptItem, error) {
	switch g.Kind {
	case agent.MemoryFact:
		return h.fact(p, agent.ID(g.Ref))
	case agent.MemoryMessage:
		return h.message(p, agent.ID(g.Ref))
	case agent.MemoryEpisode:
		e, err := h.Episodes.Episode(p.ctx, agent.ID(g.Ref))
		if err != nil {
			return components.ReceiptItem{}, err
		}
		title, err := p.title(e.Thread)
		item := components.ReceiptItem{Text: short(e.Text), Source: "a conversation, " + p.days(e.Began, e.Ended), Sources: strangers(e.Labels)}
		if title != "" {
			item.Source, item.URL = "“"+title+"”, "+p.days(e.Began, e.Ended), chatPath(e.Thread)
		}
		return item, err
	}
	path, _, _ := strings.Cut(g.Ref, "#")
	text := short(g.Text)
	if text == "" {
		text = visible(path)
	}
	return components.ReceiptItem{Text: text, Source: "the note " + visible(path), URL: noteURL(path), Sources: strangers(g.Labels)}, nil
}

func (h *Receipts) fact(p *memoryPresenter, id agent.ID) (components.ReceiptItem, error) {
	f, err := h.Facts.Fact(p.ctx, id)
	if err != nil {
		return components.ReceiptItem{}, err
	}
	s, err := p.source(f.Source)
	item := components.ReceiptItem{
		Fact: f.ID, Text: short(f.Text), URL: components.FactPath(f.ID), Source: lowerFirst(s.Words) + ", " + f.Said.In(p.Zone).Format("2 Jan 2006"),
		Sources: strangers(f.Labels), Past: p.past(f),
	}
	return item, err
}

func (h *Receipts) message(p *memoryPresenter, id agent.ID) (components.ReceiptItem, error) {
	m, err := h.Reader.Message(p.ctx, id)
	if err != nil {
		return components.ReceiptItem{}, err
	}
	title, err := p.title(m.Thread)
	if err != nil || title == "" {
		return components.ReceiptItem{}, err
	}
	who := "you"
	if m.Role == agent.RoleAssistant {
		who = "Ash"
	}
	return components.ReceiptItem{
		Message: m.ID, Text: short(m.Text()), URL: messageURL(m.Thread, m.ID), Sources: strangers(m.Labels()),
		Source: who + " in “" + title + "”, " + m.Created.In(p.Zone).Format("2 Jan 2006"),
	}, nil
}

func short(s string) string {
	s = onOneLine(s)
	if clipped := agent.Clip(s, maxReceipt); len(clipped) < len(s) {
		s = strings.TrimSpace(clipped) + "…"
	}
	return visible(s)
}
