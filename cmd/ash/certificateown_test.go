package main

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent/access/keypair"
	"ash/agent/access/localca"
)

// ownFiles writes a certificate for names, of an authority of the person's own, over what was there before.
func ownFiles(t *testing.T, f keypair.Files, now time.Time, names ...string) {
	t.Helper()
	a, err := localca.New("tail1234.ts.net", now) // so that it may vouch for names below that
	must(t, err)
	text, err := a.Issue(names, nil, now)
	must(t, err)
	cert, key, _ := strings.Cut(string(text), "-----BEGIN PRIVATE")
	must(t, os.WriteFile(f.Certificate, []byte(cert), 0o644))
	must(t, os.WriteFile(f.Key, []byte("-----BEGIN PRIVATE"+key), 0o600))
}

// TestOwnCertificate shows the person's certificate for its names and Ash's for the rest, and takes up what changes on the disk.
func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	v := vaultAt(t, home)
	must(t, v.Create(t.Context(), []byte("four words for a test")))
	c := newCertificate(home, v)
	at := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	_, err := c.ensure(t.Context(), "box", []string{"box.local"}, at)
	must(t, err)
	const name = "box.tail1234.ts.net"
	f := keypair.Files{Certificate: filepath.Join(home, "box.crt"), Key: filepath.Join(home, "box.key")}
	ownFiles(t, f, time.Now(), name)
	bring := func(f keypair.Files, serves, well bool) {
		t.Helper()
		if serving, err := c.bring(f); serving != serves || (err == nil) != well {
			t.Fatalf("serving %v, %v", serving, err)
		}
	}
	shown := func(name string) string {
		t.Helper()
		got, err := c.choose(&tls.ClientHelloInfo{ServerName: name, Conn: local{}})
		must(t, err)
		return strings.Join(got.Leaf.DNSNames, " ")
	}
	bring(keypair.Files{}, false, true)
	if got := shown(name); got != "box.local" || c.insists(name) {
		t.Errorf("without one of the person's: %q, insists %v", got, c.insists(name))
	}
	bring(f, true, true)
	for asked, want := range map[string]string{name: name, "box.local": "box.local", "": "box.local", "elsewhere": "box.local"} {
		if got := shown(asked); got != want {
			t.Errorf("%q is shown %q", asked, got)
		}
	}
	if !c.insists(name) || c.insists("box.local") || c.insists("") {
		t.Error("browsers are told to insist where they must not, or not where they may")
	}

	// It is renewed: first the one file, then the other. What was read is shown until both fit.
	key, err := os.ReadFile(f.Key)
	must(t, err)
	ownFiles(t, f, time.Now(), name, "more."+name)
	renewed, err := os.ReadFile(f.Key)
	must(t, err)
	must(t, os.WriteFile(f.Key, key, 0o600))
	bring(f, true, false)
	if got := shown(name); got != name {
		t.Errorf("half a renewal shows %q", got)
	}
	must(t, os.WriteFile(f.Key, renewed, 0o600))
	bring(f, true, true)
	if got := shown("more." + name); got != name+" more."+name {
		t.Errorf("renewed, it shows %q", got)
	}
	must(t, os.Remove(f.Certificate))
	bring(f, true, false)
	if serving, err := newCertificate(home, v).bring(f); serving || err == nil { // a start without the file: nothing else is shown in its place
		t.Errorf("without its file: %v, %v", serving, err)
	}
	// Its time runs out: it is shown, for browsers say so better than a door that is shut, and it is told.
	ownFiles(t, f, time.Now(), name)
	bring(f, true, true)
	c.now = func() time.Time { return time.Now().AddDate(2, 0, 0) }
	bring(f, true, false)
	if c.insists(name) {
		t.Error("it insists on what is over")
	}
	bring(keypair.Files{}, false, true)
	if got := shown(name); got != "box.local" {
		t.Errorf("taken away, it still shows %q", got)
	}
}

// local is a connection that reached 127.0.0.1.
type local struct{ net.Conn }

func (local) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// TestOwnCertificateByThePage names it on the page, where wrong files are refused, and reaches the server by its name without a vault.
func TestOwnCertificateByThePage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	settings(t, home, "[doors]\nlan = \""+ownAddress(t).String()+"\"\nhttps = true\n")
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "four words nobody expects"), "--home", home).is(t, 0)
	p := serving(t, home)
	const name = "box.tail1234.ts.net"
	f := keypair.Files{Certificate: filepath.Join(home, "box.crt"), Key: filepath.Join(home, "box.key")}
	ownFiles(t, f, time.Now(), name)
	must(t, os.Chmod(f.Key, 0o644))
	here := newHere(t, p)
	save := func(f keypair.Files) (int, string) {
		t.Helper()
		res, text := here.send("/settings/doors", "/settings/doors/certificate", url.Values{"certificate": {f.Certificate}, "certificate_key": {f.Key}})
		return res.StatusCode, text
	}
	for want, wrong := range map[string]keypair.Files{
		"chmod 600": f, "There is no file": {Certificate: filepath.Join(home, "nowhere")}, "Write the whole path": {Certificate: "box.crt"}, "too": {Key: f.Key},
	} {
		if status, text := save(wrong); status != http.StatusUnprocessableEntity || !strings.Contains(text, want) {
			t.Errorf("%v: %d, without %q", wrong, status, want)
		}
	}
	must(t, os.Chmod(f.Key, 0o600))
	if status, text := save(f); status != http.StatusSeeOther {
		t.Fatalf("%d\n%s", status, text)
	}
	at := net.JoinHostPort(ownAddress(t).String(), p.url[strings.LastIndexByte(p.url, ':')+1:])
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{ServerName: name, InsecureSkipVerify: true}}, //nolint:gosec // who is shown is looked at below
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+"/sign-in", nil)
	must(t, err)
	req.Host = name + at[strings.LastIndexByte(at, ':'):]
	var res *http.Response
	p.until("the door is open", func() bool {
		res, err = client.Do(req)
		return err == nil
	})
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || res.TLS.PeerCertificates[0].VerifyHostname(name) != nil || res.Header.Get("Strict-Transport-Security") != "max-age=2592000" {
		t.Errorf("%s, %v, %q", res.Status, res.TLS.PeerCertificates[0].DNSNames, res.Header.Get("Strict-Transport-Security"))
	}
	if page := p.get("/settings/doors"); !strings.Contains(page, "https://"+req.Host) || !strings.Contains(page, "In use for "+name) {
		t.Error("the page does not say where it is reached")
	}
	if out := ash(t, "", "doctor", "--home", home).out; !strings.Contains(out, "your own certificate for "+name) {
		t.Errorf("the doctor says\n%s", out)
	}
}
