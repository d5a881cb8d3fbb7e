package main

import (
	"testing"

	"ash/agent"
)

// What came to mind is not kept when memory changed while it was recalled: it may have been forgotten meanwhile.
func TestWhatCameToMindBeforeAChange(t *testing.T) {
	var m mind
	items := []agent.Recollection{{Text: "Anna lives in Lisbon"}}
	_, changes, _ := m.known("a")
	m.keep("a", items, changes)
	if got, _, ok := m.known("a"); !ok || len(got) != 1 {
		t.Errorf("not kept: %v", got)
	}
	_, changes, _ = m.known("b")
	m.drop()
	m.keep("b", items, changes)
	for _, message := range []agent.ID{"a", "b"} {
		if got, _, ok := m.known(message); ok {
			t.Errorf("%s is kept: %v", message, got)
		}
	}
}
