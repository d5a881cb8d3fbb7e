package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/tool"
	"ash/agent/tool/askperson"
	"ash/agent/tool/subagent"
)

// crew is a stand-in for helpers.
type crew struct {
	depth    int
	refuse   error // of Delegate
	begun    bool  // Delegate stored the thread although it refused
	await    func(ctx context.Context, progress func(string)) (subagent.Rest, error)
	got      agent.Delegation
	stopped  []agent.ID
	stopDead bool // Stop was called with a context that had ended
}

func (c *crew) Delegate(_ context.Context, d agent.Delegation) (agent.Thread, error) {
	c.got = d
	if c.refuse != nil && !c.begun {
		return agent.Thread{}, c.refuse
	}
	return agent.Thread{ID: "helper"}, c.refuse
}

func (c *crew) Await(ctx context.Context, _ agent.ID, progress func(string)) (subagent.Rest, error) {
	return c.await(ctx, progress)
}

func (c *crew) Stop(ctx context.Context, thread agent.ID) error {
	c.stopped, c.stopDead = append(c.stopped, thread), ctx.Err() != nil
	return nil
}

func (c *crew) Depth(context.Context, agent.Thread) (int, error) { return c.depth, nil }

func (c *crew) tool(tools ...string) tool.Tool {
	return subagent.New(subagent.Options{
		Helpers: c,
		Tools:   func(context.Context, agent.Thread) []string { return tools },
	})
}

func env() tool.Env {
	return tool.Env{Thread: agent.Thread{ID: "t"}, Call: agent.ToolCall{ID: "c", Thread: "t", Name: subagent.Name}, Labels: tool.Untrusted("example.org")}
}

func TestTools(t *testing.T) {
	all := []string{"shell", "web_search", subagent.Name, askperson.Name}
	for name, tt := range map[string]struct {
		has   []string
		asked string
		want  []string
		says  string
	}{
		"those of the thread above":  {all, ``, []string{"shell", "web_search"}, ""},
		"those that are named":       {all, `,"tools":["web_search","web_search"]`, []string{"web_search"}, ""},
		"helpers of its own":         {all, `,"tools":["sub_agent"]`, []string{"sub_agent"}, ""},
		"none there are":             {[]string{subagent.Name, askperson.Name}, ``, []string{agent.NoTools}, ""},
		"one the thread has not":     {[]string{"web_search"}, `,"tools":["shell"]`, nil, "web_search"},
		"one nobody has":             {all, `,"tools":["fly"]`, nil, `"fly"`},
		"questions":                  {all, `,"tools":["ask_person"]`, nil, "nobody reads along"},
		"the name of none is no way": {all, `,"tools":["-"]`, nil, "no tool"},
	} {
		t.Run(name, func(t *testing.T) {
			c := crew{await: func(context.Context, func(string)) (subagent.Rest, error) { return subagent.Rest{}, nil }}
			_, err := c.tool(tt.has...).Run(t.Context(), env(), json.RawMessage(`{"task":"count"`+tt.asked+`}`), func(string) {})
			if tt.says != "" {
				if agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), tt.says) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !slices.Equal(c.got.Tools, tt.want) {
				t.Errorf("tools %q, %v", c.got.Tools, err)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	var c crew
	x := c.tool("shell", "web_search")
	p, err := x.Plan(t.Context(), env(), json.RawMessage(`{"task":" Count the files. ","title":"Counting\nfiles","rounds":3,"minutes":2,"tools":["shell"]}`))
	want := agent.Effect{Kind: agent.EffectDelegate, Target: "Counting files", Text: "Count the files.\n\n[tools: shell; at most 3 rounds and 2 minutes]"}
	if err != nil || !reflect.DeepEqual(p.Effect, want) {
		t.Errorf("%+v, %v", p.Effect, err)
	}
	for name, tt := range map[string]struct{ arguments, says string }{
		"no task":          {`{"task":" "}`, "no task"},
		"too long":         {`{"task":"` + strings.Repeat("a", subagent.MaxTask+1) + `"}`, "longer than"},
		"too many rounds":  {`{"task":"x","rounds":51}`, "50"},
		"too many minutes": {`{"task":"x","minutes":61}`, "60"},
		"less than none":   {`{"task":"x","minutes":-1}`, "between"},
		"tools of numbers": {`{"task":"x","tools":[1]}`, "string"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := x.Plan(t.Context(), env(), json.RawMessage(tt.arguments)); agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDepth(t *testing.T) {
	c := crew{depth: agent.MaxHelperDepth}
	a := c.tool().(tool.Available)
	if err := a.Available(t.Context(), agent.Thread{}); err != nil {
		t.Errorf("a conversation of the person: %v", err)
	}
	if err := a.Available(t.Context(), agent.Thread{ParentCall: "c"}); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("at the bound: %v", err)
	}
	c.depth--
	if err := a.Available(t.Context(), agent.Thread{ParentCall: "c"}); err != nil {
		t.Errorf("above the bound: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	labels := tool.Untrusted("web.example")
	text := func(s string) []agent.Part { return []agent.Part{agent.Text{Text: s}} }
	for name, tt := range map[string]struct {
		rest   subagent.Rest
		want   string
		failed bool
	}{
		"an answer": {subagent.Rest{Turn: agent.Turn{State: agent.TurnDone}, Head: agent.Message{State: agent.MessageComplete, Parts: text(" 42 ")}}, "42", false},
		"nothing":   {subagent.Rest{Turn: agent.Turn{State: agent.TurnDone}, Head: agent.Message{State: agent.MessageComplete}}, "without an answer", true},
		"a limit": {subagent.Rest{
			Turn: agent.Turn{State: agent.TurnFailed}, Said: "So far 41.",
			Head: agent.Message{State: agent.MessageFailed, Error: &agent.Failure{Code: agent.CodeExhausted, Public: "12 model calls."}},
		}, "did not finish: 12 model calls.]\n\nThe last it said:\n\nSo far 41.", true},
		"stopped":   {subagent.Rest{Turn: agent.Turn{State: agent.TurnStopped}, Head: agent.Message{State: agent.MessageStopped, Parts: text("4")}, Said: "4"}, "was stopped", true},
		"cut short": {subagent.Rest{Turn: agent.Turn{State: agent.TurnFailed}, Head: agent.Message{State: agent.MessageCut, Parts: text("4"), Error: &agent.Failure{Public: "gone"}}, Said: "4"}, "gone", true},
	} {
		t.Run(name, func(t *testing.T) {
			tt.rest.Labels = labels
			c := crew{await: func(_ context.Context, progress func(string)) (subagent.Rest, error) {
				progress("web_search …")
				return tt.rest, nil
			}}
			var told string
			out, err := c.tool("web_search").Run(t.Context(), env(), json.RawMessage(`{"task":"count"}`), func(s string) { told += s })
			got := agent.Message{Parts: out.Content}.Text()
			if err != nil || !strings.Contains(got, tt.want) || out.Failed != tt.failed || !reflect.DeepEqual(out.Labels, labels) {
				t.Errorf("%q, failed %v, labels %v, %v", got, out.Failed, out.Labels, err)
			}
			if told != "web_search …\n" || len(c.stopped) > 0 {
				t.Errorf("told %q, stopped %q", told, c.stopped)
			}
			if b := c.got.Budget; b.Rounds != subagent.DefaultRounds || b.Wall != subagent.DefaultMinutes*time.Minute || !reflect.DeepEqual(c.got.Labels, env().Labels) || c.got.Parent.ID != "c" {
				t.Errorf("delegated %+v", c.got)
			}
		})
	}
}

func TestEndsWithItsCall(t *testing.T) {
	run := func(c *crew, ctx context.Context) error {
		_, err := c.tool("shell").Run(ctx, env(), json.RawMessage(`{"task":"count"}`), func(string) {})
		return err
	}
	waits := func(ctx context.Context, _ func(string)) (subagent.Rest, error) {
		<-ctx.Done()
		return subagent.Rest{}, ctx.Err()
	}
	t.Run("stopped", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, stop)
		c := &crew{await: waits}
		if err := run(c, ctx); !errors.Is(err, context.Canceled) || !slices.Equal(c.stopped, []agent.ID{"helper"}) || c.stopDead {
			t.Errorf("stopped %q, %v", c.stopped, err)
		}
	})
	t.Run("begun half", func(t *testing.T) {
		c := &crew{refuse: agent.Errorf(agent.CodeUnavailable, "too slow"), begun: true}
		if err := run(c, t.Context()); agent.CodeOf(err) != agent.CodeUnavailable || len(c.stopped) != 1 {
			t.Errorf("stopped %q, %v", c.stopped, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		c := &crew{refuse: agent.Errorf(agent.CodeExhausted, "nothing left")}
		if err := run(c, t.Context()); agent.CodeOf(err) != agent.CodeExhausted || len(c.stopped) > 0 {
			t.Errorf("stopped %q, %v", c.stopped, err)
		}
	})
	t.Run("a panic while waiting", func(t *testing.T) {
		c := &crew{await: func(context.Context, func(string)) (subagent.Rest, error) { panic("boom") }}
		func() {
			defer func() { _ = recover() }()
			_ = run(c, t.Context())
		}()
		if len(c.stopped) != 1 {
			t.Errorf("stopped %q", c.stopped)
		}
	})
}
