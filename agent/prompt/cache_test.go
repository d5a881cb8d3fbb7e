package prompt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// prose is about n bytes of text that differs by seed.
func prose(seed, n int) string {
	words := strings.Fields("the garden needs water before noon and the beans want a taller frame while tomatoes grow slowly in the shade of an old wall")
	var b strings.Builder
	for i := seed; b.Len() < n; i++ {
		b.WriteString(words[(i*7+seed)%len(words)])
		b.WriteByte(' ')
	}
	return b.String()
}

func identity() fixed { return fixed(prose(1, 2400)) }

// TestConsecutiveTurnsShareTheirPrefix holds the promise that caching rests on, for each way a conversation goes on.
func TestConsecutiveTurnsShareTheirPrefix(t *testing.T) {
	label := agent.Labels{{Source: "file:a.csv", Kind: agent.LabelUntrusted}}
	image := agent.Image{Attachment: agent.Attachment{Hash: "pic", Name: "a.png", Media: "image/png", Size: 9}, Labels: label}
	file := agent.File{Attachment: agent.Attachment{Hash: "doc", Name: "a.csv", Media: "text/csv", Size: 40}, Extract: prose(3, 900), Labels: label}
	for _, test := range []struct {
		name   string
		memory Memory
		turn   func(*talk, int)
	}{
		{"plain", nil, func(k *talk, i int) {
			k.say(prose(i, 90))
			k.answer(prose(i+1, 600))
		}},
		{"attachments", nil, func(k *talk, i int) {
			k.say(prose(i, 90), image, file)
			k.answer(prose(i+1, 400))
		}},
		{"tools", nil, func(k *talk, i int) {
			k.say(prose(i, 90))
			k.use("read", agent.CallFinished, agent.Text{Text: prose(i, 500), Labels: label})
			k.use("read", agent.CallFailed)
			k.answer(prose(i+1, 300))
		}},
		{"stopped and continued", nil, func(k *talk, i int) {
			k.say(prose(i, 90))
			k.answer(prose(i+1, 300)).State = agent.MessageStopped
			k.say(prose(i, 50))
			k.answer(prose(i+1, 300)).State = agent.MessageCut
			k.answer(prose(i+2, 200))
		}},
		{"days apart", nil, func(k *talk, i int) {
			k.clock = k.clock.Add(26 * time.Hour)
			k.say(prose(i, 90))
			k.answer(prose(i+1, 600))
		}},
		{"recalled items", memory{recall: []agent.Recollection{{Source: "memory", Text: prose(5, 300)}}}, func(k *talk, i int) {
			k.say(prose(i, 90))
			k.answer(prose(i+1, 200))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := New(Options{Identity: identity(), Memory: test.memory, Blobs: blobs{"pic": []byte("123456789"), "doc": []byte("x")}, Location: time.UTC})
			k := newTalk()
			for i := range 12 { // a conversation that has got going
				test.turn(k, i)
			}
			before := ""
			worst := 1.0
			for i := range 40 {
				n := len(k.path)
				test.turn(k, 100+i)
				whole := k.path
				for end := n + 1; end <= len(whole); end++ { // every model call of the turn
					if end < len(whole) && whole[end].Role == agent.RoleUser {
						continue
					}
					k.path = whole[:end]
					if head := k.path[end-1]; head.Role == agent.RoleAssistant && len(head.Calls) == 0 && head.State == agent.MessageComplete {
						continue // finished: nothing is asked
					}
					now := wire(k.build(t, b).Prompt)
					if before != "" {
						worst = min(worst, float64(common(before, now))/float64(len(now)))
					}
					before = now
				}
				k.path = whole
			}
			t.Logf("least share of a prompt that was sent before: %.1f %%", 100*worst)
			if worst < 0.9 {
				t.Errorf("a prompt shares only %.1f %% with the one before, want 90", 100*worst)
			}
		})
	}
}

// TestCutMovesSeldom lets conversations outgrow the window: the prefix may break, but only in big steps.
func TestCutMovesSeldom(t *testing.T) {
	for _, test := range []struct {
		name     string
		window   int
		messages int // the engine reads no more of the path, nor does the prompt take more
	}{
		{"by tokens", 16 << 10, 0},
		{"by messages", 1 << 20, 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := New(Options{Identity: identity(), Location: time.UTC, Settings: func() Settings { return Settings{MaxMessages: test.messages} }})
			k := newTalk()
			broken, built, shortest := 0, 0, 1<<30
			before := ""
			for i := range 300 {
				k.say(prose(i, 120))
				p := k.build(t, b, func(r *agent.PromptRequest) {
					r.Model.ContextWindow = test.window
					if n := len(r.Path) - test.messages; test.messages > 0 && n > 0 {
						r.Path = r.Path[n:]
					}
				})
				now := wire(p.Prompt)
				if i >= 100 {
					built++
					shortest = min(shortest, len(p.Prompt.Messages))
					if common(before, now) < len(before)*9/10 {
						broken++
					}
				}
				before = now
				k.answer(prose(i+1, 700))
			}
			t.Logf("%d of %d turns began anew; at least %d messages were sent", broken, built, shortest)
			if broken*8 > built {
				t.Errorf("the prefix broke on %d of %d turns", broken, built)
			}
			if shortest < 10 {
				t.Errorf("only %d messages were sent", shortest)
			}
		})
	}
}

func TestRoundsOfATurnShareTheClock(t *testing.T) {
	b := New(Options{Location: time.UTC})
	k := newTalk()
	k.say("go on tomorrow")
	k.use("read", agent.CallFinished, agent.Text{Text: "done"})
	at := func(d time.Duration) string {
		return wire(k.build(t, b, func(r *agent.PromptRequest) { r.Now = now.Add(d) }).Prompt)
	}
	if fresh, later := at(time.Minute), at(40*time.Minute); fresh != later || strings.Contains(fresh, "by now") {
		t.Errorf("the prompt changes within the hour of its message:\n%s", later)
	}
	next := at(25 * time.Hour)
	if !strings.Contains(next, "[by now it is about Tue 2026-03-03 14:00 +00:00]") {
		t.Errorf("no note of the next day:\n%s", next)
	}
	if next != at(25*time.Hour+10*time.Minute) {
		t.Error("the note changes within an hour")
	}
}

func TestTimeZone(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	k := newTalk()
	k.say("what time is it?")
	built := k.build(t, New(Options{Location: zone}))
	if text := wire(built.Prompt); !strings.Contains(text, "[sent Mon 2026-03-02 14:05 +01:00]") || !strings.Contains(text, "Europe/Berlin") {
		t.Errorf("time or zone missing:\n%s", text)
	}
}

func BenchmarkBuild(b *testing.B) {
	k := newTalk()
	for i := range 200 {
		k.say(prose(i, 200))
		k.answer(prose(i, 2000))
	}
	k.say("and now?")
	builder := New(Options{Identity: identity()})
	for b.Loop() {
		k.build(b, builder)
	}
}

func ExampleTokens() {
	fmt.Println(Tokens("Hello, how are you today?"))
	// Output: 7
}
