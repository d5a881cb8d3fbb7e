package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"ash/agent"
)

func TestToolsGiveWayInSmallWindows(t *testing.T) {
	long := strings.Repeat("Use it with care. ", 60)
	tools := []agent.ToolSpec{{
		Name: "note", Description: "Writes a note.\n\n" + long,
		Schema: json.RawMessage(`{"type":"object","description":"` + long + `","properties":{"description":{"type":"string","description":"what it says"},` +
			`"tags":{"type":"array","items":{"type":"string","description":"a tag"}}},"required":["description"]}`),
	}}
	for name, c := range map[string]struct {
		window            int
		described, schema bool // in full
	}{
		"large": {200_000, true, true}, "small": {2_000, false, true}, "tiny": {1_000, false, false},
	} {
		got := slim(tools, c.window)[0]
		if full := got.Description == tools[0].Description; full != c.described || !strings.HasPrefix(got.Description, "Writes a note.") {
			t.Errorf("%s: described as %q", name, got.Description)
		}
		if c.schema {
			if string(got.Schema) != string(tools[0].Schema) {
				t.Errorf("%s: schema %s", name, got.Schema)
			}
			continue
		}
		want := `{"properties":{"description":{"type":"string"},"tags":{"items":{"type":"string"},"type":"array"}},"required":["description"],"type":"object"}`
		if string(got.Schema) != want {
			t.Errorf("%s: schema %s", name, got.Schema)
		}
	}
	if !strings.Contains(tools[0].Description, "with care") {
		t.Error("the tools themselves were changed")
	}
}
