package egresstest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Record is one answer of the name server: an address, or another name.
type Record struct {
	Addr  netip.Addr
	CNAME string
}

// Names is a name server on loopback, by UDP and TCP. Each question for a name takes its next answer, the last one stays; a question
// for the other family counts by itself.
type Names struct {
	answers map[string][][]Record
	mu      sync.Mutex
	asked   map[string]int
	addr    string
}

// NewNames starts a name server that ends with the test. The words of an answer are addresses, or names it is a CNAME to.
func NewNames(t testing.TB, answers map[string][]string) *Names {
	t.Helper()
	n := &Names{answers: map[string][][]Record{}, asked: map[string]int{}}
	for name, rounds := range answers {
		for _, words := range rounds {
			var list []Record
			for w := range strings.FieldsSeq(words) {
				if a, err := netip.ParseAddr(w); err == nil {
					list = append(list, Record{Addr: a})
				} else {
					list = append(list, Record{CNAME: w})
				}
			}
			n.answers[name] = append(n.answers[name], list)
		}
	}
	udp, tcp, err := listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n.addr = tcp.Addr().String()
	t.Cleanup(func() { _, _ = udp.Close(), tcp.Close() })
	go n.serveUDP(udp)
	go n.serveTCP(tcp)
	return n
}

// listen takes one port of this machine by UDP and by TCP. What is free for one may be taken for the other, by any program here: then another is tried.
func listen(ctx context.Context) (udp net.PacketConn, tcp net.Listener, err error) {
	var l net.ListenConfig
	for left := 20; left > 0; left-- {
		if tcp, err = l.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			break
		}
		if udp, err = l.ListenPacket(ctx, "udp", tcp.Addr().String()); err == nil {
			break
		}
		_ = tcp.Close()
	}
	return udp, tcp, err
}

// Resolver asks this server alone, for whatever the system's files do not know.
func (n *Names) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, n.addr)
	}}
}

// Asked is how often the addresses of a name were asked for, of one family or both.
func (n *Names) Asked(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return max(n.asked[name+" TypeA"], n.asked[name+" TypeAAAA"])
}

func (n *Names) serveUDP(c net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		size, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		if out := n.answer(buf[:size]); out != nil {
			_, _ = c.WriteTo(out, from) // who asked asks again
		}
	}
}

func (n *Names) serveTCP(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			question := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, question); err != nil {
				return
			}
			out := n.answer(question)
			_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)) // who asked asks again
		}()
	}
}

// answer replies to one question; nil to what is none.
func (n *Names) answer(question []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(question)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	head.Response, head.RecursionAvailable = true, true
	m := dnsmessage.Message{Header: head, Questions: []dnsmessage.Question{q}}
	n.resolve(&m, q.Name, q.Type, 8)
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// resolve adds what is known of a name, following its own CNAMEs as a recursive server does.
func (n *Names) resolve(m *dnsmessage.Message, name dnsmessage.Name, kind dnsmessage.Type, depth int) {
	key := strings.ToLower(strings.TrimSuffix(name.String(), "."))
	n.mu.Lock()
	rounds, known := n.answers[key]
	i := min(n.asked[key+" "+kind.String()], len(rounds)-1)
	n.asked[key+" "+kind.String()]++
	n.mu.Unlock()
	if !known || depth == 0 {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	for _, r := range rounds[i] {
		head := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET}
		switch {
		case r.CNAME != "":
			to, err := dnsmessage.NewName(strings.TrimSuffix(r.CNAME, ".") + ".")
			if err != nil {
				return
			}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.CNAMEResource{CNAME: to}})
			n.resolve(m, to, kind, depth-1)
		case r.Addr.Is4() && kind == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: r.Addr.As4()}})
		case r.Addr.Is6() && kind == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: r.Addr.As16()}})
		}
	}
}
