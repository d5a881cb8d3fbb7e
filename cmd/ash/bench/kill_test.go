//go:build linux

package bench

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/store"
)

// finis ends every answer of the model in the tests that follow.
const finis = "finis"

// slowly is an answer that takes n pauses of every.
func slowly(n int, every time.Duration) answer {
	return answer{tokens: append(repeat(n, "zebra "), finis), every: every}
}

// ledger is what was acknowledged: for each conversation, the texts the program said it has.
type ledger struct {
	mu   sync.Mutex
	said map[string][]string
}

func (l *ledger) add(thread, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said[thread] = append(l.said[thread], text)
}

// TestKill ends the program as a power cut of the process would, at random instants while conversations run, and
// looks at what the next start makes of it: every acknowledged message is there, the database is sound,
// every interrupted turn says so, nothing runs by itself, and all of it goes on when asked.
func TestKill(t *testing.T) {
	rounds := number(t, "ASH_KILLS", 20)
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d rounds, seed %d", rounds, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	m := newModel(t, answer{})
	home := t.TempDir()
	acknowledged, interrupted := 0, 0
	for round := range rounds {
		m.says(slowly(30, time.Duration(random.IntN(4))*time.Millisecond))
		l := talkUntilKilled(t, home, m, round, time.Duration(random.IntN(200))*time.Millisecond)
		time.Sleep(20 * time.Millisecond) // what was on its way to the model arrives
		asked := m.requested()
		soundCopy(t, home)

		p := ash(t, home, m)
		page := visit(t, p)
		var unfinished []string
		for thread, said := range l.said {
			acknowledged += len(said)
			if checkAfterKill(t, page, thread, said) {
				unfinished = append(unfinished, thread)
			}
		}
		time.Sleep(20 * time.Millisecond)
		if n := m.requested(); n != asked {
			t.Errorf("round %d: the model was asked %d times by a server nobody asked anything", round, n-asked)
		}
		interrupted += len(unfinished)
		m.says(slowly(2, 0))
		for _, thread := range unfinished {
			goOn(t, page, thread)
		}
		p.stop()
		p.wellBehaved()
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d acknowledged messages, %d interrupted turns", acknowledged, interrupted)
	if acknowledged == 0 || (rounds >= 20 && interrupted == 0) {
		t.Error("the kills met nothing: the test shows nothing")
	}
}

// talkUntilKilled starts the program, lets four people talk to it, and kills it after a while.
func talkUntilKilled(t *testing.T, home string, m *model, round int, after time.Duration) *ledger {
	t.Helper()
	p := ash(t, home, m)
	l := &ledger{said: map[string][]string{}}
	var people sync.WaitGroup
	for i := range 4 {
		page := visit(t, p)
		people.Go(func() { talk(page, l, fmt.Sprintf("message %d-%d-", round, i)) })
	}
	time.Sleep(after)
	p.kill()
	people.Wait()
	p.wellBehaved()
	return l
}

// talk begins a conversation and says something again and again, mostly before the answer is there, until
// the server is gone.
func talk(page *browser, l *ledger, mark string) {
	thread, err := page.tryBegin(mark + "begin.")
	if err != nil {
		return // not acknowledged
	}
	l.add(thread, mark+"begin.")
	stream, err := page.stream("/chat/" + thread + "/events")
	if err == nil {
		defer stream.Close()
		go io.Copy(io.Discard, stream) // until it is cut off
	}
	for i := range 12 {
		text := fmt.Sprint(mark, i, ".")
		if page.say(thread, text) != nil {
			return
		}
		l.add(thread, text)
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
	}
}

// soundCopy checks a copy of the database: opening it would take from the next start what it has to put in order.
func soundCopy(t *testing.T, home string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ash.db", "ash.db-wal"} {
		data, err := os.ReadFile(filepath.Join(home, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // killed before there was one
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Check(t.Context(), store.Options{Path: filepath.Join(dir, "ash.db")}); err != nil {
		t.Errorf("after the kill: %v", err)
	}
}

var resumePattern = regexp.MustCompile(`<form method="post" action="(/chat/[^"]+/continue)"`)

// checkAfterKill looks at a conversation as the restarted program shows it, and reports whether its
// last turn was interrupted.
func checkAfterKill(t *testing.T, page *browser, thread string, said []string) bool {
	t.Helper()
	html := page.page("/chat/" + thread)
	for _, text := range said {
		if !strings.Contains(html, ">"+text+"</div>") {
			t.Errorf("%q was acknowledged and is lost\n%s", text, html)
		}
	}
	if strings.Contains(html, `aria-label="Stop"`) {
		t.Errorf("a turn is shown as running after a restart\n%s", html)
	}
	if resumePattern.MatchString(html) {
		if !strings.Contains(html, "This was not finished") && !strings.Contains(html, "was cut off") && !strings.Contains(html, "Ash ended while") {
			t.Errorf("the interrupted turn does not say so\n%s", html)
		}
		return true
	}
	if !finished(html) {
		t.Errorf("a turn without an end is not said to be interrupted\n%s", html)
	}
	return false
}

// finished reports whether a conversation's last message is an answer with its end.
func finished(html string) bool {
	articles := strings.Split(html, "<article ")
	return strings.Contains(articles[len(articles)-1], finis)
}

// goOn asks for an interrupted turn to be continued.
func goOn(t *testing.T, page *browser, thread string) {
	t.Helper()
	m := resumePattern.FindStringSubmatch(page.page("/chat/" + thread))
	if m == nil {
		t.Errorf("%s: nothing is offered to continue", thread)
		return
	}
	status, _, body, err := page.post(m[1], nil)
	if err != nil || status >= 300 {
		t.Errorf("continue: %d %v\n%s", status, err, body)
		return
	}
	page.rest(thread)
	if html := page.page("/chat/" + thread); !finished(html) || resumePattern.MatchString(html) {
		t.Errorf("the turn did not go on to its end\n%s", html)
	}
}

// TestStopWhileAnswering stops the program in good order while answers are being written and pages are open: it
// is gone in 5 s, the pages are told, and what was said so far is kept.
func TestStopWhileAnswering(t *testing.T) {
	m := newModel(t, slowly(100_000, 5*time.Millisecond))
	home := t.TempDir()
	p := ash(t, home, m)
	page := visit(t, p)
	tabs := make([]*tab, 20)
	var events sync.Map
	for i := range tabs {
		thread := page.begin("Tell me everything")
		tabs[i] = page.open(thread, func(f frame) { events.Store(thread+f.event, true) })
	}
	time.Sleep(300 * time.Millisecond)
	if took := p.stop(); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
	p.wellBehaved()
	p = ash(t, home, m)
	page = visit(t, p)
	for _, x := range tabs {
		if err := <-x.ended; !errors.Is(err, io.EOF) {
			t.Errorf("a stream ended with %v", err)
		}
		if _, ok := events.Load(x.thread + "ash:bye"); !ok {
			t.Error("a page was not told that the server goes")
		}
		html := page.page("/chat/" + x.thread)
		if !strings.Contains(html, "zebra zebra") || !strings.Contains(html, "was cut off") || !resumePattern.MatchString(html) {
			t.Errorf("the partial answer is not kept, or not offered to continue\n%s", html)
		}
	}
	asked := m.requested()
	time.Sleep(100 * time.Millisecond)
	if n := m.requested(); n != asked {
		t.Errorf("the model was asked %d times by a server nobody asked anything", n-asked)
	}
}

// TestNothingIsLeftOpen has turns end in every way there is (by themselves, stopped, with the page gone, with the
// page coming back) and then compares what the program holds with what it held before.
func TestNothingIsLeftOpen(t *testing.T) {
	turns := number(t, "ASH_TURNS", 150)
	m := newModel(t, slowly(20, time.Millisecond))
	p := ash(t, t.TempDir(), m)
	const people = 6
	stretch := func(n int) {
		var all sync.WaitGroup
		for range people {
			page := visit(t, p)
			all.Go(func() { live(page, n/people) })
		}
		all.Wait()
	}
	stretch(people * 5) // opens what stays open
	before := atRest(t, p, m)
	stretch(turns)
	after := atRest(t, p, m)
	if before.files != after.files {
		t.Errorf("open before: %s\nafter %d turns: %s", before.files, turns, after.files)
	}
	if after.threads > before.threads+10 {
		t.Errorf("threads: %d before, %d after", before.threads, after.threads)
	}
	if took := p.stop(); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
	p.wellBehaved()
	t.Logf("%d turns: %s; %d threads, PSS %.1f → %.1f MiB", turns, after.files, after.threads, before.pss, after.pss)
}

// TestNoGoroutineIsLeft is TestNothingIsLeftOpen for goroutines: the program says which there are when it is
// ended with SIGQUIT, so a program that worked is compared with one that has only answered a page.
func TestNoGoroutineIsLeft(t *testing.T) {
	m := newModel(t, slowly(20, time.Millisecond))
	dump := func(turns int) []string {
		p := ash(t, t.TempDir(), m)
		page := visit(t, p)
		live(page, turns)
		atRest(t, p, m)
		return p.goroutines()
	}
	fresh, worked := dump(1), dump(40)
	if len(worked) > len(fresh) {
		t.Errorf("fresh:\n%s\n\nafter 40 turns:\n%s", strings.Join(fresh, "\n"), strings.Join(worked, "\n"))
	}
}

// live is a person with one conversation who does not wait.
func live(page *browser, turns int) {
	thread, err := page.tryBegin("hello")
	if err != nil {
		page.t.Error(err)
		return
	}
	for range turns {
		stream, err := page.stream("/chat/" + thread + "/events")
		if err != nil {
			page.t.Error(err)
			return
		}
		left := make(chan struct{})
		go func() {
			defer close(left)
			_, _ = io.Copy(io.Discard, stream) // until it is closed
		}()
		if err := page.say(thread, "And now?"); err != nil {
			page.t.Error(err)
		}
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		if rand.IntN(2) == 0 {
			_ = stream.Close()
		}
		if rand.IntN(3) == 0 {
			if status, _, body, err := page.post("/chat/"+thread+"/stop", nil); err != nil || status >= 300 {
				page.t.Errorf("stop: %d %v\n%s", status, err, body)
			}
		}
		if rand.IntN(2) == 0 {
			page.rest(thread)
		}
		_ = stream.Close()
		<-left
	}
	page.rest(thread)
	page.client.CloseIdleConnections()
}

// held is what a process holds.
type held struct {
	files   string
	threads int
	pss     float64
}

// atRest waits until the process holds no more than it has to, and returns it.
func atRest(t *testing.T, p *process, m *model) held {
	t.Helper()
	settled(2*time.Second, func() string { return strconv.Itoa(m.requested()) }) // titles are still made after the last answer
	m.hangUp()
	files := settled(time.Second/2, func() string {
		open := p.open()
		kinds := make([]string, 0, len(open))
		for kind, n := range open {
			kinds = append(kinds, fmt.Sprint(filepath.Base(kind), " ", n))
		}
		slices.Sort(kinds)
		return strings.Join(kinds, ", ")
	})
	return held{files, p.threads(), p.pss()}
}

// settled waits until what look sees stays as it is for so long, or patience ends.
func settled(calm time.Duration, look func() string) string {
	last, since := look(), time.Now()
	for end := since.Add(patience); time.Since(since) < calm && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		if now := look(); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}
