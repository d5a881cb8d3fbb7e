package egress

import (
	"net"
	"net/netip"
)

// block is a range of addresses that is not the public internet.
type block struct {
	prefix netip.Prefix
	what   string // completes "which is …"
}

// special lists what is not public, the narrower range first where two overlap. Sources: the IANA IPv4 and IPv6
// special-purpose address registries (RFC 6890 and its successors), and the vendors' pages on metadata services.
var special = []block{
	{netip.MustParsePrefix("169.254.169.254/32"), "the metadata service of a cloud machine"},
	{netip.MustParsePrefix("169.254.170.2/32"), "the metadata service of a cloud machine"},
	{netip.MustParsePrefix("168.63.129.16/32"), "the metadata service of a cloud machine"},   // Azure; looks public
	{netip.MustParsePrefix("100.100.100.200/32"), "the metadata service of a cloud machine"}, // Alibaba
	{netip.MustParsePrefix("192.0.0.192/32"), "the metadata service of a cloud machine"},     // Oracle, first generation
	{netip.MustParsePrefix("fd00:ec2::/32"), "the metadata service of a cloud machine"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "the metadata service of a cloud machine"}, // Google

	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a carrier's or a Tailscale network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "this machine itself"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "an address of a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for measurements"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},

	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("::1/128"), "this machine itself"},
	{netip.MustParsePrefix("::/96"), "a reserved address"}, // IPv4-compatible, which some stacks still translate
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an address of a local NAT64 translator"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"}, // carries an IPv4 address
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"}, // carries an IPv4 address
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: carries an IPv4 address in its last four bytes
	global = netip.MustParsePrefix("2000::/3")     // all that IANA has handed out for IPv6 unicast
)

// refusal says why a is not on the public internet, in words that complete "which is …"; "" when it is. An
// IPv4 address in an IPv6 one (mapped, or behind the well-known NAT64 prefix, as IPv6-only networks have it) is judged itself.
func refusal(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return "no address"
	case a.Zone() != "":
		return "a link-local address"
	}
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.what
		}
	}
	if a.Is6() && !global.Contains(a) {
		return "a reserved address"
	}
	return ""
}

// own says why a belongs to this machine: it is one of its addresses, or lies in one of its IPv6
// networks, where every device of a home has a public address. links are the machine's interfaces' addresses with their networks.
func own(a netip.Addr, links []netip.Prefix) string {
	a = a.Unmap()
	for _, l := range links {
		switch {
		case l.Addr() == a:
			return "this machine itself"
		case a.Is6() && l.Bits() >= 48 && l.Masked().Contains(a):
			return "an address of this machine's own network"
		}
	}
	return ""
}

// interfaces lists the addresses of this machine with their networks.
func interfaces() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var links []netip.Prefix
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		if !ok {
			continue
		}
		bits, _ := n.Mask.Size()
		links = append(links, netip.PrefixFrom(ip.Unmap(), bits))
	}
	return links, nil
}
