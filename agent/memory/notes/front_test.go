package notes

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestFrontMatter(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]\n"
	fat := "a: &a " + strings.Repeat("x", 8000) + "\nb: [" + strings.Repeat("*a,", 1900) + "]\n"
	for _, c := range []struct{ name, text, title, front, problem string }{
		{"none", "# T\nx", "T", "", ""},
		{"plain", "---\ntitle: A\ntags: [b, c]\nn: 3\nyes: true\nno: null\nday: 2021-04-01\n---\n# T", "A", `{"day":"2021-04-01","n":3,"no":null,"tags":["b","c"],"title":"A","yes":true}`, ""},
		{"a number for a title", "---\ntitle: 1984\n---\n# T", "1984", `{"title":1984}`, ""},
		{"a title of two lines", "---\ntitle: |\n  One\n  two\n---\n", "One two", `{"title":"One\ntwo\n"}`, ""},
		{"Windows", "\ufeff---\r\ntitle: A\r\n---\r\nx", "A", `{"title":"A"}`, ""},
		{"dots at the end", "---\ntitle: A\n...\nx", "A", `{"title":"A"}`, ""},
		{"empty", "---\n---\n# T", "T", "", ""},
		{"only comments", "---\n# nothing\n---\n# T", "T", "", ""},
		{"without an end", "---\ntitle: A\n# T\nx", "T", "", "has no end"},
		{"a line across the page", "---\n\n# T\nx", "T", "", ""},
		{"too long", "---\ntitle: A\nx: " + strings.Repeat("y", 17<<10) + "\n---\n# T", "T", "", "is longer than 16 KB"},
		{"broken", "---\ntitle: [a\n---\n# T", "T", "", "cannot be read: line 2"},
		{"tabs", "---\na:\n\t- b\n---\n# T", "T", "", "only spaces"},
		{"a name twice", "---\ntitle: A\ntags: x\ntitle: B\n---\n# T", "T", "", `line 4: "title" stands in it twice`},
		{"a list for a name", "---\n? [x]\n: y\n---\n# T", "T", "", "a name in it is a list"},
		{"a list", "---\n- a\n---\n# T", "T", "", "no list of names"},
		{"a text", "---\njust text\n---\n# T", "T", "", "no list of names"},
		{"aliases of aliases", "---\n" + bomb + "---\n# T", "T", "", "holds too much"},
		{"one long text a thousand times", "---\n" + fat + "---\n# T", "T", "", "holds too much"},
		{"an alias of itself", "---\na: &a [1, *a]\n---\n# T", "T", "", "cannot be read"},
		{"deep", "---\na: " + strings.Repeat("[", 2000) + "\n---\n# T", "T", "", "cannot be read"},
		{"merge", "---\nx: &x {a: 1}\ny:\n  <<: *x\n---\n# T", "T", `{"x":{"a":1},"y":{"\u003c\u003c":{"a":1}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			n := noteOf("name.md", content{text: c.text})
			if n.Title != c.title || string(n.Front) != c.front || (c.problem == "") != (n.Problem == "") || !strings.Contains(n.Problem, c.problem) {
				t.Errorf("title %q, front %s, problem %q", n.Title, n.Front, n.Problem)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			list, _ := Passages(n)
			var all strings.Builder
			for _, p := range list {
				all.WriteString(p.Text + "\n")
			}
			if first := strings.TrimSpace(strings.Split(c.text, "\n")[1]); c.problem != "" && !strings.Contains(all.String(), clip(first, 100)) {
				t.Errorf("what cannot be read of it is not found: %.200q", all.String())
			}
		})
	}
}

func TestBody(t *testing.T) {
	for text, want := range map[string]string{
		"---\na: b\n---\nx": "x", "\ufeff---\r\na: b\r\n---\r\nx": "x", "\ufeffx": "x", "---\nx": "---\nx", "x\n---\ny\n---\n": "x\n---\ny\n---\n", "": "", "---": "---", "---\na: b\n---": "",
	} {
		if got := Body(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWikiLinks(t *testing.T) {
	show := func(l Link) string {
		mark := "<"
		if l.Embed {
			mark = "!<"
		}
		return mark + l.Target + ";" + l.Heading + ";" + l.Shown + ">"
	}
	for text, want := range map[string]string{
		"[[a]] and ![[b.png|100]]":                    "<a;;> and !<b.png;;100>",
		"[[a#H|x y]] [[#H]] [[a#^block]] [[a^block]]": "<a;H;x y> <;H;> <a;block;> <a;block;>",
		"[[../up]] [[/top]] [[a/../b]] [[..]]":        "<../up;;> </top;;> <a/../b;;> <..;;>",
		"| [[a\\|x]] |":                               "| <a;;x> |",
		"`[[a]]` ``[[b]] ` `` [[c]] ` [[d]]":          "`[[a]]` ``[[b]] ` `` <c;;> ` <d;;>",
		"```\n[[a]]\n```\n[[b]]":                      "```\n[[a]]\n```\n<b;;>",
		"````\n```\n[[a]]\n````\n[[b]]":               "````\n```\n[[a]]\n````\n<b;;>",
		"```go\n[[a]]\n```go\n[[b]]\n```\n[[c]]":      "```go\n[[a]]\n```go\n[[b]]\n```\n<c;;>",
		"```x``` [[a]]\n[[b]]":                        "```x``` <a;;>\n<b;;>",
		"~~~\n[[a]]\n```\n[[b]]\n~~~\n[[c]]":          "~~~\n[[a]]\n```\n[[b]]\n~~~\n<c;;>",
		"[[]] [[ ]] [[|x]] [[#]]":                     "[[]] [[ ]] [[|x]] [[#]]",
		"[[a\nb]] [[c [[d]]":                          "[[a\nb]] [[c <d;;>",
		`\[[a]] !\[[b]] [[c]]`:                        `\[[a]] !\[[b]] <c;;>`,
		"[[" + strings.Repeat("x", 500) + "]] [[a]]":  "[[" + strings.Repeat("x", 500) + "]] <a;;>",
		"[[a]]\r\n[[b]]\r\n":                          "<a;;>\r\n<b;;>\r\n",
		"[[Å|Ω]] \u202e[[x]]":                         "<Å;;Ω> \u202e<x;;>",
	} {
		if got := Linked(text, show); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
	// Links among notes lead around in circles; following them once is all that happens.
	b := newBook([]string{"a.md", "b.md", "sub/a.md"})
	for target, want := range map[string]string{"../a": "", "a/../b": "", "..": "", ".": "", "/a": "a.md", "A.MD": "a.md", "sub/A": "sub/a.md", "sub/../a": "", "": ""} {
		if got := b.resolve(target); got != want {
			t.Errorf("%q leads to %q, want %q", target, got, want)
		}
	}
	var hard strings.Builder
	for i := range 5600 {
		hard.WriteString(strings.Repeat("`", i) + "a")
	}
	for name, text := range map[string]string{
		"open":       strings.Repeat("[[", 1<<19),
		"nested":     strings.Repeat("[[a", 1<<18) + "]]",
		"backquotes": hard.String(),
		"lines":      strings.Repeat("[[a]]\n`\n", 1<<17),
	} {
		began := time.Now()
		links(text)
		if took := time.Since(began); took > 30*time.Second { // far more than work that grows with the length takes anywhere
			t.Errorf("%s took %v", name, took)
		}
	}
}

func TestPassagesOfHeadings(t *testing.T) {
	list, _ := Passages(Note{Text: "\ufeff---\nphone: 123\n---\n# Ideas\n## Solar roof\n## Heat pump\ntext\n### Quiet\n# End\n"})
	want := []Passage{
		{0, 2, "", "phone: 123"}, {1, 5, "Ideas", "Solar roof"}, {2, 7, "Ideas › Heat pump", "text"}, {3, 8, "Ideas › Heat pump", "Quiet"}, {4, 9, "", "End"},
	}
	if !slices.Equal(list, want) {
		t.Errorf("got  %+v\nwant %+v", list, want)
	}
}

// spelling finds names as the folder lists them; on a system that takes A for a, that is what tells one note from two.
func TestSpelling(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"Garden/Deep", "garden2"} {
		if err := os.MkdirAll(dir+"/"+d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"Garden/Roses.md", "Garden/Cafe\u0301.md", "Garden/Deep/x.md"} {
		if err := os.WriteFile(dir+"/"+f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for name, want := range map[string]string{
		"garden/roses.md": "Garden/Roses.md", "Garden/Roses.md": "Garden/Roses.md", "GARDEN/deep/X.md": "Garden/Deep/x.md", "garden/Café.md": "Garden/Cafe\u0301.md",
		"garden/new.md": "Garden/new.md", "nowhere/x.md": "nowhere/x.md", "garden2/x.md": "garden2/x.md", "Garden/Roses.md/x.md": "Garden/Roses.md/x.md",
	} {
		if got, err := spelling(root, name); got != want || err != nil {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
		if err := free(root, name); (err == nil) != (name == want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if indifferent(dir) {
		t.Log("this system takes names that differ in case for the same")
	}
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{"title: x\n", "a: &a [1, *a]\n", "? [x]\n: y\n<<: {a: b}\n", "a:\n\t- b\n", "a: !!binary x\nb: 0x1f\n", "{{{{", "- - - -\n", "a: *b", "%YAML 9\n", "\x00", "a: \"\\ud800\"\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, front string) {
		front = strings.ToValidUTF8(front, "?")
		n := noteOf("a.md", content{text: "---\n" + front + "\n---\n# T\nbody"})
		if n.Front != nil && !json.Valid(n.Front) || len(n.Front) > 6*(maxPlain+maxFront) {
			t.Fatalf("%d bytes of %.200s", len(n.Front), n.Front)
		}
		if strings.TrimSpace(n.Title) == "" || strings.ContainsAny(n.Title, "\n\r") || !utf8.ValidString(n.Title) || len(n.Title) > 300 {
			t.Fatalf("title %q", n.Title)
		}
		list, _ := Passages(n)
		if len(list) == 0 || list[len(list)-1].Text != "body" && !strings.Contains(front, "`") && !strings.Contains(front, "~") {
			t.Fatalf("%+v", list)
		}
	})
}

func FuzzLinked(f *testing.F) {
	for _, s := range []string{"[[a]]", "![[a#b|c]]", "``[[a]]`", "```\n[[a]]", "\\[[a]]", "[[a\\|b]]", "[[a[[b]]]]", "~~~~ x\n[[y]]\n~~~\n~~~~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return
		}
		n := 0
		plain := Linked(text, func(l Link) string {
			if n++; l.Target == "" && l.Heading == "" || strings.Contains(l.Target+l.Heading+l.Shown, "\n") || strings.TrimSpace(l.Target) != l.Target {
				t.Fatalf("%+v", l)
			}
			return "x"
		})
		if n == 0 && plain != text {
			t.Fatalf("%q became %q", text, plain)
		}
		for _, l := range links(text) {
			if l.begin > l.end || l.end > len(text) || !strings.Contains(text[l.begin:l.end], l.target) {
				t.Fatalf("%+v of %q", l, text)
			}
		}
	})
}
