package memory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/memory"
)

func TestMaskedText(t *testing.T) {
	cases := map[string]struct{ text, passage, want string }{
		"plain":          {"Hi. Anna lives in Lisbon. Bye.", "Anna lives in Lisbon.", "Hi. [forgotten]. Bye."},
		"case and space": {"hi, ANNA  lives\n in lisbon!", "Anna lives in Lisbon", "hi, [forgotten]!"},
		"markdown":       {"- **Anna** lives in _Lisbon_", "Anna lives in Lisbon", "- **[forgotten]_"},
		"accents":        {"Zoe\u0308 mag Käse", "Zoë mag Kase", "[forgotten]"},
		"every time":     {"tea, Tea, TEA", "tea", "[forgotten], [forgotten], [forgotten]"},
		"whole words":    {"Anna sang in Annapolis", "Anna", "[forgotten] sang in Annapolis"},
		"no letters":     {"ok 🙂 ok", "🙂", "ok [forgotten] ok"},
		"CJK":            {"私は東京に住んでいます。", "東京に住んで", "私は[forgotten]います。"},
		"not there":      {"nothing of it", "Anna", "nothing of it"},
		"sharp s":        {"Hauptstraße 5", "HAUPTSTRASSE 5", "[forgotten]"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := memory.MaskedText(c.text, c.passage); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMasked(t *testing.T) {
	labels := agent.Labels{{Source: "example.org", Kind: agent.LabelUntrusted}}
	m := agent.Message{
		ID: "m",
		Parts: []agent.Part{
			agent.Text{Text: "Anna lives in Lisbon.", Labels: labels},
			agent.Thinking{Text: "so Anna lives in Lisbon", Signature: "s"},
			agent.Thinking{Text: "kept", Signature: "s"},
			agent.File{Extract: "anna lives in lisbon", Data: []byte("x")},
		},
		Calls: []agent.ToolCall{{
			Arguments: json.RawMessage(`{"n":1,"text":"Anna lives\nin Lis\u0062on","deep":[{"Anna lives in Lisbon":"x"}]}`),
			Result:    []agent.Part{agent.Text{Text: "noted: Anna lives in Lisbon"}},
			Effect:    &agent.Effect{Text: "Anna lives in Lisbon"},
			Labels:    labels,
		}},
	}
	before, _ := json.Marshal(m)
	got := memory.Masked(m, []agent.Mask{{Message: "m", Passage: "Anna lives in Lisbon"}, {Message: "other", Passage: ""}})
	after, _ := json.Marshal(m)
	if string(before) != string(after) {
		t.Error("the message itself was changed")
	}
	all, _ := json.Marshal(got)
	if strings.Contains(strings.ToLower(string(all)), "lisbon") || !strings.Contains(string(all), `kept`) {
		t.Errorf("got %s", all)
	}
	if string(got.Calls[0].Arguments) != `{"deep":[{"[forgotten]":"x"}],"n":1,"text":"[forgotten]"}` {
		t.Errorf("arguments are %s", got.Calls[0].Arguments)
	}
	if !got.Labels().Untrusted() || !got.Calls[0].Labels.Untrusted() {
		t.Error("labels were lost")
	}
	whole := memory.Masked(m, []agent.Mask{{Message: "m"}})
	if s, _ := json.Marshal(whole); strings.Contains(string(s), "Anna") || strings.Contains(string(s), "kept") {
		t.Errorf("the whole: %s", s)
	}
}

func FuzzMaskedText(f *testing.F) {
	f.Add("Anna lives in Lisbon", "lives in")
	f.Add("ß\u0308ẞ東京", "SS")
	f.Add("\xff\xfe", "\xff")
	f.Fuzz(func(t *testing.T, text, passage string) {
		got := memory.MaskedText(text, passage)
		if !strings.Contains(got, memory.Blank) && got != text {
			t.Errorf("%q became %q without a mark", text, got)
		}
		if again := memory.Normal(passage); again != "" && memory.Normal(text) == again && strings.TrimSpace(text) != "" && got == text {
			t.Errorf("%q still says %q", got, passage)
		}
		for _, s := range memory.Sentences(text) {
			if !strings.Contains(text, s) {
				t.Errorf("%q is no part of %q", s, text)
			}
		}
	})
}
