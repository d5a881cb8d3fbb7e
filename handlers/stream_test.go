package handlers_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

// frame reads the stream at path until it says what, and returns that frame.
func (h *house) frame(path, what string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+path, nil)
	h.must(err)
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), what) {
			return lines.Text()
		}
	}
	h.t.Fatalf("%s: %d, and nothing says %q: %v", path, res.StatusCode, what, lines.Err())
	return ""
}

func TestStreamAfterARestartOffersToContinue(t *testing.T) {
	h := open(t, llmtest.Text("fine"))
	id := h.begin("hello")
	ctx := context.Background()
	_, err := h.store.Post(ctx, agent.NewMessage{Thread: id, Parts: []agent.Part{agent.Text{Text: "and now?"}}})
	h.must(err)
	_, err = h.store.Recover(ctx)
	h.must(err)
	// The id of another boot: the page is of before the restart.
	shown := h.frame("/chat/"+string(id)+"/events?since=elsewhere-7", "hx-target=#conversation")
	if !strings.Contains(shown, "and now?") || !strings.Contains(shown, `class="resume"`) {
		t.Errorf("the page is told %s", shown)
	}
}
