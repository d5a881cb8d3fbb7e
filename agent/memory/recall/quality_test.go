package recall_test

import (
	"testing"

	"ash/agent/memory/recall"
)

func TestQuality(t *testing.T) {
	for _, name := range []string{"tune", "held"} {
		c := read(t, name)
		t.Logf("%s: %d turns, %d questions", name, len(c.turns), len(c.questions))
		t.Logf("  bm25           %s", line(measure(t, c, baseline(t, c, false))))
		t.Logf("  bm25 + around  %s", line(measure(t, c, baseline(t, c, true))))
		e := recall.New(recall.Options{Index: opened(t, c)})
		t.Logf("  ours           %s", line(measure(t, c, asker(t, e, "", nil))))
	}
}
