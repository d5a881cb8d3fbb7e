package egress

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"

	"ash/agent"
)

// unpack bounds the body of resp and takes its content encoding off. host is for the messages. What is wrong with
// the body comes out when it is read: a redirect has one that nobody reads.
func unpack(resp *http.Response, host string, limit int64) {
	if resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ",")))
	in := resp.Body
	b := &body{host: host, limit: limit, closer: in}
	// The packed bytes are bounded too: a stream of empty gzip members never yields a byte.
	wire := &counted{r: in, left: limit}
	switch encoding {
	case "", "identity":
		b.open = func() (io.Reader, error) { return in, nil }
	case "gzip", "x-gzip":
		b.open = func() (io.Reader, error) { return gzip.NewReader(wire) }
	case "deflate":
		b.open = func() (io.Reader, error) { return inflate(wire) }
	default:
		b.open = func() (io.Reader, error) {
			return nil, agent.Errorf(agent.CodeUnavailable, "%s packs its answer as %q, which was not asked for and is not read.", host, agent.Clip(encoding, 64))
		}
	}
	if encoding != "" && encoding != "identity" {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Uncompressed = true
	}
	resp.Body = b
}

// inflate reads what servers call deflate: zlib (RFC 9110), or the bare stream that some send.
func inflate(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	head, err := in.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil
}

// errBeyond is what reading past a bound ends with, within the package.
var errBeyond = errors.New("beyond the bound")

// counted passes at most left bytes and then fails, where io.LimitReader would seem to end well.
type counted struct {
	r    io.Reader
	left int64
}

func (c *counted) Read(p []byte) (int, error) {
	if c.left <= 0 {
		// A body of exactly the bound is within it.
		var one [1]byte
		if n, err := c.r.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, errBeyond
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.r.Read(p)
	c.left -= int64(n)
	return n, err
}

// body is a bounded, unpacked body.
type body struct {
	host   string
	limit  int64
	open   func() (io.Reader, error) // on the first read: a gzip header is read from the network
	in     *counted
	closer io.Closer
	err    error // sticky
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	if b.in == nil {
		r, err := b.open()
		if err != nil {
			b.err = b.explain(err)
			return 0, b.err
		}
		b.in = &counted{r: r, left: b.limit}
	}
	n, err := b.in.Read(p)
	b.err = b.explain(err)
	return n, b.err
}

// explain puts what ended a body plainly.
func (b *body) explain(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case errors.Is(err, errBeyond):
		return agent.Errorf(agent.CodeExhausted, "The answer of %s is longer than %d KB; the rest was not read.", b.host, b.limit>>10)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.As(err, &corrupt):
		return agent.Wrap(agent.CodeUnavailable, err, "The answer of %s is packed in a damaged way.", b.host)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return agent.Wrap(agent.CodeUnavailable, err, "The connection to %s broke off in the middle of its answer.", b.host)
	}
	return err
}

// Close implements io.Closer.
func (b *body) Close() error { return b.closer.Close() }
