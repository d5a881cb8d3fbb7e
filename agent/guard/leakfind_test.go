package guard

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
)

// part is how many of the comparisons are made, one of so many: they run in one goroutine, where the race detector only takes time.
func part() int {
	if underRace {
		return 10
	}
	return 1
}

// library is gitleaks itself, as it would be asked for a text.
var library = sync.OnceValues(func() (*detect.Detector, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err == nil {
		d.IgnoreGitleaksAllow = true
	}
	return d, err
})

func both(t testing.TB) (*leakRules, *detect.Detector) {
	t.Helper()
	rules, err := loadLeakRules()
	if err != nil {
		t.Fatal(err)
	}
	d, err := library()
	if err != nil {
		t.Fatal(err)
	}
	return rules, d
}

// same reports an error where the two differ, and returns how much was found.
func same(t *testing.T, rules *leakRules, d *detect.Detector, text string) int {
	t.Helper()
	var got, want []string
	for _, f := range rules.Find(text) {
		got = append(got, fmt.Sprintf("%s in line %d: %q of %q", f.Rule, f.line, f.Secret, f.Match))
	}
	for _, f := range d.DetectString(text) {
		want = append(want, fmt.Sprintf("%s in line %d: %q of %q", f.RuleID, f.StartLine, f.Secret, f.Match))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q:\n got %q\nwant %q", text, got, want)
	}
	return len(want)
}

// examples are all texts in the source of gitleaks' rules: what each is for, what it finds and what it must not find.
func examples(t testing.TB) []string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/zricethezav/gitleaks/v8").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "cmd/generate/config/rules/*.go"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files of rules: %v", len(files), err)
	}
	var out []string
	for _, f := range files {
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == gotoken.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil && s != "" {
					out = append(out, s)
				}
			}
			return true
		})
	}
	return out
}

// TestExamplesAsInTheLibrary asks both about each example, by itself and as what a name of the rule is given.
func TestExamplesAsInTheLibrary(t *testing.T) {
	rules, d := both(t)
	texts := examples(t)
	found := 0
	for i, s := range texts {
		if i%part() == 0 {
			found += same(t, rules, d, s)
		}
	}
	t.Logf("%d texts, %d findings", len(texts)/part(), found)
	if len(texts) < 4000 || part() == 1 && found < 250 {
		t.Errorf("only %d texts with %d findings", len(texts), found)
	}
}

// TestMatchesAsInTheLibrary asks both about texts made from the rules' own expressions, among each other and among prose and code.
func TestMatchesAsInTheLibrary(t *testing.T) {
	rules, d := both(t)
	made := newMaker(7)
	between := append(examples(t), "\n", "\n\n", "\r\n", " ", ";", "\"", " = ", "key: ", "api_token=", "the password is\n", "gitleaks:allow", "ſecret ", "KEY ", "\x80", "--mount=type=secret,", "import { a } from 'b'")
	hit := map[string]bool{}
	texts, found := 0, 0
	for i := range rules.rules {
		r := &rules.rules[i]
		if i%part() != 0 {
			continue
		}
		for range 5 {
			text := made.pick(between) + made.word(r) + made.pick([]string{"", " ", "\n", "'", made.pick(between)})
			if made.Intn(3) == 0 {
				text = made.word(&rules.rules[made.Intn(len(rules.rules))]) + made.pick(between) + text
			}
			texts++
			found += same(t, rules, d, text)
			for _, f := range rules.Find(text) {
				hit[f.Rule] = true
			}
		}
	}
	t.Logf("%d texts, %d findings of %d rules of %d", texts, found, len(hit), len(rules.rules))
	if part() == 1 && len(hit) < len(rules.rules)*9/10 {
		for _, r := range rules.rules {
			if !hit[r.ID] {
				t.Logf("nothing of %s", r.ID)
			}
		}
		t.Errorf("only %d rules of %d found anything", len(hit), len(rules.rules))
	}
}

// TestConditionsAsInTheLibrary compares rules that use what gitleaks' own use little or not at all.
func TestConditionsAsInTheLibrary(t *testing.T) {
	book := LeakBook{
		Allowed: []LeakAllowed{{All: true, Regex: "(?:^a)", Words: []string{"ba"}}},
		Rules: []LeakRule{
			{ID: "group", Keywords: []string{"=a"}, Regex: `(\w)?=(\w+)`, Group: 2, Entropy: 0.5},
			{ID: "edge", Regex: `\n*\bb(a*)\n?`, Allowed: []LeakAllowed{{Target: "line", Regex: "(?:^c|\n.*=$)"}, {All: true, Words: []string{"aaa"}}}},
			{ID: "generic-edge", Keywords: []string{"cc"}, Regex: `[abc]+`, Allowed: []LeakAllowed{{Target: "match", Regex: "(?:cab|bac)", Words: []string{"acc"}}}},
			{ID: "twice", Keywords: []string{"a\n", "cc"}, Regex: `(?:^|=)(c*)(b*)`},
		},
	}
	cfg := config.Config{Rules: map[string]config.Rule{}, Keywords: map[string]struct{}{}, Allowlists: listsOf(t, book.Allowed)}
	for _, r := range book.Rules {
		cfg.Rules[r.ID] = config.Rule{RuleID: r.ID, Keywords: r.Keywords, Regex: regexp.MustCompile(r.Regex), SecretGroup: r.Group, Entropy: r.Entropy, Allowlists: listsOf(t, r.Allowed)}
		for _, k := range r.Keywords {
			cfg.Keywords[k] = struct{}{}
		}
	}
	d := detect.NewDetector(cfg)
	rules := book.open()
	draw, found := rand.New(rand.NewPCG(1, 2)), 0
	for range 15_000 / part() {
		b := make([]byte, draw.IntN(24))
		for i := range b {
			b[i] = "aaabbccc==\n\r "[draw.IntN(13)]
		}
		found += same(t, rules, d, string(b))
	}
	t.Logf("%d findings", found)
}

func listsOf(t *testing.T, all []LeakAllowed) []*config.Allowlist {
	t.Helper()
	var out []*config.Allowlist
	for _, a := range all {
		list := &config.Allowlist{RegexTarget: a.Target, StopWords: slices.Clone(a.Words)}
		if a.All {
			list.MatchCondition = config.AllowlistMatchAnd
		}
		if a.Regex != "" {
			list.Regexes = []*regexp.Regexp{regexp.MustCompile(a.Regex)}
		}
		if err := list.Validate(); err != nil {
			t.Fatal(err)
		}
		out = append(out, list)
	}
	return out
}

// TestAtOnce: several ask the same rules for the first time.
func TestLeakRulesAtOnce(t *testing.T) {
	rules, err := loadLeakRules()
	if err != nil {
		t.Fatal(err)
	}
	made := newMaker(3)
	text := ""
	for i := range rules.rules[:40] {
		text += made.word(&rules.rules[i]) + "\n"
	}
	want := rules.Find(text)
	if rules, err = loadLeakRules(); err != nil || len(want) < 10 {
		t.Fatalf("%d findings: %v", len(want), err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := rules.Find(text); !slices.Equal(got, want) {
				t.Errorf("%v instead of %v", got, want)
			}
		})
	}
	all.Wait()
}

func FuzzLeaks(f *testing.F) {
	for i, s := range examples(f) {
		if i%40 == 0 {
			f.Add(s)
		}
	}
	f.Add("github_token = \"ghp_" + strings.Repeat("x1Y", 12) + "\"\nkey=\nsecret=")
	rules, d := both(f)
	f.Fuzz(func(t *testing.T, text string) { same(t, rules, d, text) })
}

// TestRulesCanBeUsed compiles every expression, which Find does only when it needs one.
func TestLeakRulesCanBeUsed(t *testing.T) {
	var b LeakBook
	if err := json.Unmarshal(leakRulesJSON, &b); err != nil {
		t.Fatal(err)
	}
	compiles := func(lists []LeakAllowed) {
		for _, a := range lists {
			if _, err := regexp.Compile(a.Regex); err != nil {
				t.Error(err)
			}
		}
	}
	compiles(b.Allowed)
	for _, r := range b.Rules {
		compiles(r.Allowed)
		e, err := regexp.Compile(r.Regex)
		if err != nil || e.NumSubexp() < r.Group || e.MatchString("") {
			t.Errorf("%s: %v, %d groups", r.ID, err, e.NumSubexp())
		}
		if !knownLeakRule(r.ID) {
			t.Errorf("%s is not among the names", r.ID)
		}
		for _, k := range r.Keywords {
			if !strings.Contains("\n"+leakWords, "\n"+k+"\n") {
				t.Errorf("%q is not among the keywords", k)
			}
		}
	}
}

func TestWords(t *testing.T) {
	w := newWordSet([]string{"ab", "abc", "bcd", "x"})
	for text, want := range map[string]bool{"": false, "a": false, "x": false, "ab": true, "zzbcd": true, "zzbc": false, "a b c d": false, "bab": true} {
		if got := w.In(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if newWordSet(nil).In("anything") {
		t.Error("no words stand in a text")
	}
}

// BenchmarkFind compares with the library, for a piece of the length that the guard looks at.
func BenchmarkLeaks(b *testing.B) {
	rules, d := both(b)
	text := strings.Repeat("token: process.env.ACCESS_TOKEN, key_id = build-2024-11-22, host: db01.internal.example\n", 6)
	b.Run("ash", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rules.Find(text)
		}
	})
	b.Run("gitleaks", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.DetectString(text)
		}
	})
}

// BenchmarkLoad is what the first text with a keyword pays, but for the expressions.
func BenchmarkLeakRules(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := loadLeakRules(); err != nil {
			b.Fatal(err)
		}
	}
}
