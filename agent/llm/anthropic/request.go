package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ash/agent"
	"ash/agent/llm"
)

const (
	// defaultMaxTokens is asked for when neither the prompt nor the catalog names a limit: the
	// API requires one, and every model on offer can write this much.
	defaultMaxTokens = 8192
	// maxBreakpoints is how many cache_control marks the API accepts in one request.
	maxBreakpoints = 4
	maxToolName    = 128
	pdf            = "application/pdf"
)

// The API wants the first message to be the person's and refuses a prefilled reply on
// newer models; these stand in where a conversation does not begin or end that way.
const (
	openingText  = "(The beginning of the conversation is left out.)"
	continueText = "Go on exactly where your last message stops, without repeating any of it."
	lostResult   = "There is no result: this call was not carried out."
)

var unsafeName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// builder turns a prompt into a request. It lives for one call.
type builder struct {
	info  agent.ModelInfo
	ids   map[agent.ID]string // our call id → tool_use id
	taken map[string]bool     // tool_use ids in use; the API wants them unique
	round int                 // first message of the current tool round
}

// draft is a message while it is being put together.
type draft struct {
	role   string
	blocks []block
	cache  []int // indexes of blocks after which a breakpoint is welcome
}

// build makes the request for p. Errors: a *llm.Fault when nothing is left to send.
func build(info agent.ModelInfo, p agent.Prompt, think level) (request, error) {
	b := &builder{info: info, ids: map[agent.ID]string{}, taken: map[string]bool{}, round: roundStart(p.Messages)}
	drafts := b.drafts(p.Messages)
	if len(drafts) == 0 {
		return request{}, llm.NewFault(llm.FaultRequest, "there is nothing to send: the message is empty", nil)
	}
	drafts = pairResults(frame(drafts))
	r := request{
		Model:       info.Ref.Name,
		MaxTokens:   maxTokens(info, p),
		Tools:       tools(p.Tools),
		Temperature: p.Temperature,
		Stream:      true,
	}
	if strings.TrimSpace(p.System) != "" {
		r.System = []block{{Type: "text", Text: p.System}}
	}
	applyThinking(&r, think, drafts)
	markCache(&r, drafts)
	for _, d := range drafts {
		r.Messages = append(r.Messages, message{Role: d.role, Content: d.blocks})
	}
	return r, nil
}

// encode writes the body. HTML escaping would only make it longer.
func (r request) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
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

func tools(specs []agent.ToolSpec) []tool {
	var out []tool
	for _, s := range specs {
		schema := s.Schema
		if !isObject(schema) {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		out = append(out, tool{Name: wireName(s.Name), Description: s.Description, InputSchema: schema})
	}
	return out
}

// wireName makes a tool's name fit ^[a-zA-Z0-9_-]{1,128}$.
func wireName(name string) string {
	name = unsafeName.ReplaceAllString(name, "_")
	if name == "" {
		return "_"
	}
	return name[:min(len(name), maxToolName)]
}

// roundStart returns the index after the last message of the person that is more than
// tool results. From there on thinking must go back unchanged.
func roundStart(ms []agent.PromptMessage) int {
	for i, m := range slices.Backward(ms) {
		if m.Role != agent.RoleUser {
			continue
		}
		for _, p := range m.Parts {
			if _, ok := p.(agent.ToolResult); !ok {
				return i + 1
			}
		}
	}
	return 0
}

// drafts converts the messages, leaves out empty ones and merges neighbours of one role.
func (b *builder) drafts(ms []agent.PromptMessage) []*draft {
	var out []*draft
	for i, m := range ms {
		role := "user"
		if m.Role == agent.RoleAssistant {
			role = "assistant"
		}
		blocks := b.blocks(m, i >= b.round)
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n == 0 || out[n-1].role != role {
			out = append(out, &draft{role: role})
		}
		d := out[len(out)-1]
		d.blocks = append(d.blocks, blocks...)
		if m.Cache {
			d.cache = append(d.cache, len(d.blocks)-1)
		}
	}
	return out
}

func (b *builder) blocks(m agent.PromptMessage, current bool) []block {
	var out []block
	for _, p := range m.Parts {
		switch p := p.(type) {
		case agent.Text:
			out = appendText(out, p.Text)
		case agent.Thinking:
			if t, ok := b.thought(p, m.Role, current); ok {
				out = append(out, t)
			}
		case agent.Image:
			out = append(out, image(p))
		case agent.File:
			out = append(out, document(p))
		case agent.ToolUse:
			if c := llm.CallOf(m, p.Call); c != nil {
				out = append(out, b.use(*c))
			}
		case agent.ToolResult:
			out = append(out, b.result(p))
		}
	}
	return out
}

// appendText adds a text block unless it is blank, which the API refuses.
func appendText(bs []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return bs
	}
	return append(bs, block{Type: "text", Text: text})
}

// thought gives a thinking block back as it came: only to the model that made it, only within the
// current tool round, and only signed, since the API refuses anything else.
func (b *builder) thought(t agent.Thinking, role agent.Role, current bool) (block, bool) {
	switch {
	case role != agent.RoleAssistant || !current || t.Model != b.info.Ref:
		return block{}, false
	case t.Redacted != "":
		return block{Type: "redacted_thinking", Data: t.Redacted}, true
	case t.Signature != "":
		return block{Type: "thinking", Thinking: &t.Text, Signature: &t.Signature}, true
	}
	return block{}, false
}

func image(p agent.Image) block {
	switch p.Attachment.Media {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		if len(p.Data) > 0 {
			return block{Type: "image", Source: &source{Type: "base64", MediaType: p.Attachment.Media, Data: p.Data}}
		}
	}
	return block{Type: "text", Text: fmt.Sprintf("[Image %q (%s) is not shown: this format cannot be sent.]", p.Attachment.Name, p.Attachment.Media)}
}

// document sends a PDF as it is when its bytes are there, any other file as its text.
func document(p agent.File) block {
	if p.Attachment.Media == pdf && len(p.Data) > 0 {
		return block{Type: "document", Source: &source{Type: "base64", MediaType: pdf, Data: p.Data}, Title: p.Attachment.Name}
	}
	return block{Type: "text", Text: llm.FileText(p)}
}

func (b *builder) use(c agent.ToolCall) block {
	return block{Type: "tool_use", ID: b.useID(c.ID, c.ProviderID), Name: wireName(c.Name), Input: llm.CallArguments(c)}
}

func (b *builder) result(r agent.ToolResult) block {
	out := block{Type: "tool_result", ToolUseID: b.useID(r.Call, r.ProviderID), IsError: r.Failed}
	for _, p := range r.Content {
		switch p := p.(type) {
		case agent.Text:
			out.Content = appendText(out.Content, p.Text)
		case agent.Image:
			out.Content = append(out.Content, image(p))
		}
	}
	return out
}

// useID returns the tool_use id of a call: the provider's own where it fits
// ^[a-zA-Z0-9_-]+$ and no other call has it (some servers number every reply from zero), else one made of ours.
func (b *builder) useID(call agent.ID, provider string) string {
	if id, ok := b.ids[call]; ok {
		return id
	}
	id := provider
	if id == "" || len(id) > 128 || unsafeName.MatchString(id) || b.taken[id] {
		id = "ash_" + unsafeName.ReplaceAllString(string(call), "_")
	}
	b.ids[call], b.taken[id] = id, true
	return id
}

// frame makes the conversation begin and end with the person.
func frame(ds []*draft) []*draft {
	if ds[0].role != "user" {
		ds = slices.Insert(ds, 0, &draft{role: "user", blocks: []block{{Type: "text", Text: openingText}}})
	}
	if ds[len(ds)-1].role != "user" {
		ds = append(ds, &draft{role: "user", blocks: []block{{Type: "text", Text: continueText}}})
	}
	return ds
}

// pairResults holds the API's rule that the message after tool_use blocks begins with
// exactly their results: missing ones are filled in, stray ones become plain text.
func pairResults(ds []*draft) []*draft {
	for i, d := range ds {
		if d.role != "user" {
			continue
		}
		var asked []string
		if i > 0 {
			for _, b := range ds[i-1].blocks {
				if b.Type == "tool_use" {
					asked = append(asked, b.ID)
				}
			}
		}
		d.settle(asked)
	}
	return ds
}

// settle reorders d so that the results of asked stand first, in that order.
func (d *draft) settle(asked []string) {
	results := map[string]block{}
	var rest []block
	moved := make([]int, len(d.blocks)) // old index → index in rest, -1 for a result
	for i, b := range d.blocks {
		moved[i] = len(rest)
		_, twice := results[b.ToolUseID]
		switch {
		case b.Type != "tool_result":
			rest = append(rest, b)
		case slices.Contains(asked, b.ToolUseID) && !twice:
			results[b.ToolUseID], moved[i] = b, -1
		default:
			rest = append(rest, block{Type: "text", Text: "[Result of an earlier tool call]\n" + plain(b.Content)})
		}
	}
	d.blocks = make([]block, 0, len(asked)+len(rest))
	for _, id := range asked {
		b, ok := results[id]
		if !ok {
			b = block{Type: "tool_result", ToolUseID: id, IsError: true, Content: []block{{Type: "text", Text: lostResult}}}
		}
		d.blocks = append(d.blocks, b)
	}
	for i, at := range d.cache {
		if d.cache[i] = len(asked) + moved[at]; moved[at] < 0 {
			d.cache[i] = len(asked) - 1
		}
	}
	d.blocks = append(d.blocks, rest...)
}

func plain(bs []block) string {
	var out []string
	for _, b := range bs {
		if b.Text != "" {
			out = append(out, b.Text)
		}
	}
	return strings.Join(out, "\n")
}

// markCache sets the breakpoints: behind the tools, behind the system prompt, and behind
// the last places in the history the prompt names.
func markCache(r *request, ds []*draft) {
	left := maxBreakpoints
	mark := func() *cacheControl {
		left--
		return &cacheControl{Type: "ephemeral"}
	}
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1].CacheControl = mark()
	}
	if len(r.System) > 0 {
		r.System[0].CacheControl = mark()
	}
	for _, d := range slices.Backward(ds) {
		for _, at := range slices.Backward(d.cache) {
			// Thinking blocks cannot bear a mark; the block before them can.
			for at >= 0 && (d.blocks[at].Type == "thinking" || d.blocks[at].Type == "redacted_thinking") {
				at--
			}
			if left > 0 && at >= 0 && d.blocks[at].CacheControl == nil {
				d.blocks[at].CacheControl = mark()
			}
		}
	}
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 1 && raw[0] == '{' && json.Valid(raw)
}
