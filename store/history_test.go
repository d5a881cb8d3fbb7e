package store

import (
	"fmt"
	"testing"

	"ash/agent"
)

func TestPathAndWindow(t *testing.T) {
	f := newFixture(t)
	var ids []agent.ID
	for i := range 5 {
		q, a := f.exchange(fmt.Sprint("q", i), fmt.Sprint("a", i))
		ids = append(ids, q.ID, a.ID)
	}
	_, err := f.Edit(f.ctx, ids[4], agent.NewMessage{Thread: f.thread, Parts: text("q2b")})
	f.ok(err)
	f.reply("a2b")
	f.end(agent.TurnDone)
	_, _, err = f.MoveHead(f.ctx, f.thread, ids[4])
	f.ok(err)

	path, err := f.Path(f.ctx, ids[9], 0)
	f.ok(err)
	equal(t, idsOf(path), ids)
	path, err = f.Path(f.ctx, ids[9], 3)
	f.ok(err)
	equal(t, idsOf(path), ids[7:])
	path, err = f.Path(f.ctx, "", 3)
	f.ok(err)
	equal(t, len(path), 0)
	_, err = f.Path(f.ctx, agent.NewID(), 3)
	f.fails(err, agent.CodeNotFound)

	f.post("running")
	queued := f.post("queued").Message
	nodes, earlier, err := f.Window(f.ctx, f.thread, "", 4)
	f.ok(err)
	if len(nodes) != 5 || !earlier || nodes[4].ID != queued.ID || nodes[4].Siblings != 1 {
		t.Fatalf("window has %d nodes, earlier %v", len(nodes), earlier)
	}
	nodes, earlier, err = f.Window(f.ctx, f.thread, ids[7], 3)
	f.ok(err)
	equal(t, nodeIDs(nodes), ids[4:7])
	equal(t, earlier, true)
	if nodes[0].Siblings != 2 || nodes[0].Index != 1 || nodes[0].Next == "" || nodes[1].Siblings != 1 {
		t.Errorf("places are %+v", nodes[0])
	}
	nodes, earlier, err = f.Window(f.ctx, f.thread, ids[3], 3)
	f.ok(err)
	equal(t, nodeIDs(nodes), ids[:3])
	equal(t, earlier, false)
	nodes, earlier, err = f.Window(f.ctx, f.thread, ids[0], 3)
	f.ok(err)
	if len(nodes) != 0 || earlier {
		t.Errorf("before the first: %v, %v", nodes, earlier)
	}
	nodes, _, err = f.Window(f.ctx, f.newThread(""), "", 3)
	f.ok(err)
	equal(t, len(nodes), 0)
	_, _, err = f.Window(f.ctx, agent.NewID(), "", 3)
	f.fails(err, agent.CodeNotFound)
	_, _, err = f.Window(f.ctx, f.newThread(""), ids[3], 3)
	f.fails(err, agent.CodeNotFound)
	_, err = f.Node(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
	_, err = f.Message(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
}

func TestSummaries(t *testing.T) {
	f := newFixture(t)
	q, a := f.exchange("q", "a")
	var want []agent.Summary
	for i := range 2 {
		s := agent.Summary{
			ID: agent.NewID(), Thread: f.thread, From: q.ID, To: a.ID, Text: fmt.Sprint("s", i), Created: now(),
			Labels: agent.Labels{{Source: "x", Kind: agent.LabelPrivate, Private: true}},
			Model:  agent.ModelRef{Provider: "p", Name: "m"}, Usage: agent.Usage{Input: 1, Cost: 2},
		}
		f.ok(f.AddSummary(f.ctx, s))
		want = append([]agent.Summary{s}, want...)
	}
	got, err := f.Summaries(f.ctx, f.thread)
	f.ok(err)
	equal(t, got, want)
	want[0].Disabled = true
	f.ok(f.AddSummary(f.ctx, want[0]))
	got, err = f.Summaries(f.ctx, f.thread)
	f.ok(err)
	equal(t, got, want)
	f.fails(f.AddSummary(f.ctx, agent.Summary{ID: agent.NewID(), Thread: agent.NewID()}), agent.CodeNotFound)
}

func idsOf(list []agent.Message) []agent.ID {
	var ids []agent.ID
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

func nodeIDs(list []agent.Node) []agent.ID {
	var ids []agent.ID
	for _, n := range list {
		ids = append(ids, n.ID)
	}
	return ids
}

func TestFollowing(t *testing.T) {
	f := newFixture(t)
	var ids []agent.ID
	for i := range 4 {
		q, a := f.exchange(fmt.Sprint("q", i), fmt.Sprint("a", i))
		ids = append(ids, q.ID, a.ID)
	}
	edited, err := f.Edit(f.ctx, ids[2], agent.NewMessage{Thread: f.thread, Parts: text("q1b")})
	f.ok(err)
	f.reply("a1b")
	f.end(agent.TurnDone)
	_, _, err = f.MoveHead(f.ctx, f.thread, ids[2])
	f.ok(err)
	f.post("running")
	queued := f.post("queued").Message
	other := f.newThread("")
	for name, tt := range map[string]struct {
		thread, message agent.ID
		n               int
		want            agent.ID
		onPath          bool
	}{
		"a step":               {f.thread, ids[2], 1, ids[3], true},
		"some steps":           {f.thread, ids[1], 5, ids[6], true},
		"no step":              {f.thread, ids[4], 0, "", true},
		"beyond the end":       {f.thread, ids[5], 20, "", true},
		"the first":            {f.thread, ids[0], 7, ids[7], true},
		"another variant":      {f.thread, edited.Message.ID, 1, "", false},
		"a queued one":         {f.thread, queued.ID, 1, "", false},
		"a message of another": {other, ids[2], 1, "", false},
		"no message":           {f.thread, agent.NewID(), 1, "", false},
		"no thread":            {agent.NewID(), ids[2], 1, "", false},
	} {
		got, onPath, err := f.Following(f.ctx, tt.thread, tt.message, tt.n)
		f.ok(err)
		if got != tt.want || onPath != tt.onPath {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, onPath, tt.want, tt.onPath)
		}
	}
}
