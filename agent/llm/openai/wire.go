package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"ash/agent/llm"
)

// wire stands between go-openai and the network. It puts in the request body that go-openai's types cannot
// express, turns every failure into a *llm.Fault before go-openai reads it without a bound, and hands a stream out
// unread.
type wire struct {
	http *http.Client
	key  func(context.Context) (string, error)
	head map[string]string
}

// exchange is one chat request on its way through the wire, carried by the request's context.
type exchange struct {
	body     []byte
	response *http.Response // the stream, still to be read
}

type exchangeKey struct{}

// Do implements go-openai's HTTPDoer. Errors are *llm.Fault.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x != nil {
		setBody(req, x.body)
	}
	key, err := w.key(req.Context())
	if err != nil {
		return nil, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range w.head {
		req.Header.Set(name, value)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return nil, llm.TransportFault(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return nil, llm.ResponseFault(resp, time.Now())
	}
	if fault := llm.NotStream(resp); fault != nil {
		return nil, fault
	}
	if x != nil {
		x.response = resp
		return resp, nil
	}
	resp.Body = bounded{io.LimitReader(resp.Body, llm.MaxBody), resp.Body}
	return resp, nil
}

// setBody replaces the body, also for a redirect or a connection that has to be made anew.
func setBody(req *http.Request, body []byte) {
	req.ContentLength = int64(len(body))
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}

// bounded is a body that ends after a bound.
type bounded struct {
	io.Reader
	io.Closer
}
