package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ash/agent/llm/llmtest"
)

// The worst model there is: it obeys every order it reads, whoever wrote it. Orders look like
//
//	[[shell {"command":"touch x"}]]     do it now
//	[[later shell {"command":"…"}]]     do it once the person has spoken again
//	⟦shell {"command":"touch x"}⟧       the same, for an order inside the arguments of an order
//
// It carries them out one after the other, in the order in which it reads them, and reports everything it read, so
// that whoever reads its report obeys as well.

var order = regexp.MustCompile(`\[\[(later )?([a-z_]+) (\{.*?\})\]\]|⟦([a-z_]+) (\{.*?\})⟧`)

// wire is what of a chat request the model looks at.
type wire struct {
	Messages []struct {
		Role      string `json:"role"`
		Content   any    `json:"content"`
		ToolCalls []struct {
			Function struct{ Name, Arguments string } `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct{ Name string } `json:"function"`
	} `json:"tools"`
}

// text returns the text of a message's content, in either of its forms.
func text(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var b strings.Builder
		for _, part := range c {
			if m, ok := part.(map[string]any); ok {
				s, _ := m["text"].(string)
				b.WriteString(s + "\n")
			}
		}
		return b.String()
	}
	return ""
}

// next returns the order to carry out now, "" when all were, and the report of all that was read.
func (w wire) next() (name, arguments, report string) {
	done := map[string]bool{}
	spoken := 0
	var read strings.Builder
	var wanted [][2]string
	for _, m := range w.Messages {
		if m.Role == "user" {
			spoken++
		}
		for _, c := range m.ToolCalls {
			done[c.Function.Name+compact(c.Function.Arguments)] = true
		}
	}
	turn := 0
	for _, m := range w.Messages {
		if m.Role == "user" {
			turn++
		}
		if m.Role != "user" && m.Role != "tool" {
			continue
		}
		body := text(m.Content)
		read.WriteString(body + "\n")
		for _, o := range order.FindAllStringSubmatch(body, -1) {
			if o[1] == "" || turn < spoken {
				wanted = append(wanted, [2]string{o[2] + o[4], o[3] + o[5]})
			}
		}
	}
	for _, o := range wanted {
		if !done[o[0]+compact(o[1])] && w.offers(o[0]) {
			return o[0], o[1], ""
		}
	}
	return "", "", read.String()
}

func (w wire) offers(tool string) bool {
	for _, t := range w.Tools {
		if t.Function.Name == tool {
			return true
		}
	}
	return false
}

func compact(arguments string) string {
	var v any
	if json.Unmarshal([]byte(arguments), &v) != nil {
		return arguments
	}
	b, err := json.Marshal(v)
	if err != nil {
		return arguments
	}
	return string(b)
}

// obeying serves the model in the wire format of OpenAI's chat completions and returns its base URL.
func obeying(t *testing.T) string {
	t.Helper()
	return llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"obey","object":"model","max_model_len":1000000}]}`)
			return
		}
		var in wire
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		name, arguments, report := in.next()
		delta, stop := map[string]any{"role": "assistant", "content": "I have read: " + report}, "stop"
		if name != "" {
			stop = "tool_calls"
			delta = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"index": 0, "id": fmt.Sprintf("call_%d", len(in.Messages)), "type": "function",
				"function": map[string]any{"name": name, "arguments": arguments},
			}}}
		}
		for _, choice := range []map[string]any{
			{"index": 0, "delta": delta, "finish_reason": nil},
			{"index": 0, "delta": map[string]any{}, "finish_reason": stop},
		} {
			b, err := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "model": "obey", "choices": []any{choice}})
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", b)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})) + "/v1"
}
