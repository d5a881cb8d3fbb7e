package main

import (
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

func TestStopEverything(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if a := ash(t, "", "stop", "--home", home).is(t, 0); !strings.Contains(a.out, "does not run") {
		t.Errorf("without a server: %q", a.out)
	}
	server := serving(t, home, using(model(t, stalling("begun")))...)
	if a := ash(t, "", "stop", "--home", home).is(t, 0); a.out != "No answer was being written.\n" {
		t.Errorf("at rest: %q", a.out)
	}
	p := start(t, "chat", "--home", home, "-m", "go on for ever")
	p.until("the answer begins", func() bool { return strings.Contains(p.out.String(), "begun") })
	began := time.Now()
	if a := ash(t, "", "stop", "--home", home).is(t, 0); !strings.Contains(a.out, "Stopped 1:\n  go on for ever\n") {
		t.Errorf("stopped %q", a.out)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if code, _ := p.end(); code != exitInterrupted {
		t.Errorf("the chat ended with %d", code)
	}
	server.get("/healthz") // the server goes on
}

func TestStopLeavesWhatWaits(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	serving(t, home, using(model(t, calling("file_write", writes), llmtest.Text("All done.")))...)
	ash(t, "", "chat", "--home", home, "-m", "write it down").complains(t, exitWaiting, "file_write")
	ash(t, "", "stop", "--home", home).is(t, 0)
	p := sit(t, home, modelFlags{})
	p.types("/waiting")
	p.sees(&p.notes, "Nothing was said yet.")
	all, err := connect(t.Context(), home, modelFlags{})
	must(t, err)
	defer func() { must(t, all.close()) }()
	threads, err := all.threads(t.Context())
	must(t, err)
	w, err := all.waiting(t.Context(), threads[0].ID)
	if err != nil || len(w) != 1 || w[0].State != agent.CallWaiting {
		t.Errorf("%+v, %v", w, err)
	}
}
