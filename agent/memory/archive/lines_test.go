package archive_test

import (
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/memory/archive"
)

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		n    int
		fail string
	}{
		"two":          {in: `{"thread":"t","id":"1","speaker":"A","time":"x","text":"hi"}` + "\n\n" + `{"id":2,"speaker":"B","text":""}`, n: 2},
		"mark":         {in: "\ufeff" + `{"speaker":"A","text":"hi"}`, n: 1},
		"empty":        {fail: "no message"},
		"no object":    {in: `[1]`, fail: "Line 1"},
		"cut":          {in: `{"speaker":"A","text":"a"}` + "\n" + `{"speaker":`, fail: "Line 2"},
		"no text":      {in: `{"speaker":"A"}`, fail: "text"},
		"no speaker":   {in: `{"text":"a"}`, fail: "speaker"},
		"not UTF-8":    {in: "{\"speaker\":\"A\",\"text\":\"\xff\"}", fail: "UTF-8"},
		"long thread":  {in: `{"speaker":"A","text":"a","thread":"` + strings.Repeat("x", 600) + `"}`, fail: "thread"},
		"endless line": {in: `{"speaker":"A","text":"` + strings.Repeat("x", 5<<20), fail: "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := archive.Check(archive.Lines(strings.NewReader(c.in)))
			switch {
			case c.fail == "" && (err != nil || n != c.n):
				t.Errorf("%d messages, %v", n, err)
			case c.fail != "" && (agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), c.fail)):
				t.Errorf("%v, want an error about %q", err, c.fail)
			}
		})
	}
}

func TestMessagesWithoutIDAreKnownByWhatTheySay(t *testing.T) {
	const twice = `{"speaker":"A","text":"hi"}` + "\n" + `{"speaker":"A","text":"hi"}`
	ids := func() (list []string) {
		for m, err := range archive.Lines(strings.NewReader(twice)) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, m.ID)
		}
		return list
	}
	a, b := ids(), ids()
	if a[0] == a[1] || a[0] != b[0] || a[1] != b[1] {
		t.Errorf("%v, then %v", a, b)
	}
}

func FuzzLines(f *testing.F) {
	f.Add(`{"thread":"t","id":"1","speaker":"A","time":"x","text":"hi"}`)
	f.Fuzz(func(t *testing.T, in string) {
		for m, err := range archive.Lines(strings.NewReader(in)) {
			if err == nil && (m.ID == "" || m.Thread == "" || m.Speaker == "") {
				t.Errorf("%+v", m)
			}
		}
	})
}
