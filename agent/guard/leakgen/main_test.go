package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"
)

// TestFresh: the rules are those of the gitleaks in go.mod.
func TestFresh(t *testing.T) {
	committed, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := run(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"leakrules.json", "leaknames.txt", "leakwords.txt"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(committed, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what gitleaks' configuration says: run go generate ./agent/guard", name)
		}
	}
}

func TestAllowed(t *testing.T) {
	lists := []*config.Allowlist{
		{Paths: []*regexp.Regexp{regexp.MustCompile(`\.md$`)}},
		{Regexes: []*regexp.Regexp{regexp.MustCompile("a"), regexp.MustCompile("(?i)b")}, RegexTarget: "line", StopWords: []string{"word", "other"}},
	}
	got, err := allowed(lists)
	if err != nil || len(got) != 1 || got[0].Regex != "(?:a|(?i)b)" || got[0].Target != "line" || len(got[0].Words) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := allowed([]*config.Allowlist{{StopWords: []string{"x"}}}); err == nil {
		t.Error("a word of one letter is taken")
	}
}
