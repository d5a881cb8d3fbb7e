package askperson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/tool"
	"ash/agent/tool/askperson"
)

func TestPlan(t *testing.T) {
	x := askperson.New()
	for name, tt := range map[string]struct {
		arguments string
		want      agent.Effect
		says      string // of the error
	}{
		"an open question": {`{"question":" Which one? "}`, agent.Effect{Kind: agent.EffectAsk, Text: "Which one?"}, ""},
		"choices":          {`{"question":"Which?","choices":["the  blue one\n","red","red",""]}`, agent.Effect{Kind: agent.EffectAsk, Text: "Which?", Choices: []string{"the blue one", "red"}}, ""},
		"null choices":     {`{"question":"Which?","choices":null}`, agent.Effect{Kind: agent.EffectAsk, Text: "Which?"}, ""},
		"no question":      {`{"question":" "}`, agent.Effect{}, "no question"},
		"no arguments":     {`{}`, agent.Effect{}, "question"},
		"too long":         {`{"question":"` + strings.Repeat("é", askperson.MaxQuestion+1) + `"}`, agent.Effect{}, "longer than"},
		"one choice":       {`{"question":"?","choices":["yes","yes"]}`, agent.Effect{}, "One choice is none"},
		"too many choices": {`{"question":"?","choices":["1","2","3","4","5","6","7"]}`, agent.Effect{}, "at most 6"},
		"a long choice":    {`{"question":"?","choices":["a","` + strings.Repeat("b", askperson.MaxChoice+1) + `"]}`, agent.Effect{}, "keep their names short"},
		"several":          {`{"question":"?","multiple":true}`, agent.Effect{}, "multiple"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := x.Plan(t.Context(), tool.Env{}, json.RawMessage(tt.arguments))
			if (err != nil) != (tt.says != "") || err != nil && (agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), tt.says)) {
				t.Errorf("error %v", err)
			}
			if !reflect.DeepEqual(p.Effect, tt.want) {
				t.Errorf("%+v", p.Effect)
			}
		})
	}
}

func TestNeverRuns(t *testing.T) {
	if _, err := askperson.New().Run(t.Context(), tool.Env{}, json.RawMessage(`{"question":"?"}`), func(string) {}); err == nil {
		t.Error("it ran")
	}
}
