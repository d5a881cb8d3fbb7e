package memory_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory"
)

func said(s string) []agent.Part { return []agent.Part{agent.Text{Text: s}} }

func (f *fixture) thread(title string) agent.ID {
	f.t.Helper()
	id := agent.NewID()
	f.ok(f.store.CreateThread(f.ctx, agent.Thread{ID: id, Title: title, TitleSource: agent.TitleWords, Origin: agent.Origin{Channel: "web", Person: f.owner}}))
	return id
}

// talk is a question and its answer, which may have called a tool with an argument.
func (f *fixture) talk(thread agent.ID, question, answer, argument string) (agent.ID, agent.ID) {
	f.t.Helper()
	p, err := f.store.Post(f.ctx, agent.NewMessage{Thread: thread, Parts: said(question), Author: f.owner})
	f.ok(err)
	m := agent.Message{ID: agent.NewID(), Thread: thread, Parent: p.Message.ID, Turn: p.Turn.ID}
	f.ok(f.store.OpenReply(f.ctx, m))
	m.State, m.Parts = agent.MessageComplete, said(answer)
	if argument != "" {
		c := agent.ToolCall{ID: agent.NewID(), Name: "remember", State: agent.CallFinished, Arguments: []byte(argument), Result: said("ok")}
		m.Calls, m.Parts = []agent.ToolCall{c}, append(m.Parts, agent.ToolUse{Call: c.ID})
	}
	f.ok(f.store.CloseReply(f.ctx, m))
	_, err = f.store.EndTurn(f.ctx, p.Turn, agent.TurnDone)
	f.ok(err)
	return p.Message.ID, m.ID
}

// story tells a secret in many places. The word to be looked for afterwards is everywhere.
func (f *fixture) story() (fact agent.Fact, one, two agent.ID) {
	f.t.Helper()
	one = f.thread("Anna and the Xanadupark")
	source, _ := f.talk(one, "Some news. My sister Anna moved to Xanadupark last week! What is the weather like?",
		"Lovely, Xanadupark is green. It rains today.", `{"text":"Anna lives in Xanadup\u0061rk"}`)
	two = f.thread("Gifts")
	f.talk(two, "What could I bring Anna?", "Since Anna has a flat in **Xanadupark** by now, bring a plant. Plants are nice.", "")
	fact = f.remember("The sister Anna lives in Xanadupark", about("Anna", "Xanadupark"), func(x *agent.Fact) {
		x.Source = agent.Provenance{Kind: agent.SourceMessage, Thread: one, Message: source, Quote: "My sister Anna moved to Xanadupark last week"}
		x.Subject = "Anna"
	})
	fact, err := f.Correct(f.ctx, fact.ID, time.Time{}, agent.Fact{Text: "The sister Anna lives in the north of Xanadupark"})
	f.ok(err)
	run := agent.MemoryRun{ID: agent.NewID(), Kind: agent.RunLearn, Thread: one}
	pinned := fact
	pinned.Importance = 0.5
	done, err := f.Apply(f.ctx, memory.Step{Run: &run, Changes: []agent.MemoryChange{{Fact: fact.ID, Before: &fact, After: &pinned}}})
	f.ok(err)
	fact = *done[0].After
	f.ok(f.store.SaveEpisode(f.ctx, agent.Episode{Thread: one, Through: source, Text: "Anna, the sister, is in Xanadupark now.", Ended: f.at}))
	f.ok(f.store.AddSummary(f.ctx, agent.Summary{ID: agent.NewID(), Thread: two, From: source, To: source, Text: "Gifts for Anna in Xanadupark."}))
	_, reply := f.talk(two, "Where is she again?", "In Xanadupark.", "")
	f.ok(f.store.SaveReceipt(f.ctx, reply, []agent.Recollection{{Kind: agent.MemoryFact, Ref: string(fact.ID), Why: []string{"xanadupark"}}}))
	_, err = f.Propose(f.ctx, []agent.Proposal{{Action: agent.ActionKeep, Fact: agent.Fact{Owner: f.owner, Text: "Anna likes Xanadupark and its sister town"}}})
	f.ok(err)
	f.remember("Bo plays chess on Mondays", about("Bo"))
	return fact, one, two
}

// shown returns everything a prompt, a page or a search could show.
func (f *fixture) shown() string {
	f.t.Helper()
	var b strings.Builder
	threads, _, err := f.store.Threads(f.ctx, agent.ThreadFilter{Limit: 50})
	f.ok(err)
	for _, th := range threads {
		b.WriteString(th.Title + th.Snippet)
		path, err := f.store.Path(f.ctx, th.Head, 0)
		f.ok(err)
		for _, m := range path {
			b.WriteString(m.Text())
			for _, c := range m.Calls {
				b.Write(c.Arguments)
			}
		}
		sums, err := f.store.Summaries(f.ctx, th.ID)
		f.ok(err)
		for _, s := range sums {
			if !s.Disabled {
				b.WriteString(s.Text)
			}
		}
	}
	hits, err := f.store.Search(f.ctx, "xanadupark", 50)
	f.ok(err)
	for _, h := range hits {
		for _, p := range h.Snippet {
			b.WriteString(p.Text)
		}
	}
	hits, err = f.store.Search(f.ctx, "sister", 50)
	f.ok(err)
	for _, h := range hits {
		for _, p := range h.Snippet {
			b.WriteString(p.Text)
		}
	}
	b.WriteString(f.texts(agent.FactFilter{}))
	episodes, err := f.store.LatestEpisodes(f.ctx, 10, "")
	f.ok(err)
	for _, e := range episodes {
		b.WriteString(e.Text)
	}
	proposals, _, err := f.store.Proposals(f.ctx, "", 50)
	f.ok(err)
	for _, p := range proposals {
		b.WriteString(p.Fact.Text)
	}
	runs, _, err := f.store.MemoryRuns(f.ctx, "", "", 50)
	f.ok(err)
	for _, r := range runs {
		for _, c := range r.Changes {
			if c.After != nil {
				b.WriteString(c.After.Text)
			}
		}
	}
	return strings.ToLower(b.String())
}

// inFiles returns the files of the database that hold a word.
func (f *fixture) inFiles(word string) []string {
	f.t.Helper()
	var found []string
	for _, pattern := range []string{f.path + "*", filepath.Join(filepath.Dir(f.path), "backups", "*")} {
		names, err := filepath.Glob(pattern)
		f.ok(err)
		for _, name := range names {
			raw, err := os.ReadFile(name)
			f.ok(err)
			if bytes.Contains(bytes.ToLower(raw), []byte(word)) {
				found = append(found, filepath.Base(name))
			}
		}
	}
	return found
}

func TestForget(t *testing.T) {
	f := newFixture(t)
	fact, one, _ := f.story()
	backups := filepath.Join(filepath.Dir(f.path), "backups")
	f.ok(os.MkdirAll(backups, 0o700))
	f.ok(f.store.Backup(f.ctx, filepath.Join(backups, "copy.db")))
	before := f.shown()
	if !strings.Contains(before, "xanadupark") || len(f.inFiles("xanadupark")) < 2 {
		t.Fatal("the story is not told")
	}
	traces, err := f.Traces(f.ctx, memory.Target{Fact: fact.ID})
	f.ok(err)
	var keys []string
	kinds := map[memory.TraceKind]int{}
	for _, tr := range traces.List {
		kinds[tr.Kind]++
		if tr.Ticked || tr.Kind == memory.TraceSnapshot {
			keys = append(keys, tr.Key())
		}
	}
	for kind, n := range map[memory.TraceKind]int{
		memory.TraceFact: 2, memory.TraceMessage: 4, memory.TraceEpisode: 1, memory.TraceSummary: 1, memory.TraceTitle: 1,
		memory.TraceProposal: 1, memory.TraceSnapshot: 1,
	} {
		if kinds[kind] != n {
			t.Errorf("%d traces of kind %s, want %d", kinds[kind], kind, n)
		}
	}
	if f.shown() != before {
		t.Error("looking changed something")
	}
	gone, err := f.Forget(f.ctx, memory.Target{Fact: fact.ID}, keys)
	f.ok(err)
	if s := f.shown(); strings.Contains(s, "xanadupark") || !strings.Contains(s, "it rains today") || !strings.Contains(s, "plants are nice") || !strings.Contains(s, "bo plays chess") {
		t.Errorf("hidden: %s", s)
	}
	f.restart()
	if s := f.shown(); strings.Contains(s, "xanadupark") {
		t.Errorf("after a restart: %s", s)
	}
	f.ok(f.Restore(f.ctx, gone.ID))
	if s := f.shown(); s != before {
		t.Errorf("restored:\n%s\nwant\n%s", s, before)
	}
	if back := f.fact(fact.ID); !back.Updated.Equal(fact.Updated) || len(back.Entities) != 2 || len(back.Supersedes) != 1 {
		t.Errorf("restored: %+v", back)
	}
	if forgotten, err := f.Forgotten(f.ctx, fact.Text); err != nil || forgotten {
		t.Errorf("restored and still buried: %v", err)
	}
	gone, err = f.Forget(f.ctx, memory.Target{Fact: fact.ID}, keys)
	f.ok(err)
	f.restart()
	n, err := f.FinishDue(f.ctx)
	f.ok(err)
	f.at = f.at.Add(time.Hour)
	m, err := f.FinishDue(f.ctx)
	f.ok(err)
	if n != 0 || m != 1 {
		t.Errorf("final: %d, then %d", n, m)
	}
	f.fails(f.Restore(f.ctx, gone.ID), agent.CodeNotFound)
	if s := f.shown(); strings.Contains(s, "xanadupark") || !strings.Contains(s, "it rains today") {
		t.Errorf("final: %s", s)
	}
	if in := f.inFiles("xanadup"); in != nil {
		t.Errorf("still in %v", in)
	}
	if _, err := f.store.Thread(f.ctx, one); err != nil {
		t.Error(err)
	}
	f.restart()
	if in := f.inFiles("xanadup"); in != nil {
		t.Errorf("after a restart still in %v", in)
	}
	f.ok(f.store.CheckIntegrity(f.ctx))
}

func TestForgotten(t *testing.T) {
	f := newFixture(t)
	for _, x := range []agent.Fact{
		{Text: "The sister Anna lives in Lisbon", Subject: "Anna", Entities: []agent.Entity{{Name: "Anna"}, {Name: "Lisbon"}}},
		{Text: "I am allergic to peanuts"}, {Text: "My salary is 72,400 euros"}, {Text: "Meine Tochter Lena geht in die Waldschule", Subject: "Lena"},
		{Text: "私の妹は東京に住んでいます"},
	} {
		x.Owner = f.owner
		k, err := f.Remember(f.ctx, x, false)
		f.ok(err)
		g, err := f.Forget(f.ctx, memory.Target{Fact: k.Fact.ID}, nil)
		f.ok(err)
		f.ok(f.Finish(f.ctx, g.ID))
	}
	f.restart()
	for text, want := range map[string]bool{
		"the sister ANNA lives in lisbon!":           true,
		"Anna moved to Lisbon":                       true,
		"Lisbon is where his sister Anna has a flat": true,
		"The user has a peanut allergy":              true,
		"He earns a salary of 72,400 € a year":       true,
		"Lena besucht die Waldschule":                true,
		"妹は東京に住んでいる":                                 true,
		"The sister Anna lives in Berlin":            false,
		"Lisbon is the capital of Portugal":          false,
		"I am allergic to cats":                      false,
		"Lena spielt Geige":                          false,
		"Bo plays chess":                             false,
	} {
		got, err := f.Forgotten(f.ctx, text)
		f.ok(err)
		if got != want {
			t.Errorf("%q: forgotten is %v", text, got)
		}
	}
	_, err := f.Remember(f.ctx, agent.Fact{Owner: f.owner, Text: "Anna lives in Lisbon"}, false)
	f.fails(err, agent.CodeDenied)
	list, err := f.Propose(f.ctx, []agent.Proposal{{Action: agent.ActionKeep, Fact: agent.Fact{Owner: f.owner, Text: "Anna lives in Lisbon"}}})
	if err != nil || list != nil {
		t.Errorf("proposed: %v %v", list, err)
	}
	_, err = f.Remember(f.ctx, agent.Fact{Owner: f.owner, Text: "Anna lives in Lisbon"}, true) // the person says so
	f.ok(err)
	if got, err := f.Forgotten(f.ctx, "Anna lives in Lisbon"); err != nil || got {
		t.Errorf("told again and still buried: %v", err)
	}
}

func TestForgetMessageAndThread(t *testing.T) {
	f := newFixture(t)
	fact, one, two := f.story()
	chain, err := f.store.FactChain(f.ctx, fact.ID)
	f.ok(err)
	source := chain[0].Source.Message
	g, err := f.Forget(f.ctx, memory.Target{Message: source}, nil)
	f.ok(err)
	m, err := f.store.Message(f.ctx, source)
	f.ok(err)
	if m.Text() != memory.Blank || len(g.Facts) != 2 || strings.Contains(f.shown(), "xanadupark") {
		t.Errorf("message: %q, %d facts: %s", m.Text(), len(g.Facts), f.shown())
	}
	f.ok(f.Restore(f.ctx, g.ID))
	g, err = f.Forget(f.ctx, memory.Target{Thread: one}, nil)
	f.ok(err)
	if s := f.shown(); strings.Contains(s, "xanadupark") || strings.Contains(s, "weather") || !strings.Contains(s, "gifts") {
		t.Errorf("thread: %s", s)
	}
	f.ok(f.Finish(f.ctx, g.ID))
	if _, err := f.store.Thread(f.ctx, one); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("the thread is there: %v", err)
	}
	if _, err := f.store.Thread(f.ctx, two); err != nil {
		t.Error(err)
	}
	if in := f.inFiles("xanadup"); in != nil {
		t.Errorf("still in %v", in)
	}
	f.ok(f.store.CheckIntegrity(f.ctx))
}

func TestForgetOverlapping(t *testing.T) {
	f := newFixture(t)
	thread := f.thread("t")
	source, _ := f.talk(thread, "Uma plays the Oboe and Rex eats Quinoa. Nothing else.", "Fine.", "")
	from := func(x *agent.Fact) {
		x.Source = agent.Provenance{Kind: agent.SourceMessage, Thread: thread, Message: source}
	}
	a, b := f.remember("Uma plays the Oboe", from), f.remember("Rex eats Quinoa", from)
	ga, err := f.Forget(f.ctx, memory.Target{Fact: a.ID}, nil)
	f.ok(err)
	gb, err := f.Forget(f.ctx, memory.Target{Fact: b.ID}, nil)
	f.ok(err)
	f.ok(f.Finish(f.ctx, ga.ID))
	f.ok(f.Restore(f.ctx, gb.ID))
	m, err := f.store.Message(f.ctx, source)
	f.ok(err)
	if strings.Contains(m.Text(), "Oboe") || !strings.Contains(m.Text(), "Nothing else") {
		t.Errorf("left: %q", m.Text())
	}
}

// What is written while a thing is forgotten goes when that becomes final. What the person left, and what was said afterwards, stays.
func TestForgetLate(t *testing.T) {
	f := newFixture(t)
	one, two, three := f.thread("one"), f.thread("two"), f.thread("three")
	source, _ := f.talk(one, "My plumber Dagobert took his degree in Quilrefrost.", "Fine.", "")
	left, _ := f.talk(three, "Dagobert took his degree in Quilrefrost, did he not?", "Yes.", "")
	fact := f.remember("The plumber Dagobert took his degree in Quilrefrost", func(x *agent.Fact) {
		x.Source = agent.Provenance{Kind: agent.SourceMessage, Thread: one, Message: source}
	})
	p, err := f.store.Post(f.ctx, agent.NewMessage{Thread: two, Parts: said("What would go?"), Author: f.owner})
	f.ok(err)
	late := agent.Message{ID: agent.NewID(), Thread: two, Parent: p.Message.ID, Turn: p.Turn.ID}
	f.ok(f.store.OpenReply(f.ctx, late))
	traces, err := f.Traces(f.ctx, memory.Target{Fact: fact.ID})
	f.ok(err)
	var ticked []string
	for _, x := range traces.List {
		if x.Ticked && x.Ref != string(left) {
			ticked = append(ticked, x.Key())
		}
	}
	f.at = time.Now().UTC() // the store's clock says when a message was said
	done, err := f.Forget(f.ctx, memory.Target{Fact: fact.ID}, ticked)
	f.ok(err)
	c := agent.ToolCall{
		ID: agent.NewID(), Name: "forget", State: agent.CallFinished, Arguments: []byte("{}"), Result: said("ok"),
		Effect: &agent.Effect{Title: "Forget", Text: "- summary: Dagobert, the plumber, took his degree in Quilrefrost. Ingrid came by."},
	}
	late.State, late.Calls, late.Parts = agent.MessageComplete, []agent.ToolCall{c}, []agent.Part{agent.ToolUse{Call: c.ID}}
	f.ok(f.store.CloseReply(f.ctx, late))
	_, err = f.store.EndTurn(f.ctx, p.Turn, agent.TurnDone)
	f.ok(err)
	again, _ := f.talk(three, "Once more: Dagobert took his degree in Quilrefrost.", "Noted.", "")
	f.ok(f.Finish(f.ctx, done.ID))
	stored, err := f.store.Message(f.ctx, late.ID)
	f.ok(err)
	if got := stored.Calls[0].Effect.Text; strings.Contains(got, "Quilrefrost") || !strings.Contains(got, "Ingrid came by") {
		t.Errorf("written meanwhile: %q", got)
	}
	for _, id := range []agent.ID{left, again} {
		if m, err := f.store.Message(f.ctx, id); err != nil || !strings.Contains(m.Text(), "Quilrefrost") {
			t.Errorf("left by the person, or said later: %q %v", m.Text(), err)
		}
	}
	if list, err := f.Forgettings(f.ctx); err != nil || len(list) > 0 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestForgetRefuses(t *testing.T) {
	f := newFixture(t)
	_, err := f.Forget(f.ctx, memory.Target{}, nil)
	f.fails(err, agent.CodeInvalid)
	_, err = f.Forget(f.ctx, memory.Target{Fact: agent.NewID()}, nil)
	f.fails(err, agent.CodeNotFound)
	x := f.remember("Bo plays chess")
	_, err = f.Forget(f.ctx, memory.Target{Fact: x.ID}, []string{})
	f.fails(err, agent.CodeInvalid)
	thread := f.thread("t")
	_, err = f.store.Post(f.ctx, agent.NewMessage{Thread: thread, Parts: said("hello"), Author: f.owner})
	f.ok(err)
	_, err = f.Forget(f.ctx, memory.Target{Thread: thread}, nil)
	f.fails(err, agent.CodeConflict)
}

// What was made of the messages that say a thing goes with it, however few words it says it in; so does what a forgotten message said
// that nothing was learned from.
func TestForgetTerseSummaries(t *testing.T) {
	f := newFixture(t)
	one, other := f.thread("The Vx7741 locker"), f.thread("Else")
	source, reply := f.talk(one, "My gym locker has the number Vx7741. It is blue.", "Noted.", "")
	fact := f.remember("My gym locker has the number Vx7741", func(x *agent.Fact) {
		x.Source = agent.Provenance{Kind: agent.SourceMessage, Thread: one, Message: source, Quote: "My gym locker has the number Vx7741."}
	})
	f.talk(other, "What is a locker?", "A box.", "")
	f.ok(f.store.AddSummary(f.ctx, agent.Summary{ID: agent.NewID(), Thread: one, From: source, To: reply, Text: "They spoke. Noted: Vx7741."}))
	f.ok(f.store.AddSummary(f.ctx, agent.Summary{ID: agent.NewID(), Thread: other, From: source, To: reply, Text: "A locker is a box."}))
	f.ok(f.store.SaveEpisode(f.ctx, agent.Episode{Thread: one, Through: reply, Text: "About Vx7741 and more.", Ended: f.at}))
	done, err := f.Forget(f.ctx, memory.Target{Fact: fact.ID}, nil)
	f.ok(err)
	if s, err := f.store.Summaries(f.ctx, one); err != nil || len(s) != 1 || !s[0].Disabled {
		t.Errorf("the summary: %+v %v", s, err)
	}
	if s, err := f.store.Summaries(f.ctx, other); err != nil || len(s) != 1 || s[0].Disabled {
		t.Errorf("a summary of something else: %+v %v", s, err)
	}
	if strings.Contains(f.shown(), "vx7741") {
		t.Error("it is still shown")
	}
	f.ok(f.Restore(f.ctx, done.ID))

	plain, answer := f.talk(other, "Between us: Quentin owes Rudolf eleven crates.", "I see: Quentin owes Rudolf eleven crates. Shall I note it?", "")
	f.ok(f.store.AddSummary(f.ctx, agent.Summary{ID: agent.NewID(), Thread: other, From: plain, To: answer, Text: "Something about Rudolf."}))
	_, err = f.Forget(f.ctx, memory.Target{Message: plain}, nil)
	f.ok(err)
	if got := f.shown(); strings.Contains(got, "crates") || !strings.Contains(got, "shall i note it?") {
		t.Errorf("a message that nothing was learned from: %s", got)
	}
	if s, err := f.store.Summaries(f.ctx, other); err != nil || !s[0].Disabled || s[1].Disabled {
		t.Errorf("its summary: %+v %v", s, err)
	}
}

// A name of two words that is the only one is what a statement tells, not whom it is about.
func TestForgetTheOnlyName(t *testing.T) {
	f := newFixture(t)
	one := f.thread("Money")
	source, reply := f.talk(one, "The rent goes to the account of Hovmindel Estates. It is due soon.", "Fine.", "")
	fact := f.remember("The rent goes to the account of Hovmindel Estates", func(x *agent.Fact) {
		x.Source = agent.Provenance{Kind: agent.SourceMessage, Thread: one, Message: source, Quote: "The rent goes to the account of Hovmindel Estates."}
	})
	f.ok(f.store.AddSummary(f.ctx, agent.Summary{ID: agent.NewID(), Thread: one, From: source, To: reply, Text: "They spoke. Noted: Hovmindel."}))
	_, err := f.Forget(f.ctx, memory.Target{Fact: fact.ID}, nil)
	f.ok(err)
	if s, err := f.store.Summaries(f.ctx, one); err != nil || len(s) != 1 || !s[0].Disabled {
		t.Errorf("the summary: %+v %v", s, err)
	}
}
