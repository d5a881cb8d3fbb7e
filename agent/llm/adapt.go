package llm

import (
	"fmt"
	"strings"

	"ash/agent"
)

// Adapt makes a prompt fit for a model: thinking of other models is left out, and what the model cannot take (images
// for one that does not see, files it does not read, tools for one that has none) becomes an honest note in words. The prompt
// given is not changed; one that fits already is returned as it is.
//
// After Adapt a File has Data only where info.Documents holds and it is a PDF; any other file is Text.
func Adapt(p agent.Prompt, info agent.ModelInfo) agent.Prompt {
	out := p
	out.Messages = make([]agent.PromptMessage, 0, len(p.Messages))
	if !info.Tools {
		out.Tools = nil
	}
	for _, m := range p.Messages {
		m.Parts = adaptParts(m, info)
		if !info.Tools {
			m.Calls = nil
		}
		if len(m.Parts) > 0 {
			out.Messages = append(out.Messages, m)
		}
	}
	return out
}

func adaptParts(m agent.PromptMessage, info agent.ModelInfo) []agent.Part {
	parts := make([]agent.Part, 0, len(m.Parts))
	for _, part := range m.Parts {
		switch p := part.(type) {
		case agent.Thinking:
			if p.Model == info.Ref {
				parts = append(parts, p)
			}
		case agent.Image, agent.File:
			parts = append(parts, adaptAttachment(p, info))
		case agent.ToolUse:
			if info.Tools {
				parts = append(parts, p)
			} else if c := CallOf(m, p.Call); c != nil {
				parts = append(parts, agent.Text{Text: fmt.Sprintf("[used the tool %s with %s]", c.Name, c.Arguments), Labels: p.Labels})
			}
		case agent.ToolResult:
			parts = append(parts, adaptResult(p, info))
		default:
			parts = append(parts, part)
		}
	}
	return parts
}

func adaptResult(p agent.ToolResult, info agent.ModelInfo) agent.Part {
	content := make([]agent.Part, 0, len(p.Content))
	for _, c := range p.Content {
		content = append(content, adaptAttachment(c, info))
	}
	p.Content = content
	if info.Tools {
		return p
	}
	return agent.Text{Text: fmt.Sprintf("[result of the tool %s]\n%s", p.Name, TextOf(content)), Labels: p.Labels}
}

// adaptAttachment turns an image or file the model cannot take into text.
func adaptAttachment(part agent.Part, info agent.ModelInfo) agent.Part {
	switch p := part.(type) {
	case agent.Image:
		switch {
		case !info.Vision:
			return agent.Text{Text: fmt.Sprintf("[Image %q (%s) is not shown: this model does not see images.]", p.Attachment.Name, p.Attachment.Media), Labels: p.Labels}
		case len(p.Data) == 0:
			return agent.Text{Text: fmt.Sprintf("[Image %q (%s) is no longer available.]", p.Attachment.Name, p.Attachment.Media), Labels: p.Labels}
		}
	case agent.File:
		if info.Documents && p.Attachment.Media == "application/pdf" && len(p.Data) > 0 {
			return p
		}
		return agent.Text{Text: FileText(p), Labels: p.Labels}
	}
	return part
}

// FileText returns a file as a model reads it in words: a line that says what it is, then its text.
func FileText(f agent.File) string {
	head := fmt.Sprintf("[File %q (%s, %d bytes)", f.Attachment.Name, f.Attachment.Media, f.Attachment.Size)
	switch {
	case strings.TrimSpace(f.Extract) == "":
		return head + ": no text could be read from it.]"
	case f.Truncated:
		return head + "; only its beginning follows]\n" + f.Extract
	}
	return head + "]\n" + f.Extract
}

// TextOf joins the text parts of a tool result by blank lines.
func TextOf(parts []agent.Part) string { return agent.Message{Parts: parts}.Text() }

// CallOf returns the call behind a ToolUse part, nil when the message does not hold it.
func CallOf(m agent.PromptMessage, id agent.ID) *agent.ToolCall {
	for i := range m.Calls {
		if m.Calls[i].ID == id {
			return &m.Calls[i]
		}
	}
	return nil
}
