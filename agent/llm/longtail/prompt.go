package longtail

import (
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"ash/agent"
	"ash/agent/llm"
)

// maker is who made a model, in langchaingo's words.
type maker string

const (
	anthropic maker = "anthropic" // streams
	nova      maker = "nova"      // answers whole
)

// defaultMaxTokens is asked for when neither the prompt nor the catalog says how much; langchaingo would ask for 2048.
const defaultMaxTokens = 4096

// What is said where a maker's rules want words and the conversation has none.
const (
	openingText  = "(The beginning of the conversation is left out.)"
	continueText = "Go on exactly where your last message stops, without repeating any of it."
	systemText   = "Answer the person."
)

// makerOf reads a model id, an inference profile's or an ARN; "" is a maker that is not carried.
func makerOf(model string) maker {
	switch {
	case strings.Contains(model, "anthropic.claude"):
		return anthropic
	case strings.Contains(model, "amazon.nova-"):
		return nova
	}
	return ""
}

func otherMaker() *llm.Fault {
	return found(llm.FaultModel, "With an AWS sign-in, Ash speaks to Claude and Amazon Nova alone, such as us.anthropic.claude-sonnet-4-5-20250929-v1:0 or us.amazon.nova-pro-v1:0. "+
		"Choose one of these, or set up Amazon Bedrock with an API key for the others.", "a maker that is not carried")
}

// takesTemperature reports whether a model accepts a temperature: from 4.7 on Claude refuses one
// (https://platform.claude.com/docs/en/about-claude/models/migration-guide).
func takesTemperature(model string) bool {
	_, name, found := strings.Cut(model, "claude-")
	if !found {
		return true
	}
	for _, old := range []string{"v2", "instant", "3-", "opus-4-2", "sonnet-4-2", "opus-4-1", "opus-4-5", "sonnet-4-5", "haiku-4-5", "opus-4-6", "sonnet-4-6", "haiku-4-6"} {
		if strings.HasPrefix(name, old) {
			return true
		}
	}
	return false
}

func maxTokens(info agent.ModelInfo, p agent.Prompt) int {
	n := p.MaxTokens
	if n <= 0 {
		n = info.MaxOutput
	}
	if n <= 0 {
		return defaultMaxTokens
	}
	if info.MaxOutput > 0 {
		n = min(n, info.MaxOutput)
	}
	return n
}

// converse puts a prompt into langchaingo's words, within the rules of both makers: no blank text, and a conversation that
// begins and ends with the person. langchaingo itself joins neighbours of one role. Errors: a *llm.Fault.
func converse(m maker, info agent.ModelInfo, p agent.Prompt) ([]llms.MessageContent, error) {
	info.Tools, info.Documents, info.Thinking = false, false, false // whatever the person says of the model: langchaingo has none
	p = llm.Adapt(p, info)
	var out []llms.MessageContent
	for _, message := range p.Messages {
		role := llms.ChatMessageTypeHuman
		if message.Role == agent.RoleAssistant {
			role = llms.ChatMessageTypeAI
		}
		if parts := content(message.Parts); len(parts) > 0 {
			out = append(out, llms.MessageContent{Role: role, Parts: parts})
		}
	}
	if len(out) == 0 {
		return nil, llm.NewFault(llm.FaultRequest, "there is nothing to send", nil)
	}
	if out[0].Role != llms.ChatMessageTypeHuman {
		out = append([]llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, openingText)}, out...)
	}
	if out[len(out)-1].Role != llms.ChatMessageTypeHuman {
		out = append(out, llms.TextParts(llms.ChatMessageTypeHuman, continueText))
	}
	system := p.System
	if strings.TrimSpace(system) == "" && m == nova {
		system = systemText // langchaingo sends Nova an empty block otherwise, which it refuses
	}
	if strings.TrimSpace(system) != "" {
		out = append([]llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, system)}, out...)
	}
	return out, nil
}

// content turns the parts that are left after Adapt into langchaingo's.
func content(parts []agent.Part) []llms.ContentPart {
	var out []llms.ContentPart
	for _, part := range parts {
		switch p := part.(type) {
		case agent.Text:
			if strings.TrimSpace(p.Text) != "" {
				out = append(out, llms.TextPart(p.Text))
			}
		case agent.Image:
			switch media := p.Attachment.Media; media {
			case "image/jpeg", "image/png", "image/gif", "image/webp":
				out = append(out, llms.BinaryPart(media, p.Data))
			default:
				out = append(out, llms.TextPart(fmt.Sprintf("[Image %q (%s) is not shown: this format cannot be sent.]", p.Attachment.Name, media)))
			}
		}
	}
	return out
}
