package store

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ash/agent"
)

// marked writes a snippet with its matches in brackets.
func marked(parts []agent.SnippetPart) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Match {
			b.WriteString("[" + p.Text + "]")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestSearch(t *testing.T) {
	cases := []struct{ name, text, query, want string }{
		{"a word", "The quick brown fox", "quick", "The [quick] brown fox"},
		{"case", "The QUICK fox", "quick", "The [QUICK] fox"},
		{"several words anywhere", "alpha beta gamma", "gamma alpha", "[alpha] beta [gamma]"},
		{"the last word as a beginning", "an invoice came", "an invo", "[an] [invoice] came"},
		{"a two-letter beginning", "an invoice", "in", "an [invoice]"},
		{"a single letter is a whole word", "plan b is good", "b", "plan [b] is good"},
		{"only the last word is a beginning", "invoice paid", "invo paid", ""},
		{"umlaut as typed", "Grüße aus Köln", "Köln", "Grüße aus [Köln]"},
		{"umlaut left out", "Grüße aus Köln", "koln", "Grüße aus [Köln]"},
		{"umlaut decomposed", "Grüße aus Köln", "Ko\u0308ln", "Grüße aus [Köln]"},
		{"umlaut added", "Koln", "köln", "[Koln]"},
		{"sharp s", "Straße 5", "Straße", "[Straße] 5"},
		{"Chinese inside a run", "我住在北京市海淀区", "北京", "我住在[北京]市海淀区"},
		{"Chinese and Latin", "我用Go语言写代码", "go语言", "我用[Go语言]写代码"},
		{"Chinese that is apart", "北方的京城", "北京", ""},
		{"Japanese with a long vowel", "熱いコーヒーを飲む", "コーヒー", "熱い[コーヒー]を飲む"},
		{"Korean inside a word", "안녕하세요 여러분", "하세", "안녕[하세]요 여러분"},
		{"Cyrillic", "Привет, мир", "привет", "[Привет], мир"},
		{"punctuation separates", "see foo.bar(baz)", "foo.bar", "see [foo].[bar](baz)"},
		{"quotes", `say "hello world" now`, `"hello world"`, `say "[hello] [world]" now`},
		{"operators are words", "this AND that OR NOT", "and or not", "this [AND] that [OR] [NOT]"},
		{"a column filter is not one", "search_text is a name", "search_text:name", "[search]_[text] is a [name]"},
		{"nothing but signs", "a + b", "+*()^", ""},
		{"white space folds", "one\n\n  two\tthree", "two", "one [two] three"},
		{"no such word", "abc", "xyz", ""},
	}
	f := newFixture(t)
	yes := true
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f.t, f.thread = t, f.newThread("")
			defer func() { // out of the way of the next case
				_, err := f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Deleted: &yes})
				f.ok(err)
			}()
			p := f.post(c.text)
			hits, err := f.Search(f.ctx, c.query, 10)
			f.ok(err)
			if c.want == "" {
				equal(t, len(hits), 0)
				return
			}
			if len(hits) != 1 || hits[0].Message != p.Message.ID || hits[0].Role != agent.RoleUser || hits[0].Thread.ID != f.thread {
				t.Fatalf("hits are %+v", hits)
			}
			equal(t, marked(hits[0].Snippet), c.want)
			equal(t, hits[0].Created, p.Message.Created)
		})
	}
}

func TestSearchRanks(t *testing.T) {
	f := newFixture(t)
	scattered := f.post("budget of the big project").Message.ID
	exact, _ := f.exchangeIn(f.newThread(""), "the project budget", "fine")
	newer, _ := f.exchangeIn(f.newThread(""), "project without a budget", "fine")
	title := f.newThread("Project budget")
	hits, err := f.Search(f.ctx, "project budget", 10)
	f.ok(err)
	var got []agent.ID
	for _, h := range hits {
		got = append(got, h.Message)
	}
	equal(t, got, []agent.ID{"", exact, newer, scattered})
	equal(t, hits[0].Thread.ID, title)
	equal(t, marked(hits[0].Snippet), "[Project] [budget]")
	hits, err = f.Search(f.ctx, "project budget", 2)
	f.ok(err)
	equal(t, len(hits), 2)
}

// exchangeIn is exchange in another thread; it returns the messages' ids.
func (f *fixture) exchangeIn(thread agent.ID, question, answer string) (agent.ID, agent.ID) {
	f.t.Helper()
	kept := f.thread
	defer func() { f.thread = kept }()
	f.thread = thread
	q, a := f.exchange(question, answer)
	return q.ID, a.ID
}

func TestSearchFollowsWhatIsStored(t *testing.T) {
	f := newFixture(t)
	count := func(query string) int {
		hits, err := f.Search(f.ctx, query, 10)
		f.ok(err)
		return len(hits)
	}
	f.post("question")
	m := f.openReply()
	f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: m.ID, Text: "halfway"}}))
	equal(t, count("halfway"), 0)
	m.State, m.Parts = agent.MessageComplete, []agent.Part{agent.Thinking{Text: "secretly"}, agent.Text{Text: "halfway there"}}
	f.ok(f.CloseReply(f.ctx, m))
	equal(t, count("halfway"), 1)
	equal(t, count("secretly"), 0)

	title := "Zebra"
	_, err := f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Title: &title})
	f.ok(err)
	equal(t, count("zebra"), 1)
	title = "Giraffe"
	_, err = f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Title: &title})
	f.ok(err)
	equal(t, count("zebra"), 0)
	equal(t, count("giraffe"), 1)

	yes, no := true, false
	_, err = f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Deleted: &yes})
	f.ok(err)
	equal(t, count("halfway")+count("giraffe"), 0)
	_, err = f.PatchThread(f.ctx, f.thread, agent.ThreadPatch{Deleted: &no})
	f.ok(err)
	equal(t, count("halfway")+count("giraffe"), 2)
}

func TestSnippetIsBounded(t *testing.T) {
	long := strings.Repeat("Lorem ipsum dolor ", 200)
	m := newMarker(terms("needle"))
	got := m.snippet(long + "the needle here " + long)
	if n := utf8.RuneCountInString(marked(got)); n > maxSnippet+4 {
		t.Errorf("%d characters", n)
	}
	if s := marked(got); !strings.Contains(s, "[needle]") || !strings.HasPrefix(s, "…") || !strings.HasSuffix(s, "…") {
		t.Errorf("snippet is %q", s)
	}
	equal(t, marked(newMarker(nil).snippet("abc")), "abc")
}

func TestSearchable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":      "plain",
		"北京":         "北 京",
		"a北b":        "a 北 b",
		"北 京":        "北   京",
		"コーヒー":       "コ ー ヒ ー",
		"naïve café": "naïve café",
	} {
		equal(t, searchable(in), want)
	}
	if got := searchable(strings.Repeat("ü", maxSearchable)); len(got) > maxSearchable || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
}

func TestPreview(t *testing.T) {
	equal(t, preview(" one\n two "), "one two")
	equal(t, preview("# Head\n\n- **bold** and `code`\n> see [the page](https://example.org/a_b) ![pic](x)"), "Head bold and code see the page pic")
	equal(t, preview("2 * 3 [open](never closed"), "2 3 [open](never closed")
	got := preview(strings.Repeat("ä", 500))
	equal(t, utf8.RuneCountInString(got), maxPreview)
	if !strings.HasSuffix(got, "…") {
		t.Error("a cut is not shown")
	}
}

// FuzzSearch: whatever is typed or stored, a search finds or does not find, and never fails.
func FuzzSearch(f *testing.F) {
	for _, seed := range [][2]string{
		{"hello world", `"hello`}, {"北京市", "北京*"}, {"x", "a AND OR NOT NEAR(a b, 2) ^c - {col}: d*"},
		{"Köln", "Ko\u0308ln"}, {"a\x00b", "a\x00b"}, {"\xff\xfe", "\xff"}, {"'; DROP TABLE messages; --", "'; DROP TABLE"},
		{"?0 ?1", "?0"}, {"각", "각"}, {"\u0308", "\u0308"}, {"\ufffd", "\ufffd"}, {"\u1109\u1175", "시"},
	} {
		f.Add(seed[0], seed[1])
	}
	store := newFixture(f)
	f.Fuzz(func(t *testing.T, stored, query string) {
		store.t, store.ctx = t, t.Context()
		p, err := store.Post(store.ctx, agent.NewMessage{Thread: store.newThread(agent.Clip(clean(stored), 50)), Parts: text(stored)})
		store.ok(err)
		hits, err := store.Search(store.ctx, query, 10)
		store.ok(err)
		for _, h := range hits {
			for _, part := range h.Snippet {
				if !utf8.ValidString(part.Text) || part.Text == "" {
					t.Errorf("snippet part %q", part.Text)
				}
			}
		}
		m, err := store.Message(store.ctx, p.Message.ID)
		store.ok(err)
		equal(t, m, p.Message)
	})
}
