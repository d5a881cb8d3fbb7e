package websearch

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ash/agent"
)

// maxPatience is the longest wait for a limit that counts requests by the second.
const maxPatience = 2 * time.Second

func (s *searcher) braveEngine(ctx context.Context) (engine, error) {
	if !s.hasKey(ctx) {
		return engine{}, agent.Errorf(agent.CodeUnavailable,
			"Brave Search needs a key, which https://api-dashboard.search.brave.com gives out. Set it where the settings under Search say, or choose another place to search there.")
	}
	base, err := url.Parse(s.brave)
	if err != nil {
		return engine{}, agent.Wrap(agent.CodeInternal, err, "Brave Search cannot be asked.")
	}
	return engine{name: Brave, title: "Brave Search", base: base, key: s.braveKey, ask: s.askBrave}, nil
}

// braveKey takes the key for one search.
func (s *searcher) braveKey(ctx context.Context) (string, error) {
	key, err := s.key(ctx)
	switch {
	case err != nil:
		return "", err
	case key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", agent.Errorf(agent.CodeInvalid, "The key of Brave Search is empty or holds characters that no key has. Copy it again.")
	}
	return key, nil
}

// braveAnswer is the part that is read of an answer; titles and descriptions are HTML text.
type braveAnswer struct {
	Type string `json:"type"`
	Web  struct {
		Results []struct {
			Title       string `json:"title"`
			URL         string `json:"url"`
			Description string `json:"description"`
			Age         string `json:"age"`
		} `json:"results"`
	} `json:"web"`
}

// braveError is the body of a refusal.
type braveError struct {
	Error struct {
		Code string `json:"code"`
	} `json:"error"`
}

func (s *searcher) askBrave(ctx context.Context, e engine, query string, count int) ([]result, error) {
	p := url.Values{"q": {query}, "count": {strconv.Itoa(count)}, "result_filter": {"web"}, "text_decorations": {"false"}}
	for {
		key, err := e.key(ctx)
		if err != nil {
			return nil, err
		}
		r, err := get(ctx, s.o.Client, e, p, "Accept", "application/json", "X-Subscription-Token", key)
		if err != nil {
			return nil, err
		}
		if r.status == http.StatusTooManyRequests {
			// Calls side by side meet the limit of one a second; the month's is another matter.
			if wait := patience(r.header); wait > 0 && pause(ctx, wait) {
				continue
			}
		}
		return readBrave(e, r)
	}
}

func readBrave(e engine, r reply) ([]result, error) {
	if r.status != http.StatusOK {
		return nil, braveRefusal(e, r)
	}
	var a braveAnswer
	if err := json.Unmarshal(r.body, &a); err != nil || a.Type != "search" {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s sends an answer that cannot be read. Its format may have changed; look for a newer version of Ash, or choose another place to search in the settings.", e.title)
	}
	var out []result
	for _, x := range a.Web.Results {
		out = append(out, result{title: html.UnescapeString(x.Title), url: x.URL, snippet: html.UnescapeString(x.Description), age: x.Age})
	}
	return out, nil
}

func braveRefusal(e engine, r reply) error {
	var b braveError
	_ = json.Unmarshal(r.body, &b) // what is no JSON has no code
	switch code := b.Error.Code; {
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden, code == "SUBSCRIPTION_TOKEN_INVALID":
		return agent.Errorf(agent.CodeDenied, "%s refuses the key: it is wrong, or its plan does not cover web search. The person has to set another in the settings, under Search.", e.title)
	case r.status == http.StatusTooManyRequests:
		return agent.Errorf(agent.CodeExhausted, "%s has had all the requests that its plan allows for now. Do not search again in this turn; go on with what you have.", e.title)
	case r.status == http.StatusPaymentRequired:
		return agent.Errorf(agent.CodeExhausted, "%s wants to be paid: the plan of the key is used up.", e.title)
	case r.status == http.StatusUnprocessableEntity, r.status == http.StatusBadRequest:
		return agent.Errorf(agent.CodeInvalid, "%s does not take this query. Use fewer and plainer words.", e.title)
	}
	return odd(e, r.status)
}

// patience is how long to wait before asking again, from X-RateLimit-Remaining and X-RateLimit-Reset, whose values stand side by
// side for the limit by the second and the one by the month. 0 is not at all.
func patience(h http.Header) time.Duration {
	remaining := strings.Split(h.Get("X-RateLimit-Remaining"), ",")
	reset := strings.Split(h.Get("X-RateLimit-Reset"), ",")
	for _, r := range remaining[1:] {
		if strings.TrimSpace(r) == "0" {
			return 0
		}
	}
	seconds, err := strconv.Atoi(strings.TrimSpace(reset[0]))
	if err != nil || seconds < 0 {
		return 0
	}
	wait := max(time.Duration(seconds)*time.Second, 200*time.Millisecond)
	if wait > maxPatience {
		return 0
	}
	return wait
}

// pause waits, and reports whether the time was there.
func pause(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d+time.Second {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
