package notes

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPassages(t *testing.T) {
	long := strings.Repeat("A sentence of some words. ", 100)
	for _, c := range []struct {
		name, text string
		want       []Passage
	}{
		{"sections", "---\ntitle: x\n---\nintro\n\n# A\n\n## B ##\n\ntext b\n# C\ntext c", []Passage{
			{0, 2, "", "title: x"}, {1, 4, "", "intro"}, {2, 10, "A › B", "text b"}, {3, 12, "C", "text c"}}},
		{"code holds no headings", "# A\n```sh\n# not one\n```\n#nor this\n", []Passage{{0, 2, "A", "```sh\n# not one\n```\n#nor this"}}},
		{"broken front matter is text", "---\na: [\n---\nx", []Passage{{0, 1, "", "---\na: [\n---\nx"}}},
		{"nothing", " \n\n", nil},
		{"Windows", "# A\r\ntext\r\n", []Passage{{0, 2, "A", "text"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, cut := Passages(Note{Text: c.text}); !slices.Equal(got, c.want) || cut {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
	list, _ := Passages(Note{Text: "# L\n" + long + "\n\n" + strings.Repeat("ü", 3000)})
	if len(list) < 7 || !strings.HasSuffix(list[0].Text, ".") {
		t.Errorf("%d %q", len(list), list[0].Text)
	}
	if list, cut := Passages(Note{Text: strings.Repeat("# H\nx\n", 5000)}); len(list) != maxPassages || !cut {
		t.Error(len(list), cut)
	}
}

func TestLinks(t *testing.T) {
	text := "[[a]] [[ b/c |x]] [[d#e]] [[]] [[ ]] [[open ![[f]] [[g\nh]] ``[[code]]`` [[i]]"
	if got := targets(text); !slices.Equal(got, []string{"a", "b/c", "d", "f", "i"}) {
		t.Errorf("%q", got)
	}
	b := newBook([]string{"x/Soil.md", "soil.md", "y/z/Deep.md", "y/Deep.md", "Straße.md"})
	for target, want := range map[string]string{"SOIL": "soil.md", "x/soil": "x/Soil.md", "deep": "y/Deep.md", "z/deep.md": "y/z/Deep.md", "STRASSE": "Straße.md", "none": ""} {
		if got := b.resolve(target); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

func FuzzNote(f *testing.F) {
	f.Add("---\ntitle: x\na: &a [1, *a]\n---\n# H\n[[a|b]] `[[c]]`\n```\n[[d]]\n")
	f.Add("---\n? [x]\n: y\n<<: {a: b}\n---\n\xff[[a[[b]]")
	f.Add("# " + strings.Repeat("x", 3000) + "\n[[x]]")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		n := noteOf("a.md", content{text: text})
		list, _ := Passages(n)
		for i, p := range list {
			if p.Part != i || len(p.Text) > MaxPassage || strings.TrimSpace(p.Text) == "" || !utf8.ValidString(p.Text) || p.Line < 1 || p.Line > 1+strings.Count(text, "\n") ||
				!strings.Contains(text, p.Text) {
				t.Fatalf("%+v", p)
			}
		}
		for _, l := range links(text) {
			if strings.TrimSuffix(strings.TrimSpace(text[l.begin:l.end]), `\`) != l.target && strings.TrimSpace(text[l.begin:l.end]) != l.target {
				t.Fatalf("%+v is %q", l, text[l.begin:l.end])
			}
		}
		before, after := newBook([]string{"a.md", "b.md"}), newBook([]string{"c/d.md", "b.md"})
		again, n2 := relink(text, "a.md", "c/d.md", before, after)
		if _, n3 := relink(again, "a.md", "c/d.md", before, after); n3 != 0 {
			t.Fatalf("%d links left of %d in %q", n3, n2, again)
		}
	})
}
