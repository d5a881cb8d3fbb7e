package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ash/agent"
)

// Limits bound one exchange of a client: the request, its redirects and the answer. Zero fields take the defaults.
type Limits struct {
	Time      time.Duration // until the body is read to its end; 0 is 30 s
	Answer    time.Duration // from a request sent to the end of the answer's header; 0 is 15 s
	Body      int64         // bytes of the body, as received and as unpacked; 0 is 10 MB
	Header    int64         // bytes of the answer's header; 0 is 64 KB
	Redirects int           // 0 is 5; negative follows none and fails on the first
}

func (l Limits) withDefaults() Limits {
	if l.Time <= 0 {
		l.Time = 30 * time.Second
	}
	if l.Answer <= 0 {
		l.Answer = 15 * time.Second
	}
	if l.Body <= 0 {
		l.Body = 10 << 20
	}
	if l.Header <= 0 {
		l.Header = 64 << 10
	}
	if l.Redirects == 0 {
		l.Redirects = 5
	}
	return l
}

// maxURL is the most bytes of a URL that is asked for.
const maxURL = 8 << 10

// Client returns a client that reaches public addresses and the configured endpoints of g, nothing else, and
// keeps to l. It asks for http and https alone; takes no proxy from the environment and no cookies; unpacks gzip
// and deflate and refuses other packings; follows redirects only as checkRedirect allows. Its
// errors hold an agent.Error that names the host, or are the context's. Reading a body beyond l.Body fails with CodeExhausted,
// after the bytes that were within. Make one per purpose and keep it: it holds idle connections.
func (g *Guarded) Client(l Limits) *http.Client {
	l = l.withDefaults()
	t := &transport{limits: l, base: &http.Transport{
		DialContext:            g.DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // unpacked here, with bounds
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    2,
		MaxConnsPerHost:        16,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    connectTime,
		ResponseHeaderTimeout:  l.Answer,
		MaxResponseHeaderBytes: l.Header,
	}}
	return &http.Client{Transport: t, Timeout: l.Time, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		return g.checkRedirect(r, via, l.Redirects)
	}}
}

// plain are the headers that go along to another origin.
var plain = []string{"Accept", "Accept-Language", "User-Agent"}

// checkRedirect says whether a redirect is followed: to http and https only, not too often, not from a page to an endpoint that
// only the person's configuration opens, and with a body to the same origin alone. A request that left its first
// origin carries no header but the plain ones from there on. The address it leads to is judged when it is dialled.
func (g *Guarded) checkRedirect(r *http.Request, via []*http.Request, limit int) error {
	from := via[len(via)-1].URL
	if len(via) > max(limit, 0) {
		if limit < 0 {
			return agent.Errorf(agent.CodeDenied, "%s redirects to %s, which is not followed here.", from.Host, agent.Clip(r.URL.Host, maxHost))
		}
		return agent.Errorf(agent.CodeExhausted, "%s redirects more than %d times; it was given up.", via[0].URL.Host, limit)
	}
	if err := checkURL(r.URL); err != nil {
		return agent.Wrap(agent.CodeDenied, err, "%s redirects to an address that Ash does not follow. %s", from.Host, agent.PublicOf(err))
	}
	if g.configured(r.URL) && origin(r.URL) != origin(from) {
		return agent.Errorf(agent.CodeDenied, "%s redirects to %s, which is open to its own tool only.", from.Host, r.URL.Host)
	}
	r.URL.User = nil
	r.Header.Del("Referer")
	for _, v := range append(via[1:len(via):len(via)], r) {
		if origin(v.URL) == origin(via[0].URL) {
			continue
		}
		if r.Body != nil && r.Body != http.NoBody {
			return agent.Errorf(agent.CodeDenied, "%s redirects a request with content to %s; the content was not sent there.", from.Host, r.URL.Host)
		}
		keepPlain(r.Header)
		break
	}
	return nil
}

// keepPlain removes all headers but the plain ones: credentials may be in any.
func keepPlain(h http.Header) {
	kept := make(map[string][]string, len(plain))
	for _, name := range plain {
		if v, ok := h[name]; ok {
			kept[name] = v
		}
	}
	clear(h)
	for name, v := range kept {
		h[name] = v
	}
}

// configured reports whether u is at one of the endpoints of Options.Allow.
func (g *Guarded) configured(u *url.URL) bool {
	host, port, ok := splitTarget(origin(u)[len(u.Scheme)+len("://"):])
	return ok && g.allow[joinTarget(host, port)]
}

// origin is scheme, clean host and port of u.
func origin(u *url.URL) string {
	host, _, ok := cleanHost(u.Hostname())
	if !ok {
		host = u.Hostname()
	}
	port, ok := parsePort(u.Port())
	if !ok {
		port = 80
		if u.Scheme == "https" {
			port = 443
		}
	}
	return u.Scheme + "://" + joinTarget(host, port)
}

// checkURL refuses what is no plain web address.
func checkURL(u *url.URL) error {
	_, _, ok := cleanHost(u.Hostname())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return agent.Errorf(agent.CodeDenied, "Only http and https addresses are fetched, not %q.", agent.Clip(u.Scheme, 32))
	case len(u.Host)+len(u.Path)+len(u.RawQuery) > maxURL:
		return agent.Errorf(agent.CodeInvalid, "The address is longer than %d bytes.", maxURL)
	case !ok:
		return agent.Errorf(agent.CodeInvalid, "%q is not a host that Ash connects to.", agent.Clip(u.Host, maxHost))
	}
	return nil
}

// transport is what a client sends requests with.
type transport struct {
	base   *http.Transport
	limits Limits
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkURL(r.URL); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Encoding", "gzip, deflate")
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, plainly(r.Context(), r.URL.Host, err, t.limits)
	}
	unpack(resp, r.URL.Host, t.limits.Body)
	return resp, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections work.
func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// plainly makes an agent.Error of what went wrong between the request and the header of the answer.
func plainly(ctx context.Context, host string, err error, l Limits) error {
	var e *agent.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return fmt.Errorf("asking %s: %w", host, ctx.Err())
	case errors.As(err, &cert):
		return agent.Wrap(agent.CodeUnavailable, err, "The certificate of %s is not valid (%s); nothing was sent.", host, certificateFault(cert.Err))
	case errors.As(err, &record):
		return agent.Wrap(agent.CodeUnavailable, err, "%s does not speak TLS on this port: http:// may work where https:// does not.", host)
	case strings.Contains(err.Error(), "server response headers exceeded"), strings.Contains(err.Error(), "header list"):
		return agent.Wrap(agent.CodeExhausted, err, "%s sends an answer with a header of more than %d KB; it was given up.", host, l.Header>>10)
	case errors.As(err, &timeout) && timeout.Timeout():
		return agent.Wrap(agent.CodeUnavailable, err, "%s did not answer in time.", host)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "The connection to %s broke off before it answered.", host)
}

// certificateFault says in a few words what is wrong with a certificate.
func certificateFault(err error) string {
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired or is not valid yet"
	case errors.As(err, &name):
		return "it was made for another name"
	case errors.As(err, &unknown):
		return "nobody known has signed it"
	}
	return "it does not verify"
}
