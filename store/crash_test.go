package store

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

var long = flag.Bool("long", false, "kill the writing process 200 times instead of 15")

// crashHome names the database to the child that is to be killed.
const crashHome = "ASH_STORE_CRASH_DB"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashHome); path != "" {
		if err := converse(context.Background(), path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// converse holds conversations until it is killed, and says what was acknowledged:
// "message ID", "progress ID BYTES", "started ID", "concluded ID".
func converse(ctx context.Context, path string) error {
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	if _, err := s.Recover(ctx); err != nil {
		return err
	}
	for {
		if err := converseOnce(ctx, s); err != nil {
			return err
		}
	}
}

func converseOnce(ctx context.Context, s *Store) error {
	thread := agent.NewID()
	if err := s.CreateThread(ctx, agent.Thread{ID: thread, Title: "crash", Origin: agent.Origin{Channel: "web"}}); err != nil {
		return err
	}
	p, err := s.Post(ctx, agent.NewMessage{Thread: thread, Parts: text("question " + string(thread)), Form: "f"})
	if err != nil {
		return err
	}
	fmt.Println("message", p.Message.ID)
	m := agent.Message{ID: agent.NewID(), Thread: thread, Parent: p.Message.ID, Turn: p.Turn.ID}
	if err := s.OpenReply(ctx, m); err != nil {
		return err
	}
	fmt.Println("message", m.ID)
	said := ""
	for i := range 5 {
		piece := fmt.Sprintf("piece %d of the answer; ", i)
		if err := s.SaveProgress(ctx, []agent.ReplyProgress{{Message: m.ID, Text: piece}}); err != nil {
			return err
		}
		said += piece
		fmt.Println("progress", m.ID, len(said))
	}
	queued, err := s.Post(ctx, agent.NewMessage{Thread: thread, Parts: text("queued"), Form: "g"})
	if err != nil {
		return err
	}
	fmt.Println("message", queued.Message.ID)
	call := agent.ToolCall{ID: agent.NewID(), Name: "shell", State: agent.CallApproved, Arguments: []byte("{}")}
	m.State, m.Parts, m.Calls = agent.MessageComplete, append(text(said), agent.ToolUse{Call: call.ID}), []agent.ToolCall{call}
	if err := s.CloseReply(ctx, m); err != nil {
		return err
	}
	call.State = agent.CallStarted
	if _, err := s.MoveCall(ctx, call, agent.CallApproved); err != nil {
		return err
	}
	fmt.Println("started", call.ID)
	call.State, call.Result = agent.CallFinished, text("done")
	if _, err := s.MoveCall(ctx, call, agent.CallStarted); err != nil {
		return err
	}
	if _, err := s.EndTurn(ctx, p.Turn, agent.TurnDone); err != nil {
		return err
	}
	return converseInTwo(ctx, s)
}

// converseInTwo holds turns of two transactions each: a message with its open reply, and the end of both. There are
// several, so that kills fall among them.
func converseInTwo(ctx context.Context, s *Store) error {
	for range 12 {
		thread := agent.NewID()
		if err := s.CreateThread(ctx, agent.Thread{ID: thread, Title: "crash", Origin: agent.Origin{Channel: "web"}}); err != nil {
			return err
		}
		m := agent.Message{ID: agent.NewID(), Thread: thread, Parent: agent.NewID(), Turn: agent.NewID(), Created: now()}
		p, err := s.Post(ctx, agent.NewMessage{Thread: thread, Parts: text("in two"), Form: inTwo, Reply: &m})
		if err != nil {
			return err
		}
		fmt.Println("message", p.Message.ID)
		fmt.Println("message", p.Reply.ID)
		m = *p.Reply
		m.State, m.Parts = agent.MessageComplete, text("all of it")
		if _, err := s.Conclude(ctx, m, agent.TurnDone); err != nil {
			return err
		}
		fmt.Println("concluded", m.ID)
	}
	return nil
}

// inTwo is the form of messages that were stored with their reply.
const inTwo = "in two"

func TestKill(t *testing.T) {
	rounds := 15
	if *long {
		rounds = 200
	}
	path := filepath.Join(t.TempDir(), "ash.db")
	var acknowledged []string
	cut := 0
	for round := range rounds {
		fresh := runAndKill(t, path)
		acknowledged = append(acknowledged, fresh...)
		s, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		f := &fixture{Store: s, t: t, ctx: t.Context()}
		if !s.Unclean() {
			t.Errorf("round %d: the kill went unnoticed", round)
		}
		f.ok(s.CheckIntegrity(f.ctx))
		r, err := s.Recover(f.ctx)
		f.ok(err)
		cut += r.Turns
		if round == rounds-1 {
			fresh = acknowledged // of all rounds
		}
		for _, line := range fresh {
			f.holds(line)
		}
		f.nothingRuns()
		f.nothingHalf()
		f.ok(s.Close())
	}
	if len(acknowledged) == 0 || cut == 0 {
		t.Errorf("%d acknowledgements, %d turns broken off: nothing was tested", len(acknowledged), cut)
	}
	t.Logf("%d rounds, %d acknowledgements, %d turns broken off", rounds, len(acknowledged), cut)
}

// runAndKill lets a child converse for a moment and returns what it acknowledged in whole lines.
func runAndKill(t *testing.T, path string) []string {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), crashHome+"="+path)
	var complaints strings.Builder
	child.Stderr = &complaints
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	read := bufio.NewReader(out)
	for {
		line, err := read.ReadString('\n')
		if err != nil {
			break
		}
		if len(lines) == 0 {
			time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() {
				if err := child.Process.Kill(); err != nil {
					t.Error(err)
				}
			})
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	if err := child.Wait(); err == nil || complaints.Len() > 0 {
		t.Fatalf("the child ended by itself: %v %s", err, complaints.String())
	}
	return lines
}

// holds checks that what was acknowledged is there.
func (f *fixture) holds(line string) {
	f.t.Helper()
	var (
		kind  string
		id    agent.ID
		bytes int
	)
	if n, _ := fmt.Sscan(line, &kind, &id, &bytes); n < 2 {
		f.t.Fatalf("the child said %q", line)
	}
	if kind == "started" {
		if c := f.call(id); c.State != agent.CallUnknown && c.State != agent.CallFinished {
			f.t.Fatalf("%s: the call is %s", line, c.State)
		}
		return
	}
	m, err := f.Message(f.ctx, id)
	if err != nil {
		f.t.Fatalf("%s: %v", line, err)
	}
	if kind == "concluded" {
		turn, err := turnByID(f.ctx, f.reader, m.Turn)
		f.ok(err)
		if m.State != agent.MessageComplete || m.Text() != "all of it" || turn.State != agent.TurnDone || turn.Rounds != 1 {
			f.t.Fatalf("%s: the reply is %s with %q, its turn %s", line, m.State, m.Text(), turn.State)
		}
	}
	if len(m.Text()) < bytes {
		f.t.Fatalf("%s: only %d bytes are left", line, len(m.Text()))
	}
}

func (f *fixture) nothingRuns() {
	f.t.Helper()
	for table, state := range map[string]string{"messages": "open", "turns": "running", "tool_calls": "started"} {
		n, err := f.reader.NewSelect().Table(table).Where("state = ?", state).Count(f.ctx)
		f.ok(err)
		if n > 0 {
			f.t.Fatalf("%d %s are %s", n, table, state)
		}
	}
}

// nothingHalf checks that what is stored as one was never there in part, acknowledged or not.
func (f *fixture) nothingHalf() {
	f.t.Helper()
	for what, query := range map[string]string{
		"messages without their reply": `SELECT count(*) FROM messages q WHERE q.form = ?
			AND NOT EXISTS (SELECT 1 FROM messages r WHERE r.parent = q.id AND r.turn = q.turn)`,
		"messages without their turn": `SELECT count(*) FROM messages q WHERE q.form = ?
			AND NOT EXISTS (SELECT 1 FROM turns u WHERE u.id = q.turn AND u.trigger_message = q.id)`,
		"replies whose end is not that of their turn": `SELECT count(*) FROM messages q JOIN messages r ON r.parent = q.id JOIN turns u ON u.id = q.turn
			WHERE q.form = ? AND (r.state = 'complete') <> (u.state = 'done')`,
	} {
		var n int
		f.ok(f.reader.NewRaw(query, inTwo).Scan(f.ctx, &n))
		if n > 0 {
			f.t.Fatalf("%d %s", n, what)
		}
	}
}
