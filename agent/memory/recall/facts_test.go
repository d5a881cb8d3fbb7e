package recall_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory"
	"ash/agent/memory/archive"
	"ash/agent/memory/recall"
	"ash/store/storetest"
)

// What was kept is found among hundreds of messages that have more of the question's words, when facts are asked for and when they come
// first; and words that are one word in two are known.
func TestFactsAmongMessages(t *testing.T) {
	ctx := t.Context()
	s := storetest.Open(t)
	owner, err := s.Owner(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var step memory.Step
	for _, text := range []string{"The customer of project Thistle is Umber Limited", "Swimming gym: the Harbour", "The cat sleeps a lot", "Olivia works for Lumber", "Hugo works at Tin", "Ida works from home"} {
		f := agent.Fact{ID: agent.NewID(), Kind: agent.FactPlain, Status: agent.FactCurrent, Owner: owner.ID, Text: text, Said: time.Now(), Source: agent.Provenance{Kind: agent.SourcePerson}}
		step.Changes = append(step.Changes, agent.MemoryChange{Fact: f.ID, After: &f})
	}
	if _, err := s.ApplyMemory(ctx, step); err != nil {
		t.Fatal(err)
	}
	var said []archive.Message
	for i := range 300 {
		said = append(said, archive.Message{Thread: fmt.Sprint(i), ID: "1", Speaker: "Bo", Time: "2024-05-01T10:00:00Z", Text: fmt.Sprintf("So who pays for the project, and who pays for project number %d?", i)})
	}
	if _, err := s.ImportMessages(ctx, said); err != nil {
		t.Fatal(err)
	}
	engine := recall.New(recall.Options{Index: s})
	find := func(q recall.Query) []string {
		t.Helper()
		got, err := engine.Recall(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, r := range got {
			list = append(list, r.Text)
		}
		return list
	}
	if got := find(recall.Query{Text: "Who pays for this project?", Kinds: []agent.MemoryKind{agent.MemoryFact}}); !slices.Equal(got, []string{"The customer of project Thistle is Umber Limited"}) {
		t.Errorf("facts alone: %q", got)
	}
	if got := find(recall.Query{Text: "Who pays for this project?", Facts: 5}); len(got) < 2 || got[0] != "The customer of project Thistle is Umber Limited" {
		t.Errorf("facts first: %q", got)
	}
	if got := find(recall.Query{Text: "Where do I work out?"}); len(got) == 0 || got[0] != "Swimming gym: the Harbour" {
		t.Errorf("one word in two: %q", got)
	}
}
