package llm

import (
	"strings"
	"testing"

	"ash/agent"
)

// filter runs pieces through a Markup and writes the outcome down, runs of the same kind joined.
func filter(pieces ...string) string {
	var b strings.Builder
	kind := agent.DeltaKind(0)
	n := 0
	m := NewMarkup(func() int { n++; return n - 1 })
	yield := func(d agent.Delta) bool {
		if d.Kind == agent.DeltaCall {
			b.WriteString("[call " + string(rune('0'+d.Call.Index)) + " " + d.Call.Name + " " + d.Call.Arguments + "]")
			kind = 0
			return true
		}
		if d.Kind != kind {
			kind = d.Kind
			b.WriteString(map[agent.DeltaKind]string{agent.DeltaText: "T:", agent.DeltaThinking: "R:"}[kind])
		}
		b.WriteString(d.Text)
		return true
	}
	for _, p := range pieces {
		if !m.Text(p, yield) {
			return "stopped"
		}
	}
	m.End(yield)
	return b.String()
}

var markupCases = map[string]struct{ in, want string }{
	"plain":                    {"a < b && c > d", "T:a < b && c > d"},
	"thinking first":           {"<think>\nplan\n</think>\n\nanswer", "R:plan\nT:answer"},
	"long name":                {"<thinking>x</think>y</thinking>z", "R:x</think>yT:z"},
	"in the middle":            {"one <think>two</think> three", "T:one R:twoT:three"},
	"never closed":             {"<think>on and on", "R:on and on"},
	"closed only":              {"plan</think>\nanswer", "T:plan\n\nanswer"},
	"closed only, at first":    {"</think>\n\nanswer", "T:answer"},
	"nearly a tag":             {"<thin> <tool_cal> </thin", "T:<thin> <tool_cal> </thin"},
	"call":                     {`<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>`, `[call 0 f {"a":1}]`},
	"two calls":                {"Now: <tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>\n<tool_call>{\"name\":\"g\",\"parameters\":{\"b\":\"<\"}}</tool_call>", `T:Now: [call 0 f {}][call 1 g {"b":"<"}]`},
	"calls in a list":          {`<tool_call>[{"name":"f"},{"name":"g"}]</tool_call>x`, `[call 0 f {}][call 1 g {}]T:x`},
	"arguments as text":        {`<tool_call>{"name":"f","arguments":"{\"a\":1}"}</tool_call>`, `[call 0 f {"a":1}]`},
	"call never closed":        {`<tool_call>{"name":"f","arguments":{}}`, `[call 0 f {}]`},
	"unreadable call":          {"a <tool_call>f(1)</tool_call> b", "T:a " + unreadableCall + "\n\nb"},
	"call without name":        {`<tool_call>{"arguments":{}}</tool_call>`, "T:" + unreadableCall + "\n\n"},
	"empty call":               {`<tool_call></tool_call>`, "T:" + unreadableCall + "\n\n"},
	"unreadable and cut":       {`<tool_call>{"name":`, "T:" + unreadableCall + "\n\n"},
	"in a code span":           {"write `<think>` and `</tool_call>` <think>x</think>", "T:write `<think>` and `</tool_call>` R:x"},
	"in a code block":          {"```xml\n<tool_call>\n```\n<think>x", "T:```xml\n<tool_call>\n```\nR:x"},
	"span not closed":          {"it`s\n<think>x</think>y", "T:it`s\nR:xT:y"},
	"fence of four":            {"````\n```\n<think>\n````\n<think>x", "T:````\n```\n<think>\n````\nR:x"},
	"call inside thinking":     {"<think>maybe <tool_call>x</tool_call></think>no", "R:maybe <tool_call>x</tool_call>T:no"},
	"unicode":                  {"héé<think>日本</think>語", "T:hééR:日本T:語"},
	"spaces only after a call": {`<tool_call>{"name":"f"}</tool_call>` + "\n \n", `[call 0 f {}]`},
}

func TestMarkup(t *testing.T) {
	for name, tc := range markupCases {
		t.Run(name, func(t *testing.T) {
			if got := filter(tc.in); got != tc.want {
				t.Errorf("whole: got %q\nwant %q", got, tc.want)
			}
			if got := filter(strings.Split(tc.in, "")...); got != tc.want {
				t.Errorf("by characters: got %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestMarkupBoundsACall(t *testing.T) {
	big := strings.Repeat(`{"name":"f"}`, maxCallBody/10)
	if got := filter("<tool_call>", big, "</tool_call>", "after"); got != "T:"+unreadableCall+"\n\nafter" {
		t.Errorf("got %.100q", got)
	}
}

func TestMarkupStops(t *testing.T) {
	m := NewMarkup(func() int { return 0 })
	n := 0
	if m.Text("a<think>b</think>c", func(agent.Delta) bool { n++; return false }) || n != 1 {
		t.Errorf("went on after being told to stop: %d deltas", n)
	}
}

// FuzzMarkup: where a text is split does not matter, and no tag is ever text outside code.
func FuzzMarkup(f *testing.F) {
	for _, tc := range markupCases {
		f.Add(tc.in, uint8(3), uint8(7))
	}
	f.Fuzz(func(t *testing.T, s string, a, b uint8) {
		whole := filter(s)
		i, j := int(a), int(a)+int(b)
		if j <= len(s) {
			if got := filter(s[:i], s[i:j], s[j:]); got != whole {
				t.Errorf("split at %d and %d: %q\nwhole: %q", i, j, got, whole)
			}
		}
		var bytes []string
		for k := range len(s) {
			bytes = append(bytes, s[k:k+1])
		}
		if got := filter(bytes...); got != whole {
			t.Errorf("byte by byte: %q\nwhole: %q", got, whole)
		}
		if !strings.Contains(s, "`") && !strings.Contains(s, "<think") {
			for _, tag := range []string{"<tool_call>", "</think>"} {
				if strings.Contains(whole, tag) && !strings.Contains(whole, "[call") {
					t.Errorf("%s in %q", tag, whole)
				}
			}
		}
	})
}

// BenchmarkMarkup passes ordinary tokens, which must cost next to nothing.
func BenchmarkMarkup(b *testing.B) {
	m := NewMarkup(func() int { return 0 })
	yield := func(agent.Delta) bool { return true }
	b.ReportAllocs()
	for b.Loop() {
		m.Text("word ", yield)
	}
}
