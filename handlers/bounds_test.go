package handlers_test

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"ash/agent/llm/llmtest"
)

// TestStreamsAreBounded opens more streams than anybody has tabs.
func TestStreamsAreBounded(t *testing.T) {
	h := open(t, llmtest.Text("fine"))
	host := strings.TrimPrefix(h.base, "http://")
	answers := make(chan string)
	var open []net.Conn
	for range 520 {
		c, err := net.Dial("tcp", host) // a test's
		h.must(err)
		open = append(open, c)
		go func() {
			_, _ = c.Write([]byte("GET /events HTTP/1.1\r\nHost: " + host + "\r\n\r\n"))
			b := make([]byte, 16)
			n, _ := c.Read(b)
			answers <- string(b[:n])
		}()
	}
	refused := 0
	for range open {
		if strings.HasPrefix(<-answers, "HTTP/1.1 503") {
			refused++
		}
	}
	if refused != 520-512 {
		t.Errorf("%d of 520 streams refused", refused)
	}
	h.browser.Get("/chat").Is(200)
	for _, c := range open {
		h.must(c.Close())
	}
	h.frame("/events", "")
}

func TestPreviewOfAnUnknownFile(t *testing.T) {
	h := open(t)
	h.browser.Post("/identity/passwords/preview", url.Values{"text": {"x"}}).Is(404)
}
