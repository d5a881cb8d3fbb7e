package guard

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The rules of gitleaks, without gitleaks. They are data: leakgen takes them from the module's own configuration (MIT licence), and go generate
// makes them anew after an update. What Find does with them is what gitleaks' detector does with a text that is no file: keywords, expression,
// secret group, entropy, allowlists; tests ask both. Rules for files of certain names are left out. The library itself would bring thirty
// modules for archives, settings and templates that Ash has no use for.
//
// A rule's expression is compiled when its keyword is first met. All that is kept between two calls are compiled expressions.

//go:generate go run ./leakgen

// leakRulesJSON is a LeakBook.
//
//go:embed leakrules.json
var leakRulesJSON []byte

// leakNames are the names of all rules of gitleaks, one a line, sorted, with a line end before the first. They are apart
// from the rules so that a name can be told without reading those.
//
//go:embed leaknames.txt
var leakNames string

// leakWords are the keywords of all rules, in lower case, one a line, sorted: a text without any of them has nothing for the rules.
//
//go:embed leakwords.txt
var leakWords string

// knownLeakRule reports whether gitleaks has a rule of this name.
func knownLeakRule(name string) bool {
	return name != "" && !strings.Contains(name, "\n") && strings.Contains(leakNames, "\n"+name+"\n")
}

// LeakBook is leakrules.json.
type LeakBook struct {
	Allowed []LeakAllowed `json:"allowed"` // for all rules
	Rules   []LeakRule    `json:"rules"`
}

// LeakRule is one of gitleaks' rules.
type LeakRule struct {
	ID       string        `json:"id"`
	Keywords []string      `json:"keywords,omitempty"` // in lower case; a text needs one of them, if there are any
	Regex    string        `json:"regex"`
	Group    int           `json:"group,omitempty"`   // the group that is the secret; 0 for the first that is not empty, or the whole
	Entropy  float64       `json:"entropy,omitempty"` // bits a byte that the secret must have more than; 0 for no matter
	Allowed  []LeakAllowed `json:"allowed,omitempty"`
}

// LeakAllowed is what is no secret.
type LeakAllowed struct {
	All    bool     `json:"all,omitempty"`    // expression and words must both say so, instead of either
	Target string   `json:"target,omitempty"` // what the expression is for: "match", "line", or "" for the secret
	Regex  string   `json:"regex,omitempty"`
	Words  []string `json:"words,omitempty"` // parts of a secret, in lower case
}

// leakRules finds secrets. It may be used by several goroutines at once.
type leakRules struct {
	keywords *wordSet
	ruled    map[string][]int // numbers of rules by keyword
	always   []int            // numbers of rules without keywords
	rules    []openRule
	allowed  []openAllowed
}

// openRule is a LeakRule that has been read.
type openRule struct {
	LeakRule
	expression func() *regexp.Regexp
	allowed    []openAllowed
}

// openAllowed is a LeakAllowed that has been read.
type openAllowed struct {
	LeakAllowed
	expression func() *regexp.Regexp // nil for none
	words      *wordSet              // nil for none
}

// loadLeakRules reads the embedded rules. It fails only on a file that was not made by gen.
func loadLeakRules() (*leakRules, error) {
	var b LeakBook
	if err := json.Unmarshal(leakRulesJSON, &b); err != nil {
		return nil, fmt.Errorf("read embedded rules: %w", err)
	}
	return b.open(), nil
}

// open makes the rules of a book ready for use.
func (b LeakBook) open() *leakRules {
	r := &leakRules{ruled: map[string][]int{}, rules: make([]openRule, 0, len(b.Rules)), allowed: openAll(b.Allowed)}
	for n, one := range b.Rules {
		r.rules = append(r.rules, openRule{LeakRule: one, expression: lazily(one.Regex), allowed: openAll(one.Allowed)})
		if len(one.Keywords) == 0 {
			r.always = append(r.always, n)
		}
		for _, k := range one.Keywords {
			r.ruled[k] = append(r.ruled[k], n)
		}
	}
	r.keywords = newWordSet(slices.Collect(maps.Keys(r.ruled)))
	return r
}

func openAll(all []LeakAllowed) []openAllowed {
	out := make([]openAllowed, 0, len(all))
	for _, a := range all {
		o := openAllowed{LeakAllowed: a}
		if a.Regex != "" {
			o.expression = lazily(a.Regex)
		}
		if len(a.Words) > 0 {
			o.words = newWordSet(a.Words)
		}
		out = append(out, o)
	}
	return out
}

// lazily compiles an expression on first use. A test has compiled them all.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
