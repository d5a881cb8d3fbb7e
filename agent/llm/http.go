package llm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// MaxBody bounds a body that is read whole (lists of models, embeddings), in bytes.
const MaxBody = 32 << 20

// maxErrorBody bounds what is read of an error's body, in bytes.
const maxErrorBody = 64 << 10

// newHTTPClient makes the client of one provider. It has no overall time limit: streams are
// long, and the chain watches them.
func newHTTPClient(s Settings) *http.Client {
	dialer := &net.Dialer{Timeout: s.Connect, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    s.Connect,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           16,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 3 || !strings.EqualFold(req.URL.Host, via[0].URL.Host) || req.URL.Scheme != via[0].URL.Scheme {
				return errForeignRedirect
			}
			return nil
		},
	}
}

var errForeignRedirect = errors.New("the server redirects to another address")

// Finish reads the little that is left of a body whose stream has ended, so that the connection can serve the
// next call, and closes it. A server that holds the stream open after its end is given 100 ms; cancel must cancel the
// request's context.
func Finish(body io.ReadCloser, cancel context.CancelFunc) {
	timer := time.AfterFunc(100*time.Millisecond, cancel)
	_, _ = io.CopyN(io.Discard, body, 4<<10) // only to reuse the connection: a failure here costs nothing
	timer.Stop()
	_ = body.Close()
}

func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

func sameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && strings.EqualFold(x.Host, y.Host)
}

// sameServer reports whether two addresses reach the same port of this machine, whatever they call it.
func sameServer(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil || x.Port() != y.Port() {
		return false
	}
	everywhere := func(h string) bool {
		ip, err := netip.ParseAddr(h)
		return h == "" || err == nil && ip.IsUnspecified() || loopbackHost(h)
	}
	return x.Host == y.Host || everywhere(x.Hostname()) && everywhere(y.Hostname())
}
