// Package egresstest is what a test of rule 10 stands on: a house that counts who comes in by any of this machine's addresses,
// a real name server that lies, and more than a hundred ways to write an address that is none of a stranger's business.
package egresstest

import (
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// House listens on all addresses of this machine, of both families, at one port, and counts every connection. It answers HTTP with the word "internal".
type House struct {
	Port int
	hits atomic.Int64
}

// NewHouse opens one that is closed with the test.
func NewHouse(t testing.TB) *House {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ":0") // [::] and 0.0.0.0 together
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	h := &House{Port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.hits.Add(1)
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\ninternal")) // who came in is counted, heard or not
			_ = c.Close()
		}
	}()
	return h
}

// Hits is how many connections there were.
func (h *House) Hits() int64 { return h.hits.Load() }

// At is host with the house's port, as in a URL.
func (h *House) At(host string) string { return host + ":" + strconv.Itoa(h.Port) }
