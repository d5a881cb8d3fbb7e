package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"ash/agent"
)

// parseCalls reads the calls between tool-call tags: one JSON object, several in a row, or a list, in the form
// {"name": …, "arguments": {…}} that Hermes and Qwen models are trained on ("parameters" in Llama's). It returns nil unless all of it can be read.
func parseCalls(body []byte) []agent.CallPiece {
	var calls []agent.CallPiece
	dec := json.NewDecoder(bytes.NewReader(body))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			if errors.Is(err, io.EOF) {
				return calls
			}
			return nil
		}
		objects := []json.RawMessage{raw}
		if raw[0] == '[' {
			if json.Unmarshal(raw, &objects) != nil {
				return nil
			}
		}
		for _, o := range objects {
			c, ok := parseCall(o)
			if !ok {
				return nil
			}
			calls = append(calls, c)
		}
	}
}

func parseCall(raw json.RawMessage) (agent.CallPiece, bool) {
	var c struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal(raw, &c) != nil || c.Name == "" {
		return agent.CallPiece{}, false
	}
	arguments := c.Arguments
	if len(arguments) == 0 {
		arguments = c.Parameters
	}
	var inner string
	if len(arguments) > 0 && json.Unmarshal(arguments, &inner) == nil && json.Valid([]byte(inner)) {
		arguments = json.RawMessage(inner)
	}
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	return agent.CallPiece{Name: c.Name, Arguments: string(arguments)}, true
}

// CallArguments returns a call's arguments as a JSON object, which is what servers want back. Arguments that never were one
// are wrapped, so that the model sees what it had written.
func CallArguments(c agent.ToolCall) json.RawMessage {
	trimmed := bytes.TrimSpace(c.Arguments)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}")
	}
	if trimmed[0] == '{' && json.Valid(trimmed) {
		return c.Arguments
	}
	text := string(trimmed)
	var s string
	if json.Unmarshal(trimmed, &s) == nil {
		text = s
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": text})
	if err != nil {
		return json.RawMessage("{}") // a map of strings always encodes
	}
	return wrapped
}

// CallID returns the id under which a server knows a call: its own, or Ash's where it gave none.
func CallID(providerID string, id agent.ID) string {
	if providerID != "" {
		return providerID
	}
	return string(id)
}
