package handlers

import (
	"testing"

	"ash/agent"
)

func TestRestOfAReply(t *testing.T) {
	said := func(s agent.MessageState, parts ...agent.Part) agent.Message {
		return agent.Message{State: s, Parts: parts}
	}
	text := func(s string) agent.Part { return agent.Text{Text: s} }
	thought := func(s string) agent.Part { return agent.Thinking{Text: s} }
	for name, tt := range map[string]struct {
		told               *openReply
		ended              agent.Message
		thinking, text     string
		mustBeShownAsWhole bool
	}{
		"not followed":                {ended: said(agent.MessageComplete, text("all")), mustBeShownAsWhole: true},
		"failed":                      {told: &openReply{}, ended: said(agent.MessageFailed), mustBeShownAsWhole: true},
		"told to the end":             {told: &openReply{length: 3}, ended: said(agent.MessageComplete, text("all"))},
		"the end was dropped":         {told: &openReply{length: 1}, ended: said(agent.MessageCut, text("all")), text: "ll"},
		"nothing was told":            {told: &openReply{}, ended: said(agent.MessageComplete, thought("hm"), text("all")), thinking: "hm", text: "all"},
		"the last part was dropped":   {told: &openReply{length: 3, thought: 2}, ended: said(agent.MessageComplete, text("one"), thought("hm"), text("two")), text: "\n\ntwo"},
		"reasoning in two blocks":     {told: &openReply{length: 3, thought: 4}, ended: said(agent.MessageComplete, thought("hm"), thought("ah"), text("four")), text: "r"},
		"the second block dropped":    {told: &openReply{length: 4, thought: 2}, ended: said(agent.MessageComplete, thought("hm"), thought("ah"), text("four")), mustBeShownAsWhole: true},
		"stored shorter than told":    {told: &openReply{length: 9}, ended: said(agent.MessageComplete, text("all")), mustBeShownAsWhole: true},
		"reasoning that was replaced": {told: &openReply{thought: 9}, ended: said(agent.MessageComplete, thought("hm"), text("all")), mustBeShownAsWhole: true},
	} {
		t.Run(name, func(t *testing.T) {
			thinking, text, ok := tt.told.rest(tt.ended)
			if thinking != tt.thinking || text != tt.text || ok == tt.mustBeShownAsWhole {
				t.Errorf("got %q, %q, %v", thinking, text, ok)
			}
		})
	}
}
