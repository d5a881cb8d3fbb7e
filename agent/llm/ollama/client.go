// Package ollama speaks Ollama's native API: chat as NDJSON with tools, thinking
// and images, the list of models with what each can do, and embeddings. It is a
// dialect of agent/llm. The native API is used rather than Ollama's
// OpenAI-compatible one because only it takes the size of the context window and
// how long the model stays loaded, and tells what a model can do.
//
// What holds here: a prompt is never cut off by the server's small default
// window, since each request names one that fits; a model that was not pulled is
// said to be so with the command that pulls it; a model that turns out to take
// no tools, or no thinking, is asked again at once without, and remembered.
package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ash/agent"
	"ash/agent/llm"
)

// maxShown bounds of how many models the abilities are asked; the rest are listed by name.
const maxShown = 200

// client is one Ollama server.
type client struct {
	conn llm.Connection
	base string // ends in /api

	mu    sync.Mutex
	lacks map[string]lack // by model name, as learned from refusals
}

// lack is what a model turned out not to take.
type lack struct{ tools, thinking bool }

var _ llm.Dialect = New

// New makes a client. It does not touch the network and accepts all complete settings.
func New(c llm.Connection) (llm.Client, error) { return newClient(c), nil }

func newClient(c llm.Connection) *client {
	// People paste the address with /api, or with the /v1 of the compatible API.
	base := strings.TrimSuffix(strings.TrimSuffix(c.Settings.BaseURL, "/v1"), "/api")
	return &client{conn: c, base: base + "/api", lacks: map[string]lack{}}
}

// Stream implements llm.Client.
func (c *client) Stream(ctx context.Context, info agent.ModelInfo, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		body, err := c.ask(ctx, info, p)
		if err != nil {
			yield(agent.Delta{}, err)
			return
		}
		d := decoder{model: info.Ref, yield: yield}
		err = d.decode(body)
		if err == nil {
			llm.Finish(body, cancel)
			return
		}
		cancel()
		_ = body.Close()
		if !errors.Is(err, errStopped) {
			yield(agent.Delta{}, err)
		}
	}
}

// ask sends p, without what the model is known not to take, and returns the stream. Every error is a *llm.Fault.
func (c *client) ask(ctx context.Context, info agent.ModelInfo, p agent.Prompt) (io.ReadCloser, error) {
	for {
		c.mu.Lock()
		known := c.lacks[info.Ref.Name]
		c.mu.Unlock()
		if known.thinking {
			info.Thinking = false
		}
		if known.tools && info.Tools {
			info.Tools = false
			p = llm.Adapt(p, info)
		}
		r, err := build(c.conn.Settings, info, p)
		if err != nil {
			return nil, err
		}
		body, err := r.encode()
		if err != nil {
			return nil, llm.NewFault(llm.FaultRequest, "the prompt cannot be encoded", err)
		}
		stream, err := c.do(ctx, http.MethodPost, "/chat", body)
		if err == nil {
			return stream, nil
		}
		if !c.learn(r, err) {
			return nil, explain(err, info.Ref.Name)
		}
	}
}

// learn reports whether err says that the model lacks something r asked for, and remembers it.
func (c *client) learn(r chatRequest, err error) bool {
	f := llm.FaultOf(err)
	if f == nil || f.Status != http.StatusBadRequest {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.lacks[r.Model]
	switch {
	case strings.Contains(f.Detail, "does not support tools") && len(r.Tools) > 0 && !known.tools:
		known.tools = true
	case strings.Contains(f.Detail, "does not support thinking") && r.Think != nil && !known.thinking:
		known.thinking = true
	default:
		return false
	}
	c.lacks[r.Model] = known
	return true
}

// explain adds what the person can do about a model that is not there.
func explain(err error, model string) error {
	f := llm.FaultOf(err)
	if f == nil || f.Kind != llm.FaultModel {
		return err
	}
	own := *f
	own.Detail = fmt.Sprintf("not pulled yet; get it with: ollama pull %s", model)
	return &own
}

// do makes one request and returns the body of its successful response; every error is a *llm.Fault.
func (c *client) do(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, llm.NewFault(llm.FaultRequest, "the address cannot be used", err)
	}
	key, err := c.conn.Key(ctx)
	if err != nil {
		return nil, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.conn.Settings.Headers {
		req.Header.Set(k, v)
	}
	resp, err := c.conn.HTTP.Do(req)
	if err != nil {
		return nil, llm.TransportFault(err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, llm.ResponseFault(resp, time.Now())
	}
	if f := llm.NotStream(resp); f != nil {
		return nil, f
	}
	return resp.Body, nil
}

// fetch makes one request and decodes its whole answer into out; every error is a *llm.Fault.
func (c *client) fetch(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var payload []byte
	if in != nil {
		var err error
		if payload, err = json.Marshal(in); err != nil {
			return llm.NewFault(llm.FaultRequest, "the request cannot be encoded", err)
		}
	}
	body, err := c.do(ctx, method, path, payload)
	if err != nil {
		return err
	}
	defer llm.Finish(body, cancel)
	raw, err := io.ReadAll(io.LimitReader(body, llm.MaxBody))
	if err != nil {
		return llm.TransportFault(err)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return llm.NewFault(llm.FaultMalformed, "the answer is not JSON", err)
	}
	return nil
}

// Models implements llm.Client: the pulled models that can chat, each with what /api/show tells of it.
func (c *client) Models(ctx context.Context) ([]agent.ModelInfo, error) {
	var tags tagList
	if err := c.fetch(ctx, http.MethodGet, "/tags", nil, &tags); err != nil {
		return nil, err
	}
	var out []agent.ModelInfo
	for i, t := range tags.Models {
		name := t.Model
		if name == "" {
			name = t.Name
		}
		info := agent.ModelInfo{Ref: agent.ModelRef{Provider: c.conn.Settings.Name, Name: name}, Local: c.conn.Settings.Local() && t.RemoteHost == ""}
		if i >= maxShown {
			out = append(out, info)
			continue
		}
		chats, err := c.show(ctx, &info)
		if ctx.Err() != nil {
			return nil, llm.TransportFault(err)
		}
		if err != nil || chats { // one that cannot be described can still be tried
			out = append(out, info)
		}
	}
	return out, nil
}

// show fills in what the server knows of a model and reports whether it can chat.
func (c *client) show(ctx context.Context, info *agent.ModelInfo) (bool, error) {
	var a showAnswer
	if err := c.fetch(ctx, http.MethodPost, "/show", showRequest{Model: info.Ref.Name}, &a); err != nil {
		return false, err
	}
	info.Tools = slices.Contains(a.Capabilities, "tools")
	info.Vision = slices.Contains(a.Capabilities, "vision")
	info.Thinking = slices.Contains(a.Capabilities, "thinking")
	info.ContextWindow = a.number("context_length")
	// Servers before 0.6.4 tell no capabilities at all.
	return len(a.Capabilities) == 0 || slices.Contains(a.Capabilities, "completion"), nil
}

// number reads a figure the model's architecture prefixes, such as llama.context_length; 0 when there is none.
func (a showAnswer) number(key string) int {
	var arch string
	if json.Unmarshal(a.ModelInfo["general.architecture"], &arch) != nil {
		return 0
	}
	var n int
	if json.Unmarshal(a.ModelInfo[arch+"."+key], &n) != nil || n < 0 {
		return 0
	}
	return n
}
