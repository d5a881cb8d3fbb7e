package handlers

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"ash/agent"
)

func TestArgumentsAreShownExactly(t *testing.T) {
	for name, tc := range map[string]struct{ raw, want string }{
		"one text":      {`{"command":"echo \"hi\"\nls"}`, "echo \"hi\"\nls"},
		"no JSON":       {`"{broken"`, "{broken"},
		"two fields":    {`{"path":"a","text":"b"}`, "{\n  \"path\": \"a\",\n  \"text\": \"b\"\n}"},
		"one number":    {`{"n":1}`, "{\n  \"n\": 1\n}"},
		"empty":         {`{}`, "{}"},
		"big number":    {`{"n":12345678901234567890,"m":0}`, "{\n  \"n\": 12345678901234567890,\n  \"m\": 0\n}"},
		"nothing":       {``, ""},
		"one null":      {`{"a":null}`, "{\n  \"a\": null\n}"},
		"one empty":     {`{"a":""}`, ""},
		"twice the key": {`{"a":"x","a":"y"}`, "{\n  \"a\": \"x\",\n  \"a\": \"y\"\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := arguments(json.RawMessage(tc.raw)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSuggestedModel(t *testing.T) {
	model := func(name, title string, price agent.MicroDollars) agent.ModelInfo {
		return agent.ModelInfo{Ref: agent.ModelRef{Provider: "p", Name: name}, Title: title, Tools: true, Price: agent.Price{Output: price}}
	}
	known := []agent.ModelInfo{model("ancient", "", 0), model("big", "Big", 75), model("middle", "Middle", 15), model("small", "Small", 4)}
	for want, models := range map[string][]agent.ModelInfo{
		"middle":  known,
		"qwen3":   {model("nomic-embed-text", "", 0), model("qwen3", "", 0)},
		"embed-1": {model("embed-1", "", 0)},
	} {
		if got := suggest(models); got != want {
			t.Errorf("suggested %s, want %s", got, want)
		}
	}
}

func TestSourcesOnce(t *testing.T) {
	got := sources(agent.Labels{{Source: "b", Kind: agent.LabelUntrusted}, {Source: "a", Kind: agent.LabelUntrusted, Private: true},
		{Source: "b", Kind: agent.LabelUntrusted, Private: true}, {Source: "me", Kind: agent.LabelPrivate}})
	if strings.Join(got, " ") != "a b" {
		t.Errorf("sources %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x00b\r\nc\rd", "\xff", "日本語\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := clean(s)
		if (err == nil) != utf8.ValidString(s) {
			t.Errorf("clean(%q): %v", s, err)
		}
		if strings.ContainsAny(got, "\x00\r") {
			t.Errorf("clean(%q) = %q", s, got)
		}
	})
}
