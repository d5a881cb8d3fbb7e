package handlers_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm/llmtest"
	"ash/handlers"
)

func TestControlDecides(t *testing.T) {
	call := llmtest.Call{ID: "c1", Name: "shell", Arguments: []string{`{"command":"rm notes"}`}}
	h := openWith(t, plan{configured: true, tools: asking{}}, llmtest.Reply{Calls: []llmtest.Call{call}}, llmtest.Text("done"), llmtest.Reply{Calls: []llmtest.Call{call}}, llmtest.Text("as you like"))
	s := h.control()
	id := h.begin("clean up")
	other := h.empty()
	var waiting []handlers.ControlCall
	if s.call(200, "GET", "/threads/"+string(other)+"/waiting", "", &waiting); len(waiting) != 0 {
		t.Errorf("in another conversation wait %+v", waiting)
	}
	for _, path := range []string{"/waiting", "/threads/" + string(id) + "/waiting"} {
		s.call(200, "GET", path, "", &waiting)
		if len(waiting) != 1 || waiting[0].Tool != "shell" || waiting[0].Binding != "b-1" || waiting[0].Why != "It deletes files." || waiting[0].Thread != id || string(waiting[0].Arguments) != `{"command":"rm notes"}` {
			t.Fatalf("%s: %+v", path, waiting)
		}
	}
	path := "/calls/" + string(waiting[0].ID) + "/decide"
	for _, tt := range []struct {
		name, path, body string
		status           int
		code             agent.Code
	}{
		{"no JSON", path, "yes", 422, agent.CodeInvalid},
		{"another binding", path, `{"approve":true,"binding":"b-2"}`, 409, agent.CodeConflict},
		{"no binding", path, `{"approve":true}`, 409, agent.CodeConflict},
		{"what was not offered", path, `{"approve":true,"binding":"b-1","always":"run anything"}`, 422, agent.CodeInvalid},
		{"a reason too long", path, `{"binding":"b-1","reason":"` + strings.Repeat("a", 5000) + `"}`, 422, agent.CodeInvalid},
		{"no such call", "/calls/" + string(agent.NewID()) + "/decide", `{"approve":true}`, 404, agent.CodeNotFound},
		{"no id", "/calls/x/decide", `{"approve":true}`, 404, agent.CodeNotFound},
		{"waiting nowhere", "/threads/" + string(agent.NewID()) + "/waiting", "", 404, agent.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &socket{t, s.http}
			method := http.MethodPost
			if tt.body == "" {
				method = http.MethodGet
			}
			var failure handlers.ControlError
			if s.call(tt.status, method, tt.path, tt.body, &failure); failure.Code != tt.code || failure.Error == "" {
				t.Errorf("told %+v", failure)
			}
		})
	}
	next := s.follow(id, "")
	var decided handlers.ControlCall
	if s.call(200, "POST", path, `{"approve":true,"binding":"b-1"}`, &decided); decided.State != agent.CallApproved || decided.Decision == nil || !decided.Decision.Approve {
		t.Errorf("decided %+v", decided)
	}
	s.call(409, "POST", path, `{"binding":"b-1"}`, nil)
	var result *handlers.ControlCall
	for ev := next(); ev.Kind != "turn" || ev.State != "done"; ev = next() {
		if ev.Kind == "tool_result" {
			result = ev.Detail
		}
	}
	if result == nil || result.State != agent.CallFinished || result.Output != "gone <b>" {
		t.Errorf("the result is %+v", result)
	}

	s.call(200, "POST", "/threads/"+string(id)+"/messages", `{"text":"again"}`, nil)
	h.rest(id)
	s.call(200, "GET", "/waiting", "", &waiting)
	s.call(200, "POST", "/calls/"+string(waiting[0].ID)+"/decide", `{"binding":"b-1","reason":" too risky "}`, &decided)
	if decided.State != agent.CallDenied || decided.Decision.Reason != "too risky" {
		t.Errorf("decided %+v", decided)
	}
	h.rest(id)
	chats := h.model.Chats()
	if got := string(chats[len(chats)-1].Body); !strings.Contains(got, "too risky") {
		t.Errorf("the model was told %s", got)
	}
}

func TestControlStopsEverything(t *testing.T) {
	h := open(t, llmtest.Broken(llmtest.StreamStall, 2, "for ever"))
	problem := errors.New("the sandbox is stuck")
	var halts int
	var failing bool
	s := h.controlWith(func(c *handlers.Control) {
		c.Halt = func(context.Context) error {
			if halts++; failing {
				return agent.Wrap(agent.CodeUnavailable, problem, "The sandbox does not answer.")
			}
			return nil
		}
	})
	id := h.empty()
	next := s.follow(id, "")
	s.call(200, "POST", "/threads/"+string(id)+"/messages", `{"text":"go on"}`, nil)
	for ev := next(); ev.Kind != "assistant_delta"; ev = next() {
	}
	var halted handlers.ControlHalted
	if s.call(200, "POST", "/stop", "{}", &halted); len(halted.Threads) != 1 || halted.Threads[0].ID != id || len(halted.Holding) > 0 || halted.Problem != "" || halts != 1 {
		t.Errorf("halted %+v, %d times", halted, halts)
	}
	failing = true
	if s.call(200, "POST", "/stop", "{}", &halted); len(halted.Threads) != 0 || halted.Problem != "The sandbox does not answer." {
		t.Errorf("halted %+v", halted)
	}
}

// folders is a stand-in for what is known of folders.
type folders struct{ own map[string]bool }

func (f folders) Check(folder string) (string, error) {
	if folder == "/forbidden" {
		return "", agent.Errorf(agent.CodeDenied, "Not there.")
	}
	return strings.TrimSuffix(folder, "/"), nil
}

func (f folders) Own(folder string) (own, asked bool) {
	own, asked = f.own[folder]
	return own, asked
}

func (f folders) Answer(_ context.Context, folder string, own bool) error {
	f.own[folder] = own
	return nil
}

func TestControlPlaces(t *testing.T) {
	h := open(t)
	without := h.control()
	without.call(503, "POST", "/threads", `{"root":"/project"}`, nil)
	without.call(201, "POST", "/threads", `{}`, nil)
	h = open(t)
	f := folders{map[string]bool{}}
	s := h.controlWith(func(c *handlers.Control) { c.Places = f })
	var made handlers.ControlThread
	s.call(201, "POST", "/threads", `{"root":"/project/","dir":"src/../lib"}`, &made)
	if got := h.thread(made.ID); got.Root != "/project" || got.WorkDir != "lib" || made.Root != "/project" {
		t.Errorf("stored %+v", got)
	}
	before := len(h.list())
	s.call(403, "POST", "/threads", `{"root":"/forbidden"}`, nil)
	s.call(422, "POST", "/threads", `{"root":"/project","dir":"../elsewhere"}`, nil)
	s.call(422, "POST", "/threads", `{"root":"/project","dir":"/etc"}`, nil)
	s.call(422, "POST", "/threads", `[`, nil)
	if after := len(h.list()); after != before {
		t.Errorf("%d conversations became %d", before, after)
	}
	var place handlers.ControlPlace
	if s.call(200, "GET", "/places?folder=/project/", "", &place); place != (handlers.ControlPlace{Folder: "/project"}) {
		t.Errorf("%+v", place)
	}
	s.call(200, "POST", "/places", `{"folder":"/project","own":true}`, nil)
	if s.call(200, "GET", "/places?folder=/project", "", &place); !place.Own || !place.Asked {
		t.Errorf("%+v", place)
	}
	s.call(422, "GET", "/places", "", nil)
	s.call(422, "POST", "/places", `{}`, nil)
	s.call(403, "POST", "/places", `{"folder":"/forbidden","own":true}`, nil)
}

// list is every conversation there is, empty ones too.
func (h *house) list() []agent.ThreadSummary {
	h.t.Helper()
	page, _, err := h.store.Threads(context.Background(), agent.ThreadFilter{Limit: 200})
	h.must(err)
	return page
}

func TestControlAnswersAQuestion(t *testing.T) {
	h := openWith(t, plan{configured: true, tools: curious{}}, llmtest.Reply{Calls: []llmtest.Call{{ID: "c", Name: "ask_person", Arguments: []string{`{}`}}}}, llmtest.Text("thanks"))
	s := h.control()
	id := h.begin("choose")
	var posted, again handlers.ControlPosted
	body := `{"text":"the blue one","form":"f-1"}`
	s.call(200, "POST", "/threads/"+string(id)+"/messages", body, &posted)
	h.rest(id)
	s.call(200, "POST", "/threads/"+string(id)+"/messages", body, &again)
	if posted.Answer == "" || posted.Message != "" || posted.Turn == "" || again.Answer != posted.Answer {
		t.Errorf("%+v, then %+v", posted, again)
	}
}

// curious is one tool that asks the person something.
type curious struct{ asking }

func (curious) Specs(context.Context, agent.Thread) []agent.ToolSpec {
	return []agent.ToolSpec{{Name: "ask_person", Description: "Asks.", Schema: []byte(`{"type":"object"}`)}}
}

func (curious) Judge(context.Context, agent.Situation, agent.ToolCall) (agent.Judgement, error) {
	return agent.Judgement{Verdict: agent.Ask, Question: true, Binding: "q", Effect: &agent.Effect{Kind: agent.EffectAsk, Text: "Which?"}}, nil
}
