package llm

import (
	"encoding/json"
	"reflect"
	"testing"

	"ash/agent"
)

func TestAdapt(t *testing.T) {
	me := agent.ModelRef{Provider: "p", Name: "m"}
	png := agent.Image{Attachment: agent.Attachment{Name: "cat.png", Media: "image/png"}, Data: []byte{1}}
	gone := agent.Image{Attachment: agent.Attachment{Name: "old.png", Media: "image/png"}}
	pdf := agent.File{Attachment: agent.Attachment{Name: "a.pdf", Media: "application/pdf", Size: 9}, Extract: "words", Data: []byte{2}}
	csv := agent.File{Attachment: agent.Attachment{Name: "a.csv", Media: "text/csv", Size: 4}, Extract: "1,2", Truncated: true, Data: []byte{3}}
	scan := agent.File{Attachment: agent.Attachment{Name: "s.pdf", Media: "application/pdf", Size: 7}}
	mine, other := agent.Thinking{Text: "a", Signature: "s", Model: me}, agent.Thinking{Text: "b", Model: agent.ModelRef{Provider: "q", Name: "m"}}
	untrusted := agent.Labels{{Source: "web", Kind: agent.LabelUntrusted}}
	text := func(s string) agent.Text { return agent.Text{Text: s} }
	result := agent.ToolResult{Call: "1", Name: "look", Content: []agent.Part{text("seen"), png}, Labels: untrusted}
	call := []agent.ToolCall{{ID: "1", Name: "look", Arguments: json.RawMessage(`{"a":1}`)}}
	const blindCat = `[Image "cat.png" (image/png) is not shown: this model does not see images.]`

	for name, tc := range map[string]struct {
		info  agent.ModelInfo
		parts []agent.Part
		want  []agent.Part
	}{
		"sees":               {agent.ModelInfo{Vision: true}, []agent.Part{png}, []agent.Part{png}},
		"is blind":           {agent.ModelInfo{}, []agent.Part{text("x"), png}, []agent.Part{text("x"), text(blindCat)}},
		"picture is gone":    {agent.ModelInfo{Vision: true}, []agent.Part{gone}, []agent.Part{text(`[Image "old.png" (image/png) is no longer available.]`)}},
		"reads PDFs":         {agent.ModelInfo{Documents: true}, []agent.Part{pdf}, []agent.Part{pdf}},
		"does not":           {agent.ModelInfo{}, []agent.Part{pdf}, []agent.Part{text("[File \"a.pdf\" (application/pdf, 9 bytes)]\nwords")}},
		"only PDFs":          {agent.ModelInfo{Documents: true}, []agent.Part{csv}, []agent.Part{text("[File \"a.csv\" (text/csv, 4 bytes); only its beginning follows]\n1,2")}},
		"no text in it":      {agent.ModelInfo{}, []agent.Part{scan}, []agent.Part{text(`[File "s.pdf" (application/pdf, 7 bytes): no text could be read from it.]`)}},
		"own thinking only":  {agent.ModelInfo{}, []agent.Part{mine, other, text("x")}, []agent.Part{mine, text("x")}},
		"result for a blind": {agent.ModelInfo{Tools: true}, []agent.Part{result}, []agent.Part{agent.ToolResult{Call: "1", Name: "look", Content: []agent.Part{text("seen"), text(blindCat)}, Labels: untrusted}}},
		"no tools: call":     {agent.ModelInfo{}, []agent.Part{agent.ToolUse{Call: "1"}}, []agent.Part{text(`[used the tool look with {"a":1}]`)}},
		"no tools: result":   {agent.ModelInfo{}, []agent.Part{result}, []agent.Part{agent.Text{Text: "[result of the tool look]\nseen\n\n" + blindCat, Labels: untrusted}}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.info.Ref = me
			in := agent.Prompt{Tools: []agent.ToolSpec{{Name: "look"}}, Messages: []agent.PromptMessage{{Role: agent.RoleAssistant, Parts: tc.parts, Calls: call}, {Parts: []agent.Part{other}}}}
			before, _ := json.Marshal(in)
			got := Adapt(in, tc.info)
			if len(got.Messages) != 1 || !reflect.DeepEqual(got.Messages[0].Parts, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got.Messages, tc.want)
			}
			if (len(got.Tools) == 1) != tc.info.Tools {
				t.Errorf("tools %v", got.Tools)
			}
			if after, _ := json.Marshal(in); string(after) != string(before) {
				t.Error("the prompt given was changed")
			}
		})
	}
}

func TestCallArguments(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"object":   {`{"a": 1}`, `{"a": 1}`},
		"none":     {``, `{}`},
		"null":     {`null`, `{}`},
		"text":     {`"{broken"`, `{"invalid_arguments":"{broken"}`},
		"not JSON": {`{broken`, `{"invalid_arguments":"{broken"}`},
		"a list":   {`[1]`, `{"invalid_arguments":"[1]"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(CallArguments(agent.ToolCall{Arguments: json.RawMessage(tc.in)})); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
