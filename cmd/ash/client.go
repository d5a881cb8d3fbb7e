package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ash/agent"
	"ash/handlers"
)

// client speaks the control API over the unix socket in the home.
type client struct {
	http *http.Client
}

// dial returns a client of the server behind socket, or CodeUnavailable when
// nobody answers there.
func dial(ctx context.Context, socket string) (*client, error) {
	c := &client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "unix", socket)
		},
	}}}
	if _, err := c.status(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

func (c *client) status(ctx context.Context) (s handlers.ControlStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/status", nil, &s)
}

func (c *client) threads(ctx context.Context) (t []handlers.ControlThread, err error) {
	return t, c.call(ctx, http.MethodGet, "/threads", nil, &t)
}

func (c *client) create(ctx context.Context, n handlers.ControlNewThread) (t handlers.ControlThread, err error) {
	return t, c.call(ctx, http.MethodPost, "/threads", n, &t)
}

// waiting returns the calls that wait for the person in a thread and in the helpers that work for it.
func (c *client) waiting(ctx context.Context, thread agent.ID) (w []handlers.ControlCall, err error) {
	return w, c.call(ctx, http.MethodGet, "/threads/"+string(thread)+"/waiting", nil, &w)
}

func (c *client) decide(ctx context.Context, call agent.ID, d handlers.ControlDecision) error {
	return c.call(ctx, http.MethodPost, "/calls/"+string(call)+"/decide", d, nil)
}

// halt is the kill switch.
func (c *client) halt(ctx context.Context) (h handlers.ControlHalted, err error) {
	return h, c.call(ctx, http.MethodPost, "/stop", struct{}{}, &h)
}

// place asks about a folder to work in.
func (c *client) place(ctx context.Context, folder string) (p handlers.ControlPlace, err error) {
	return p, c.call(ctx, http.MethodGet, "/places?folder="+url.QueryEscape(folder), nil, &p)
}

// declare says whether a folder is the person's own.
func (c *client) declare(ctx context.Context, p handlers.ControlPlace) (out handlers.ControlPlace, err error) {
	return out, c.call(ctx, http.MethodPost, "/places", p, &out)
}

func (c *client) post(ctx context.Context, thread agent.ID, m handlers.ControlMessage) (p handlers.ControlPosted, err error) {
	return p, c.call(ctx, http.MethodPost, "/threads/"+string(thread)+"/messages", m, &p)
}

func (c *client) goOn(ctx context.Context, thread agent.ID) (p handlers.ControlPosted, err error) {
	return p, c.call(ctx, http.MethodPost, "/threads/"+string(thread)+"/continue", struct{}{}, &p)
}

func (c *client) stop(ctx context.Context, thread agent.ID) error {
	return c.call(ctx, http.MethodPost, "/threads/"+string(thread)+"/stop", struct{}{}, nil)
}

// call makes one request and decodes the answer into out.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	res, err := c.do(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The running Ash answered with something this one does not understand. Are both the same version?")
	}
	return nil
}

func (c *client) do(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	return c.send(ctx, method, path, body)
}

// send makes one request and returns its answer if that is a success.
func (c *client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://ash/control"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, agent.Wrap(agent.CodeUnavailable, err, "Ash does not answer. Was it stopped?")
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	var failure handlers.ControlError
	if err := json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&failure); err != nil || failure.Error == "" {
		return nil, agent.Errorf(agent.CodeInternal, "Ash answered with %s.", res.Status)
	}
	return nil, &agent.Error{Code: failure.Code, Public: failure.Error}
}

// eventStream is an open stream of one thread's events.
type eventStream struct {
	body io.ReadCloser
}

// follow opens the stream of a thread: everything that happens after it returns
// is told. The caller closes it.
func (c *client) follow(ctx context.Context, thread agent.ID) (*eventStream, error) {
	res, err := c.do(ctx, http.MethodGet, "/threads/"+string(thread)+"/events", nil) //nolint:bodyclose // the stream's close does
	if err != nil {
		return nil, err
	}
	return &eventStream{res.Body}, nil
}

func (s *eventStream) close() { _ = s.body.Close() }

// events yields until the server ends the stream, which is an error: a turn is expected to end first.
func (s *eventStream) events() iter.Seq2[handlers.ControlEvent, error] {
	return func(yield func(handlers.ControlEvent, error) bool) {
		r := bufio.NewReader(s.body)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				yield(handlers.ControlEvent{}, agent.Wrap(agent.CodeUnavailable, err, "The connection to Ash ended. What was said so far is stored."))
				return
			}
			data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
			if !ok {
				continue
			}
			var ev handlers.ControlEvent
			if err := json.Unmarshal([]byte(data), &ev); err != nil {
				yield(ev, agent.Wrap(agent.CodeInternal, err, "Ash sent an event this command does not understand."))
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}
