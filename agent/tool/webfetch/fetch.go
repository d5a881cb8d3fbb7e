package webfetch

import (
	"context"
	_ "embed" // description.md
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

//go:embed description.md
var description string

// Bounds on one fetch.
const (
	fetchTime     = 30 * time.Second
	readTime      = 10 * time.Second // to make text of what came
	maxURL        = 8 << 10          // bytes
	defaultLength = 30_000           // characters of one result
	maxLength     = 100_000          // characters; resultBytes may end a result earlier
	resultBytes   = tool.MaxResult - 4<<10
	maxPicture    = 4 << 20 // bytes
)

// Documents stores a picture or a PDF and returns it as a part: an agent.Image, or an agent.File with its
// text extracted. Its place is package attachment.
type Documents interface {
	Put(ctx context.Context, name string, r io.Reader) (agent.Part, error)
}

// Options wire the tool.
type Options struct {
	// Client makes the requests. It decides which addresses are reached, follows redirects and bounds what is read: a body
	// beyond its bound ends with CodeExhausted after the bytes within.
	Client    *http.Client
	Documents Documents // nil: PDFs and pictures are refused
}

// Arguments are what the model sends.
type Arguments struct {
	URL       string `json:"url" jsonschema:"the whole address, beginning with https:// or http://"`
	MaxLength int    `json:"max_length,omitempty" jsonschema:"most characters to return, 30000 unless given, at most 100000"`
	Start     int    `json:"start,omitempty" jsonschema:"character to begin at, to go on with a long page"`
}

// New returns the tool.
func New(o Options) tool.Tool {
	return tool.Define(tool.Definition{
		Name:        "web_fetch",
		Title:       "Read a web page",
		About:       "Gets a web address and reads the page, text, PDF or picture there.",
		Description: description,
		Effect:      agent.EffectFetch,
		Family:      tool.FamilyWeb,
	}, &fetcher{client: o.Client, documents: o.Documents, writer: newWriter()})
}

type fetcher struct {
	client    *http.Client
	documents Documents
	writer    *writer
}

// Plan implements tool.Handler.
func (f *fetcher) Plan(_ context.Context, _ tool.Env, a Arguments) (tool.Plan, error) {
	u, err := parseURL(a.URL)
	if err != nil {
		return tool.Plan{}, err
	}
	switch {
	case a.MaxLength < 0 || a.MaxLength > maxLength:
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "max_length is from 1 to %d.", maxLength)
	case a.Start < 0:
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "start cannot be negative.")
	}
	return tool.Plan{Effect: agent.Effect{Kind: agent.EffectFetch, Title: "Read a web page", Target: u.Host, Text: strings.TrimSpace(a.URL)}}, nil
}

// parseURL reads the address of a call.
func parseURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	switch {
	case len(raw) > maxURL:
		return nil, agent.Errorf(agent.CodeInvalid, "The address is too long: at most %d characters.", maxURL)
	case err != nil:
		return nil, agent.Wrap(agent.CodeInvalid, err, "%q is not a web address.", agent.Clip(raw, 200))
	case u.Scheme == "":
		return nil, agent.Errorf(agent.CodeInvalid, "Give the whole address, beginning with https://.")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, agent.Errorf(agent.CodeInvalid, "Only http and https addresses can be read, not %q.", agent.Clip(u.Scheme, 32))
	case u.Hostname() == "":
		return nil, agent.Errorf(agent.CodeInvalid, "The address %q names no host.", agent.Clip(raw, 200))
	case u.User != nil:
		return nil, agent.Errorf(agent.CodeInvalid, "An address with a user name or a password in it is not read. Leave that part out.")
	}
	return u, nil
}

// Run implements tool.Handler. What goes wrong at the other end is a failed outcome in words for the model.
func (f *fetcher) Run(ctx context.Context, _ tool.Env, a Arguments, _ tool.Progress) (agent.ToolOutcome, error) {
	u, err := parseURL(a.URL)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	limited, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	got, err := f.get(limited, u)
	labels := tool.Untrusted(u.Hostname()).Union(tool.Untrusted(got.url.Hostname()))
	if err == nil {
		var out agent.ToolOutcome
		if out, err = f.outcome(limited, got, a); err == nil {
			out.Labels = labels
			return out, nil
		}
	}
	if ctx.Err() != nil {
		return agent.ToolOutcome{}, ctx.Err()
	}
	out := tool.Failed(clean(f.why(u, err)))
	out.Labels = labels
	return out, nil
}

// why puts a failure in words that help a model to go on.
func (f *fetcher) why(u *url.URL, err error) string {
	var e *agent.Error
	var timeout net.Error
	switch {
	case errors.As(err, &e):
		return e.Public
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("%s did not send the page within %d seconds. Trying once more may help; if not, look for another source.", u.Hostname(), int(fetchTime.Seconds()))
	}
	return fmt.Sprintf("%s could not be read: the connection broke off.", u.Hostname())
}

// answer is what a server sent.
type answer struct {
	url    *url.URL // after redirects
	media  string   // bare media type, lower case
	header string   // Content-Type as sent
	body   []byte
	cut    bool // body is only the beginning
	asked  *url.URL
}

// get asks for u and reads the answer within the client's bounds. The answer's url is set in any case.
func (f *fetcher) get(ctx context.Context, u *url.URL) (answer, error) {
	got := answer{url: u, asked: u}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return got, agent.Wrap(agent.CodeInvalid, err, "%q is not a web address.", agent.Clip(u.String(), 200))
	}
	r.Header.Set("User-Agent", "Mozilla/5.0 (compatible; Ash personal assistant)")
	r.Header.Set("Accept", "text/html, application/xhtml+xml, text/markdown, text/plain, application/json, application/pdf, */*;q=0.5")
	resp, err := f.client.Do(r)
	if err != nil {
		return got, err
	}
	defer func() { _ = resp.Body.Close() }()
	got.url = resp.Request.URL
	if resp.StatusCode != http.StatusOK {
		return got, refusedBy(got.url.Hostname(), resp)
	}
	got.body, err = io.ReadAll(resp.Body)
	if agent.CodeOf(err) == agent.CodeExhausted && len(got.body) > 0 {
		got.cut, err = true, nil
	}
	if err != nil {
		return got, err
	}
	got.header = resp.Header.Get("Content-Type")
	got.media = mediaType(got.header, got.body)
	return got, nil
}

// refusedBy says what a status that is no success means for the one who asked.
func refusedBy(host string, resp *http.Response) error {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	advice := "Look for another source."
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone:
		advice = "There is no page at this address: check it, or search for the page."
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusUnavailableForLegalReasons:
		advice = "The page is not open to everybody, or the site turns programs away. Look for another source, or ask the person to paste the text."
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		advice = "The site is busy or asks for patience. Do not ask it again now."
	case code >= 500:
		advice = "The site has a fault. Trying later may help."
	case code >= 300 && code < 400:
		advice = "It leads nowhere."
	case code >= 200 && code < 300:
		advice = "The answer has no content."
	}
	return agent.Errorf(agent.CodeUnavailable, "%s answers %s. %s", host, strings.TrimSpace(status), advice)
}
