package memory

import (
	"encoding/json"
	"slices"
	"strings"

	"ash/agent"
)

// window is how many sentences side by side may say a thing together.
const window = 3

// textsOf returns everything a message says: its text, reasoning, extracts, and the strings of its calls.
func textsOf(m agent.Message) []string {
	list := partTexts(nil, m.Parts)
	for _, c := range m.Calls {
		list = append(list, jsonTexts(c.Arguments)...)
		list = partTexts(list, c.Result)
		if c.Effect != nil {
			list = append(list, c.Effect.Title, c.Effect.Target, c.Effect.Text, c.Effect.Diff)
		}
		if c.Decision != nil {
			list = append(list, c.Decision.Reason, c.Decision.Answer)
		}
		for _, f := range c.Findings {
			list = append(list, f.Excerpt)
		}
	}
	return list
}

func partTexts(list []string, parts []agent.Part) []string {
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			list = append(list, p.Text)
		case agent.Thinking:
			list = append(list, p.Text)
		case agent.File:
			list = append(list, p.Extract)
		case agent.ToolResult:
			list = partTexts(list, p.Content)
		}
	}
	return list
}

// jsonTexts returns the strings inside JSON.
func jsonTexts(raw json.RawMessage) []string {
	var list []string
	d := json.NewDecoder(strings.NewReader(string(raw)))
	for {
		token, err := d.Token()
		if err != nil {
			return list // the end, or what is no JSON
		}
		if s, ok := token.(string); ok {
			list = append(list, s)
		}
	}
}

// passages returns the sentences of a text that say the gist, alone or side by side, and those that may.
func (g gist) passages(text string) (sure, maybe []string) {
	sentences := Sentences(text)
	hits := make([][]string, len(sentences))
	taken := make([]bool, len(sentences))
	for i, sentence := range sentences {
		hits[i] = g.hits(sentence)
		taken[i] = g.same(sentence, hits[i])
	}
	for size := 2; size <= window; size++ {
		for i := 0; i+size <= len(sentences); i++ {
			if slices.Contains(taken[i:i+size], true) {
				continue
			}
			if g.same(strings.Join(sentences[i:i+size], " "), slices.Compact(slices.Sorted(slices.Values(slices.Concat(hits[i:i+size]...))))) {
				for j := i; j < i+size; j++ {
					taken[j] = len(hits[j]) > 0
				}
			}
		}
	}
	certain := slices.Contains(taken, true)
	for i, sentence := range sentences {
		switch {
		case taken[i], certain && g.tells(hits[i]):
			sure = append(sure, sentence)
		case len(hits[i]) >= 2, g.names(hits[i]):
			maybe = append(maybe, sentence)
		}
	}
	return sure, maybe
}

// naming returns the sentences of a message with a value of the gist in them.
func (g gist) naming(m agent.Message) []string {
	var list []string
	for _, text := range textsOf(m) {
		for _, sentence := range Sentences(text) {
			if g.tells(g.hits(sentence)) {
				list = append(list, sentence)
			}
		}
	}
	return list
}
