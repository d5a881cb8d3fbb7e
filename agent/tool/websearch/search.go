package websearch

import (
	"context"
	_ "embed" // description.md
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/tool"
)

//go:embed description.md
var description string

// Bounds on one search.
const (
	searchTime   = 10 * time.Second
	maxQuery     = 400 // characters
	maxWords     = 50
	defaultCount = 8
	maxCount     = 20
	maxAnswer    = 2 << 20 // bytes
	maxTitle     = 200     // characters
	maxSnippet   = 600     // characters
	maxAddress   = 2000    // bytes
)

// Names of the backends, as the settings have them.
const (
	Auto       = "auto" // Brave when there is a key, else SearXNG when it has an address, else DuckDuckGo
	Brave      = "brave"
	SearXNG    = "searxng"
	DuckDuckGo = "duckduckgo"
)

// Options wire the tool. Functions are asked at each call, so that a changed setting takes effect with the next.
type Options struct {
	// Client reaches public addresses: Brave and DuckDuckGo.
	Client *http.Client
	// Endpoint returns a client that reaches "host:port" as well, wherever it is: the person's SearXNG. nil is Client.
	Endpoint func(hostport string) *http.Client
	Backend  func() string // one of the names above; nil or "" is Auto
	SearXNG  func() string // base URL; nil or "" for none
	// Key returns the key of the Brave Search API, "" for none, right before it is sent. An error says why it cannot be had now; CodeLocked, that the
	// vault has to be unlocked first. nil for none.
	Key func(ctx context.Context) (string, error)
	// HasKey reports, without using it, whether there is a key or one may lie in the locked vault. nil: Key is asked.
	HasKey func(ctx context.Context) bool
}

// Arguments are what the model sends.
type Arguments struct {
	Query string `json:"query" jsonschema:"what to search for, at most 400 characters"`
	Count int    `json:"count,omitempty" jsonschema:"results to return, 8 unless given, at most 20"`
}

// New returns the tool.
func New(o Options) tool.Tool { return define(newSearcher(o)) }

func define(s *searcher) tool.Tool {
	return tool.Define(tool.Definition{
		Name:        "web_search",
		Title:       "Search the web",
		About:       "Searches the web with Brave, your SearXNG server or DuckDuckGo.",
		Description: description,
		Effect:      agent.EffectSend,
		Family:      tool.FamilyWeb,
	}, s)
}

// searcher is the handler. The addresses are fields for the tests.
type searcher struct {
	o     Options
	brave string
	duck  string
}

func newSearcher(o Options) *searcher {
	return &searcher{o: o, brave: "https://api.search.brave.com/res/v1/web/search", duck: "https://html.duckduckgo.com/html/"}
}

// result is one hit.
type result struct {
	title, url, snippet, age string
}

// engine is a backend that can be asked.
type engine struct {
	name  string // as in the settings
	title string // for people
	base  *url.URL
	key   func(ctx context.Context) (string, error) // nil: it needs none
	ask   func(ctx context.Context, e engine, query string, count int) ([]result, error)
}

// engine chooses the backend. Errors say how to set it up.
func (s *searcher) engine(ctx context.Context) (engine, error) {
	backend, searx := Auto, ""
	if s.o.Backend != nil && s.o.Backend() != "" {
		backend = s.o.Backend()
	}
	if s.o.SearXNG != nil {
		searx = strings.TrimSpace(s.o.SearXNG())
	}
	switch backend {
	case Auto:
		if s.hasKey(ctx) {
			return s.braveEngine(ctx)
		}
		if searx != "" {
			return s.searxEngine(searx)
		}
		return s.duckEngine()
	case Brave:
		return s.braveEngine(ctx)
	case SearXNG:
		return s.searxEngine(searx)
	case DuckDuckGo:
		return s.duckEngine()
	}
	return engine{}, agent.Errorf(agent.CodeInvalid, "%q is no place to search. Choose brave, searxng, duckduckgo or auto in the settings, under Search.", agent.Clip(backend, 40))
}

func (s *searcher) key(ctx context.Context) (string, error) {
	if s.o.Key == nil {
		return "", nil
	}
	key, err := s.o.Key(ctx)
	return strings.TrimSpace(key), err
}

func (s *searcher) hasKey(ctx context.Context) bool {
	if s.o.HasKey != nil {
		return s.o.HasKey(ctx)
	}
	key, err := s.key(ctx)
	return err == nil && key != "" || agent.CodeOf(err) == agent.CodeLocked
}

// Available implements tool.Available.
func (s *searcher) Available(ctx context.Context, _ agent.Thread) error {
	_, err := s.engine(ctx)
	return err
}

// Plan implements tool.Handler.
func (s *searcher) Plan(ctx context.Context, _ tool.Env, a Arguments) (tool.Plan, error) {
	query := tidy(a.Query)
	switch {
	case query == "":
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "The query is empty.")
	case utf8.RuneCountInString(query) > maxQuery || len(strings.Fields(query)) > maxWords:
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "The query is too long: at most %d characters and %d words. Search for the words that matter.", maxQuery, maxWords)
	case a.Count < 0 || a.Count > maxCount:
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "count is from 1 to %d.", maxCount)
	}
	e, err := s.engine(ctx)
	if err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{Effect: agent.Effect{Kind: agent.EffectSend, Title: "Search the web with " + e.title, Target: e.base.Host, Text: query}}, nil
}

// Run implements tool.Handler.
func (s *searcher) Run(ctx context.Context, _ tool.Env, a Arguments, _ tool.Progress) (agent.ToolOutcome, error) {
	e, err := s.engine(ctx)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	query, count := tidy(a.Query), a.Count
	if count <= 0 {
		count = defaultCount
	}
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	found, err := e.ask(limited, e, query, count)
	if agent.CodeOf(err) == agent.CodeLocked {
		return agent.ToolOutcome{}, err // nothing was sent
	}
	labels := tool.Untrusted("search: " + e.name)
	switch {
	case ctx.Err() != nil:
		return agent.ToolOutcome{}, ctx.Err()
	case err != nil:
		out := tool.Failed(why(e, err))
		out.Labels = labels
		return out, nil
	}
	text, labels := list(e, query, sift(found, count), labels)
	out := tool.Text(text)
	out.Labels = labels
	return out, nil
}

// why puts a failure in words that help a model to go on.
func why(e engine, err error) string {
	var known *agent.Error
	var timeout net.Error
	switch {
	case errors.As(err, &known):
		return known.Public
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("%s did not answer within %d seconds. Trying once more may help.", e.title, int(searchTime.Seconds()))
	}
	return e.title + " could not be asked: the connection broke off. Trying once more may help."
}

// sift keeps the first count results that lead somewhere, each address once, and bounds their texts.
func sift(found []result, count int) []result {
	var out []result
	seen := map[string]bool{}
	for _, r := range found {
		u, err := url.Parse(strings.TrimSpace(r.url))
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || len(r.url) > maxAddress || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		out = append(out, result{url: u.String(), title: agent.FirstWords(tidy(r.title), maxTitle), snippet: agent.FirstWords(tidy(r.snippet), maxSnippet), age: agent.FirstWords(tidy(r.age), 40)})
		if len(out) == count {
			break
		}
	}
	return out
}

// list writes results for the model, and labels them with the hosts they came from.
func list(e engine, query string, found []result, labels agent.Labels) (string, agent.Labels) {
	if len(found) == 0 {
		return fmt.Sprintf("%s found nothing for %q. Other or fewer words may help.", e.title, query), labels
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s found for %q:\n", e.title, query)
	for i, r := range found {
		title := r.title
		if title == "" {
			title = r.url
		}
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, title, r.url)
		switch {
		case r.snippet != "" && r.age != "":
			fmt.Fprintf(&b, "   (%s) %s\n", r.age, r.snippet)
		case r.snippet != "":
			fmt.Fprintf(&b, "   %s\n", r.snippet)
		}
		if u, err := url.Parse(r.url); err == nil {
			labels = labels.Union(tool.Untrusted(u.Hostname()))
		}
	}
	return b.String(), labels
}

// tidy makes one line of a text: blanks in a row become one, control characters and broken UTF-8 go.
func tidy(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}
