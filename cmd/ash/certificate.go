package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ash/agent"
	"ash/agent/access/keypair"
	"ash/agent/access/localca"
	"ash/agent/doctor"
	"ash/agent/vault"
)

// caSecret is the name under which the vault keeps the authority, and the part of Ash that uses it.
const caSecret = "door/ca"

// certificate keeps what HTTPS on the network needs: the authority's key in the vault, its certificate and the server's own beside it:
//
//	doors/authority.crt   what devices are asked to trust (DER; no secret)
//	doors/server.pem      the server's certificate and key, 0600: a locked vault must not lock the door
//
// Beside it stands the one that the settings name, if any: see bring.
//
// The server's key lies open on the disk, as every HTTPS server's does. Who steals it can pretend to be this machine in its own
// network until the certificate ends; who steals the authority's could go on for ten years, so that is in the vault.
type certificate struct {
	dir   string
	vault *vault.Vault
	now   func() time.Time

	mu   sync.Mutex // one is made, or read, at a time
	leaf atomic.Pointer[tls.Certificate]

	own   atomic.Pointer[tls.Certificate] // that the settings name; nil: none
	files keypair.Files                   // guarded by mu, as stamp and wrong: where own is from
	stamp string
	wrong error // why what the settings name is not what is shown, or not for long
}

func newCertificate(home string, v *vault.Vault) *certificate {
	return &certificate{dir: filepath.Join(home, "doors"), vault: v, now: time.Now}
}

func (c *certificate) authorityFile() string { return filepath.Join(c.dir, "authority.crt") }
func (c *certificate) serverFile() string    { return filepath.Join(c.dir, "server.pem") }

// config returns how the server proves who it is; what it shows is looked up for each connection, so that a new certificate takes effect at once.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: c.choose,
	}
}

// choose takes the person's own certificate for what it names, and Ash's for everything else, addresses above all: no public authority
// vouches for 192.168.1.5.
func (c *certificate) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	own, leaf := c.own.Load(), c.leaf.Load()
	switch {
	case own == nil && leaf == nil:
		return nil, errors.New("there is no certificate")
	case own == nil:
		return leaf, nil
	case leaf == nil || own.Leaf.VerifyHostname(asked(hello)) == nil:
		return own, nil
	}
	return leaf, nil
}

// asked is the name that a browser wants to see in the certificate; where it gives none, it opened the address that it reached.
func asked(hello *tls.ClientHelloInfo) string {
	if hello.ServerName != "" || hello.Conn == nil {
		return hello.ServerName
	}
	at, err := netip.ParseAddrPort(hello.Conn.LocalAddr().String())
	if err != nil {
		return ""
	}
	return at.Addr().Unmap().WithZone("").String()
}

// insists reports whether browsers that came by a name may be told to come by HTTPS only from now on: those that remember it trust the person's own
// certificate already. For Ash's they are never told: with it, /trust could not be reached without TLS any more.
func (c *certificate) insists(name string) bool {
	own := c.own.Load()
	return own != nil && name != "" && own.Leaf.VerifyHostname(name) == nil && c.now().Before(own.Leaf.NotAfter)
}

// names are those of the person's own certificate.
func (c *certificate) names() []string {
	if own := c.own.Load(); own != nil {
		return keypair.Names(own.Leaf)
	}
	return nil
}

// ownEnds is when the person's own certificate does; zero without one.
func (c *certificate) ownEnds() time.Time {
	if own := c.own.Load(); own != nil {
		return own.Leaf.NotAfter
	}
	return time.Time{}
}

// bring reads the certificate that the settings name, anew when its files changed. What was read goes on to be shown while the files are not as they
// should be, so that half a renewal shuts nobody out; wrong says why. Nothing named, nothing wrong: serving is false, err nil.
func (c *certificate) bring(files keypair.Files) (serving bool, wrong error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if files.None() {
		c.own.Store(nil)
		c.files, c.stamp, c.wrong = files, "", nil
		return false, nil
	}
	if stamp := files.Stamp(); c.files != files || c.stamp != stamp || c.wrong != nil {
		pair, err := keypair.Load(files, c.now())
		if pair != nil {
			c.own.Store(pair)
		}
		c.files, c.stamp, c.wrong = files, stamp, err
	}
	own := c.own.Load()
	if c.wrong == nil && !c.now().Before(own.Leaf.NotAfter) {
		_, c.wrong = keypair.Load(files, c.now()) // its time ran out while nobody touched it
	}
	return own != nil, c.wrong
}

// trusted returns the authority's certificate in DER; nil when there is none yet.
func (c *certificate) trusted() []byte {
	der, err := os.ReadFile(c.authorityFile())
	if err != nil {
		return nil
	}
	if _, err := x509.ParseCertificate(der); err != nil {
		return nil
	}
	return der
}

// ends is when the server's certificate does; zero without one.
func (c *certificate) ends() time.Time {
	if leaf := c.leaf.Load(); leaf != nil {
		return leaf.Leaf.NotAfter
	}
	return time.Time{}
}

// ensure sees to it that the server has a certificate for names and addresses. The first time it makes the authority, for which there must be a
// vault; later ones need it unlocked. While it is locked, what is there goes on to be used, as long as it is good for anything: then the
// error is for the page only and serving is true.
func (c *certificate) ensure(ctx context.Context, machine string, names []string, addresses []netip.Addr) (serving bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.leaf.Load() == nil {
		c.load()
	}
	leaf, ca := c.leaf.Load(), c.trusted()
	if leaf != nil && ca != nil {
		if public, err := localca.Public(ca); err == nil && public.Covers(leaf.Leaf, names, addresses, now) {
			return true, nil
		}
	}
	authority, err := c.authority(ctx, machine, ca, now)
	if err == nil {
		err = c.issue(authority, names, addresses, now)
	}
	leaf = c.leaf.Load()
	return leaf != nil && now.Before(leaf.Leaf.NotAfter), err
}

// load takes what the last run left. What is damaged is made anew.
func (c *certificate) load() {
	text, err := os.ReadFile(c.serverFile())
	if err != nil {
		return
	}
	if pair, err := tls.X509KeyPair(text, text); err == nil {
		c.leaf.Store(&pair)
	}
}

// authority returns the one in the vault; the first time, and when a new vault has none, it is made.
func (c *certificate) authority(ctx context.Context, machine string, ca []byte, now time.Time) (*localca.Authority, error) {
	text, err := c.vault.Use(ctx, vault.Request{Name: caSecret, User: caSecret, For: "a certificate for your network"})
	if err == nil {
		defer vault.Wipe(text)
		a, err := localca.Decode(text)
		if err == nil {
			err = c.write(c.authorityFile(), a.Certificate())
		}
		return a, err
	}
	switch code := agent.CodeOf(err); {
	case !c.vault.Status(ctx).Exists:
		return nil, agent.Wrap(agent.CodeConflict, err, "HTTPS needs the vault, which keeps the key that your devices will trust. Make the vault first.")
	case code == agent.CodeLocked && ca != nil:
		return nil, agent.Wrap(agent.CodeLocked, err, "The certificate has to be renewed, for this machine's addresses changed or it ends soon. Unlock the vault; the rest happens by itself.")
	case code == agent.CodeLocked:
		return nil, agent.Wrap(agent.CodeLocked, err, "A certificate has to be made. Unlock the vault; the rest happens by itself.")
	case code != agent.CodeNotFound:
		return nil, err
	}
	a, err := localca.New(machine, now)
	if err != nil {
		return nil, err
	}
	secret, err := a.Encode()
	if err != nil {
		return nil, err
	}
	defer vault.Wipe(secret)
	if _, err := c.vault.Put(ctx, vault.Secret{Name: caSecret, Value: secret, Users: []string{caSecret}}); err != nil {
		return nil, err
	}
	return a, c.write(c.authorityFile(), a.Certificate())
}

func (c *certificate) issue(a *localca.Authority, names []string, addresses []netip.Addr, now time.Time) error {
	text, err := a.Issue(names, addresses, now)
	if err != nil {
		return err
	}
	defer vault.Wipe(text)
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The certificate could not be made.")
	}
	if err := c.write(c.serverFile(), text); err != nil {
		return err
	}
	c.leaf.Store(&pair)
	return nil
}

// write puts a file in place as a whole, durable and for the owner only.
func (c *certificate) write(path string, data []byte) (err error) {
	unwritten := func(err error) error {
		return agent.Wrap(agent.CodeUnavailable, err, "The certificate could not be written to %s.", path)
	}
	if err := os.Mkdir(c.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return unwritten(err)
	}
	f, err := os.CreateTemp(c.dir, ".new-*") // mode 0600
	if err != nil {
		return unwritten(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // what failed is told
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return unwritten(err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return unwritten(err)
	}
	return nil
}

// certificate sees what HTTPS would be served with by the files there are.
func (e *eyes) certificate(context.Context) (doctor.Certificates, error) {
	doors := e.settings.Config().Doors
	files := keypair.Files{Certificate: doors.Certificate, Key: doors.CertificateKey}
	if !files.None() {
		out := doctor.Certificates{Own: true}
		pair, err := keypair.Load(files, time.Now())
		if err != nil {
			out.Problem = agent.PublicOf(err)
		} else {
			out.Names, out.Ends = pair.Leaf.DNSNames, pair.Leaf.NotAfter
		}
		return out, nil
	}
	text, err := os.ReadFile(newCertificate(e.home, nil).serverFile())
	if errors.Is(err, fs.ErrNotExist) {
		return doctor.Certificates{}, nil
	}
	if err != nil {
		return doctor.Certificates{}, err
	}
	defer vault.Wipe(text)
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return doctor.Certificates{Problem: "The certificate that Ash made is damaged."}, nil // that is the finding
	}
	return doctor.Certificates{Names: pair.Leaf.DNSNames, Ends: pair.Leaf.NotAfter}, nil
}
