package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// wire is a cable between browser and server that can be cut and mended.
type wire struct {
	t        *testing.T
	url      string // where the browser finds the server through it
	address  string
	target   string
	mu       sync.Mutex
	listener net.Listener
	ends     map[net.Conn]struct{}
}

// stretch lays a wire to a server.
func stretch(t *testing.T, s *server) *wire {
	t.Helper()
	w := &wire{t: t, address: "127.0.0.1:0", target: "127.0.0.1:" + s.port, ends: map[net.Conn]struct{}{}}
	w.mend()
	w.url = "http://" + w.address
	t.Cleanup(w.cut)
	return w
}

// mend lets connections through, at the same address as before.
func (w *wire) mend() {
	w.t.Helper()
	l, err := net.Listen("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.listener, w.address = l, l.Addr().String()
	w.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // cut
			}
			go w.carry(c)
		}
	}()
}

// cut breaks every connection and refuses new ones.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.listener.Close()
	for c := range w.ends {
		_ = c.Close()
	}
	clear(w.ends)
}

func (w *wire) carry(near net.Conn) {
	far, err := net.Dial("tcp", w.target)
	if err != nil {
		_ = near.Close()
		return
	}
	w.mu.Lock()
	w.ends[near], w.ends[far] = struct{}{}, struct{}{}
	w.mu.Unlock()
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // a cut ends it
		_ = to.Close()
	}
	both.Go(func() { pass(far, near) })
	both.Go(func() { pass(near, far) })
	both.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ends, near)
	delete(w.ends, far)
}
