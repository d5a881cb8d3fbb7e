package localca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ash/agent"
)

const (
	caAge   = 10 * 365 * 24 * time.Hour
	leafAge = 397 * 24 * time.Hour
	early   = time.Hour // clocks of phones are not this machine's

	pemCertificate = "CERTIFICATE"
	pemKey         = "PRIVATE KEY" // PKCS 8
)

// homeNames are the name spaces of home networks: RFC 6762, RFC 8375, ICANN's .internal, and what routers use.
func homeNames() []string { return []string{"local", "home.arpa", "internal", "lan", "home"} }

// homeNetworks are the addresses that may be vouched for: RFC 1918, RFC 4193, link-local ones and those of a tailnet (RFC 6598).
func homeNetworks() []*net.IPNet {
	var out []*net.IPNet
	for _, s := range []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "fc00::/7", "fe80::/10", "::1/128"} {
		p := netip.MustParsePrefix(s)
		out = append(out, &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())})
	}
	return out
}

// Authority signs certificates of this machine.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority for a machine of that name, "" when it has none.
func New(machine string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, internal(err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, internal(err)
	}
	names := homeNames()
	if machine != "" {
		names = append(names, machine)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: strings.TrimSpace("Ash on " + machine), Organization: []string{"Ash, for this home only"}},
		NotBefore:    now.Add(-early), NotAfter: now.Add(caAge),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: names, PermittedIPRanges: homeNetworks(),
	}
	return sign(template, key)
}

func sign(template *x509.Certificate, key *ecdsa.PrivateKey) (*Authority, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, internal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, internal(err)
	}
	return &Authority{cert, key}, nil
}

func internal(err error) error {
	return agent.Wrap(agent.CodeInternal, err, "The certificate could not be made.")
}

func serialNumber() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // RFC 5280, 4.1.2.2: positive, at most 20 bytes
}

// Encode returns certificate and key as PEM: a secret.
func (a *Authority) Encode() ([]byte, error) { return encode(a.cert.Raw, a.key) }

func encode(der []byte, key *ecdsa.PrivateKey) ([]byte, error) {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, internal(err)
	}
	out := pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: der})
	return append(out, pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: private})...), nil
}

// Decode reads what Encode wrote. CodeInvalid for anything else.
func Decode(text []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "That is no certificate authority of Ash.")
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, agent.Errorf(agent.CodeInvalid, "That is no certificate authority of Ash.")
	}
	return &Authority{pair.Leaf, key}, nil
}

// Public reads an authority's certificate: what it can be asked is whether it covers something. CodeInvalid for anything else.
func Public(der []byte) (*Authority, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil || !cert.IsCA {
		return nil, agent.Wrap(agent.CodeInvalid, err, "That is no certificate of an authority.")
	}
	return &Authority{cert: cert}, nil
}

// Certificate returns the authority's certificate in DER: what devices are asked to trust. It is no secret.
func (a *Authority) Certificate() []byte { return slices.Clone(a.cert.Raw) }

// Fingerprint is the SHA-256 of a certificate in DER, as devices show it: pairs of digits with colons.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = strings.ToUpper(hex.EncodeToString([]byte{b}))
	}
	return strings.Join(pairs, ":")
}

// Issue makes a certificate for names and addresses of this machine, with a key of its own, as PEM: a secret. What the authority may not vouch for
// is left out. CodeInvalid when nothing remains.
func (a *Authority) Issue(names []string, addresses []netip.Addr, now time.Time) ([]byte, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Ash"},
		NotBefore: now.Add(-early), NotAfter: now.Add(leafAge),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	for _, name := range names {
		if a.mayName(name) && !slices.Contains(template.DNSNames, name) {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	for _, ip := range addresses {
		if a.mayReach(ip) {
			template.IPAddresses = append(template.IPAddresses, ip.Unmap().WithZone("").AsSlice())
		}
	}
	if len(template.DNSNames)+len(template.IPAddresses) == 0 {
		return nil, agent.Errorf(agent.CodeInvalid, "There is no address of this machine that a certificate could be made for.")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, internal(err)
	}
	if template.SerialNumber, err = serialNumber(); err != nil {
		return nil, internal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, internal(err)
	}
	return encode(der, key)
}

func (a *Authority) mayName(name string) bool {
	return slices.ContainsFunc(a.cert.PermittedDNSDomains, func(d string) bool { return name == d || strings.HasSuffix(name, "."+d) })
}

func (a *Authority) mayReach(ip netip.Addr) bool {
	return slices.ContainsFunc(a.cert.PermittedIPRanges, func(n *net.IPNet) bool { return n.Contains(ip.Unmap().AsSlice()) })
}

// Covers reports whether a certificate is one of the authority, good for a while yet, and names all that Issue would put into one.
func (a *Authority) Covers(leaf *x509.Certificate, names []string, addresses []netip.Addr, now time.Time) bool {
	if leaf.CheckSignatureFrom(a.cert) != nil {
		return false
	}
	for _, name := range names {
		if a.mayName(name) && leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	for _, ip := range addresses {
		if a.mayReach(ip) && leaf.VerifyHostname(ip.Unmap().WithZone("").String()) != nil {
			return false
		}
	}
	return now.After(leaf.NotBefore) && now.Before(leaf.NotAfter.Add(-leafAge/4))
}
