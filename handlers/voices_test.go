package handlers_test

import (
	"context"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/memory/archive"
)

// An imported conversation names who spoke: "You" stands for the owner alone, and "Ash" for Ash.
func TestImportedConversationNamesItsSpeakers(t *testing.T) {
	h, _ := remembering(t)
	ctx := context.Background()
	added, err := h.store.ImportMessages(ctx, []archive.Message{
		{Thread: "boat", ID: "1", Speaker: "Anna <b>", Time: "2024-05-01T10:00:00Z", Text: "The boat is called Merle"},
		{Thread: "boat", ID: "2", Speaker: "user", Owner: true, Time: "2024-05-01T10:01:00Z", Text: "Since when?"},
		{Thread: "boat", ID: "3", Speaker: "Bo\u202e", Time: "the summer after", Text: "Since we painted the keel"},
		{Thread: "boat", ID: "4", Speaker: "ChatGPT", Assistant: true, Time: "2024-05-02T10:01:00Z", Text: "A *fine* name"},
	})
	if h.must(err); added != 4 {
		t.Fatalf("%d messages were imported", added)
	}
	list, _, err := h.store.Threads(ctx, agent.ThreadFilter{Limit: 10})
	h.must(err)
	var base string
	for _, s := range list {
		if s.Title == "boat" {
			base = "/chat/" + string(s.ID)
		}
	}
	p := h.browser.Get(base).Is(200)
	var spoke, seen []string
	for _, article := range p.Find("#messages > article").EachIter() {
		spoke = append(spoke, article.AttrOr("aria-label", ""))
		seen = append(seen, strings.Join(strings.Fields(article.Find(".who").Text()), " "))
	}
	if got := strings.Join(spoke, "|"); got != "Anna <b>|You|Bo⟨U+202E⟩|ChatGPT" {
		t.Errorf("the messages are said by %s", got)
	}
	if got := strings.Join(seen, "|"); got != "Anna <b>||Bo⟨U+202E⟩ the summer after|ChatGPT" {
		t.Errorf("the headings say %s", got)
	}
	p.Has("article.me [data-edit]").Lacks("article.them [data-edit]").Lacks("article.ash .mark:not(.plain)")
	if n := p.Find("article .day").Length(); n != 2 { // the day of the import is nobody's
		t.Errorf("%d days are named, want 2", n)
	}
	anna := strings.TrimPrefix(p.Attr("article.them", "id"), "m-")
	h.browser.Get(base + "/messages/" + anna + "/edit").Is(422).Says("words of Anna")
	h.browser.Post(base+"/messages/"+anna+"/edit", map[string][]string{"text": {"The boat is called Otto"}}).Is(422)

	h.browser.Get("/search?q=keel").Is(200).Says("Bo⟨U+202E⟩ ·").Says("the summer after")
	if got := h.browser.Get("/memory/forget?message=" + anna).Is(200).Text(".traces li"); !strings.Contains(got, "Anna <b>, 1 May 2024") {
		t.Errorf("what would be forgotten is named %q", got)
	}
	export := h.browser.Get(base + "/export").Is(200).Body
	for _, want := range []string{"## Anna <b>, 1 May 2024", "## You, 1 May 2024", "the summer after", "## ChatGPT, 2 May 2024"} {
		if !strings.Contains(export, want) {
			t.Errorf("the export lacks %q:\n%s", want, export)
		}
	}
}
