package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm/llmtest"
)

// ended makes a conversation that rests, with its episode.
func (c *claim) ended(t *testing.T, title, text string, ago time.Duration, labels agent.Labels) agent.ID {
	t.Helper()
	thread := c.thread(t)
	source := agent.TitleModel
	_, err := c.app.engine.PatchThread(t.Context(), thread, agent.ThreadPatch{Title: &title, TitleSource: &source})
	must(t, err)
	at := time.Now().Add(-ago)
	must(t, c.app.store.SaveEpisode(t.Context(), agent.Episode{Thread: thread, Text: text, Labels: labels, Began: at, Ended: at}))
	return thread
}

// TestTheLatestConversationsAreAtHand holds that a new conversation knows the last three in short, as data with its source, late in the
// prompt and within the room of recall; not those a stranger's text went into, nor those that were forgotten.
func TestTheLatestConversationsAreAtHand(t *testing.T) {
	server := llmtest.OpenAI(t, slices.Repeat([]llmtest.Reply{llmtest.Text("All right.")}, 20)...)
	c := mindful(t,
		config.Override{Key: "models.order", Value: "vllm/test", Flag: "--model"},
		config.Override{Key: "providers.vllm.base_url", Value: server.URL + "/v1", Flag: "--base-url"},
		config.Override{Key: "models.title_model", Value: "offline/offline", Flag: "test"})
	stranger := agent.Labels{{Source: "evil.example", Kind: agent.LabelUntrusted}}
	c.ended(t, "The oldest", "You planted quinces.", 50*time.Hour, nil)
	c.ended(t, "The boat", "You sanded the hull. "+strings.Repeat("Then you went on with it for a long while. ", 20)+"NEVERSHOWN", 40*time.Hour, nil)
	gone := c.ended(t, "The roof", "You counted the tiles of the roof.", 30*time.Hour, nil)
	tainted := c.ended(t, "EVILTITLE", "You asked what the page says.", 20*time.Hour, nil)
	_, err := c.app.store.Post(t.Context(), agent.NewMessage{Thread: tainted, Author: c.app.owner.ID, Form: "x", Parts: []agent.Part{agent.Text{Text: "a mail", Labels: stranger}}})
	must(t, err)
	must(t, c.app.engine.Stop(t.Context(), tainted))
	c.ended(t, "The page", "EVILTEXT of a stranger.", 10*time.Hour, stranger)

	prompts := func(n int) string {
		t.Helper()
		var body string
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if all := server.Chats(); len(all) > n {
				return string(all[len(all)-1].Body)
			}
		}
		t.Fatal("no request")
		return body
	}
	thread := c.thread(t)
	c.say(t, thread, agent.Text{Text: "Hello"})
	first := prompts(0)
	for _, want := range []string{"The boat", "sanded the hull", "The roof", "tiles of the roof", "what the page says", "<data-"} {
		if !strings.Contains(unquoted(first), want) {
			t.Errorf("%q is not at hand:\n%s", want, first)
		}
	}
	for _, not := range []string{"EVIL", "NEVERSHOWN", "quinces"} {
		if strings.Contains(first, not) {
			t.Errorf("%q stands in the prompt", not)
		}
	}
	if i, j := strings.Index(first, "Hello"), strings.Index(first, "sanded"); i < 0 || j < i {
		t.Error("it does not stand late")
	}
	tail, err := c.app.store.Tail(t.Context(), thread)
	must(t, err)
	if tail.Head.Labels().Untrusted() {
		t.Errorf("labels: %v", tail.Head.Labels())
	}
	items, err := c.app.mind.receipt(t.Context(), tail.Head.ID)
	must(t, err)
	if len(items) != 3 || items[0].Why[0] != "one of the latest conversations" {
		t.Errorf("receipt: %+v", items)
	}

	yes := true
	_, err = c.app.engine.PatchThread(t.Context(), gone, agent.ThreadPatch{Deleted: &yes})
	must(t, err)
	n := len(server.Chats())
	thread = c.thread(t)
	c.say(t, thread, agent.Text{Text: "Hello"})
	if now := prompts(n); strings.Contains(now, "tiles") || !strings.Contains(now, "quinces") {
		t.Errorf("a deleted conversation is at hand:\n%s", now)
	}
	for i := range 3 {
		n = len(server.Chats())
		c.say(t, thread, agent.Text{Text: fmt.Sprintf("Go on %d", i)})
	}
	if old := prompts(n); strings.Contains(old, "quinces") {
		t.Error("it is no new conversation any more")
	}
}

func unquoted(body string) string {
	return strings.ReplaceAll(strings.ReplaceAll(body, `\u003c`, "<"), `\"`, `"`)
}
