package egress

import (
	"io"
	"net"
	"net/http"
	"sync"

	"ash/agent"
)

// tunnel answers a CONNECT: it connects, says so, and carries bytes both ways until both sides have ended, one
// fails, nothing moves for a while, or the passage closes.
func (p *Passage) tunnel(w http.ResponseWriter, r *http.Request, host string, port uint16) {
	out, err := p.dial(r.Context(), "tcp", joinTarget(host, port))
	if err != nil {
		p.fail(w, err)
		return
	}
	defer func() { _ = out.Close() }()
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		p.fail(w, agent.Errorf(agent.CodeInternal, "This connection cannot carry a tunnel."))
		return
	}
	in, buffered, err := hijacker.Hijack()
	if err != nil {
		p.fail(w, agent.Wrap(agent.CodeInternal, err, "This connection cannot carry a tunnel."))
		return
	}
	defer func() { _ = in.Close() }()
	done := make(chan struct{})
	defer close(done)
	p.work.Go(func() {
		select {
		case <-p.ctx.Done():
			_ = in.Close()
			_ = out.Close()
		case <-done:
		}
	})
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	// The client may have begun to speak before it was told to.
	var both sync.WaitGroup
	both.Go(func() { carry(out, buffered) })
	both.Go(func() { carry(in, out) })
	both.Wait()
}

// carry copies until from ends and tells to that no more comes. When copying fails both are of no more use; the deadlines of
// metered end the other direction.
func carry(to net.Conn, from io.Reader) {
	_, err := io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
	if err != nil {
		_ = to.Close()
		return
	}
	inner := to
	if m, ok := to.(*metered); ok {
		inner = m.Conn
	}
	if half, ok := inner.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

// crowd is a listener with room for so many connections at once; the rest wait to be accepted.
type crowd struct {
	net.Listener
	room   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newCrowd(l net.Listener, n int) *crowd {
	return &crowd{Listener: l, room: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	select {
	case c.room <- struct{}{}:
	case <-c.closed:
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.room
		return nil, err
	}
	return &guest{Conn: conn, leave: sync.OnceFunc(func() { <-c.room })}, nil
}

// Close implements net.Listener.
func (c *crowd) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

// guest is an accepted connection that makes room when it is closed.
type guest struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// CloseWrite tells the other side that no more comes.
func (g *guest) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
