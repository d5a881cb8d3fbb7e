package guard

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"
)

// sifted passes text through a sieve in the pieces that cut ends.
func sifted(g *Guard, text string, cuts ...int) string {
	s := g.Sieve()
	var b strings.Builder
	at := 0
	for _, c := range append(cuts, len(text)) {
		b.WriteString(s.Pass(text[at:c]))
		at = c
	}
	b.WriteString(s.Rest())
	return b.String()
}

// spelled is a value as it may be met, by the name of the encoding.
func spelled(v string) map[string]string {
	quoted, _ := json.Marshal(v)
	all := map[string]string{
		"plain": v, "JSON": string(quoted[1 : len(quoted)-1]), "HTML": html.EscapeString(v), "query": url.QueryEscape(v), "path": url.PathEscape(v),
		"hex": hex.EncodeToString([]byte(v)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(v))),
	}
	for i, pre := range []string{"", "x", "xy"} {
		all["base64 "+string(rune('0'+i))] = base64.StdEncoding.EncodeToString([]byte(pre + v + "tail"))
		all["base64url "+string(rune('0'+i))] = base64.URLEncoding.EncodeToString([]byte(pre + v))
	}
	return all
}

// bare is what must not be left of a spelling: base64 depends on its neighbours at both ends.
func bare(name, s string) string {
	if strings.HasPrefix(name, "base64") {
		return s[4 : len(s)-10]
	}
	return s
}

func shapes() map[string]string {
	d := newDraw(11)
	return map[string]string{
		"hex": d.of(hexes, 40), "letters": d.of(alnums, 24), "words": "correct horse battery staple", "unicode": "Schlüssel-für-Ünïcode-密碼", "url": "p@ss/w:rd?x=1&y=%20#+z", "quotes": `a"b'c<d>&e\f` + "`g",
		"lines": "-----BEGIN THING-----\n" + d.of(alnums, 40) + "\n" + d.of(alnums, 40) + "\n-----END THING-----", "repeats": "ababababababab", "short": "xK9#q-Pw77,z",
	}
}

// TestSieveAtEveryCut: no spelling of a value passes, wherever the text is cut, and what is around it does, unchanged.
func TestSieveAtEveryCut(t *testing.T) {
	n := 0
	for shape, v := range shapes() {
		g := New(Options{Secrets: &vaultOf{values: []string{v, "another-value-entirely", v + "-longer"}}})
		for name, s := range spelled(v) {
			text := "Before, and " + s + " after."
			for cut := range len(text) + 1 {
				got := sifted(g, text, cut)
				n++
				if strings.Contains(got, bare(name, s)) || !strings.HasPrefix(got, "Before, and ") || !strings.HasSuffix(got, " after.") {
					t.Fatalf("%s as %s cut at %d: %q", shape, name, cut, got)
				}
			}
			single := make([]int, len(text))
			for i := range single {
				single[i] = i
			}
			if got := sifted(g, text, single...); strings.Contains(got, bare(name, s)) || !strings.HasSuffix(got, " after.") {
				t.Fatalf("%s as %s byte by byte: %q", shape, name, got)
			}
		}
	}
	t.Logf("%d texts", n)
}

// TestRedactKnowsTheSpellings is the same for a text that is there as a whole, also with lines indented and numbered, other line ends, and other encoders of JSON.
func TestRedactKnowsTheSpellings(t *testing.T) {
	for shape, v := range shapes() {
		g := New(Options{Secrets: &vaultOf{values: []string{v}}})
		for name, s := range spelled(v) {
			if got := g.Redact("See " + s + " there"); strings.Contains(got, bare(name, s)) {
				t.Errorf("%s as %s: %q", shape, name, got)
			}
		}
	}
	lines := shapes()["lines"]
	g := New(Options{Secrets: &vaultOf{values: []string{lines, "a/b+ü😀c"}}})
	for _, text := range []string{
		strings.ReplaceAll(lines, "\n", "\r\n"), strings.ReplaceAll(lines, "\n", "\n    "), "1\t" + strings.ReplaceAll(lines, "\n", "\n2\t"), strings.Split(lines, "\n")[1],
		`a\/b+\u00fc\ud83d\ude00c`, `a/b+\u00fc\ud83d\ude00c`, `a\/b+ü😀c`,
	} {
		got := g.Redact(text)
		if strings.Contains(got, strings.Split(lines, "\n")[1]) || strings.Contains(got, "b+") {
			t.Errorf("%q", got)
		}
	}
}

// TestSieveHoldsNothingElse: what is no beginning of a value is told at once, and what breaks off in the middle of one is not told.
func TestSieveHoldsNothingElse(t *testing.T) {
	values := &vaultOf{values: []string{"zq0123456789abcdefghij"}}
	g := New(Options{Secrets: values})
	s := g.Sieve()
	for _, piece := range []string{"Hello ", "wor", "ld. ", "Buzz"} {
		if got := s.Pass(piece); got != piece && got != "Buz" {
			t.Errorf("%q came out as %q", piece, got)
		}
	}
	if got := s.Rest(); got != "z" {
		t.Errorf("the rest is %q", got)
	}
	if got := s.Pass("zq0123456789ab") + s.Rest(); got != mark(ruleExact) {
		t.Errorf("a value that breaks off: %q", got)
	}
	first := s.Pass("zq01234567")
	values.values = nil // locked meanwhile
	if got := first + s.Pass("89abcdefghij.") + s.Rest(); got != mark(ruleExact)+"." {
		t.Errorf("a value that came while the vault was locked: %q", got)
	}
	if got := New(Options{}).Sieve().Pass("as it is"); got != "as it is" {
		t.Errorf("without a vault: %q", got)
	}
}

func FuzzSieve(f *testing.F) {
	f.Add("see abcdabcdabcde there", uint8(6), uint8(9))
	f.Add("zq0123zq0123456789", uint8(3), uint8(3))
	f.Fuzz(func(t *testing.T, text string, a, b uint8) {
		values := []string{"abcdabcde", "zq0123456789", "cdab-long one"}
		g := New(Options{Secrets: &vaultOf{values: values}})
		i := int(a) % (len(text) + 1)
		j := i + int(b)%(len(text)-i+1)
		got := sifted(g, text, i, j)
		for _, v := range values {
			if strings.Contains(got, v) {
				t.Errorf("%q cut at %d and %d: %q", text, i, j, got)
			}
		}
		if !strings.Contains(got, markOpen) && got != text {
			t.Errorf("%q was changed to %q", text, got)
		}
	})
}

func BenchmarkSieve(b *testing.B) {
	d := newDraw(3)
	for name, n := range map[string]int{"locked": 0, "values=100": 100} {
		b.Run(name, func(b *testing.B) {
			v := &vaultOf{}
			for range n {
				v.values = append(v.values, d.of(alnums, 40))
			}
			s := New(Options{Secrets: v}).Sieve()
			for b.Loop() {
				s.Pass(" token")
			}
		})
	}
}
