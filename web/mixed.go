package web

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"ash/handlers"
)

// handshake is the first byte of every TLS connection (RFC 8446, 5.1), and of no request of HTTP.
const handshake = 22

// mixed answers TLS and plain HTTP at one address, so that an address typed without https:// finds its way. It reads the first byte of
// each connection beside the others: one that says nothing holds up nobody.
type mixed struct {
	net.Listener
	config   *tls.Config
	accepted chan net.Conn
	closing  chan struct{}
	once     sync.Once
	err      error // of Accept; set before accepted is closed
	looking  sync.WaitGroup
}

// Mixed makes a listener that answers TLS as well as plain HTTP. Of what comes in plainly from elsewhere, the server answers only what
// leads to TLS.
func Mixed(l net.Listener, config *tls.Config) net.Listener {
	m := &mixed{Listener: l, config: config, accepted: make(chan net.Conn), closing: make(chan struct{})}
	go m.accept()
	return m
}

func (m *mixed) accept() {
	defer close(m.accepted)
	defer m.looking.Wait()
	for {
		c, err := m.Listener.Accept()
		var passing net.Error
		switch {
		case errors.As(err, &passing) && passing.Timeout():
			continue
		case err != nil:
			m.err = err
			return
		}
		m.looking.Go(func() { m.look(c) })
	}
}

// look passes a connection on as what its first byte says it is.
func (m *mixed) look(c net.Conn) {
	unread := &begun{Conn: c}
	read := make(chan struct{})
	go func() {
		select {
		case <-m.closing: // whoever has not spoken by now is not waited for
			_ = c.SetReadDeadline(time.Now())
		case <-read:
		}
	}()
	err := c.SetReadDeadline(time.Now().Add(headerTimeout))
	if err == nil {
		_, err = c.Read(unread.first[:])
	}
	close(read)
	if err == nil {
		err = c.SetReadDeadline(time.Time{})
	}
	if err != nil {
		_ = c.Close() // it said nothing, and hears nothing
		return
	}
	unread.held = true
	var out net.Conn = plain{unread}
	if unread.first[0] == handshake {
		out = tls.Server(unread, m.config)
	}
	select {
	case m.accepted <- out:
	case <-m.closing:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (m *mixed) Accept() (net.Conn, error) {
	c, open := <-m.accepted
	if !open {
		return nil, m.err
	}
	return c, nil
}

// Close implements net.Listener.
func (m *mixed) Close() error {
	m.once.Do(func() { close(m.closing) })
	return m.Listener.Close()
}

// begun is a connection whose first byte was read already.
type begun struct {
	net.Conn
	first [1]byte
	held  bool
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if b.held && len(p) > 0 {
		b.held = false
		return copy(p, b.first[:]), nil
	}
	return b.Conn.Read(p)
}

// plain is a connection without TLS where there could be TLS.
type plain struct{ net.Conn }

type plainKey struct{}

// unguarded are the addresses that are answered without TLS where there could be TLS: how to come to trust it.
func unguarded(path string) bool {
	return slices.Contains([]string{"/trust", "/trust/ash.crt", "/healthz"}, path) || len(path) > len("/static/") && path[:len("/static/")] == "/static/"
}

// upgrade leads a browser that came without TLS to where there is TLS. What it brought already, a form, is refused: it was told to everybody
// on the way.
func upgrade(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if without, _ := r.Context().Value(plainKey{}).(bool); !without || loopbackPeer(r.RemoteAddr) || unguarded(r.URL.Path) {
			return next(c)
		}
		if !safe(r.Method) {
			return &handlers.StatusError{Status: http.StatusForbidden, Public: "This Ash is reached with https:// only. Open it so, and do it again."}
		}
		return c.Redirect(http.StatusPermanentRedirect, "https://"+r.Host+r.URL.RequestURI())
	}
}

// mark notes on the context of a connection how it came: through the unix socket, or without TLS where there could be TLS.
func mark(ctx context.Context, c net.Conn) context.Context {
	if _, yes := c.(plain); yes {
		ctx = context.WithValue(ctx, plainKey{}, true)
	}
	return markSocket(ctx, c)
}
