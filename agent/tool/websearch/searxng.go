package websearch

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"

	"ash/agent"
)

func (s *searcher) searxEngine(base string) (engine, error) {
	if base == "" {
		return engine{}, agent.Errorf(agent.CodeUnavailable, "SearXNG has no address yet. Set that of your server in the settings, under Search, or choose another place to search there.")
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return engine{}, agent.Wrap(agent.CodeInvalid, err, "The address of SearXNG is no web address. Write it like http://127.0.0.1:8888 in the settings, under Search.")
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/search") + "/search"
	u.RawPath, u.RawQuery, u.Fragment = "", "", ""
	return engine{name: SearXNG, title: "SearXNG at " + u.Host, base: u, ask: s.askSearx}, nil
}

// hostport is where u is dialled.
func hostport(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// searxAnswer is the part that is read of an answer. Engines that failed are pairs of name and reason.
type searxAnswer struct {
	Results []struct {
		URL       string `json:"url"`
		Title     string `json:"title"`
		Content   string `json:"content"`
		Published string `json:"publishedDate"`
	} `json:"results"`
	Unresponsive [][]string `json:"unresponsive_engines"`
}

func (s *searcher) askSearx(ctx context.Context, e engine, query string, _ int) ([]result, error) {
	client := s.o.Client
	if s.o.Endpoint != nil {
		client = s.o.Endpoint(hostport(e.base))
	}
	r, err := get(ctx, client, e, url.Values{"q": {query}, "format": {"json"}}, "Accept", "application/json")
	if err != nil {
		return nil, err
	}
	switch r.status {
	case http.StatusOK:
	case http.StatusForbidden:
		return nil, agent.Errorf(agent.CodeDenied, "%s does not give results as JSON. Its owner has to add json to search.formats in its settings.yml.", e.title)
	case http.StatusUnauthorized:
		return nil, agent.Errorf(agent.CodeDenied, "%s wants a sign-in, which Ash has none for.", e.title)
	case http.StatusNotFound:
		return nil, agent.Errorf(agent.CodeUnavailable, "There is no SearXNG at %s. Check its address in the settings, under Search.", e.base.Host)
	case http.StatusTooManyRequests:
		return nil, agent.Errorf(agent.CodeExhausted, "%s has had too many requests from here. Its limiter may have to be told of Ash; do not search again in this turn.", e.title)
	default:
		return nil, odd(e, r.status)
	}
	var a searxAnswer
	if err := json.Unmarshal(r.body, &a); err != nil || !strings.Contains(string(r.body), `"results"`) {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s sends something else than JSON results. Check that its address in the settings, under Search, is that of a SearXNG server.", e.title)
	}
	if len(a.Results) == 0 && len(a.Unresponsive) > 0 {
		return nil, agent.Errorf(agent.CodeUnavailable, "%s found nothing, and %d of its search engines did not answer. Trying later may help.", e.title, len(a.Unresponsive))
	}
	var out []result
	for _, x := range a.Results {
		day, _, _ := strings.Cut(x.Published, "T")
		out = append(out, result{title: x.Title, url: x.URL, snippet: x.Content, age: day})
	}
	return out, nil
}
