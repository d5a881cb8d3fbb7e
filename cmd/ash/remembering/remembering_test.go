//go:build linux

package remembering

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"ash/agent"
)

// person is who lives the life, before one home.
type person struct {
	t    *testing.T
	life []*fact
	m    *model
	home *home
	p    *process
	b    *browser

	told    map[int]string // conversations by fact
	threads []string
	gone    int // requests before forgetting
}

// lanes is how many conversations go on at the same time.
const lanes = 4

// inLanes calls fn for 0 to n-1.
func inLanes(n int, fn func(i int)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range lanes {
		wait.Go(func() {
			for i := range next {
				fn(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// TestRemembering is the promise of memory: see the package's description.
func TestRemembering(t *testing.T) {
	n := number(t, "ASH_FACTS", 100, 300)
	all := life(n)
	m := newModel(t, all)
	h := newHome(t, m)
	x := &person{t: t, life: all, m: m, home: h, told: map[int]string{}}
	x.start()

	x.stage("told", x.tell)
	x.kept("told", false, false)
	x.ask("told", false)
	x.stage("corrected", x.correct)
	x.kept("corrected", true, false)
	x.ask("corrected", false)
	x.stage("forgotten", x.forget)
	x.kept("forgotten", true, true)
	x.ask("forgotten", true)
	x.stage("old conversations go on", x.goOn)
	x.stage("killed and started again", x.restart)
	x.ask("killed and started again", true)
	x.stage("index made anew", x.reindex)
	x.ask("index made anew", true)
	x.stage("tidied", x.tidy)
	x.kept("tidied", true, true)
	x.ask("tidied", true)
	x.stage("for good", x.final)
	x.ask("for good", true)
	x.pages()
	x.stage("in another home", x.move)
	x.kept("in another home", true, true)
	x.ask("in another home", true)
	t.Logf("requests: %v; in vain: %q", m.kinds, m.vain)
}

func (x *person) start() {
	x.p = x.home.serve()
	x.b = visit(x.t, x.p)
}

// stage does something, then waits until nothing is learned any more.
func (x *person) stage(name string, do func()) {
	x.t.Helper()
	began := time.Now()
	do()
	x.quiet()
	x.t.Logf("%-26s %5.1f s", name, time.Since(began).Seconds())
}

// quiet waits until the model is asked nothing for a while: learning waits for a second of rest.
func (x *person) quiet() {
	asked, since := x.m.asked(), time.Now()
	for end := time.Now().Add(2 * patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if now := x.m.asked(); now != asked {
			asked, since = now, time.Now()
		}
		if time.Since(since) > 1800*time.Millisecond {
			return
		}
	}
	x.t.Error("the model is asked without end")
}

// around puts a statement into a message as people write them.
func around(f *fact, statement string) string {
	if f.german {
		return []string{
			"War ein langer Tag heute. Übrigens: %s. Was soll ich kochen?", "%s.", "Nur zur Info, %s. Mehr fällt mir gerade nicht ein.",
		}[f.n%3]
	}
	return []string{
		"What a day. By the way, %s. What should I cook tonight?", "%s.", "Before I forget it: %s. Anyway, the weather is dreadful here.",
		"I slept badly, and the train was late. Did I mention that %s? Now I need a coffee.",
	}[f.n%4]
}

// tells is the message that a fact is told in.
func tells(f *fact) string {
	switch {
	case f.way == phrase && f.german:
		return "Merk dir: " + f.told + "."
	case f.way == phrase:
		return "Remember that " + f.told + "."
	case f.way == tool && f.german:
		return "Das sollst du behalten, bitte: " + f.told + "."
	case f.way == tool:
		return "Please keep this for me: " + f.told + "."
	}
	return upper(fmt.Sprintf(around(f, f.told), f.told))
}

// small talk stands between what is worth keeping.
var talk = []string{
	"Could you explain how sourdough rises? I have tried three times and it came out flat, although I fed the starter every evening and kept it near the oven.",
	"Let us think about the hallway. White looks cold, yellow looks like a school, and green I had in the last flat already.",
	"Thanks. And how long does a letter take to the coast at this time of the year?",
	"I keep thinking about the talk next week. How do I begin without sounding nervous?",
}

// tell has five facts told in each conversation, among other things; they grow longer than what is sent of them.
func (x *person) tell() {
	count := (len(x.life) + 4) / 5
	x.threads = make([]string, count)
	inLanes(count, func(i int) {
		thread := ""
		for j := range 8 {
			words := talk[(i+j)%len(talk)]
			if k := j*5/8 + 0; (j*5)%8 < 5 && i*5+k < len(x.life) {
				words = tells(x.life[i*5+k])
			}
			if thread == "" {
				thread = x.b.begin(words)
			} else {
				x.b.say(thread, words)
			}
		}
		x.threads[i] = thread
	})
	for i := range x.life {
		x.told[i] = x.threads[i/5]
	}
	x.untilLearned(func(f *fact) string {
		if f.way != tool {
			return tells(f)
		}
		return ""
	})
}

// untilLearned waits until the model was asked to learn from all that was said.
func (x *person) untilLearned(words func(f *fact) string) {
	for end := time.Now().Add(2 * patience); ; time.Sleep(50 * time.Millisecond) {
		left := slices.IndexFunc(x.life, func(f *fact) bool { s := words(f); return s != "" && !x.m.learnedFrom(s) })
		if left < 0 {
			return
		}
		if time.Now().After(end) {
			x.t.Errorf("never learned from: %s", words(x.life[left]))
			return
		}
	}
}

// corrects is the message that a fact is corrected with; "" when that is done elsewhere.
func corrects(f *fact) string {
	switch {
	case f.fixed == phrase && f.german:
		return fmt.Sprintf("Da habe ich mich geirrt. Es ist nicht %s, sondern %s.", f.value, f.newer)
	case f.fixed == phrase:
		return fmt.Sprintf("I was wrong. It is not %s, but %s.", f.value, f.newer)
	case f.fixed == tool:
		return "Please put this right: " + f.retold + "."
	case f.fixed == learning:
		return upper(f.retold) + "."
	}
	return ""
}

// correct corrects what is to be corrected: in conversations, three facts in each, and on the Memory page.
func (x *person) correct() {
	var said, written []*fact
	for _, f := range x.life {
		switch f.fixed {
		case page:
			written = append(written, f)
		case learning, phrase, tool:
			said = append(said, f)
		}
	}
	count := (len(said) + 2) / 3
	inLanes(count, func(i int) {
		thread := x.b.begin("Good morning. " + talk[i%len(talk)])
		for _, f := range said[i*3 : min(i*3+3, len(said))] {
			x.b.say(thread, corrects(f))
		}
	})
	for _, f := range written {
		x.b.correct(x.factOf(f.value), f.newText)
	}
	x.untilLearned(func(f *fact) string {
		if f.fixed == tool {
			return ""
		}
		return corrects(f)
	})
}

// factOf finds the current fact with a value.
func (x *person) factOf(value string) string {
	x.t.Helper()
	all := x.b.facts("tab=facts")
	i := slices.IndexFunc(all, func(r remembered) bool { return strings.Contains(r.text, value) })
	if i < 0 {
		x.t.Errorf("no fact with %s among %d", value, len(all))
		return ""
	}
	return all[i].id
}

// forget has forgotten what is to be forgotten.
func (x *person) forget() {
	for _, f := range x.life {
		if f.gone == nobody {
			continue
		}
		switch f.gone {
		case page:
			x.b.forget("fact", x.factOf(f.current()))
		case message:
			if m := hitPattern.FindStringSubmatch(x.b.page("/memory/facts/" + x.factOf(f.value))); m != nil {
				x.b.forget("message", m[1])
			} else {
				x.t.Errorf("%q does not say where it is from", f.text)
			}
		case tool:
			if thread := x.b.begin(forgetPlease(f)); !strings.Contains(x.b.page("/chat/"+thread), "is forgotten") {
				x.t.Errorf("%q was not forgotten:\n%s", f.text, x.b.shown(thread))
			}
		}
	}
	x.gone = x.m.asked()
}

// kept fails when a fact is not remembered that should be, or the other way round.
func (x *person) kept(stage string, corrected, forgotten bool) {
	x.t.Helper()
	all := ""
	for _, r := range x.b.facts("tab=facts") {
		all += r.text + "\n"
	}
	for _, f := range x.life {
		value, should := f.value, !forgotten || f.gone == nobody
		if corrected {
			value = f.current()
		}
		if is := strings.Contains(all, value); is != should {
			x.t.Errorf("%s: %q (told by way %d, corrected by %d, forgotten by %d) is remembered: %v", stage, f.text, f.way, f.fixed, f.gone, is)
		}
		if corrected && f.fixed != nobody && strings.Contains(all, f.value) {
			x.t.Errorf("%s: %q (told by way %d, corrected by %d) holds beside what took its place", stage, f.text, f.way, f.fixed)
		}
	}
}

// goOn says something in each old conversation of something that was forgotten.
func (x *person) goOn() {
	var old []string
	for i, f := range x.life {
		if f.gone != nobody && !slices.Contains(old, x.told[i]) {
			old = append(old, x.told[i])
		}
	}
	inLanes(len(old), func(i int) {
		x.b.say(old[i], "What else did we speak about here? Tell me everything that I told you.")
		x.b.say(old[i], "And before that?")
	})
}

func (x *person) restart() {
	x.p.kill()
	x.start()
}

func (x *person) reindex() {
	x.home.run("", "memory", "reindex")
}

// tidy has memory consolidated.
func (x *person) tidy() {
	x.p.kill()
	x.home.tidies("1s")
	x.start()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if strings.Contains(x.b.page("/memory/runs"), "idied") {
			break
		}
		if time.Now().After(end) {
			x.t.Error("memory was never tidied")
			break
		}
	}
	x.p.kill()
	x.home.tidies("24h")
	x.start()
}

// final makes all forgetting final: no byte of it is left in the home.
func (x *person) final() {
	n := x.b.finish()
	x.t.Logf("%d acts of forgetting were made final", n)
	x.p.kill()
	gone := x.forgotten()
	err := filepath.WalkDir(x.home.path, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, value := range gone {
			if strings.Contains(string(raw), value) {
				x.t.Errorf("%s still holds %s", d.Name(), value)
			}
		}
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	x.start()
}

// move takes memory to another home.
func (x *person) move() {
	out := filepath.Join(x.t.TempDir(), "memory")
	x.home.run("", "memory", "export", out)
	x.clean("the export", read(x.t, out))
	x.p.kill()
	x.home = newHome(x.t, x.m)
	x.start()
	x.home.run("", "memory", "import", out)
}

// forgotten are the values that nobody may see any more.
func (x *person) forgotten() []string {
	var all []string
	for _, f := range x.life {
		if f.gone != nobody {
			all = append(all, f.value)
			if f.fixed != nobody {
				all = append(all, f.newer)
			}
		}
	}
	return all
}

// ask asks for every fact in a conversation of its own, and looks at what the model was sent.
func (x *person) ask(stage string, forgotten bool) {
	x.t.Helper()
	corrected := stage != "told"
	began, first := time.Now(), x.m.asked()
	inLanes(len(x.life), func(i int) { x.b.begin(x.life[i].question) })
	x.quiet()
	answered := questions(x.m.since(first))
	known, current, superseded := 0, 0, 0
	for _, f := range x.life {
		if forgotten && f.gone != nobody {
			continue
		}
		current++
		body := answered[f.question]
		if body == "" {
			x.t.Errorf("%s: the model was never asked %q", stage, f.question)
			continue
		}
		value := f.value
		if corrected {
			value = f.current()
			if f.fixed != nobody && strings.Contains(body, f.value) {
				superseded++
				x.t.Errorf("%s: %q comes with %s, which became %s by way %d:\n%s", stage, f.question, f.value, f.newer, f.fixed, around240(body, f.value))
			}
		}
		if strings.Contains(body, value) {
			known++
		} else {
			x.t.Errorf("%s: %q does not bring %s (told by way %d, corrected by %d):\n%s", stage, f.question, value, f.way, f.fixed, given(body))
		}
	}
	leaks := 0
	if forgotten {
		leaks = x.clean(stage+": prompts", x.m.since(x.gone))
		x.clean(stage+": ash recall", []string{x.recalls()})
	}
	x.t.Logf("%-26s %5.1f s: recalled %d/%d, superseded as current %d, forgotten in prompts %d", stage, time.Since(began).Seconds(), known, current, superseded, leaks)
}

// questions returns, by what the person asked in a conversation of its own, what the model was sent.
func questions(bodies []string) map[string]string {
	of := map[string]string{}
	for _, body := range bodies {
		var q request
		if json.Unmarshal([]byte(body), &q) == nil && len(q.Messages) == 2 {
			own, _, ok := strings.Cut(text(q.Messages[1].Content), "[sent ")
			if ok {
				of[strings.TrimSpace(own)] = body
			}
		}
	}
	return of
}

// given is the part of a request that memory gave.
func given(body string) string {
	i := strings.LastIndex(body, "[remembered")
	if i < 0 {
		return "nothing was remembered"
	}
	return agent.Clip(body[i:], 1200)
}

// around240 is what stands around a value.
func around240(s, value string) string {
	i := strings.Index(s, value)
	return s[max(0, i-200):min(len(s), i+120)]
}

// mostShown bounds what is said of one stage.
const mostShown = 12

// clean fails when one of the texts has something that was forgotten, and returns how many do.
func (x *person) clean(where string, texts []string) int {
	x.t.Helper()
	n := 0
	for _, s := range texts {
		for _, value := range x.forgotten() {
			if strings.Contains(s, value) {
				if n++; n <= mostShown {
					x.t.Errorf("%s: %s was forgotten:\n%s", where, value, around240(s, value))
				}
				break
			}
		}
	}
	if n > mostShown {
		x.t.Errorf("%s: %d in all", where, n)
	}
	return n
}

// recalls asks for everything on the command line.
func (x *person) recalls() string {
	var in strings.Builder
	for _, f := range x.life {
		for _, q := range []string{f.question, f.current(), f.value} {
			raw, err := json.Marshal(map[string]any{"query": q, "k": 20})
			if err != nil {
				x.t.Fatal(err)
			}
			in.Write(append(raw, '\n'))
		}
	}
	return x.home.run(in.String(), "recall", "--jsonl")
}

// pages looks at every page that could show it.
func (x *person) pages() {
	x.t.Helper()
	began := time.Now()
	var all []string
	for _, path := range []string{
		"/memory", "/memory?status=all", "/memory?status=superseded", "/memory?tab=core", "/memory?tab=facts", "/memory?tab=episodes",
		"/memory?tab=waiting", "/memory/entities", "/memory/runs", "/chat", "/inbox", "/tools/runs",
	} {
		all = append(all, x.b.list(path)...)
	}
	for _, thread := range x.threads {
		all = append(all, x.b.page("/chat/"+thread))
	}
	for _, run := range distinct(runPattern.FindAllString(strings.Join(all, "\n"), -1)) {
		all = append(all, x.b.page(run))
	}
	x.clean("pages", all)
	x.searched()
	x.t.Logf("%d pages in %.1f s", len(all), time.Since(began).Seconds())
}

// searched looks for what was forgotten on the pages that search. A word that nothing else has finds nothing. A day or a number may find others
// of its month or its digits, but never itself: the page repeats what was looked for, so that is written as people would, too.
func (x *person) searched() {
	x.t.Helper()
	otherwise, marks := strings.NewReplacer("-", " "), strings.NewReplacer("<mark>", "", "</mark>", "")
	for _, value := range x.forgotten() {
		for _, path := range []string{"/search?q=", "/memory?q="} {
			asked := otherwise.Replace(strings.ToLower(value))
			found := x.b.page(path + url.QueryEscape(asked))
			if oneWord(value) && (hitPattern.MatchString(found) || factPattern.MatchString(found)) {
				x.t.Errorf("%s%s finds something", path, value)
			}
			x.clean(path+asked, []string{marks.Replace(found)})
		}
	}
}

// oneWord reports whether a value is a single word: the searches cut everything else in pieces.
func oneWord(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) })
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// read returns the files of a folder.
func read(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all = append(all, path+"\n"+string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
