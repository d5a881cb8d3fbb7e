package files_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

func TestSearch(t *testing.T) {
	d := newDesk(t)
	d.put("a.go", "package a\n\nfunc Alpha() {}\n\n// one\n// two\nfunc beta() {}\n")
	d.put("sub/b.go", "package b\nfunc Gamma() {}\n")
	d.put("sub/c.txt", "no function here, but func( in text\n")
	d.put("node_modules/d.go", "func hidden() {}\n")
	d.put(".gitignore", "gen/\n")
	d.put("gen/e.go", "func generated() {}\n")
	d.put("bin", "\x7fELF\x00func ")
	d.put("crlf.txt", "first\r\nends here\r\n")
	d.put("latin.txt", "gr\xfcn und blau\n")
	d.put("bom.txt", "\xef\xbb\xbfstart of it\n")

	text := d.does("file_search", arguments{"pattern": `^func \w+\(`})
	contains(t, text, "3 lines match in 2 files", "a.go\n3: func Alpha() {}\n--\n7: func beta() {}\n", "sub/b.go\n2: func Gamma() {}", "[passed over: 1 binary files]")
	lacks(t, text, "hidden", "generated", "sub/c.txt")
	contains(t, d.does("file_search", arguments{"pattern": "func", "all": true, "files_only": true}), "a.go  (2)", "gen/e.go  (1)", "node_modules/d.go  (1)")
	contains(t, d.does("file_search", arguments{"pattern": "func", "glob": "sub/*.go"}), "1 lines match in 1 files")
	contains(t, d.does("file_search", arguments{"pattern": "FUNC G", "ignore_case": true}), "sub/b.go\n2: func Gamma() {}")
	contains(t, d.does("file_search", arguments{"pattern": "func(", "literal": true}), "sub/c.txt\n1: ")
	contains(t, d.does("file_search", arguments{"pattern": "beta", "context": 1}), "6- // two\n7: func beta() {}\n")
	contains(t, d.does("file_search", arguments{"pattern": "Alpha|one", "context": 1}), "2- \n3: func Alpha() {}\n4- \n5: // one\n6- // two\n")
	contains(t, d.does("file_search", arguments{"pattern": "ends here$"}), "2: ends here\n")
	contains(t, d.does("file_search", arguments{"pattern": "^first$"}), "1: first\n")
	contains(t, d.does("file_search", arguments{"pattern": "grün"}), "1: grün und blau")
	contains(t, d.does("file_search", arguments{"pattern": `^start`}), "1: start of it")
	contains(t, d.does("file_search", arguments{"pattern": `\Astart`}), "1: start of it")
	contains(t, d.does("file_search", arguments{"pattern": `\Afunc`}), "3 lines match")
	contains(t, d.does("file_search", arguments{"pattern": `blau\z`}), "latin.txt")
	contains(t, d.does("file_search", arguments{"pattern": `nothing like it`}), "Nothing matches")
	contains(t, d.does("file_search", arguments{"path": "a.go", "pattern": "func"}), "2 lines match in 1 files")
	same(t, strings.Fields(d.does("file_search", arguments{"glob": "*.go"})), "a.go", "sub/b.go")

	d.refuses(agent.CodeInvalid, "RE2", "file_search", arguments{"pattern": "a(?=b)"})
	d.refuses(agent.CodeInvalid, "RE2", "file_search", arguments{"pattern": "("})
	d.refuses(agent.CodeInvalid, "line by line", "file_search", arguments{"pattern": `a\nb`})
	d.refuses(agent.CodeInvalid, "line by line", "file_search", arguments{"pattern": "a\nb", "literal": true})
	d.refuses(agent.CodeInvalid, "complicated", "file_search", arguments{"pattern": strings.Repeat("a{1000}", 10)})
	d.refuses(agent.CodeInvalid, "too long", "file_search", arguments{"pattern": strings.Repeat("a", 1001)})
	d.refuses(agent.CodeInvalid, "pattern", "file_search", arguments{})
}

func TestSearchIsBounded(t *testing.T) {
	d := newDesk(t)
	for i := range 30 {
		d.put(fmt.Sprintf("f%02d.txt", i), strings.Repeat("match me\n", 50))
	}
	text := d.does("file_search", arguments{"pattern": "match"})
	if n := strings.Count(text, ": match me"); n != 100 {
		t.Errorf("%d lines shown", n)
	}
	contains(t, text, "1500 lines match in 30 files; the first are shown: narrow the search")
	if n := strings.Count(d.does("file_search", arguments{"pattern": "match", "limit": 7}), ": match me"); n != 7 {
		t.Errorf("%d lines shown of 7", n)
	}
	text = d.does("file_search", arguments{"pattern": "match", "limit": 1000})
	contains(t, text, "1500 lines match in 30 files; the first are shown")
	contains(t, d.does("file_search", arguments{"pattern": "match", "limit": 75}), "[… more in this file: 50 lines match]")
	d.put("long.txt", strings.Repeat("x", 300_000)+"needle"+strings.Repeat("y", 300_000)+"\n")
	text = d.does("file_search", arguments{"pattern": "needle"})
	contains(t, text, "long.txt\n1: ", "more bytes]")
	d.put("middle.txt", strings.Repeat("x", 30_000)+"needle"+strings.Repeat("y", 30_000)+"\n")
	contains(t, d.does("file_search", arguments{"pattern": "needle", "path": "middle.txt"}), "bytes …]", "xneedley")
	d.put("large.txt", strings.Repeat("needle\n", 2<<20))
	text = d.does("file_search", arguments{"pattern": "needle", "glob": "large.txt"})
	contains(t, text, "Nothing matches", "1 files over 10.0 MB")
	if len(text) > 60<<10 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	d := newDesk(t)
	for i := range 8 {
		d.put(fmt.Sprintf("slow%d.txt", i), strings.Repeat(strings.Repeat("a", 2000)+"\n", 4000))
	}
	d.put("one.txt", strings.Repeat("a", 9<<20))
	a := arguments{"pattern": `(a|aa|aaa|[ab]+c?){3,60}[^a]x{1,9}b`}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := d.tool("file_search").Run(ctx, d.env, raw(t, a), func(string) {})
	if err == nil {
		t.Skip("this machine searched 70 MB in 200 ms")
	}
	if took := time.Since(begun); took > 1200*time.Millisecond {
		t.Errorf("went on for %s after its end", took-200*time.Millisecond)
	}
}

func TestSearchLabels(t *testing.T) {
	d := newDesk(t)
	d.put("own.txt", "findme\n")
	d.put("page.txt", "findme too\n")
	d.ok(d.records.Wrote(t.Context(), d.root, "page.txt", hashOf("findme too\n"), tool.Untrusted("example.org")))
	d.put("other.txt", "nothing\n")
	d.ok(d.records.Wrote(t.Context(), d.root, "other.txt", hashOf("nothing\n"), tool.Untrusted("other.example")))
	_, out, err := d.call("file_search", arguments{"pattern": "findme"})
	d.ok(err)
	got := fmt.Sprint(out.Labels)
	contains(t, got, "example.org", "file:own.txt")
	lacks(t, got, "other.example")
	for i := range 40 {
		d.put(fmt.Sprintf("many/%d.txt", i), "findme\n")
	}
	_, out, err = d.call("file_search", arguments{"pattern": "findme"})
	d.ok(err)
	got = fmt.Sprint(out.Labels)
	contains(t, got, "example.org", "42 files")
	if len(out.Labels) > 4 {
		t.Errorf("%d labels", len(out.Labels))
	}
}

// tree writes n small files in folders of 100, a tenth of them with a needle.
func tree(tb testing.TB, root string, n int) {
	tb.Helper()
	body := strings.Repeat("some words of text that are not what is looked for, line after line\n", 30)
	for i := range n {
		dir := fmt.Sprintf("%s/d%02d/e%03d", root, i/1000, i/100)
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				tb.Fatal(err)
			}
		}
		text := body
		if i%1000 == 0 {
			text += "the needle in it\n"
		}
		if err := os.WriteFile(fmt.Sprintf("%s/f%d.txt", dir, i), []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkSearch looks through 20,000 files of 2 KB, beside grep on the same files.
func BenchmarkSearch(b *testing.B) {
	d := newDesk(b)
	tree(b, d.root, 20_000)
	for name, pattern := range map[string]string{"literal": "the needle", "regexp": `n[a-e]{2}dle\b.*it$`, "nothing": "zzzz"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := d.tool("file_search").Run(b.Context(), d.env, raw(b, arguments{"pattern": pattern}), func(string) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("names", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.tool("file_search").Run(b.Context(), d.env, raw(b, arguments{"glob": "f1999*.txt"}), func(string) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	grep, err := exec.LookPath("grep")
	if err != nil {
		return
	}
	b.Run("baseline=grep", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.CommandContext(b.Context(), grep, "-rEn", `n[a-e]{2}dle\b.*it$`, d.root).Output(); err != nil || len(out) == 0 {
				b.Fatal(err)
			}
		}
	})
}
