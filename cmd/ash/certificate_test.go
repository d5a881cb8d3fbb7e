package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/vault"
)

func vaultAt(t *testing.T, home string) *vault.Vault {
	t.Helper()
	v, err := openVault(home)
	must(t, err)
	t.Cleanup(func() { must(t, v.Close()) })
	return v
}

// TestCertificate makes one, goes on with it while the vault is locked, and renews it once it is open.
func TestCertificate(t *testing.T) {
	t.Parallel()
	home, pass := t.TempDir(), []byte("four words for a test")
	v := vaultAt(t, home)
	c := newCertificate(home, v)
	names, at := []string{"box.local", "ash.example.org"}, []netip.Addr{netip.MustParseAddr("192.168.1.5")}
	if serving, err := c.ensure(t.Context(), "box", names, at); serving || agent.CodeOf(err) != agent.CodeConflict {
		t.Fatalf("without a vault: %v, %v", serving, err)
	}
	must(t, v.Create(t.Context(), bytes.Clone(pass)))
	ensure := func(c *certificate, at []netip.Addr, want agent.Code) *x509.Certificate {
		t.Helper()
		serving, err := c.ensure(t.Context(), "box", names, at)
		if !serving || agent.CodeOf(err) != want {
			t.Fatalf("serving %v, %v", serving, err)
		}
		leaf, err := c.config().GetCertificate(&tls.ClientHelloInfo{})
		must(t, err)
		return leaf.Leaf
	}
	first := ensure(c, at, "")
	pool := x509.NewCertPool()
	ca, err := x509.ParseCertificate(c.trusted())
	must(t, err)
	pool.AddCert(ca)
	for name, good := range map[string]bool{"box.local": true, "192.168.1.5": true, "ash.example.org": false} {
		if _, err := first.Verify(x509.VerifyOptions{Roots: pool, DNSName: name}); (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
	}
	if again := ensure(c, at, ""); !again.Equal(first) {
		t.Error("what is good is made anew")
	}
	v.Lock(t.Context())
	// After a restart with a locked vault it is served as it is; another address waits for the vault.
	later := newCertificate(home, v)
	if served := ensure(later, at, ""); !served.Equal(first) {
		t.Error("another one after a restart")
	}
	moved := []netip.Addr{netip.MustParseAddr("192.168.1.77")}
	if served := ensure(later, moved, agent.CodeLocked); !served.Equal(first) {
		t.Error("what could be made with a locked vault?")
	}
	must(t, v.Unlock(t.Context(), bytes.Clone(pass)))
	second := ensure(later, moved, "")
	if _, err := second.Verify(x509.VerifyOptions{Roots: pool, DNSName: "192.168.1.77"}); err != nil {
		t.Errorf("by another authority: %v", err)
	}
	// It is renewed in time.
	later.now = func() time.Time { return time.Now().Add(330 * 24 * time.Hour) }
	if third := ensure(later, moved, ""); third.Equal(second) {
		t.Error("it is not renewed before it ends")
	}
	// Half a file is made anew.
	must(t, os.WriteFile(c.serverFile(), []byte("-----BEGIN CERTIFICATE-----\nx"), 0o600))
	ensure(newCertificate(home, v), moved, "")
	// The authority's key is nowhere but in the vault.
	must(t, filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte("PRIVATE KEY")) && path != c.serverFile() {
			t.Errorf("a key lies in %s", path)
		}
		if info, err := d.Info(); err == nil && othersMayRead(info.Mode()) {
			t.Errorf("others may read %s", path)
		}
		return err
	}))
	secret, err := v.Use(t.Context(), vault.Request{Name: caSecret, User: caSecret})
	must(t, err)
	pair, err := tls.X509KeyPair(secret, secret)
	must(t, err)
	if server, err := os.ReadFile(c.serverFile()); err != nil || pair.PrivateKey == nil || bytes.Contains(server, secret[len(secret)-100:]) {
		t.Errorf("the server has the authority's key, or %v", err)
	}
}

func TestParseTailnet(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		`{"BackendState":"Running","Self":{"DNSName":"Box.tail1234.ts.net."}}`: "box.tail1234.ts.net",
		`{"BackendState":"Stopped","Self":{"DNSName":"box.tail1234.ts.net."}}`: "",
		`{"BackendState":"Running","Self":{"DNSName":"<b>.ts.net"}}`:           "",
		`{"BackendState":"Running","Self":null}`:                               "",
		`not JSON`:                                                             "", ``: "", `[]`: "",
	} {
		if got := parseTailnet([]byte(out)); got != want {
			t.Errorf("%s: %q", out, got)
		}
	}
}
