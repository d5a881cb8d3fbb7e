package markdown

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// framing is about what each patch costs on the wire besides its HTML: the SSE field and the element that names its target.
const framing = 120

// replies are long answers of one block each, n times a size of about 2.5 KB, which is some 500 tokens.
func replies(n int) map[string]string {
	var paragraph, marked, list, nested, deep, table, code, plain strings.Builder
	for i := range 40 * n {
		fmt.Fprintf(&paragraph, "the %d. sentence says nothing that matters much to anybody here. ", i)
		fmt.Fprintf(&marked, "the %d. sentence has **bold** text and `code` in it, and *more*. ", i)
		fmt.Fprintf(&list, "- item %d has some **bold** text and a few more words than that\n", i)
		fmt.Fprintf(&nested, "- item %d\n  - has an item with *some* words\n    - which has one, too\n", i)
		fmt.Fprintf(&deep, "  - an item of one single item, which is number %d of many\n", i)
		fmt.Fprintf(&table, "| row %d | some text | and `more` of it | 1%d.00 € |\n", i, i)
		fmt.Fprintf(&code, "\tif err := f.do(%d, \"something\"); err != nil { return err }\n", i)
		fmt.Fprintf(&plain, "line %d of a program in no language that anybody knows\n", i)
	}
	return map[string]string{
		"paragraph": paragraph.String(), "marked paragraph": marked.String(), "list": list.String(), "nested list": nested.String(),
		"one nested list": "- top\n" + deep.String(),
		"table":           "| a | b | c | d |\n|---|---|---|--:|\n" + table.String(),
		"code":            "```go\nfunc f() error {\n" + code.String() + "}\n```\n",
		"plain code":      "```\n" + plain.String() + "```\n",
		"answer":          "",
	}
}

// streamed returns what a reply costs, arriving in pieces of about one and a half tokens.
func streamed(r *Renderer, source string) (bytes, patches int) {
	s := r.Stream("m4x1")
	count := func(ps []Patch) {
		for _, p := range ps {
			bytes += len(p.HTML) + len(p.Target) + framing
			patches++
		}
	}
	for len(source) > 8 {
		count(s.Append(source[:8]))
		source = source[8:]
	}
	count(s.Append(source))
	count(s.Close())
	return bytes, patches
}

func TestBytesGrowWithTheReply(t *testing.T) {
	r := New()
	one, ten := replies(1), replies(10)
	answer := samples(t)["answer"]
	one["answer"], ten["answer"] = answer, strings.Repeat(answer+"\n\n", 10)
	for name := range one {
		t.Run(name, func(t *testing.T) {
			a, patches := streamed(r, one[name])
			b, more := streamed(r, ten[name])
			ratio, bare := float64(b)/float64(a), float64(b-more*framing)/float64(a-patches*framing)
			t.Logf("%d bytes of text: %d bytes, %d patches; ten times: %d (%.2f×, %.2f× without framing)",
				len(one[name]), a, patches, b, ratio, bare)
			if limit := 1.1 * float64(len(ten[name])) / float64(len(one[name])); ratio > limit || bare > limit {
				t.Errorf("ten times the text costs %.2f times the bytes, %.2f without framing", ratio, bare)
			}
			if a > 120<<10 {
				t.Errorf("%d bytes of text cost %d bytes", len(one[name]), a)
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	for _, n := range []int{1, 10} {
		for name, source := range replies(n) {
			if source == "" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d×", strings.ReplaceAll(name, " ", "-"), n), func(b *testing.B) {
				r := New()
				streamed(r, source)
				total := 0
				for b.Loop() {
					total, _ = streamed(r, source)
				}
				b.ReportMetric(float64(total), "bytes-out")
				b.ReportMetric(float64(len(source)), "bytes-in")
			})
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	source := samples(b)["answer"]
	b.Run("answer", func(b *testing.B) {
		r := New()
		for b.Loop() {
			r.HTML("m", source)
		}
	})
	b.Run("code", func(b *testing.B) {
		r := New()
		code := replies(1)["code"]
		for b.Loop() {
			r.HTML("m", code)
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			New().HTML("m", "hello")
		}
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}

// hostile are messages made to cost more than they are worth.
func hostile() map[string]string {
	rep := strings.Repeat
	return map[string]string{
		"quotes":             rep(">", 10000) + "a",
		"quotes and lazy":    rep("> ", 5000) + "a\n" + rep("b\n", 20000),
		"brackets":           rep("[", 10000) + "a" + rep("]", 10000),
		"open brackets":      rep("[", 1<<17),
		"links":              rep("[a](", 1<<14),
		"link titles":        rep("[a](b (", 1<<14),
		"nested links":       rep("[", 5000) + "a" + rep("](b)", 5000),
		"images":             rep("![", 1<<15),
		"reference":          rep("[a][", 1<<14),
		"stars":              rep("*", 10000) + "a" + rep("*", 10000),
		"stars apart":        rep("*a ", 1<<15),
		"closers":            rep("*a_ ", 1<<15),
		"mixed":              rep("*a **b ", 1<<14),
		"underscores":        rep("a_", 1<<16),
		"tildes":             rep("~~a ", 1<<15),
		"backticks":          ticks(1 << 19),
		"dollars":            rep("$a", 1<<16),
		"open maths":         rep(`\(`, 1<<16),
		"angles":             rep("<a", 1<<16),
		"auto links":         rep("<http://a", 1<<14),
		"addresses":          rep("a@", 1<<16),
		"bare links":         rep("(http://a", 1<<14),
		"entities":           rep("&a", 1<<16),
		"list in list":       rep("- ", 10000) + "a",
		"deep list":          deepList(900),
		"deep and lazy":      deepList(60) + rep("a\n", 20000),
		"numbers":            rep("1", 1<<17),
		"dashes":             rep("-", 1<<17),
		"columns":            rep("|a", 100000) + "|\n" + rep("|-", 100000) + "|\n" + rep("|b", 100000),
		"columns and rows":   rep("|a", 100) + "|\n" + rep("|-", 100) + "|\n" + rep("b\n", 20000),
		"definitions":        definitions(4000),
		"footnotes":          rep("[^a] ", 5000) + "\n\n[^a]: [^a]\n",
		"definition of text": "[a]: " + rep("b", 1<<17),
		"blank lines":        rep("\n", 1<<17),
		"items":              rep("-\n", 1<<15),
		"fences":             rep("```\n", 1<<15),
		"code":               "```go\n" + rep("x := \"\n", 1<<14),
		"long line of code":  "```js\n" + rep("(", 1<<17),
		"thinking":           rep("<think>", 1<<14),
		"unclosed thinking":  "<think>" + rep("</", 1<<15),
		"carriage returns":   rep("\r", 1<<17),
		"NUL":                rep("\x00", 1<<17),
		"broken":             rep("\xff", 1<<17),
		"words":              rep("word ", 2<<20),
		"paragraphs":         rep("*a* [b]\n\n", 1<<15),
		"headings":           rep("# a\n", 1<<15),
	}
}

func ticks(size int) string {
	var out strings.Builder
	for n := 1; out.Len() < size; n++ {
		out.WriteString(strings.Repeat("`", n) + "a")
	}
	return out.String()
}

func deepList(depth int) string {
	var out strings.Builder
	for i := range depth {
		out.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return out.String()
}

func definitions(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "[a%d]\n\n", i)
	}
	for i := range n {
		fmt.Fprintf(&out, "[a%d]: /b\n\n", i)
	}
	return out.String()
}

// TestHostileSources reads each whole and in pieces. Read quadratically they would take minutes.
func TestHostileSources(t *testing.T) {
	r := New()
	for name, source := range hostile() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			html := r.HTML("m", source)
			whole := time.Since(start)
			s := r.Stream("m")
			for rest := source; rest != ""; {
				n := min(len(rest), 1000)
				s.Append(rest[:n])
				rest = rest[n:]
			}
			s.Close()
			took := time.Since(start)
			t.Logf("%d KB: %v whole, %v streamed, %d KB of HTML", len(source)>>10, whole, took-whole, len(html)>>10)
			if s.HTML() != html {
				t.Error("streamed and whole differ")
			}
			if took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}
