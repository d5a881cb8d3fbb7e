package store

import (
	"fmt"

	"ash/agent"
)

// The JSON form of message parts and labels. It is for ever: databases and
// exports of every age hold it. Fields may be added, never renamed or given
// another meaning; parts_test.go has the golden file.

// partJSON is every kind of part; Type says which fields count.
type partJSON struct {
	Type       string          `json:"type"` // text, thinking, image, file, tool_call, tool_result
	Text       string          `json:"text,omitempty"`
	Signature  string          `json:"signature,omitempty"`
	Redacted   string          `json:"redacted,omitempty"`
	Provider   string          `json:"provider,omitempty"`
	Model      string          `json:"model,omitempty"`
	Attachment *attachmentJSON `json:"attachment,omitempty"`
	Extract    string          `json:"extract,omitempty"`
	Truncated  bool            `json:"truncated,omitempty"`
	Findings   []findingJSON   `json:"findings,omitempty"`
	Call       agent.ID        `json:"call,omitempty"`
	ProviderID string          `json:"provider_id,omitempty"`
	Name       string          `json:"name,omitempty"`
	Content    []partJSON      `json:"content,omitempty"`
	Failed     bool            `json:"failed,omitempty"`
	Labels     []labelJSON     `json:"labels,omitempty"`
}

type attachmentJSON struct {
	Hash  string `json:"hash"`
	Name  string `json:"name"`
	Media string `json:"media"`
	Size  int64  `json:"size"`
}

type labelJSON struct {
	Source  string          `json:"source"`
	Kind    agent.LabelKind `json:"kind"`
	Private bool            `json:"private,omitempty"`
}

// encodeParts returns the stored form of parts. Bytes of images and files are not stored.
func encodeParts(parts []agent.Part) (string, error) {
	list, err := toParts(parts)
	if err != nil {
		return "", err
	}
	return toJSON(list)
}

// decodeParts reads what encodeParts wrote. A kind of part it does not know is an
// error: showing a message without it would change what was said.
func decodeParts(s string) ([]agent.Part, error) {
	var list []partJSON
	if err := fromJSON(s, &list); err != nil {
		return nil, err
	}
	return fromParts(list)
}

func encodeLabels(l agent.Labels) (string, error) {
	list := toLabels(l)
	if list == nil {
		return "[]", nil
	}
	return toJSON(list)
}

func decodeLabels(s string) (agent.Labels, error) {
	var list []labelJSON
	if err := fromJSON(s, &list); err != nil {
		return nil, err
	}
	return fromLabels(list), nil
}

func toParts(parts []agent.Part) ([]partJSON, error) {
	list := make([]partJSON, 0, len(parts))
	for _, p := range parts {
		one, err := toPart(p)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

func toPart(p agent.Part) (partJSON, error) {
	switch p := p.(type) {
	case agent.Text:
		return partJSON{Type: "text", Text: clean(p.Text), Labels: toLabels(p.Labels)}, nil
	case agent.Thinking:
		return partJSON{
			Type: "thinking", Text: clean(p.Text), Signature: clean(p.Signature), Redacted: clean(p.Redacted),
			Provider: clean(p.Model.Provider), Model: clean(p.Model.Name), Labels: toLabels(p.Labels),
		}, nil
	case agent.Image:
		return partJSON{Type: "image", Attachment: toAttachment(p.Attachment), Labels: toLabels(p.Labels)}, nil
	case agent.File:
		return partJSON{
			Type: "file", Attachment: toAttachment(p.Attachment), Extract: clean(p.Extract), Truncated: p.Truncated,
			Findings: toFindings(p.Findings), Labels: toLabels(p.Labels),
		}, nil
	case agent.ToolUse:
		return partJSON{Type: "tool_call", Call: p.Call, Labels: toLabels(p.Labels)}, nil
	case agent.ToolResult:
		content, err := toParts(p.Content)
		return partJSON{
			Type: "tool_result", Call: p.Call, ProviderID: clean(p.ProviderID), Name: clean(p.Name),
			Content: content, Failed: p.Failed, Labels: toLabels(p.Labels),
		}, err
	}
	return partJSON{}, fmt.Errorf("encode part: %T has no stored form", p)
}

func fromParts(list []partJSON) ([]agent.Part, error) {
	if len(list) == 0 {
		return nil, nil
	}
	parts := make([]agent.Part, 0, len(list))
	for _, one := range list {
		p, err := fromPart(one)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func fromPart(p partJSON) (agent.Part, error) {
	labels := fromLabels(p.Labels)
	switch p.Type {
	case "text":
		return agent.Text{Text: p.Text, Labels: labels}, nil
	case "thinking":
		return agent.Thinking{
			Text: p.Text, Signature: p.Signature, Redacted: p.Redacted,
			Model: agent.ModelRef{Provider: p.Provider, Name: p.Model}, Labels: labels,
		}, nil
	case "image":
		return agent.Image{Attachment: fromAttachment(p.Attachment), Labels: labels}, nil
	case "file":
		return agent.File{
			Attachment: fromAttachment(p.Attachment), Extract: p.Extract, Truncated: p.Truncated,
			Findings: fromFindings(p.Findings), Labels: labels,
		}, nil
	case "tool_call":
		return agent.ToolUse{Call: p.Call, Labels: labels}, nil
	case "tool_result":
		content, err := fromParts(p.Content)
		return agent.ToolResult{
			Call: p.Call, ProviderID: p.ProviderID, Name: p.Name, Content: content, Failed: p.Failed, Labels: labels,
		}, err
	}
	return nil, fmt.Errorf("decode part: unknown kind %q", p.Type)
}

func toAttachment(a agent.Attachment) *attachmentJSON {
	return &attachmentJSON{Hash: clean(a.Hash), Name: clean(a.Name), Media: clean(a.Media), Size: a.Size}
}

func fromAttachment(a *attachmentJSON) agent.Attachment {
	if a == nil {
		return agent.Attachment{}
	}
	return agent.Attachment{Hash: a.Hash, Name: a.Name, Media: a.Media, Size: a.Size}
}

func toLabels(l agent.Labels) []labelJSON {
	if len(l) == 0 {
		return nil
	}
	list := make([]labelJSON, len(l))
	for i, x := range l {
		list[i] = labelJSON{Source: clean(x.Source), Kind: x.Kind, Private: x.Private}
	}
	return list
}

func fromLabels(list []labelJSON) agent.Labels {
	if len(list) == 0 {
		return nil
	}
	l := make(agent.Labels, len(list))
	for i, x := range list {
		l[i] = agent.Label{Source: x.Source, Kind: x.Kind, Private: x.Private}
	}
	return l
}

// cleanParts returns parts as they will be read back.
func cleanParts(parts []agent.Part) []agent.Part {
	out := make([]agent.Part, len(parts))
	for i, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			p.Text = clean(p.Text)
			out[i] = p
		case agent.Image:
			p.Data = nil
			out[i] = p
		case agent.File:
			p.Extract, p.Data = clean(p.Extract), nil
			out[i] = p
		default:
			out[i] = p
		}
	}
	return out
}
