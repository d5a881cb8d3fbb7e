package main

import (
	"strings"
	"testing"

	"ash/agent/llm/llmtest"
)

func TestHelperAnswers(t *testing.T) {
	home := t.TempDir()
	m := model(t, calling("sub_agent", `{"task":"Count the files.","title":"Counting"}`), calling("file_list", `{}`), llmtest.Text("There are none."), llmtest.Text("It says none."))
	a := ash(t, "", append([]string{"chat", "--home", home, "-m", "how many?"}, using(m)...)...).is(t, 0)
	if a.out != "It says none.\n" || !strings.Contains(a.err, "• Ask a helper: Count the files.") || !strings.Contains(a.err, "└ sub_agent finished") {
		t.Errorf("out %q\nnotes %q", a.out, a.err)
	}
	all := m.Chats()
	helper, above := string(all[1].Body), string(all[3].Body)
	if !strings.Contains(helper, "You are a helper") || !strings.Contains(helper, `[task]\nCount the files.`) || strings.Contains(helper, "how many?") {
		t.Errorf("the helper was told %s", helper)
	}
	if strings.Contains(helper, `"name":"sub_agent"`) || strings.Contains(helper, `"name":"ask_person"`) || !strings.Contains(helper, `"name":"file_list"`) {
		t.Errorf("the helper was given %s", helper)
	}
	if !strings.Contains(above, "There are none.") {
		t.Errorf("the conversation was told %s", above)
	}
	s := look(t, home)
	if list := threads(t, s); len(list) != 1 || list[0].Title == "Counting" {
		t.Errorf("listed %+v", list)
	}
}

// A helper's approval is asked for at the terminal of the conversation it works for.
func TestHelperAsksAtTheTerminal(t *testing.T) {
	home := t.TempDir()
	m := model(t, calling("sub_agent", `{"task":"Write the note."}`), calling("file_write", writes), llmtest.Text("Written."), llmtest.Text("All done."))
	p := sit(t, home, flags(m))
	p.types("have it written")
	p.sees(&p.notes, "file_write note.md waits for your decision")
	p.sees(&p.notes, "y yes · n no")
	p.types("y")
	p.sees(&p.out, "All done.")
	if got := written(t, home); got != "remember the milk\n" {
		t.Errorf("written %q", got)
	}
}

func TestHelpersSideBySide(t *testing.T) {
	home := t.TempDir()
	m := model(t, llmtest.Reply{Calls: []llmtest.Call{
		{ID: "a", Name: "sub_agent", Arguments: []string{`{"task":"One."}`}}, {ID: "b", Name: "sub_agent", Arguments: []string{`{"task":"Two."}`}},
		{ID: "c", Name: "sub_agent", Arguments: []string{`{"task":"Three."}`}},
	}}, llmtest.Text("found"), llmtest.Text("found"), llmtest.Text("found"), llmtest.Text("All found."))
	a := ash(t, "", append([]string{"chat", "--home", home, "-m", "find three things"}, using(m)...)...).is(t, 0)
	if a.out != "All found.\n" || strings.Count(a.err, "└ sub_agent finished") != 3 {
		t.Errorf("out %q\nnotes %q", a.out, a.err)
	}
}
