package learn

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ash/agent"
)

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"keep":[{"text":"I live in Graz","quote":"I live in Graz","message":"m1","replaces":["f1"]}],"expire":[{"id":"f1"}],"episode":{"text":"x"}}`,
		"```json\n{}\n```", `{"keep":null}`, `{"keep":{}}`, `[{}]`, `{"keep":[[[[`, strings.Repeat(`{"a":`, 60), `{"keep":[{"message":"m99999999999"}]}`,
		`{"keep":[{"from":"0000-00-00","confidence":1e999}]}`,
	} {
		f.Add(s)
	}
	l := New(Options{})
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readAnswer(text)
		if err != nil {
			return
		}
		r := &pass{l: l, m: material{said: heard("I live in Graz", "and more")}, facts: []agent.Fact{{ID: "a"}, {ID: "b"}}}
		out := r.resolve(a)
		if len(out.keep) > maxKept || len(out.expire) > maxExpired {
			t.Errorf("%d kept, %d expired", len(out.keep), len(out.expire))
		}
		for _, k := range out.keep {
			fact := r.fact(k, "", said{})
			if fact.Confidence < 0 || fact.Confidence > 1 || fact.Importance < 0 || fact.Importance > 1 || len(fact.Entities) > maxAbout || len(fact.Subject) > maxName {
				t.Errorf("%+v", fact)
			}
		}
	})
}

func FuzzPhrases(f *testing.F) {
	for _, s := range []string{
		"Remember that I live in Graz. My name is Bob!", "„Ich heiße“ \"x", "```\nmy name is", "Merk dir, dass ich in Graz wohne, weil", "not X but Y",
		"From: a\nTo: b\nMy name is", "my ’ is \xff", "I live in 東京。", "Merk dir, dass  . ", "my a's is b",
	} {
		f.Add(s)
	}
	b := newPhrasebook()
	f.Fuzz(func(t *testing.T, text string) {
		out := b.read(heard(text))
		if len(out.keep)+len(out.expire) > maxPhrases {
			t.Errorf("%d found", len(out.keep))
		}
		for _, k := range out.keep {
			if !strings.Contains(text, k.quote) || k.swap == nil && strings.TrimSpace(k.text) == "" {
				t.Errorf("%+v", k)
			}
			if utf8.ValidString(text) && !utf8.ValidString(k.text) {
				t.Errorf("%q", k.text)
			}
		}
		if passage, ok := locate(text, text); ok && !strings.Contains(text, passage) {
			t.Errorf("%q", passage)
		}
	})
}
