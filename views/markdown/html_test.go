package markdown

import (
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// allowed are the elements and attributes a message may turn into.
var allowed = map[string]string{
	"p": "id", "h1": "id", "h2": "id", "h3": "id", "h4": "id", "h5": "id", "h6": "id", "hr": "id", "br": "", "em": "", "strong": "", "del": "",
	"blockquote": "id", "ul": "id", "ol": "id start", "li": "id class", "code": "id", "pre": "id class tabindex", "a": "href title rel target role aria-label",
	"figure": "id class", "figcaption": "", "span": "class data-math", "button": "type class data-copy data-src data-alt title", "small": "",
	"div": "id class tabindex", "table": "", "thead": "", "tbody": "id", "tr": "", "th": "class", "td": "class", "sup": "id class",
	"input": "type checked disabled", "section": "id class role",
}

// checkSafe holds HTML to what is allowed, with a parser that knows nothing of how it was made.
func checkSafe(t *testing.T, source, out string) {
	t.Helper()
	checkBalanced(t, source, out)
	ids := map[string]bool{}
	root := element("div")
	for _, n := range fragment(t, out, root) {
		checkNode(t, source, n, ids)
	}
}

func checkNode(t *testing.T, source string, n *html.Node, ids map[string]bool) {
	t.Helper()
	switch n.Type {
	case html.TextNode:
	case html.ElementNode:
		attrs, ok := allowed[n.Data]
		if !ok {
			t.Fatalf("%q makes <%s>", source, n.Data)
		}
		for _, a := range n.Attr {
			if !strings.Contains(" "+attrs+" ", " "+a.Key+" ") {
				t.Fatalf("%q makes <%s %s>", source, n.Data, a.Key)
			}
			checkAttr(t, source, n, a, ids)
		}
	default:
		t.Fatalf("%q makes a node of type %d: %q", source, n.Type, n.Data)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		checkNode(t, source, c, ids)
	}
}

func checkAttr(t *testing.T, source string, n *html.Node, a html.Attribute, ids map[string]bool) {
	t.Helper()
	switch a.Key {
	case "id":
		if !strings.HasPrefix(a.Val, "m") || ids[a.Val] {
			t.Fatalf("%q makes the id %q, twice or not its own", source, a.Val)
		}
		ids[a.Val] = true
	case "href", "data-src":
		u, err := url.Parse(strings.TrimSpace(a.Val))
		if err != nil {
			break // no browser makes a script of what is not a URL; the scheme was checked before
		}
		switch u.Scheme {
		case "http", "https":
		case "mailto", "tel", "":
			if a.Key == "data-src" {
				t.Fatalf("%q loads an image from %q", source, a.Val)
			}
		default:
			t.Fatalf("%q links to %q", source, a.Val)
		}
		if a.Key == "href" && !strings.HasPrefix(a.Val, "#m_") && attr(n, "rel") != "noopener noreferrer" {
			t.Fatalf("%q links to %q without rel", source, a.Val)
		}
	}
}

// checkBalanced counts tags, which a parser would quietly mend.
func checkBalanced(t *testing.T, source, out string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(out))
	var open []string
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Fatalf("%q leaves %v open", source, open)
			}
			return
		case html.StartTagToken:
			name, _ := z.TagName()
			if s := string(name); s != "br" && s != "hr" && s != "input" {
				open = append(open, s)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("%q closes %s in %v", source, name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

func FuzzHTML(f *testing.F) {
	for _, source := range samples(f) {
		f.Add(source)
	}
	for _, c := range unsafe {
		f.Add(c)
	}
	r := New()
	f.Fuzz(func(t *testing.T, source string) {
		checkSafe(t, source, r.HTML("m", source))
	})
}

var unsafe = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<a href='javascript:alert(1)'>x</a>",
	"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java\tscript:alert(1))", "[x](&#106;avascript:alert(1))",
	"[x](\\javascript:alert(1))", "[x](data:text/html,<script>)", "[x](vbscript:x)", "<javascript:alert(1)>", "<data:text/html,x>",
	"![x](javascript:alert(1))", "![x](data:image/svg+xml,x)", "[x]: javascript:alert(1)\n\n[x]", "[x](https://e.x \"a\\\" onclick=\\\"b\")",
	"[x](https://e.x\"onclick=alert(1))", "```\"><script>\n</code></pre><script>\n```", "$<img src=x onerror=y>$", "`<b>`",
	"| <b> |\n|---|\n| </td><script> |", "![\"><script>](https://e.x/\"><script>)", "https://e.x/\"onmouseover=alert(1)", "[x]( javascript:a)",
	"[x](\x01javascript:a)", "&lt;script&gt;", "[^\"><b>]\n\n[^\"><b>]: x", "<!-- x -->", "<?php ?>", "<![CDATA[x]]>", "</div></body>",
	"[x](feed:javascript:a)", "[x](blob:x)", "[x](file:///etc/passwd)", "[x](//e.x)", "[x](about:blank)",
}

func TestNothingUnsafe(t *testing.T) {
	r := New()
	for _, source := range unsafe {
		out := r.HTML("m", source)
		checkSafe(t, source, out)
		for _, href := range hrefs(t, out) {
			if !strings.HasPrefix(href, "http") && !strings.HasPrefix(href, "//") && !strings.HasPrefix(href, "#m_") {
				t.Errorf("%q links to %q", source, href)
			}
		}
	}
	for seed := range uint64(700) {
		source := randomSource(rand.New(rand.NewPCG(seed, 2)))
		checkSafe(t, source, r.HTML("m", source))
	}
}

func hrefs(t *testing.T, out string) []string {
	var found []string
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if v := attr(n, "href"); v != "" {
			found = append(found, v)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	for _, n := range fragment(t, out, element("div")) {
		walk(n)
	}
	return found
}

func TestHTML(t *testing.T) {
	const link = ` rel="noopener noreferrer" target="_blank">`
	tests := map[string]struct{ source, want string }{
		"paragraph":         {"a *b* **c** ~~d~~ `e<`\nf", `<p id="m-0">a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;</code>` + "\nf</p>"},
		"hard break":        {"a  \nb\\\nc<br>d", "<p id=\"m-0\">a<br>\nb<br>\nc<br>d</p>"},
		"raw HTML":          {"<b onclick=x>a</b>", `<p id="m-0">&lt;b onclick=x&gt;a&lt;/b&gt;</p>`},
		"entities":          {`&copy; &#65; &nope; &amp;lt; \*`, `<p id="m-0">© A &amp;nope; &amp;lt; *</p>`},
		"single tildes":     {"~5 and ~/dir~", `<p id="m-0">~5 and ~/dir~</p>`},
		"headings":          {"# a #\nb\n===", `<h1 id="m-0">a</h1><h1 id="m-1">b</h1>`},
		"tight list":        {"- a\n  - b\n- c", `<ul id="m-0"><li>a<ul><li>b</li></ul></li><li>c</li></ul>`},
		"loose list":        {"3. a\n\n4. b", `<ol id="m-0" start="3"><li><p>a</p></li><li><p>b</p></li></ol>`},
		"two lists":         {"- a\n+ b", `<ul id="m-0"><li>a</li></ul><ul id="m-1"><li>b</li></ul>`},
		"tasks":             {"- [x] a\n- [ ] b\n- [y] c", `<ul id="m-0"><li class="task"><input type="checkbox" checked="" disabled=""> a</li><li class="task"><input type="checkbox" disabled=""> b</li><li>[y] c</li></ul>`},
		"quote":             {"> a\nb\n\nc", "<blockquote id=\"m-0\"><p>a\nb</p></blockquote><p id=\"m-1\">c</p>"},
		"table":             {"|a|b|\n|:-|-:|\n|`x\\|y`|", `<div class="table" tabindex="0" id="m-0"><table><thead><tr><th class="left">a</th><th class="right">b</th></tr></thead><tbody><tr><td class="left"><code>x|y</code></td><td class="right"></td></tr></tbody></table></div>`},
		"no table":          {"a | b\n--- | --- | ---", "<p id=\"m-0\">a | b\n--- | --- | ---</p>"},
		"code":              {"```nolang x\na<b\n```", `<figure class="code" id="m-0"><figcaption><span>nolang</span><button type="button" class="copy" data-copy="">Copy</button></figcaption><pre tabindex="0"><code>a&lt;b` + "\n</code></pre></figure>"},
		"code with colours": {"```GO\nfunc f() {}\n```", `<figure class="code" id="m-0"><figcaption><span>GO</span><button type="button" class="copy" data-copy="">Copy</button></figcaption><pre tabindex="0"><code><span class="k">func </span><span class="nf">f</span>() {}` + "\n</code></pre></figure>"},
		"inline maths":      {`$a<b$ \(c\) $5 and $10, US$5 \$x$ $ y$`, `<p id="m-0"><span class="math" data-math="inline">a&lt;b</span> <span class="math" data-math="inline">c</span> $5 and $10, US$5 $x$ $ y$</p>`},
		"display maths":     {"$$\na\n- b\n$$\ntext", "<p id=\"m-0\"><span class=\"math\" data-math=\"block\">a\n- b</span></p><p id=\"m-1\">text</p>"},
		"bracket maths":     {"\\[ x \\]\n\na \\[y\\] b", `<p id="m-0"><span class="math" data-math="block">x</span></p><p id="m-1">a <span class="math" data-math="block">y</span> b</p>`},
		"maths in code":     {"`$x$`", `<p id="m-0"><code>$x$</code></p>`},
		"links":             {"[a](https://b.c 'd') <https://e.f> www.g.hi.", `<p id="m-0"><a href="https://b.c" title="d"` + link + `a</a> <a href="https://e.f"` + link + `https://e.f</a> <a href="https://www.g.hi"` + link + `www.g.hi</a>.</p>`},
		"bare links":        {"(https://a.b/c_(d)_e) x@y.zz, https://a.b?c=d&e=f;", `<p id="m-0">(<a href="https://a.b/c_(d)_e"` + link + `https://a.b/c_(d)_e</a>) <a href="mailto:x@y.zz"` + link + `x@y.zz</a>, <a href="https://a.b?c=d&amp;e=f"` + link + `https://a.b?c=d&amp;e=f</a>;</p>`},
		"dead link":         {"[a *b*](javascript:x)", `<p id="m-0">a <em>b</em></p>`},
		"place in Ash":      {"[a](/memory)", `<p id="m-0"><a href="/memory"` + link + `a</a></p>`},
		"reference":         {"[a][b] [b]\n\n[b]: https://c.d", `<p id="m-0"><a href="https://c.d"` + link + `a</a> <a href="https://c.d"` + link + `b</a></p>`},
		"remote image":      {"![a *b*](https://c.d/e.png)", `<p id="m-0"><button type="button" class="remote-image" data-src="https://c.d/e.png" data-alt="a b" title="Load this image from c.d"><span>a b</span> <small>c.d</small></button></p>`},
		"image in link":     {"[![a](https://b.c/d.png)](https://e.f)", `<p id="m-0"><a href="https://e.f"` + link + `a</a></p>`},
		"footnotes": {"a[^x] b[^x]\n\n[^x]: c\n[^y]: d", `<p id="m-0">a<sup class="cite" id="m_r1"><a href="#m_n1" role="doc-noteref">1</a></sup> b<sup class="cite" id="m_r1-2"><a href="#m_n1" role="doc-noteref">1</a></sup></p>` +
			`<section class="footnotes" role="doc-endnotes" id="m_n"><ol><li id="m_n1"><p>c</p> <a href="#m_r1" role="doc-backlink" aria-label="Back to the text">↩</a></li><li id="m_n2"><p>d</p></li></ol></section>`},
		"unknown footnote":  {"a[^x]", `<p id="m-0">a[^x]</p>`},
		"model markup":      {"a <tool_call>{}</tool_call>b\n<think>\nc\n\nd</think>e</think><|im_end|>", `<p id="m-0">a b</p><p id="m-1">e</p>`},
		"model markup said": {"`<think>` and\n```\n<think>\n```", `<p id="m-0"><code>&lt;think&gt;</code> and</p><figure class="code" id="m-1"><figcaption><span></span><button type="button" class="copy" data-copy="">Copy</button></figcaption><pre tabindex="0"><code>&lt;think&gt;` + "\n</code></pre></figure>"},
		"deep":              {strings.Repeat(">", 100) + "<a", `<pre class="plain" id="m-0">` + strings.Repeat("&gt;", 100) + "&lt;a\n</pre>"},
		"nothing":           {" \n\n", ""},
	}
	r := New()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := r.HTML("m", test.source); got != test.want {
				t.Errorf("%q\ngot  %s\nwant %s", test.source, got, test.want)
			}
		})
	}
}

// TestEverything keeps the look of a message that has everything in it.
func TestEverything(t *testing.T) {
	r := New()
	for _, name := range []string{"answer", "everything"} {
		got := strings.ReplaceAll(r.HTML("m", samples(t)[name]), "><", ">\n<") + "\n"
		path := "testdata/" + name + ".html"
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from %s: look at it, then run with -update", name, path)
		}
	}
}

// TestCodeKeepsItsText holds every lexer to giving back what it was given.
func TestCodeKeepsItsText(t *testing.T) {
	h := newHighlighter()
	code := "# x\n<a href=\"b\">'c'</a> /* d */ -- e\n\tif (f == 1.5e3) { return \"g\\n\" + `h`; } // ü €\n@i $j %k\r\x00\n\n"
	for _, l := range languages {
		for _, name := range strings.Fields(l.names) {
			if !knownLanguage(strings.ToUpper(name)) {
				t.Errorf("%s is unknown", name)
			}
		}
		lang := strings.Fields(l.names)[0]
		tokens, err := h.tokens(lang, code)
		if err != nil {
			t.Errorf("%s: %v", lang, err)
			continue
		}
		nodes := fragment(t, string(appendTokens(nil, tokens, len(code))), element("code"))
		var text strings.Builder
		for _, n := range nodes {
			if n.Type == html.TextNode {
				text.WriteString(n.Data)
			} else {
				text.WriteString(n.FirstChild.Data)
			}
		}
		if got, want := text.String(), strings.NewReplacer("\r", "\n", "\x00", "").Replace(code); got != want {
			t.Errorf("%s gives back %q, want %q", lang, got, want)
		}
	}
}
