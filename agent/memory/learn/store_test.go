package learn_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/learn"
	"ash/store"
	"ash/store/storetest"
)

// real is memory over a real store, wired as the program does.
type real struct {
	*store.Store
	book  *memory.Book
	owner agent.ID
}

func openReal(t *testing.T, path string) *real {
	t.Helper()
	storetest.Put(t, path)
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	owner, err := s.Owner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &real{Store: s, book: memory.New(s, memory.Options{}), owner: owner.ID}
}

func (r *real) Unlearned(context.Context, time.Time, int) ([]agent.ID, error) { return nil, nil }

func (r *real) Learned(ctx context.Context, thread agent.ID) (agent.ID, error) {
	run, err := r.LearnedThrough(ctx, thread)
	return run.Through, err
}

func (r *real) Concerning(ctx context.Context, owner agent.ID, _ string, limit int) ([]agent.Fact, error) {
	list, _, err := r.Facts(ctx, agent.FactFilter{Owner: owner, Statuses: []agent.FactStatus{agent.FactCurrent}, Limit: limit})
	return list, err
}

func (r *real) Known(ctx context.Context, owner agent.ID, text string) (bool, error) {
	same, err := r.SameFacts(ctx, owner, memory.Fingerprint(text))
	if err != nil || slices.ContainsFunc(same, func(f agent.Fact) bool { return f.Status == agent.FactCurrent }) {
		return true, err
	}
	return r.waits(ctx, func(p agent.Proposal) bool { return memory.Normal(p.Fact.Text) == memory.Normal(text) })
}

func (r *real) Declined(ctx context.Context, text string) (bool, error) {
	return r.book.Declined(ctx, text)
}

func (r *real) Retiring(ctx context.Context, fact agent.ID) (bool, error) {
	if no, err := r.book.DeclinedRetiring(ctx, fact); no || err != nil {
		return no, err
	}
	return r.waits(ctx, func(p agent.Proposal) bool { return p.Action == agent.ActionRetire && p.Fact.ID == fact })
}

func (r *real) waits(ctx context.Context, like func(agent.Proposal) bool) (bool, error) {
	list, _, err := r.Proposals(ctx, "", 200)
	return slices.ContainsFunc(list, like), err
}

func (r *real) Forgotten(ctx context.Context, text string) (bool, error) {
	return r.book.Forgotten(ctx, text)
}

func (r *real) Keep(ctx context.Context, o learn.Outcome) error {
	_, err := r.book.Apply(ctx, memory.Step{Changes: o.Run.Changes, Run: &o.Run, Propose: o.Propose})
	return err
}

func (r *real) RecentEpisodes(ctx context.Context, since time.Time, limit int) ([]agent.Episode, error) {
	list, err := r.LatestEpisodes(ctx, limit, "")
	return slices.DeleteFunc(list, func(e agent.Episode) bool { return e.Ended.Before(since) }), err
}

func (r *real) Consolidated(ctx context.Context) (time.Time, error) {
	list, _, err := r.MemoryRuns(ctx, agent.RunConsolidate, "", 1)
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return list[0].Created, nil
}

func (r *real) learner() *learn.Learner {
	return learn.New(learn.Options{Owner: r.owner, Conversations: r, Book: r, Episodes: r, Shelf: r})
}

// say stores a message of the person and ends its turn.
func (r *real) say(t *testing.T, thread agent.ID, text string) {
	t.Helper()
	p, err := r.Post(t.Context(), agent.NewMessage{Thread: thread, Author: r.owner, Form: string(agent.NewID()), Parts: []agent.Part{agent.Text{Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.EndTurn(t.Context(), p.Turn, agent.TurnDone); err != nil {
		t.Fatal(err)
	}
}

func (r *real) current(t *testing.T) string {
	t.Helper()
	list, err := r.Concerning(t.Context(), r.owner, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range slices.Backward(list) {
		out = append(out, f.Text)
	}
	return strings.Join(out, "|")
}

// TestOverTheStore tells, corrects, begins anew, undoes and tidies over a real database.
func TestOverTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ash.db")
	r := openReal(t, path)
	thread := agent.NewID()
	if err := r.CreateThread(t.Context(), agent.Thread{ID: thread, Origin: agent.Origin{Channel: "web", Person: r.owner}, Created: time.Now(), Updated: time.Now()}); err != nil {
		t.Fatal(err)
	}
	r.say(t, thread, "Hi! I live in Graz. Remember that the bins go out on Tuesday.")
	run(t, r.learner(), thread)
	if got := r.current(t); got != "I live in Graz|The bins go out on Tuesday" {
		t.Fatal(got)
	}
	r.say(t, thread, "We moved to Vienna last week. Forget that the bins go out on Tuesday.")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	r = openReal(t, path)
	run(t, r.learner(), thread)
	run(t, r.learner(), thread)
	if got := r.current(t); got != "The bins go out on Tuesday|I live in Vienna" {
		t.Error(got)
	}
	waiting, _, err := r.Proposals(t.Context(), "", 10)
	if err != nil || len(waiting) != 1 || waiting[0].Action != agent.ActionRetire {
		t.Errorf("%+v %v", waiting, err)
	}
	e, err := r.Episode(t.Context(), thread)
	if err != nil || !strings.Contains(e.Text, "Graz") || !strings.Contains(e.Text, "Vienna") {
		t.Errorf("%+v %v", e, err)
	}
	runs, _, err := r.MemoryRuns(t.Context(), agent.RunLearn, "", 10)
	if err != nil || len(runs) != 2 || len(runs[0].Changes) != 2 {
		t.Fatalf("%+v %v", runs, err)
	}
	chain, err := r.FactChain(t.Context(), runs[0].Changes[0].Fact)
	if err != nil || len(chain) != 2 || chain[0].Status != agent.FactSuperseded || chain[1].Source.Quote != "We moved to Vienna last week." {
		t.Errorf("%+v %v", chain, err)
	}
	if _, err := r.learner().Consolidate(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.book.Undo(t.Context(), runs[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := r.current(t); got != "I live in Graz|The bins go out on Tuesday" {
		t.Error(got)
	}
	run(t, r.learner(), thread) // what was undone is not learned again
	if got := r.current(t); got != "I live in Graz|The bins go out on Tuesday" {
		t.Error(got)
	}
}
