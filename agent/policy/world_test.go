package policy_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/policy"
	"ash/store"
	"ash/store/storetest"
)

// world is a conversation before a real store, and the policy that judges its calls.
type world struct {
	t      testing.TB
	store  *store.Store
	policy *policy.Policy
	root   string
	person agent.ID
	thread agent.Thread
	path   []agent.Message
	sums   []agent.Summary
	core   []string
}

func (w *world) PrivateTexts(context.Context, agent.Situation) ([]string, error) { return w.core, nil }

func newWorld(t testing.TB) *world {
	t.Helper()
	s := storetest.Open(t)
	w := &world{t: t, store: s, root: t.TempDir(), person: agent.NewID()}
	w.policy = policy.New(policy.Options{Rules: s, Private: w, Log: s, Root: func(agent.Thread) string { return w.root }})
	w.thread = w.newThread("")
	return w
}

func (w *world) newThread(parentCall agent.ID) agent.Thread {
	w.t.Helper()
	th := agent.Thread{ID: agent.NewID(), Origin: agent.Origin{Channel: "web", Person: w.owner()}, ParentCall: parentCall}
	w.ok(w.store.CreateThread(w.t.Context(), th))
	return th
}

func (w *world) owner() agent.ID {
	w.t.Helper()
	p, err := w.store.Owner(w.t.Context())
	w.ok(err)
	return p.ID
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// says adds a message of the person.
func (w *world) says(text string, labels ...agent.Label) {
	w.path = append(w.path, agent.Message{
		ID: agent.NewID(), Thread: w.thread.ID, Role: agent.RoleUser, Author: w.person, State: agent.MessageComplete,
		Parts: []agent.Part{agent.Text{Text: text, Labels: labels}},
	})
}

// got adds a reply with one finished call and its result.
func (w *world) got(tool string, kind agent.EffectKind, payload, result string, labels ...agent.Label) {
	m := agent.Message{ID: agent.NewID(), Thread: w.thread.ID, Role: agent.RoleAssistant, State: agent.MessageComplete}
	m.Calls = []agent.ToolCall{{
		ID: agent.NewID(), Message: m.ID, Name: tool, State: agent.CallFinished, Started: time.Now(), Arguments: json.RawMessage(`{}`),
		Effect: &agent.Effect{Kind: kind, Text: payload}, Result: []agent.Part{agent.Text{Text: result}}, Labels: labels,
	}}
	w.path = append(w.path, m)
}

// situation ends the path with a reply that asks.
func (w *world) situation(c *agent.ToolCall) agent.Situation {
	m := agent.Message{ID: agent.NewID(), Thread: w.thread.ID, Role: agent.RoleAssistant, State: agent.MessageComplete}
	c.Message = m.ID
	s := agent.Situation{Thread: w.thread, Path: append(slices.Clone(w.path), m), Summaries: w.sums}
	for _, x := range s.Path {
		s.Labels = s.Labels.Union(x.Labels())
	}
	for _, x := range w.sums {
		s.Labels = s.Labels.Union(x.Labels)
	}
	return s
}

// wish is what a model may ask for.
type wish struct {
	tool   string
	effect agent.Effect
}

func run(command string, hosts ...string) wish {
	return wish{"shell", agent.Effect{Kind: agent.EffectExecute, Text: command, Hosts: hosts}}
}
func fetch(url string) wish {
	return wish{"web_fetch", agent.Effect{Kind: agent.EffectFetch, Text: url, Target: "somewhere"}}
}
func search(query string) wish {
	return wish{"web_search", agent.Effect{Kind: agent.EffectSend, Text: query, Target: "search engine"}}
}
func write(path string) wish {
	return wish{"file_write", agent.Effect{Kind: agent.EffectWrite, Target: path, Diff: "+x"}}
}
func mail(text string) wish {
	return wish{"send_mail", agent.Effect{Kind: agent.EffectSend, Text: text, Target: "eve@example.net"}}
}
func remember(text string) wish {
	return wish{"remember", agent.Effect{Kind: agent.EffectRemember, Text: text, Keeps: []string{text}}}
}
func read(path string) wish {
	return wish{"file_read", agent.Effect{Kind: agent.EffectRead, Target: path}}
}

func (w *world) judge(x wish) agent.Judgement {
	w.t.Helper()
	c := agent.ToolCall{ID: agent.NewID(), Thread: w.thread.ID, Name: x.tool, State: agent.CallProposed}
	j, err := w.policy.Judge(w.t.Context(), w.situation(&c), c, x.effect)
	w.ok(err)
	return j
}

func (w *world) is(want agent.Verdict, x wish) agent.Judgement {
	w.t.Helper()
	j := w.judge(x)
	if j.Verdict != want {
		w.t.Errorf("%s %s %q %s: got %s (%s), want %s", x.tool, x.effect.Kind, x.effect.Text, x.effect.Target, j.Verdict, j.Why, want)
	}
	return j
}

// accept takes the offer of a call whose rule ends so.
func (w *world) accept(x wish, rule string) {
	w.t.Helper()
	c := agent.ToolCall{ID: agent.NewID(), Thread: w.thread.ID, Name: x.tool, State: agent.CallProposed}
	s := w.situation(&c)
	j, err := w.policy.Judge(w.t.Context(), s, c, x.effect)
	w.ok(err)
	c.Effect = j.Effect
	o, ok := j.Effect.Offer(rule)
	if !ok {
		w.t.Fatalf("%s %q: rule %q is not offered, but %+v", x.tool, x.effect.Text, rule, j.Effect.Offers)
	}
	w.ok(w.policy.Permit(w.t.Context(), s, c, o))
}

func untrusted(source string) agent.Label {
	return agent.Label{Source: source, Kind: agent.LabelUntrusted}
}

func own(source string) agent.Label {
	return agent.Label{Source: source, Kind: agent.LabelPrivate, Private: true}
}

func (w *world) folder(rel string) string {
	return "folder " + strconv.Quote(filepath.Join(w.root, rel))
}
