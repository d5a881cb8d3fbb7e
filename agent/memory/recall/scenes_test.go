package recall_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ash/agent/memory/archive"
	"ash/agent/memory/recall"
	"ash/store"
	"ash/store/storetest"
)

// asked is a question with the turns that hold its answer.
type asked struct {
	kind  string
	text  string
	turns []string
}

// conversation is a long chat of two.
type conversation struct {
	name      string
	turns     []archive.Message
	questions []asked
}

// smallTalk returns the lines that hold no answer.
func smallTalk(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/small.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// read makes a conversation of a file of scenes, its sittings filled with small talk, the same each time.
func read(t testing.TB, name string) conversation {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var (
		c       = conversation{name: name}
		small   = smallTalk(t)
		random  = rand.New(rand.NewPCG(7, uint64(len(name))))
		names   []string
		date    string
		sitting int
		labels  = map[string]string{}
	)
	say := func(who int, text string) string {
		id := fmt.Sprintf("D%d:%d", sitting, len(c.turns)+1)
		text = strings.NewReplacer("{A}", names[0], "{B}", names[1]).Replace(text)
		c.turns = append(c.turns, archive.Message{Thread: name, ID: id, Speaker: names[who], Time: date, Text: text})
		return id
	}
	plain := false // no small talk between: it has its own
	chat := func(n int) {
		if plain {
			return
		}
		at := random.IntN(len(small))
		for i := range n {
			say(i%2, small[(at+i)%len(small)])
		}
	}
	for in := bufio.NewScanner(f); in.Scan(); {
		line := strings.TrimSpace(in.Text())
		switch {
		case line == "" || line[0] == '#':
		case line == "plain":
			plain = true
		case strings.HasPrefix(line, "names "):
			names = strings.Fields(line)[1:]
		case line[0] == '=':
			if sitting > 0 {
				chat(4 + random.IntN(5))
			}
			sitting++
			date = strings.TrimSpace(line[1:])
			chat(3 + random.IntN(5))
		case line[0] == '?':
			fields := strings.SplitN(line, " ", 4)
			q := asked{kind: fields[1], text: fields[3]}
			for _, l := range strings.Split(fields[2], ",") {
				if labels[l] == "" {
					t.Fatalf("%s: nobody said %q yet", name, l)
				}
				q.turns = append(q.turns, labels[l])
			}
			c.questions = append(c.questions, q)
		default:
			who := strings.IndexByte("AB", line[0])
			text := strings.TrimSpace(line[2:])
			label := ""
			if i := strings.LastIndex(text, " @"); i >= 0 {
				text, label = text[:i], text[i+2:]
			}
			labels[label] = say(who, text)
			if random.IntN(4) == 0 {
				chat(1 + random.IntN(2))
			}
		}
	}
	return c
}

// opened returns a store that holds conversations.
func opened(t testing.TB, list ...conversation) *store.Store {
	t.Helper()
	ctx := context.Background()
	s := storetest.Open(t)
	for _, c := range list {
		if _, err := s.ImportMessages(ctx, c.turns); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// tally counts turns that hold an answer, and those among the first ten.
type tally struct{ found, of int }

func (t tally) share() float64 { return 100 * float64(t.found) / float64(max(t.of, 1)) }

// measure asks the questions of a conversation. ask returns the ids it imported, of its own thread.
func measure(t testing.TB, c conversation, ask func(q string) []string) map[string]tally {
	t.Helper()
	all := map[string]tally{}
	for _, q := range c.questions {
		got := ask(q.text)
		for _, kind := range []string{q.kind, ""} {
			n := all[kind]
			n.of += len(q.turns)
			for _, turn := range q.turns {
				if slices.Contains(got, turn) {
					n.found++
				}
			}
			all[kind] = n
		}
	}
	return all
}

// asker asks an engine; how says with which bounds. What is of other conversations has no id here.
func asker(t testing.TB, e *recall.Engine, how recall.Query, c conversation) func(string) []string {
	return func(q string) []string {
		how.Text = q
		hits, err := e.Recall(context.Background(), how)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, h := range hits {
			if h.Archive == c.name {
				ids = append(ids, h.External)
			} else {
				ids = append(ids, "")
			}
		}
		return ids
	}
}

func line(all map[string]tally) string {
	s := fmt.Sprintf("%5.1f%%", all[""].share())
	for _, k := range []string{"s", "m", "t", "o", "a"} {
		s += fmt.Sprintf("  %s %5.1f", k, all[k].share())
	}
	return s
}
