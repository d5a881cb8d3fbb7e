package openai

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"

	api "github.com/sashabaranov/go-openai"

	"ash/agent"
	"ash/agent/llm"
)

// Client speaks to one server. It is used from many goroutines.
type Client struct {
	api      *api.Client
	wire     *wire
	settings llm.Settings
	vendor   llm.Vendor
	own      bool // the server is the vendor's own, so its rules are known

	mu      sync.Mutex
	refused map[string]options // by model: what its server does not take
}

// options are the parts of a request that some servers refuse.
type options struct {
	usage       bool // stream_options
	temperature bool
	maxTokens   bool // max_tokens; max_completion_tokens is sent instead
	reasoning   bool // reasoning_content of earlier messages
	effort      bool // tools beside reasoning, which some models have in another API only: it is switched off
}

// New makes a client. It is a llm.Dialect: use it for the kind "openai".
func New(c llm.Connection) (llm.Client, error) {
	if c.Settings.BaseURL == "" {
		return nil, agent.Errorf(agent.CodeInvalid, "Provider %s needs a base URL, such as http://127.0.0.1:8000/v1.", c.Settings.Name)
	}
	w := &wire{http: c.HTTP, key: c.Key, head: c.Settings.Headers}
	config := api.DefaultConfig("") // the wire sets the key, which may change
	config.BaseURL = c.Settings.BaseURL
	config.HTTPClient = w
	vendor := c.Settings.Vendor()
	return &Client{
		api:      api.NewClientWithConfig(config),
		wire:     w,
		settings: c.Settings,
		vendor:   vendor,
		own:      c.Settings.OwnServer(),
		refused:  make(map[string]options),
	}, nil
}

// Stream implements llm.Client.
func (c *Client) Stream(ctx context.Context, info agent.ModelInfo, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := c.open(ctx, info, p)
		if err != nil {
			yield(agent.Delta{}, err)
			return
		}
		s := newStream(yield)
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
			s.whole(resp.Body)
		} else {
			s.events(llm.NewEventReader(resp.Body, 0))
		}
		if s.clean {
			llm.Finish(resp.Body, cancel)
			return
		}
		_ = resp.Body.Close() // breaking off: there is nothing left to learn from it
	}
}

// open sends the request. A server that refuses an option Ash can do without is asked again, and remembered.
func (c *Client) open(ctx context.Context, info agent.ModelInfo, p agent.Prompt) (*http.Response, error) {
	for {
		c.mu.Lock()
		without := c.refused[info.Ref.Name]
		c.mu.Unlock()
		body, err := c.encode(info, p, without)
		if err != nil {
			return nil, llm.NewFault(llm.FaultRequest, "", err)
		}
		x := &exchange{body: body}
		// The request is empty because the wire replaces it, and because go-openai checks
		// the models it knows by rules that other servers do not share.
		_, err = c.api.CreateChatCompletionStream(context.WithValue(ctx, exchangeKey{}, x), api.ChatCompletionRequest{})
		if err == nil {
			return x.response, nil
		}
		fault := llm.TransportFault(err)
		less, ok := without.without(fault)
		if !ok {
			return nil, fault
		}
		c.mu.Lock()
		c.refused[info.Ref.Name] = less
		c.mu.Unlock()
	}
}

// without adds the option a refusal is about; it reports false when there is none that could still be left out.
func (o options) without(f *llm.Fault) (options, bool) {
	if f.Kind != llm.FaultRequest {
		return o, false
	}
	for _, known := range []struct {
		words   string
		refused *bool
	}{
		{"stream_options", &o.usage},
		{"include_usage", &o.usage},
		{"max_tokens", &o.maxTokens},
		{"temperature", &o.temperature},
		{"/v1/responses", &o.effort},
		{"Responses API", &o.effort},
		{"reasoning", &o.reasoning},
	} {
		if !*known.refused && strings.Contains(f.Detail, known.words) {
			*known.refused = true
			return o, true
		}
	}
	return o, false
}

// Models implements llm.Client. It reads the list itself because go-openai's type has no place for the windows and
// prices that OpenRouter, Groq, vLLM and llama.cpp tell.
func (c *Client) Models(ctx context.Context) ([]agent.ModelInfo, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.settings.BaseURL+"/models", nil)
	if err != nil {
		return nil, llm.NewFault(llm.FaultAddress, "", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.wire.Do(req)
	if err != nil {
		return nil, llm.TransportFault(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, llm.TransportFault(err)
	}
	var list struct {
		Data *[]listed `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		return nil, llm.NewFault(llm.FaultMalformed, "the list of models cannot be read", err)
	}
	var out []agent.ModelInfo
	for _, m := range *list.Data {
		if name := strings.TrimPrefix(m.ID, "models/"); name != "" && chats(name) {
			out = append(out, m.info(name))
		}
	}
	return out, nil
}

// listed is a model as servers list it, with the fields beyond OpenAI's own.
type listed struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	ContextLength int    `json:"context_length"`     // OpenRouter, LM Studio
	ContextWindow int    `json:"context_window"`     // Groq
	MaxContext    int    `json:"max_context_length"` // Mistral
	MaxModelLen   int    `json:"max_model_len"`      // vLLM
	Meta          *struct {
		Context int `json:"n_ctx"` // llama.cpp
	} `json:"meta"`
	Pricing *struct { // OpenRouter: dollars per token, as text
		Prompt     dollars `json:"prompt"`
		Completion dollars `json:"completion"`
		CacheRead  dollars `json:"input_cache_read"`
		CacheWrite dollars `json:"input_cache_write"`
	} `json:"pricing"`
	Parameters   []string `json:"supported_parameters"` // OpenRouter
	Architecture *struct {
		Inputs []string `json:"input_modalities"` // OpenRouter
	} `json:"architecture"`
}

func (m listed) info(name string) agent.ModelInfo {
	info := agent.ModelInfo{Ref: agent.ModelRef{Name: name}, ContextWindow: max(m.ContextLength, m.ContextWindow, m.MaxContext, m.MaxModelLen)}
	if m.Name != m.ID {
		info.Title = m.Name
	}
	if m.Meta != nil {
		info.ContextWindow = max(info.ContextWindow, m.Meta.Context)
	}
	for _, p := range m.Parameters {
		info.Tools = info.Tools || p == "tools"
		info.Thinking = info.Thinking || p == "reasoning"
	}
	if m.Architecture != nil {
		for _, in := range m.Architecture.Inputs {
			info.Vision = info.Vision || in == "image"
		}
	}
	if p := m.Pricing; p != nil {
		info.Price = agent.Price{Input: p.Prompt.micro(), Output: p.Completion.micro(), CacheRead: p.CacheRead.micro(), CacheWrite: p.CacheWrite.micro()}
		if info.Price.CacheRead == 0 {
			info.Price.CacheRead = info.Price.Input
		}
		if info.Price.CacheWrite == 0 {
			info.Price.CacheWrite = info.Price.Input
		}
	}
	return info
}

// chats leaves out what vendors list beside their chat models.
func chats(name string) bool {
	for _, other := range []string{"embed", "whisper", "tts", "dall-e", "moderation", "gpt-image", "imagen", "veo-", "sora", "babbage", "davinci",
		"realtime", "-audio", "transcribe", "rerank", "aqa", "-ocr", "guard", "lyria", "computer-use"} {
		if strings.Contains(strings.ToLower(name), other) {
			return false
		}
	}
	return true
}
