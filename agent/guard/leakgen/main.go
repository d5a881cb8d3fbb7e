// Command leakgen makes leakrules.json, leaknames.txt and leakwords.txt of the configuration that the gitleaks module comes with. It runs in
// agent/guard, by go generate.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"

	"ash/agent/guard"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "leakgen:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := made()
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o644); err != nil { //nolint:gosec // part of the source
			return err
		}
	}
	return nil
}

// made returns the contents of the files by their names.
func made() (map[string][]byte, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("read gitleaks' configuration: %w", err)
	}
	book := guard.LeakBook{}
	if book.Allowed, err = allowed(d.Config.Allowlists); err != nil {
		return nil, err
	}
	var names, words []string
	for _, r := range d.Config.Rules {
		names, words = append(names, r.RuleID), append(words, r.Keywords...)
		if r.Regex == nil || r.Path != nil && !r.Path.MatchString("") || r.SkipReport {
			continue
		}
		if len(r.RequiredRules) > 0 {
			return nil, fmt.Errorf("%s needs findings of other rules, which Find does not know", r.RuleID)
		}
		one := guard.LeakRule{ID: r.RuleID, Keywords: r.Keywords, Regex: r.Regex.String(), Group: r.SecretGroup, Entropy: r.Entropy}
		if one.Allowed, err = allowed(r.Allowlists); err != nil {
			return nil, fmt.Errorf("%s: %w", r.RuleID, err)
		}
		book.Rules = append(book.Rules, one)
	}
	slices.SortFunc(book.Rules, func(a, b guard.LeakRule) int { return strings.Compare(a.ID, b.ID) })
	if short := slices.IndexFunc(words, func(w string) bool { return len(w) < 2 }); short >= 0 {
		return nil, fmt.Errorf("the keyword %q is too short for a set of words", words[short])
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(book); err != nil {
		return nil, err
	}
	return map[string][]byte{"leakrules.json": b.Bytes(), "leaknames.txt": []byte("\n" + lines(names)), "leakwords.txt": []byte(lines(words))}, nil
}

// allowed returns what lists say of a text that is no file.
func allowed(lists []*config.Allowlist) ([]guard.LeakAllowed, error) {
	var out []guard.LeakAllowed
	for _, a := range lists {
		all := a.MatchCondition == config.AllowlistMatchAnd
		if all && len(a.Paths)+len(a.Commits) > 0 || len(a.Regexes)+len(a.StopWords) == 0 {
			continue // for files of certain names only
		}
		one := guard.LeakAllowed{All: all, Target: a.RegexTarget, Regex: joined(a.Regexes), Words: slices.Sorted(slices.Values(a.StopWords))}
		if short := slices.IndexFunc(one.Words, func(w string) bool { return len(w) < 2 }); short >= 0 {
			return nil, fmt.Errorf("the word %q is too short for a set of words", one.Words[short])
		}
		out = append(out, one)
	}
	return out, nil
}

// joined is one expression for several, put together as gitleaks does it: a flag of one, such as (?i), holds for those after it, too.
func joined(all []*regexp.Regexp) string {
	if len(all) == 0 {
		return ""
	}
	parts := make([]string, 0, len(all))
	for _, e := range all {
		parts = append(parts, e.String())
	}
	return "(?:" + strings.Join(parts, "|") + ")"
}

// lines are words, sorted, each once and on a line of its own.
func lines(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), "\n") + "\n"
}
