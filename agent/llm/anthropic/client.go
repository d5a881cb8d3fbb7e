// Package anthropic speaks the Anthropic Messages API, at Anthropic, at Amazon
// Bedrock and at gateways, streamed: text, thinking
// with its signatures, tool input in pieces, images, PDFs and prompt caching.
// It is a dialect of agent/llm; docs/adr/0002-model-clients.md says why it does
// not use the vendor's SDK.
//
// What holds here: whatever prompt comes in, the request keeps the rules the API
// enforces (roles alternate and begin and end with the person, no blank text,
// every tool_use answered in the next message, unique ids of its alphabet, at most
// four cache breakpoints); signed thinking goes back unchanged, to the model that made
// it, within one tool round; the same history encodes to the same bytes, so that the
// provider's cache hits.
package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/llm"
)

// apiVersion is the version of the API spoken here; the vendor keeps it stable.
const apiVersion = "2023-06-01"

// ownHost is the vendor's server, which takes the key in one header only.
const ownHost = "api.anthropic.com"

// maxModelPages bounds how often the list of models is paged through.
const maxModelPages = 10

// client is one provider that speaks the Messages API.
type client struct {
	conn llm.Connection
	base string
}

var _ llm.Dialect = New

// New makes a client. It does not touch the network and accepts all complete settings.
func New(c llm.Connection) (llm.Client, error) {
	// People paste the address with and without its version.
	return &client{conn: c, base: strings.TrimSuffix(c.Settings.BaseURL, "/v1") + "/v1"}, nil
}

// Stream implements llm.Client.
func (c *client) Stream(ctx context.Context, info agent.ModelInfo, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := c.ask(ctx, info, p)
		if err != nil {
			yield(agent.Delta{}, err)
			return
		}
		d := decoder{model: info.Ref, names: renamed(p.Tools), yield: yield}
		err = d.decode(resp.Body)
		if err == nil {
			llm.Finish(resp.Body, cancel)
			return
		}
		cancel()
		_ = resp.Body.Close()
		if !errors.Is(err, errStopped) {
			yield(agent.Delta{}, err)
		}
	}
}

// ask sends p and returns the response whose body is the stream; every error is a *llm.Fault.
func (c *client) ask(ctx context.Context, info agent.ModelInfo, p agent.Prompt) (*http.Response, error) {
	r, err := build(info, p, level(c.conn.Settings.Thinking))
	if err != nil {
		return nil, err
	}
	body, err := r.encode()
	if err != nil {
		return nil, llm.NewFault(llm.FaultRequest, "the prompt cannot be encoded", err)
	}
	resp, err := c.do(ctx, http.MethodPost, c.base+"/messages", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if f := llm.NotStream(resp); f != nil {
		return nil, f
	}
	return resp, nil
}

// do makes one request and returns its successful response; every error is a *llm.Fault.
func (c *client) do(ctx context.Context, method, address string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, llm.NewFault(llm.FaultRequest, "the address cannot be used", err)
	}
	key, err := c.conn.Key(ctx)
	if err != nil {
		return nil, err
	}
	if key != "" {
		req.Header.Set("X-Api-Key", key)
		if req.URL.Host != ownHost {
			req.Header.Set("Authorization", "Bearer "+key) // what Amazon Bedrock and most gateways want
		}
	}
	req.Header.Set("Anthropic-Version", apiVersion)
	if body != nil {
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
		f := llm.ResponseFault(resp, time.Now())
		if f.Kind == llm.FaultAddress && strings.HasPrefix(f.Detail, "model:") {
			f.Kind = llm.FaultModel // an unknown model is a plain not_found_error here
		}
		return nil, f
	}
	return resp, nil
}

// renamed maps the names of tools on the wire to ours, where they differ.
func renamed(specs []agent.ToolSpec) map[string]string {
	var out map[string]string
	for _, s := range specs {
		if w := wireName(s.Name); w != s.Name {
			if out == nil {
				out = map[string]string{}
			}
			out[w] = s.Name
		}
	}
	return out
}

// Models implements llm.Client: GET /v1/models, page by page.
func (c *client) Models(ctx context.Context) ([]agent.ModelInfo, error) {
	var out []agent.ModelInfo
	query := url.Values{"limit": {"1000"}}
	for range maxModelPages {
		page, err := c.modelPage(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Data {
			out = append(out, agent.ModelInfo{
				Ref:           agent.ModelRef{Provider: c.conn.Settings.Name, Name: m.ID},
				Title:         m.DisplayName,
				ContextWindow: m.MaxInputTokens,
				MaxOutput:     m.MaxTokens,
				Tools:         true, // every model of this API takes tools
				Vision:        m.Capabilities.ImageInput.Supported,
				Documents:     m.Capabilities.PDFInput.Supported,
				Thinking:      m.Capabilities.Thinking.Supported,
			})
		}
		if !page.HasMore || page.LastID == "" {
			break
		}
		query.Set("after_id", page.LastID)
	}
	return out, nil
}

func (c *client) modelPage(ctx context.Context, query url.Values) (modelList, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var page modelList
	resp, err := c.do(ctx, http.MethodGet, c.base+"/models?"+query.Encode(), nil) //nolint:bodyclose // Finish closes it
	if err != nil {
		return page, err
	}
	defer llm.Finish(resp.Body, cancel)
	if f := llm.NotStream(resp); f != nil {
		return page, f
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, llm.MaxBody))
	if err != nil {
		return page, llm.TransportFault(err)
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return page, llm.NewFault(llm.FaultMalformed, "the list of models is not JSON", fmt.Errorf("decode models: %w", err))
	}
	return page, nil
}
