package localca_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access/localca"
)

var now = time.Now()

func addresses(list ...string) (out []netip.Addr) {
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func made(t *testing.T) *localca.Authority {
	t.Helper()
	a, err := localca.New("box", now)
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := localca.Decode(text)
	if err != nil || !bytes.Equal(back.Certificate(), a.Certificate()) {
		t.Fatalf("it does not come back: %v", err)
	}
	return back
}

func leaf(t *testing.T, text []byte) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func trusting(a *localca.Authority) *x509.CertPool {
	pool := x509.NewCertPool()
	cert, _ := x509.ParseCertificate(a.Certificate())
	pool.AddCert(cert)
	return pool
}

// A client that trusts the authority reaches the machine by each of its names and addresses.
func TestHandshake(t *testing.T) {
	a := made(t)
	text, err := a.Issue([]string{"box", "box.local", "ash.home", "bank.example", "localhost"}, addresses("192.168.1.5", "fd00::5", "100.100.1.2", "8.8.8.8", "::ffff:10.0.0.7"), now)
	if err != nil {
		t.Fatal(err)
	}
	pair := leaf(t, text)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	for name, good := range map[string]bool{
		"box": true, "box.local": true, "ash.home": true, "192.168.1.5": true, "fd00::5": true, "100.100.1.2": true, "10.0.0.7": true,
		"bank.example": false, "8.8.8.8": false, "192.168.1.6": false, "evil.box.example": false, "localhost": false,
	} {
		d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: &tls.Config{RootCAs: trusting(a), ServerName: name}}
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err == nil {
			_ = c.Close()
		}
		if (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
	}
	if age := pair.Leaf.NotAfter.Sub(now); age > 398*24*time.Hour {
		t.Errorf("phones refuse what lasts %v", age)
	}
}

// What somebody signs with a stolen key is refused for any name beyond the home.
func TestStolenKey(t *testing.T) {
	a := made(t)
	text, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	stolen := leaf(t, text)
	for _, template := range []*x509.Certificate{
		{DNSNames: []string{"bank.example"}},
		{IPAddresses: []net.IP{net.ParseIP("93.184.216.34")}},
		{DNSNames: []string{"box.local", "bank.example"}},
		{DNSNames: []string{"box.example"}},
		{DNSNames: []string{"box.local"}, IsCA: true, BasicConstraintsValid: true},
		{DNSNames: []string{"box.local"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	} {
		pool := trusting(a)
		chainOf := *template
		forged, err := forge(&chainOf, stolen)
		if err != nil {
			t.Fatal(err)
		}
		usage := x509.ExtKeyUsageServerAuth
		name := "bank.example"
		switch {
		case template.IsCA:
			// As an intermediate it may sign nothing (path length 0).
			below, err := forge(&x509.Certificate{DNSNames: []string{"box.local"}}, *forged)
			if err != nil {
				t.Fatal(err)
			}
			between := x509.NewCertPool()
			between.AddCert(forged.Leaf)
			if _, err := below.Leaf.Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, DNSName: "box.local"}); err == nil {
				t.Error("an authority below it is believed")
			}
			continue
		case len(template.IPAddresses) > 0:
			name = template.IPAddresses[0].String()
		case len(template.DNSNames) == 1:
			name = template.DNSNames[0]
		}
		if len(template.ExtKeyUsage) > 0 {
			usage = x509.ExtKeyUsageClientAuth
		}
		if _, err := forged.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}}); err == nil {
			t.Errorf("%+v is believed", template.DNSNames)
		}
	}
}

func TestCovers(t *testing.T) {
	a := made(t)
	names, at := []string{"box.local", "bank.example"}, addresses("192.168.1.5", "8.8.8.8")
	text, err := a.Issue(names, at, now)
	if err != nil {
		t.Fatal(err)
	}
	cert := leaf(t, text).Leaf
	if !a.Covers(cert, names, at, now) {
		t.Error("its own")
	}
	for what, good := range map[string]bool{
		"another address": a.Covers(cert, names, addresses("192.168.1.6"), now),
		"another name":    a.Covers(cert, []string{"ash.local"}, at, now),
		"soon over":       a.Covers(cert, names, at, now.Add(350*24*time.Hour)),
		"over":            a.Covers(cert, names, at, now.Add(400*24*time.Hour)),
		"not begun":       a.Covers(cert, names, at, now.Add(-48*time.Hour)),
		"another's":       made(t).Covers(cert, names, at, now),
	} {
		if good {
			t.Errorf("%s is covered", what)
		}
	}
	if _, err := a.Issue([]string{"bank.example"}, addresses("1.1.1.1"), now); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("nothing to vouch for: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	a := made(t)
	whole, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	server, err := a.Issue([]string{"box"}, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := made(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := bytes.Cut(other, []byte("-----END CERTIFICATE-----\n"))
	cert, _, _ := bytes.Cut(whole, []byte("-----BEGIN PRIVATE KEY-----"))
	for what, text := range map[string][]byte{"nothing": nil, "a server's": server, "half": whole[:len(whole)/2], "another's key": append(bytes.Clone(cert), key...), "noise": []byte("x")} {
		if _, err := localca.Decode(text); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	public, err := localca.Public(a.Certificate())
	if err != nil || !public.Covers(leaf(t, server).Leaf, []string{"box"}, nil, now) {
		t.Errorf("its certificate alone: %v", err)
	}
	for what, der := range map[string][]byte{"nothing": nil, "a server's": leaf(t, server).Leaf.Raw, "noise": []byte("x")} {
		if _, err := localca.Public(der); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%s as an authority: %v", what, err)
		}
	}
}

// OpenSSL, which is nobody's of ours, agrees.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("install openssl to have another program check the certificates")
	}
	a := made(t)
	text, err := a.Issue([]string{"box.local"}, addresses("192.168.1.5"), now)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"ca.pem": ca, "leaf.pem": text} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range [][]string{{"-verify_hostname", "box.local"}, {"-verify_ip", "192.168.1.5"}} {
		args := append([]string{"verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", filepath.Join(dir, "ca.pem")}, name...)
		out, err := exec.CommandContext(t.Context(), openssl, append(args, filepath.Join(dir, "leaf.pem"))...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), ": OK") {
			t.Errorf("%v: %v %s", name, err, out)
		}
	}
}

func FuzzDecode(f *testing.F) {
	a, err := localca.New("box", now)
	if err != nil {
		f.Fatal(err)
	}
	text, err := a.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		back, err := localca.Decode(text)
		if (err == nil) == (back == nil) {
			t.Error("neither or both")
		}
	})
}
