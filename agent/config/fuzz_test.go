package config

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ash/agent"
)

func seeds() []string {
	return []string{
		"", "[server]\nlisten = 'a:1' # x\n", "\xef\xbb\xbfserver.listen='a:1'\r\n[log]\r\n",
		"log = { level = 'warn', format = \"json\" }", "[models]\norder = [\n'a/b', # x\n]\n",
		"[[catalog]]\nref='a/b'\n[providers.x]\nkind='groq'\n[providers]\ny.thinking='low'\n",
		"catalog = [{ref='a/b'}, {ref='c/d', local=true}]", "[a.b]\n[[a.c]]\n\"\" = 1\n'x.y' = 1979-05-27T07:32:00Z\n",
		"[server]\n# listen = \"x\"\n# [log]\nx = \"\"\"\n[log]\n\"\"\"\n",
	}
}

// No file whatever makes loading fail with anything but problems for a person.
func FuzzLoad(f *testing.F) {
	for _, s := range append(seeds(), string(Example()), "a = [[[[[", "\x00", "\xff", "[server]\nlisten = 1\n") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := assemble(Options{Home: "/h"}, data)
		if err != nil {
			if agent.CodeOf(err) != agent.CodeInvalid {
				t.Fatalf("got %v", err)
			}
			return
		}
		for _, setting := range s.Settings() {
			again, err := s.Setting(setting.Name)
			if err != nil || again.Value != setting.Value {
				t.Fatalf("%s: %v", setting.Name, err)
			}
		}
	})
}

// An edit changes the bytes of one value and nothing else; taking a key out keeps every comment.
func FuzzEdit(f *testing.F) {
	keys := []string{"server.listen", "log.level", "models.order", "turn.cost", "providers.x.stall_timeout", "catalog.a/b.title", "providers.x", "catalog.c/d"}
	values := []string{"b:2", "debug", "x/y, a/b", "0.5", "3s", "T \"1\"", "", ""}
	for _, s := range seeds() {
		for i := range keys {
			f.Add([]byte(s), uint8(i), i%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8, remove bool) {
		i := int(which) % len(keys)
		change := Change{Key: keys[i], Value: values[i], Remove: remove || values[i] == ""}
		todo, err := judge(Options{}, []Change{change})
		if err != nil {
			t.Fatal(err)
		}
		before, err := parseDocument(data)
		if err != nil {
			return
		}
		out, err := splice(data, todo[0])
		if err != nil {
			if agent.CodeOf(err) != agent.CodeInvalid {
				t.Fatalf("got %v", err)
			}
			return
		}
		again, err := splice(out, todo[0])
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("a second time: %q, then %q, %v", out, again, err)
		}
		if todo[0].field == nil {
			return // the comments within a section go with it
		}
		if !change.Remove {
			checkUntouched(t, before, bytes.TrimPrefix(out, []byte(byteOrderMark)), todo[0].place)
		}
		checkComments(t, before, out)
	})
}

// checkUntouched compares a document with its edited form: what differs must lie within the value of p.
func checkUntouched(t *testing.T, before *document, out []byte, p place) {
	t.Helper()
	var allowed span
	if path, index, found := before.locate(p); found {
		for _, it := range before.items {
			if it.is(path, index) {
				allowed = it.value
			}
		}
	}
	head := 0
	for head < min(len(before.data), len(out)) && before.data[head] == out[head] {
		head++
	}
	tail := 0
	for tail < min(len(before.data), len(out))-head && before.data[len(before.data)-1-tail] == out[len(out)-1-tail] {
		tail++
	}
	if end := len(before.data) - tail; head < end && (head < allowed.start || end > allowed.end) {
		t.Fatalf("more than the value changed:\n%q\n%q", before.data, out)
	}
}

// checkComments sees to it that every comment of before is in out.
func checkComments(t *testing.T, before *document, out []byte) {
	t.Helper()
	after, err := parseDocument(out)
	if err != nil {
		t.Fatal(err)
	}
	had, has := commentsIn(before), commentsIn(after)
	for _, c := range had {
		i := slices.Index(has, c)
		if i < 0 {
			t.Fatalf("the comment %q is gone from\n%q", c, out)
		}
		has = slices.Delete(has, i, i+1)
	}
}

// commentsIn finds all comments of a document: each line without the values that
// begin, end or go on in it.
func commentsIn(d *document) []string {
	blank := bytes.Clone(d.data)
	for _, it := range d.items {
		if it.parent >= 0 {
			continue
		}
		value := blank[it.key.start:it.value.end]
		if strings.HasPrefix(string(d.data[it.value.start:it.value.end]), "[") && bytes.ContainsRune(value, '#') {
			continue // a list with comments of its own: left to the table tests
		}
		for i := range value {
			value[i] = ' '
		}
	}
	var found []string
	for line := range strings.SplitSeq(string(blank), "\n") {
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "#") {
			found = append(found, text)
		}
	}
	return found
}
