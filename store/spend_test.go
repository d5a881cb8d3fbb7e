package store

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/spend"
)

func spendCall(day spend.Day, thread agent.ID) spend.Call {
	return spend.Call{
		ID: agent.NewID(), Day: day, Thread: thread, Purpose: agent.PurposeChat, Input: 10,
		Model: agent.ModelRef{Provider: "p", Name: "m"}, Began: time.Now(),
	}
}

func costs(m agent.MicroDollars) func(spend.Sums) (agent.MicroDollars, error) {
	return func(spend.Sums) (agent.MicroDollars, error) { return m, nil }
}

// A helper's calls count to the conversation it works for, and so do reservations.
func TestSpendCountsToTheConversationAbove(t *testing.T) {
	f := newFixture(t)
	_, call := f.waiting()
	helper := agent.Thread{ID: agent.NewID(), Origin: agent.Origin{Channel: agent.ChannelHelper}, ParentCall: call.ID, Created: now(), Updated: now()}
	f.ok(f.CreateThread(f.ctx, helper))
	c, err := f.ReserveSpend(f.ctx, spendCall("2026-11-22", helper.ID), costs(500))
	f.ok(err)
	if c.Root != f.thread {
		t.Fatalf("counted to %s, want %s", c.Root, f.thread)
	}
	have, err := f.SpendSums(f.ctx, "2026-11-22", f.thread)
	f.ok(err)
	if have.Spent.Thread != 500 || have.Spent.Day != 500 || have.Spent.Month != 500 || have.Spent.Background != 0 {
		t.Errorf("reserved: %+v", have.Spent)
	}
	f.ok(f.SettleSpend(f.ctx, []spend.Taken{{Call: c, Usage: agent.Usage{Input: 7, Cost: 300}}}))
	f.ok(f.SettleSpend(f.ctx, []spend.Taken{{Call: c, Usage: agent.Usage{Input: 7, Cost: 300}}})) // again: nothing
	have, err = f.SpendSums(f.ctx, "2026-11-23", f.thread)
	f.ok(err)
	if have.Spent.Thread != 300 || have.Spent.Day != 0 || have.Spent.Month != 300 {
		t.Errorf("settled: %+v", have.Spent)
	}
}

// What messages, summaries and learning took before there was a book is counted once, in the days of the person's zone.
func TestSpendTakesInThePast(t *testing.T) {
	f := newFixture(t)
	run := func(sql string, args ...any) {
		t.Helper()
		_, err := f.writer.ExecContext(f.ctx, sql, args...)
		f.ok(err)
	}
	at := time.Date(2026, 10, 31, 23, 30, 0, 0, time.UTC).UnixMicro() // November already, two hours east
	run(`INSERT INTO messages (id, thread, role, state, provider, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost,
		first_token, duration, stop, failure_code, failure_public, covered_boot, covered_seq, created, finished, preview, labels, parts, search_text)
		VALUES ('m1', ?, 'assistant', 'complete', 'p', 'm', 10, 20, 0, 0, 400, 0, 0, '', '', '', '', 0, ?, 0, '', '[]', '[]', '')`, f.thread, at)
	zone := time.FixedZone("east", 2*3600)
	for range 2 {
		f.ok(f.TakeInSpending(f.ctx, zone))
	}
	rows, err := f.Spending(f.ctx, "2026-01-01", "2026-12-31", spend.ByAll)
	f.ok(err)
	if len(rows) != 1 || rows[0].Day != "2026-11-01" || rows[0].Usage.Cost != 400 || rows[0].Calls != 1 || rows[0].Root != f.thread {
		t.Errorf("%+v", rows)
	}
}

// A process that is killed between reserving and settling has spent what it reserved: at the next start it is counted, once.
func TestSpendSurvivesAKill(t *testing.T) {
	const mark = "ASH_TEST_SPEND_CHILD"
	if path := os.Getenv(mark); path != "" {
		s, err := Open(context.Background(), Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReserveSpend(context.Background(), spendCall("2026-11-22", ""), costs(1234)); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("reserved\n")
		select {} // until it is killed
	}
	path := filepath.Join(t.TempDir(), "ash.db")
	cmd := exec.Command(os.Args[0], "-test.run=^TestSpendSurvivesAKill$")
	cmd.Env = append(os.Environ(), mark+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "reserved") {
		t.Fatalf("%q %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i, want := range []int{1, 0} {
		n, err := s.RecoverSpending(t.Context())
		if err != nil || n != want {
			t.Errorf("start %d found %d reservations, want %d (%v)", i+1, n, want, err)
		}
		have, err := s.SpendSums(t.Context(), "2026-11-22", "")
		if err != nil || have.Spent.Day != 1234 {
			t.Errorf("start %d: %+v %v", i+1, have.Spent, err)
		}
	}
	rows, err := s.Spending(t.Context(), "2026-11-22", "2026-11-22", spend.ByAll)
	if err != nil || len(rows) != 1 || rows[0].Estimated != 1234 {
		t.Errorf("%+v %v", rows, err)
	}
}
