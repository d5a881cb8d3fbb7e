package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm/llmtest"
	"ash/agent/memory"
	"ash/agent/memory/archive"
)

// What memory acknowledged survives kill -9 at any instant, and what it had not finished leaves nothing in part.

// What the child that is to be killed is told: its home, and the number of the first thing it does. No two lives use the same numbers.
const (
	killedHome = "KILLED_WHILE_REMEMBERING"
	killedFrom = "KILLED_FROM"
)

// TestMemoryChild is that child: it learns, forgets, makes final, tidies and imports until it is killed, and says what it was told is done:
// "VERB NUMBER", after "began VERB NUMBER".
func TestMemoryChild(t *testing.T) {
	home := os.Getenv(killedHome)
	if home == "" {
		t.Skip("run by TestKilledWhileRemembering, which kills it")
	}
	a, err := openApp(t.Context(), home, []config.Override{{Key: "memory.rest", Value: "24h", Flag: "test"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	first, err := strconv.Atoi(os.Getenv(killedFrom))
	if err != nil {
		t.Fatal(err)
	}
	for n := first; ; n++ {
		if err := rememberOnce(t.Context(), a, n); err != nil {
			t.Fatal(err)
		}
	}
}

// placeOf is where thing n is kept, thingOf the thing.
func placeOf(n int) string { return oddWord(2 * n) }

func thingOf(n int) string { return oddWord(2*n + 1) }

// oddWord is a word that stands nowhere else. Each of the first 343,000 begins with six letters of its own: by those, words are compared, and what
// shares a word with something forgotten is rather not learned.
func oddWord(n int) string {
	sum := sha256.Sum256(fmt.Append(nil, n))
	var b strings.Builder
	for _, x := range []int{n, n / 70, n / 4900, int(sum[0]), int(sum[1])} {
		b.WriteByte("bdfgklmnprtvwz"[x%14])
		b.WriteByte("aeiou"[x/14%5])
	}
	return b.String() + "x"
}

// rememberOnce does each thing once.
func rememberOnce(ctx context.Context, a *app, n int) error {
	act := func(verb string, do func() error) error {
		fmt.Println("began", verb, n)
		if err := do(); err != nil {
			return fmt.Errorf("%s %d: %w", verb, n, err)
		}
		fmt.Println(verb, n)
		return nil
	}
	thread, err := a.engine.CreateThread(ctx, agent.Origin{Channel: "web", Person: a.owner.ID})
	if err != nil {
		return err
	}
	p, err := a.store.Post(ctx, agent.NewMessage{Thread: thread.ID, Author: a.owner.ID, Form: string(agent.NewID()), Parts: []agent.Part{
		agent.Text{Text: fmt.Sprintf("Hello! Remember that the %s is kept in %s.", thingOf(n), placeOf(n))}}})
	if err != nil {
		return err
	}
	if _, err := a.store.EndTurn(ctx, p.Turn, agent.TurnDone); err != nil {
		return err
	}
	l := a.newLearner()
	if err := act("learn", func() error { _, err := l.Learn(ctx, thread.ID); return err }); err != nil {
		return err
	}
	same := agent.Fact{Text: fmt.Sprintf("The %s is kept in the %s!", thingOf(n), placeOf(n)), Owner: a.owner.ID, Confidence: 0.5}
	if _, err := a.mind.book.Apply(ctx, memory.Step{Changes: []agent.MemoryChange{{After: ready(a, same)}}}); err != nil {
		return err
	}
	if err := act("tidy", func() error { _, err := l.Consolidate(ctx); return err }); err != nil {
		return err
	}
	if n%2 == 0 {
		if err := act("import", func() error { _, err := a.store.ImportMessages(ctx, letters(n)); return err }); err != nil {
			return err
		}
		return nil
	}
	facts, _, err := a.store.Facts(ctx, agent.FactFilter{Thread: thread.ID, Limit: 10})
	if err != nil || len(facts) == 0 {
		return fmt.Errorf("nothing was learned: %w", err)
	}
	var gone memory.Forgetting
	err = act("forget", func() (err error) {
		gone, err = a.mind.book.Forget(ctx, memory.Target{Fact: facts[0].ID}, nil)
		return err
	})
	if err == nil && n%4 == 1 {
		err = act("finish", func() error { return a.mind.book.Finish(ctx, gone.ID) })
	}
	return err
}

func ready(a *app, f agent.Fact) *agent.Fact {
	f, err := a.mind.book.Ready(f)
	if err != nil {
		panic(err) // the texts are ours
	}
	return &f
}

// letters are an archive.
func letters(n int) []archive.Message {
	out := make([]archive.Message, 40)
	for i := range out {
		out[i] = archive.Message{Thread: fmt.Sprint("letters ", n), ID: fmt.Sprintf("l-%d-%d", n, i), Speaker: "Ann", Time: "2023-05-03T10:00:00Z", Text: fmt.Sprintf("Letter %d of %d", i, n)}
	}
	return out
}

func TestKilledWhileRemembering(t *testing.T) {
	if underRace {
		t.Skip("a dozen processes: run it without the race detector, as .ci/run does beside")
	}
	home := filepath.Join(t.TempDir(), "home")
	must(t, os.Mkdir(home, 0o700))
	server := llmtest.OpenAI(t, slices.Repeat([]llmtest.Reply{llmtest.Text("All right.")}, 1000)...)
	done := map[string]bool{}  // "VERB NUMBER"
	begun := map[string]bool{} // and may be done or not
	for round := range 10 {
		fresh := killedWhile(t, home, 1000*round)
		for _, line := range fresh {
			if what, ok := strings.CutPrefix(line, "began "); ok {
				begun[what] = true
				continue
			}
			done[line] = true
		}
		t.Run(fmt.Sprint("after kill ", round), func(t *testing.T) { standsAfter(t, home, server, begun, done) })
	}
	of := map[string]int{}
	for what := range done {
		verb, _, _ := strings.Cut(what, " ")
		of[verb]++
	}
	broken := len(begun) - len(done)
	if broken == 0 || of["finish"] == 0 || of["import"] == 0 {
		t.Errorf("done: %v, broken off: %d: too little was tested", of, broken)
	}
	t.Logf("done: %v, broken off: %d", of, broken)
}

// killedWhile lets a child remember for a moment, from thing first on, and returns what it said in whole lines.
func killedWhile(t *testing.T, home string, first int) []string {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestMemoryChild$", "-test.v=false")
	child.Env = append(os.Environ(), killedHome+"="+home, killedFrom+"="+strconv.Itoa(first))
	var complaints strings.Builder
	child.Stderr = &complaints
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	var lines []string
	read := bufio.NewReader(out)
	for {
		line, err := read.ReadString('\n')
		if err != nil {
			break
		}
		if len(lines) == 0 {
			time.AfterFunc(time.Duration(200_000+rand.IntN(2_000_000))*time.Microsecond, func() { _ = child.Process.Kill() })
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	if err := child.Wait(); err == nil || strings.Contains(strings.Join(lines, "\n"), "FAIL") {
		t.Fatalf("the child ended by itself: %v %s %s", err, complaints.String(), strings.Join(lines[max(0, len(lines)-10):], "\n"))
	}
	return lines
}

// standsAfter opens a home after a kill and compares it with what was acknowledged.
func standsAfter(t *testing.T, home string, server *llmtest.Server, begun, done map[string]bool) {
	a, err := openApp(t.Context(), home, []config.Override{
		{Key: "models.order", Value: "vllm/test", Flag: "--model"}, {Key: "providers.vllm.base_url", Value: server.URL + "/v1", Flag: "--base-url"},
		{Key: "models.title_model", Value: "offline/offline", Flag: "test"}, {Key: "memory.rest", Value: "24h", Flag: "test"},
	}, true)
	must(t, err)
	c := &claim{t: t, app: a, pages: map[string]string{}}
	must(t, a.store.CheckIntegrity(t.Context()))
	_, err = a.mind.book.FinishDue(t.Context())
	must(t, err)
	current := map[string]bool{}
	for filter := (agent.FactFilter{Statuses: []agent.FactStatus{agent.FactCurrent}, Limit: 200}); ; {
		page, next, err := a.store.Facts(t.Context(), filter)
		must(t, err)
		for _, f := range page {
			current[f.Text] = true
		}
		if filter.After = next; next == "" {
			break
		}
	}
	says := func(n int) bool {
		for text := range current {
			if strings.Contains(text, placeOf(n)) {
				return true
			}
		}
		return false
	}
	asked := 0
	for what := range done {
		var verb string
		var n int
		_, err := fmt.Sscan(what, &verb, &n)
		must(t, err)
		switch verb {
		case "learn":
			if !says(n) && !begun[fmt.Sprint("forget ", n)] {
				t.Errorf("%d was learned, and is gone", n)
			}
		case "import":
			added, err := a.store.ImportMessages(t.Context(), letters(n))
			if must(t, err); added != 0 {
				t.Errorf("%d messages of import %d were lost", added, n)
			}
		case "forget":
			if says(n) {
				t.Errorf("%d was forgotten, and is a fact again", n)
			}
			if asked++; asked <= 3 { // each is a conversation
				c.inNoPrompt(t, server, n)
			}
		case "finish":
			for _, name := range []string{"ash.db", "ash.db-wal"} {
				if b, err := os.ReadFile(filepath.Join(home, name)); err == nil && strings.Contains(string(b), placeOf(n)) {
					t.Errorf("%d is final, and stands in %s", n, name)
				}
			}
		}
	}
	must(t, a.closeSoon(context.Background()))
	nothingInPart(t, home)
}

// inNoPrompt asks for a thing that was forgotten, and looks at the bytes the model got.
func (c *claim) inNoPrompt(t *testing.T, server *llmtest.Server, n int) {
	t.Helper()
	before := len(server.Chats())
	c.say(t, c.thread(t), agent.Text{Text: "Where is the " + thingOf(n) + " kept?"})
	for _, r := range server.Chats()[before:] {
		if strings.Contains(string(r.Body), placeOf(n)) {
			t.Errorf("%d was forgotten, and stands in a prompt", n)
		}
	}
}

// nothingInPart looks for runs and facts that do not fit together.
func nothingInPart(t *testing.T, home string) {
	t.Helper()
	db, err := sql.Open("sqliteshim", "file:"+filepath.Join(home, "ash.db")+"?mode=ro")
	must(t, err)
	defer db.Close()
	for what, query := range map[string]string{
		"facts of a run that does not exist":           `SELECT count(*) FROM facts WHERE run IS NOT NULL AND run NOT IN (SELECT id FROM memory_runs)`,
		"facts overtaken by one that does not exist":   `SELECT count(*) FROM facts WHERE successor IS NOT NULL AND successor NOT IN (SELECT id FROM facts)`,
		"changes of a run that were not made":          `SELECT count(*) FROM memory_runs r, json_each(r.changes) c WHERE r.undone = 0 AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.id = c.value ->> 'fact')`,
		"masks of a forgetting that does not exist":    `SELECT count(*) FROM message_masks WHERE forgetting NOT IN (SELECT id FROM forgettings)`,
		"items of facts that do not hold":              `SELECT count(*) FROM recall_items WHERE kind = 'fact' AND ref NOT IN (SELECT id FROM facts WHERE status = 'current')`,
		"imported messages of an import in part":       `SELECT count(*) FROM (SELECT archive FROM message_origins GROUP BY archive HAVING count(*) <> 40)`,
		"damage (foreign keys)":                        `SELECT count(*) FROM pragma_foreign_key_check`,
		"damage (0 is good)":                           `SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'`,
		"tombstones without a hash of their statement": `SELECT count(*) FROM tombstones t WHERE NOT EXISTS (SELECT 1 FROM tombstone_hashes h WHERE h.tombstone = t.id)`,
	} {
		var n int
		must(t, db.QueryRowContext(t.Context(), query).Scan(&n))
		if n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}
