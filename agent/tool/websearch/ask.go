package websearch

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"ash/agent"
)

// reply is what a search engine sent.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// get asks for address with headers, by pairs, and reads a bounded answer.
func get(ctx context.Context, client *http.Client, e engine, parameters url.Values, headers ...string) (reply, error) {
	u := *e.base
	u.RawQuery = parameters.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return reply{}, agent.Wrap(agent.CodeInvalid, err, "%s cannot be asked at this address. Check it in the settings, under Search.", e.title)
	}
	r.Header.Set("User-Agent", "Mozilla/5.0 (compatible; Ash personal assistant)")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return reply{}, err
	case len(body) > maxAnswer:
		return reply{}, agent.Errorf(agent.CodeExhausted, "%s sends an answer of more than %d MB, which is no list of results.", e.title, maxAnswer>>20)
	}
	return reply{resp.StatusCode, resp.Header, body}, nil
}

// odd is the error for a status that means nothing in particular.
func odd(e engine, status int) error {
	if status >= 500 {
		return agent.Errorf(agent.CodeUnavailable, "%s has a fault (%d %s). Trying later may help.", e.title, status, http.StatusText(status))
	}
	return agent.Errorf(agent.CodeUnavailable, "%s answers %d %s, which it should not.", e.title, status, http.StatusText(status))
}
