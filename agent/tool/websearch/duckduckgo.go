package websearch

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"ash/agent"
)

func (s *searcher) duckEngine() (engine, error) {
	base, err := url.Parse(s.duck)
	if err != nil {
		return engine{}, agent.Wrap(agent.CodeInternal, err, "DuckDuckGo cannot be asked.")
	}
	return engine{name: DuckDuckGo, title: "DuckDuckGo", base: base, ask: s.askDuck}, nil
}

func (s *searcher) askDuck(ctx context.Context, e engine, query string, _ int) ([]result, error) {
	r, err := get(ctx, s.o.Client, e, url.Values{"q": {query}}, "Accept", "text/html", "Accept-Language", "en;q=0.5, *;q=0.1")
	if err != nil {
		return nil, err
	}
	switch r.status {
	case http.StatusOK, http.StatusAccepted: // 202 comes with the question whether a human asks
	case http.StatusForbidden, http.StatusTooManyRequests:
		return nil, suspicion(e)
	default:
		return nil, odd(e, r.status)
	}
	return readDuck(e, r.body)
}

// suspicion is the error for being taken for a robot.
func suspicion(e engine) error {
	return agent.Errorf(agent.CodeExhausted, "%s asks for proof that a human searches, and gives no results for now. Wait before searching again. With a key for Brave Search or a SearXNG server (settings, under Search) this does not happen.", e.title)
}

// readDuck reads DuckDuckGo's page without scripts.
func readDuck(e engine, page []byte) (out []result, err error) {
	defer func() {
		if r := recover(); r != nil { // the parser gives up on markup nested too deep
			out, err = nil, changed(e, fmt.Errorf("parsing: %v", r))
		}
	}()
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		return nil, changed(e, err)
	}
	if doc.Find(".anomaly-modal, .anomaly-modal__modal, #challenge-form, form[action*='anomaly']").Length() > 0 {
		return nil, suspicion(e)
	}
	results := doc.Find(".result").Not(".result--ad, .result--no-result")
	results.Each(func(_ int, r *goquery.Selection) {
		link := r.Find("a.result__a").First()
		href, ok := link.Attr("href")
		if address := target(href); ok && address != "" {
			out = append(out, result{title: link.Text(), url: address, snippet: r.Find(".result__snippet").First().Text()})
		}
	})
	switch {
	case len(out) > 0:
		return out, nil
	case doc.Find(".no-results, .result--no-result").Length() > 0:
		return nil, nil
	}
	return nil, changed(e, fmt.Errorf("%d results without an address in %d bytes", results.Length(), len(page)))
}

// changed is the error for a page that is not built as it was.
func changed(e engine, err error) error {
	return agent.Wrap(agent.CodeUnavailable, err, "%s sends a page that cannot be read: it is probably built in a new way. Look for a newer version of Ash, or set a key for Brave Search or a SearXNG server (settings, under Search).", e.title)
}

// target takes a result's address out of the link through DuckDuckGo; "" for advertisements.
func target(href string) string {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil {
		return ""
	}
	if host := u.Hostname(); host != "" && host != "duckduckgo.com" && !strings.HasSuffix(host, ".duckduckgo.com") {
		return u.String()
	}
	if strings.TrimSuffix(u.Path, "/") != "/l" {
		return ""
	}
	return u.Query().Get("uddg")
}
