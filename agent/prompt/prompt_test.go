package prompt

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// now is the moment at which test conversations begin.
var now = time.Date(2026, 3, 2, 13, 5, 0, 0, time.UTC)

type fixed string

func (f fixed) System(context.Context) (string, error) { return string(f), nil }

type blobs map[string][]byte

func (b blobs) Load(hash string) ([]byte, error) {
	if data, ok := b[hash]; ok {
		return data, nil
	}
	return nil, os.ErrNotExist
}

type memory struct {
	core   agent.Text
	recall []agent.Recollection
}

func (m memory) Core(context.Context, agent.Thread) (agent.Text, error) { return m.core, nil }
func (m memory) Recall(context.Context, agent.PromptRequest) ([]agent.Recollection, error) {
	return m.recall, nil
}

// talk grows a conversation message by message.
type talk struct {
	thread agent.ID
	path   []agent.Message
	clock  time.Time
	n      int
}

func newTalk() *talk {
	return &talk{thread: "018f0000-0000-7000-8000-00000000abcd", clock: now}
}

func (t *talk) id(kind string) agent.ID {
	t.n++
	return agent.ID(fmt.Sprintf("%s-%06d", kind, t.n))
}

func (t *talk) add(m agent.Message) *agent.Message {
	m.ID, m.Thread, m.Created = t.id("message"), t.thread, t.clock
	t.clock = t.clock.Add(time.Minute)
	if len(t.path) > 0 {
		m.Parent = t.path[len(t.path)-1].ID
	}
	if m.State == "" {
		m.State = agent.MessageComplete
	}
	t.path = append(t.path, m)
	return &t.path[len(t.path)-1]
}

func (t *talk) say(text string, parts ...agent.Part) *agent.Message {
	return t.add(agent.Message{Role: agent.RoleUser, Parts: append([]agent.Part{agent.Text{Text: text}}, parts...)})
}

func (t *talk) answer(text string) *agent.Message {
	return t.add(agent.Message{Role: agent.RoleAssistant, Model: model.Ref, Parts: []agent.Part{agent.Text{Text: text}}})
}

func (t *talk) use(name string, state agent.CallState, result ...agent.Part) *agent.Message {
	m := t.add(agent.Message{Role: agent.RoleAssistant, Model: model.Ref})
	c := agent.ToolCall{ID: t.id("call"), ProviderID: "p_" + string(m.ID), Message: m.ID, Name: name, Arguments: json.RawMessage(`{"a":1}`), State: state, Result: result}
	m.Calls = []agent.ToolCall{c}
	m.Parts = []agent.Part{agent.ToolUse{Call: c.ID}}
	return m
}

var (
	model = agent.ModelInfo{Ref: agent.ModelRef{Provider: "test", Name: "one"}, ContextWindow: 128 << 10, Tools: true, Vision: true, Documents: true}
	tools = []agent.ToolSpec{{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object"}`)}}
)

func (t *talk) request() agent.PromptRequest {
	return agent.PromptRequest{
		Thread: agent.Thread{ID: t.thread}, Path: t.path, Model: model, Tools: tools, Now: t.clock,
	}
}

func (t *talk) build(tb testing.TB, b *Builder, change ...func(*agent.PromptRequest)) agent.BuiltPrompt {
	tb.Helper()
	r := t.request()
	for _, f := range change {
		f(&r)
	}
	built, err := b.Build(tb.Context(), r)
	if err != nil {
		tb.Fatalf("Build: %v", err)
	}
	if err := valid(built.Prompt); err != nil {
		tb.Fatalf("invalid prompt: %v\n%s", err, wire(built.Prompt))
	}
	return built
}

// wire writes a prompt in the order in which providers cache it.
func wire(p agent.Prompt) string {
	var b strings.Builder
	for _, t := range p.Tools {
		fmt.Fprintf(&b, "tool %s %s %s\n", t.Name, t.Description, t.Schema)
	}
	fmt.Fprintf(&b, "system %s\n", p.System)
	for _, m := range p.Messages {
		fmt.Fprintf(&b, "<%s>", m.Role)
		wireParts(&b, m.Parts)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "call %s %s %s %s", c.ProviderID, c.Name, c.Arguments, c.Extra)
		}
	}
	return b.String()
}

func wireParts(b *strings.Builder, parts []agent.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			b.WriteString(p.Text)
		case agent.Thinking:
			b.WriteString(p.Text + p.Signature + p.Redacted)
		case agent.Image:
			b.Write(p.Data)
		case agent.File:
			b.Write(p.Data)
		case agent.ToolResult:
			fmt.Fprintf(b, "result %s %t ", p.ProviderID, p.Failed)
			wireParts(b, p.Content)
		}
	}
}

// valid holds a prompt against the rules that providers enforce.
func valid(p agent.Prompt) error {
	if len(p.Messages) == 0 || p.Messages[0].Role != agent.RoleUser {
		return fmt.Errorf("does not begin with the user")
	}
	if p.Messages[len(p.Messages)-1].Role != agent.RoleUser {
		return fmt.Errorf("does not end with the user")
	}
	ids := make(map[string]bool)
	breakpoints := 0
	var open map[string]bool
	for i, m := range p.Messages {
		if m.Cache {
			breakpoints++
		}
		if len(m.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		results := 0
		uses := make(map[agent.ID]bool)
		for _, part := range m.Parts {
			switch part := part.(type) {
			case agent.Text:
				if strings.TrimSpace(part.Text) == "" {
					return fmt.Errorf("message %d has an empty text", i)
				}
			case agent.Image:
				if len(part.Data) == 0 {
					return fmt.Errorf("message %d has a picture without data", i)
				}
			case agent.File:
				if len(part.Data) == 0 {
					return fmt.Errorf("message %d has a document without data", i)
				}
			case agent.ToolUse:
				uses[part.Call] = true
			case agent.ToolResult:
				results++
				if !open[part.ProviderID] {
					return fmt.Errorf("message %d has a result %q without a call", i, part.ProviderID)
				}
				delete(open, part.ProviderID)
				if len(part.Content) == 0 {
					return fmt.Errorf("message %d has an empty result", i)
				}
			}
		}
		if len(open) > 0 {
			return fmt.Errorf("calls before message %d have no result: %v", i, open)
		}
		if results > 0 && (results != len(m.Parts) || m.Role != agent.RoleUser) {
			return fmt.Errorf("message %d mixes results with other parts", i)
		}
		if i > 0 && p.Messages[i-1].Role == m.Role {
			_, after := p.Messages[i-1].Parts[0].(agent.ToolResult)
			if m.Role != agent.RoleUser || !after || results > 0 {
				return fmt.Errorf("messages %d and %d are both of the %s", i-1, i, m.Role)
			}
		}
		if len(uses) != len(m.Calls) {
			return fmt.Errorf("message %d has %d uses and %d calls", i, len(uses), len(m.Calls))
		}
		open = make(map[string]bool)
		for _, c := range m.Calls {
			if !uses[c.ID] || m.Role != agent.RoleAssistant || c.ProviderID == "" || ids[c.ProviderID] || !json.Valid(c.Arguments) {
				return fmt.Errorf("message %d has a bad call %+v", i, c)
			}
			ids[c.ProviderID], open[c.ProviderID] = true, true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("ends with calls without a result")
	}
	if breakpoints > 2 {
		return fmt.Errorf("%d cache breakpoints", breakpoints)
	}
	return nil
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func TestHelloIsSmall(t *testing.T) {
	identity := ""
	for _, name := range []string{"SOUL", "USER", "TOOLS"} {
		text, err := os.ReadFile("../identity/default/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		identity += string(text) + "\n\n"
	}
	talk := newTalk()
	talk.say("hello")
	built := talk.build(t, New(Options{Identity: fixed(identity)}), func(r *agent.PromptRequest) { r.Tools = nil })
	body, err := json.Marshal(built.Prompt)
	if err != nil {
		t.Fatal(err)
	}
	if len(body) >= 4<<10 {
		t.Errorf("hello sends %d bytes, want under 4 KB", len(body))
	}
	t.Logf("hello: %d bytes as JSON, %d on the wire, %d tokens", len(body), len(wire(built.Prompt)), built.Tokens)
}

// failing is an identity that fails with its error, and a memory that fails in Core, or in Recall when the error is nil.
type failing struct{ err error }

func (f failing) System(context.Context) (string, error) { return "", f.err }
func (f failing) Core(context.Context, agent.Thread) (agent.Text, error) {
	return agent.Text{}, f.err
}
func (f failing) Recall(context.Context, agent.PromptRequest) ([]agent.Recollection, error) {
	return nil, os.ErrClosed
}
