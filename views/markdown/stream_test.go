package markdown

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// samples are messages with everything in them, and what has been found to be hard.
func samples(t testing.TB) map[string]string {
	answer, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	everything, err := os.ReadFile("testdata/everything.md")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"answer":            string(answer),
		"everything":        string(everything),
		"crlf":              strings.ReplaceAll(string(everything), "\n", "\r\n"),
		"empty":             "",
		"blank":             "\n \n\t\n",
		"late reference":    "see [a] and [b][A]\n\nmore [c]\n\n[a]: https://a.example\n[C]: <https://c.example> 'title'\n",
		"definition first":  "[a]: https://a.example\n\nsee [a]\n",
		"not a definition":  "[a]: this is only text\nand more of it\n\n[b",
		"footnotes":         "x[^b] y[^a] z[^b]\n\n[^a]: first, see [^c]\n[^b]: second\n\n    with more\n\n[^c]: third\n[^d]: nobody\n",
		"setext":            "Title\n===\n\nother\n---\n\n- x\n---\n",
		"table then text":   "| a | b |\n|---|---|\n| 1 | 2 |\n| 3\ntext\n\nafter",
		"text then table":   "text\na | b\n--|--\n1 | 2\n3 | 4\n",
		"loose list":        "- a\n\n- b\n  more\n\n  para\n\n      code\n- c\n",
		"code in list":      "1. one\n   ```go\n   - not an item\n   x := 1\n   ```\n2. two\n   - nested **b**\n     - deeper\n   - back\n3. three\n",
		"fence in fence":    "````md\n```go\nx\n```\n````\nafter\n",
		"unclosed fence":    "```python\ndef f():\n    return 1\n\n",
		"unclosed all":      "**a [b](c `d $e <f ~~g",
		"quote":             "> a\n> b\nlazy\n>\n> - c\n>   d\n\n> e\n",
		"maths":             "$$\na\n= b\n$$\nand $x$\n\\[\nc\n\\]\n$$d$$ text $$\nopen\n\nafter",
		"model markup":      "before\n<think>\nhidden\n\nhidden\n</think>\nafter <tool_call>{\"a\":\n1}</tool_call> end <|im_end|>\n</think>x",
		"unclosed thinking": "a\n<thinking>\nhidden",
		"nul and broken":    "a\x00b \xff\xfe \xe2\x82 c\r\rd\x1b[0m\n\x80",
		"leading newline":   "```\n\n\nx\n```\n",
		"indented code":     "    a\n\n    b\n\ntext\n\n\tc\n",
		"images":            "![a](https://h.example/x.png) [![b](https://i.example/y.png)](https://j.example) ![c](/z)",
		"headings":          "# a\n## b ##\n###\n#### **c** `d`\ntext\n####### no\n",
	}
}

// check streams source in the given pieces and compares the page with HTML at every step.
func check(t *testing.T, r *Renderer, pieces []string) {
	t.Helper()
	s := r.Stream("m")
	p := newPage(t, "m")
	step := func(patches []Patch, piece string) {
		t.Helper()
		for _, patch := range patches {
			if !strings.HasPrefix(patch.Target, "m") {
				t.Fatalf("target %q is not the message's", patch.Target)
			}
		}
		p.apply(patches)
		if got, want := p.html(), parsed(t, s.HTML()); got != want {
			t.Fatalf("after %q\npage %q\nHTML %q\npatches %+v", piece, got, want, patches)
		}
	}
	for _, piece := range pieces {
		step(s.Append(piece), piece)
	}
	step(s.Close(), "closing")
	source := strings.Join(pieces, "")
	if got, want := s.HTML(), r.HTML("m", source); got != want {
		t.Fatalf("source %q in %q\nstreamed %q\nwhole    %q", source, pieces, got, want)
	}
	if s.Append("more") != nil || s.Close() != nil {
		t.Error("a closed stream went on")
	}
}

func split(source string, size int) []string {
	var pieces []string
	for len(source) > size {
		pieces = append(pieces, source[:size])
		source = source[size:]
	}
	return append(pieces, source)
}

func TestStreamEndsAsTheWhole(t *testing.T) {
	r := New()
	for name, source := range samples(t) {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 7, 20, 64, len(source) + 1} {
				check(t, r, split(source, size))
			}
		})
	}
}

// TestRendererIsSharedSafely renders the same messages at once, the first use included.
func TestRendererIsSharedSafely(t *testing.T) {
	sources, alone := samples(t), New()
	want := map[string]string{}
	for name, source := range sources {
		want[name] = alone.HTML("m", source)
	}
	r := New()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for name, source := range sources {
				if got := r.HTML("m", source); got != want[name] {
					t.Errorf("%s: got %q, want %q", name, got, want[name])
				}
			}
		})
	}
	all.Wait()
}

// TestPlainTextIsOnePatchEach holds streaming to what it promises of plain text: a patch for each piece, and nothing sent twice.
func TestPlainTextIsOnePatchEach(t *testing.T) {
	s := New().Stream("m")
	sent := 0
	for _, piece := range strings.SplitAfter("Plain words that say nothing and mean it, one after the other.", " ") {
		patches := s.Append(piece)
		if len(patches) != 1 {
			t.Fatalf("%q made %+v", piece, patches)
		}
		sent += len(patches[0].HTML)
	}
	if patches := s.Close(); patches != nil {
		t.Errorf("closing made %+v", patches)
	}
	if sent != len(s.HTML()) {
		t.Errorf("sent %d bytes for %d", sent, len(s.HTML()))
	}
}

// TestLateDefinitionsReplaceOnce holds a block that a later definition or footnote changes to one replacement, however many there are.
func TestLateDefinitionsReplaceOnce(t *testing.T) {
	r := New()
	s := r.Stream("m")
	var source strings.Builder
	for i := range 20 {
		fmt.Fprintf(&source, "see [a%d], [b%d] and [^c%d]\n\n", i, i, i)
	}
	source.WriteString("untouched\n\n")
	for i := range 20 {
		fmt.Fprintf(&source, "[a%d]: https://a.example\n\n[b%d]: https://b.example\n\n[^c%d]: note\n\n", i, i, i)
	}
	replaced := map[string]int{}
	for _, p := range append(s.Append(source.String()), s.Close()...) {
		if p.Swap == Replace {
			replaced[p.Target]++
		}
	}
	if len(replaced) != 20 {
		t.Errorf("replaced %v", replaced)
	}
	for id, n := range replaced {
		if n != 1 {
			t.Errorf("%s was replaced %d times", id, n)
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, source := range samples(f) {
		if len(source) < 1000 {
			f.Add(source, uint64(5))
		}
	}
	r := New()
	f.Fuzz(func(t *testing.T, source string, seed uint64) {
		if len(source) > 4000 {
			return
		}
		var pieces []string
		for rest := source; rest != ""; {
			seed = seed*6364136223846793005 + 1442695040888963407
			n := min(len(rest), 1+int(seed>>33)%(1+int(seed>>40)%30))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		check(t, r, pieces)
	})
}

// TestOpenCodeKeepsItsLines holds code that is still arriving to the lines it has: what is shown of it is how the whole begins,
// with no line broken where a piece of it happened to end.
func TestOpenCodeKeepsItsLines(t *testing.T) {
	const code = "// one comment that is long enough to arrive in pieces\nx := \"a string\" + f(1, 2, 3)\n\n\nif x > 3 {\n}\nand a last line\n"
	indented := func(by string) string {
		return by + strings.ReplaceAll(strings.TrimSuffix(code, "\n"), "\n", "\n"+by) + "\n"
	}
	tags := regexp.MustCompile("<[^>]*>")
	for name, source := range map[string]string{
		"no language": "```\n" + code + "```\n",
		"unknown":     "```zork\n" + code + "```\n",
		"coloured":    "```go\n" + code + "```\n",
		"unclosed":    "```go\n" + code,
		"indented":    indented("    "),
		"in an item":  "- item\n\n" + indented("      "),
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 3, 7, 20, 64} {
				s, seen := New().Stream("m"), 0
				for _, piece := range split(source, size) {
					s.Append(piece)
					_, shown, found := strings.Cut(s.HTML(), "<code")
					if !found {
						continue
					}
					_, shown, _ = strings.Cut(shown, ">")
					shown, _, _ = strings.Cut(shown, "</code>")
					text := html.UnescapeString(tags.ReplaceAllString(shown, ""))
					if !strings.HasPrefix(code, text) {
						t.Fatalf("in pieces of %d, after %q: shown is %q", size, piece, text)
					}
					seen = len(text)
				}
				if seen < len(code)/2 {
					t.Errorf("in pieces of %d, only %d bytes were shown before the end", size, seen)
				}
			}
		})
	}
}
