package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func TestRefusal(t *testing.T) {
	public := []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "169.253.255.255", "192.167.255.255",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "9.255.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.0", "168.63.129.15",
		"2606:4700::1111", "2a00:1450:4001:800::200e", "2001:200::1", "2001:4860:4860::8888", "3ffe::1", "2003::1",
		"::ffff:1.1.1.1",   // mapped
		"64:ff9b::101:101", // NAT64 of 1.1.1.1, as IPv6-only networks answer
	}
	for _, s := range public {
		if why := refusal(netip.MustParseAddr(s)); why != "" {
			t.Errorf("%s is public, but refused as %s", s, why)
		}
	}
	refused := map[string]string{
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "::": "unspecified",
		"127.0.0.1": "this machine", "127.255.255.254": "this machine", "::1": "this machine", "::ffff:127.0.0.1": "this machine",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.0.1": "private", "::ffff:10.1.2.3": "private",
		"fc00::1": "private", "fdff::1": "private", "fec0::1": "private",
		"169.254.0.1": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "2606:4700::1%eth0": "link-local",
		"169.254.169.254": "metadata", "::ffff:169.254.169.254": "metadata", "fd00:ec2::254": "metadata", "fd20:ce::254": "metadata",
		"100.100.100.200": "metadata", "168.63.129.16": "metadata", "192.0.0.192": "metadata", "169.254.170.2": "metadata",
		"100.64.0.1": "Tailscale", "100.127.255.255": "Tailscale",
		"224.0.0.1": "multicast", "239.255.255.255": "multicast", "ff02::1": "multicast", "ff0e::1": "multicast",
		"255.255.255.255": "broadcast", "240.0.0.1": "reserved", "192.0.0.1": "reserved",
		"192.0.2.1": "documentation", "198.51.100.7": "documentation", "203.0.113.9": "documentation", "2001:db8::1": "documentation", "3fff::1": "documentation",
		"198.18.0.1": "measurements", "198.19.255.255": "measurements", "192.88.99.1": "6to4",
		"64:ff9b::7f00:1": "this machine", "64:ff9b::a9fe:a9fe": "metadata", "64:ff9b::a00:1": "private", "64:ff9b:1::1": "NAT64",
		"2002:7f00:1::": "6to4", "2002:101:101::1": "6to4", "2001:0:4136:e378:8000:63bf:3fff:fdd2": "Teredo", "2001:10::1": "reserved", "2001:20::1": "reserved",
		"::127.0.0.1": "reserved", "::1.1.1.1": "reserved", "100::1": "reserved", "5f00::1": "reserved", "4000::1": "reserved", "1fff::1": "reserved",
		"::ffff:0:127.0.0.1": "reserved", // SIIT
	}
	for s, want := range refused {
		if why := refusal(netip.MustParseAddr(s)); !strings.Contains(why, want) {
			t.Errorf("%s: refused as %q, want %q", s, why, want)
		}
	}
	if refusal(netip.Addr{}) == "" {
		t.Error("the zero address is let through")
	}
}

func TestOwn(t *testing.T) {
	links := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("185.10.20.30/22"),
		netip.MustParsePrefix("2a01:4f8:1:2::5/64"), netip.MustParsePrefix("2a01:4f8:9::7/128"), netip.MustParsePrefix("2a01::1/3")}
	for s, want := range map[string]bool{
		"185.10.20.30": true, "::ffff:185.10.20.30": true, "2a01:4f8:1:2::5": true, "2a01:4f8:9::7": true,
		"2a01:4f8:1:2:aaaa::1": true,  // another device at home
		"185.10.20.31":         false, // a stranger's server beside ours
		"2a01:4f8:9::8":        false, "2a01:4f8:1:3::1": false, "1.1.1.1": false,
	} {
		if got := own(netip.MustParseAddr(s), links) != ""; got != want {
			t.Errorf("own(%s) = %v", s, got)
		}
	}
}

func TestHostPatterns(t *testing.T) {
	list, err := parseHosts([]string{"Example.org.", "*.wiki.test", "git.test:8443", "[2606:4700::1111]:443", "1.1.1.1", "bücher.test", " spaced.test "})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"example.org:443": true, "example.org:80": true, "example.org:22": false, "www.example.org:443": false, "notexample.org:443": false, "example.org.evil.test:443": false,
		"de.wiki.test:443": true, "a.b.wiki.test:80": true, "wiki.test:443": false, "evilwiki.test:443": false, "wiki.test.evil.test:443": false,
		"git.test:8443": true, "git.test:443": false, "2606:4700::1111:443": true, "1.1.1.1:80": true, "1.1.1.2:80": false, "xn--bcher-kva.test:443": true, "spaced.test:443": true,
	} {
		i := strings.LastIndexByte(target, ':')
		port, _ := parsePort(target[i+1:])
		if got := list.permits(target[:i], port); got != want {
			t.Errorf("permits(%s) = %v", target, got)
		}
	}
	any, err := parseHosts([]string{"*"})
	if err != nil || !any.permits("anything.test", 443) || any.permits("anything.test", 25) {
		t.Errorf("*: %v %v", any, err)
	}
	for _, bad := range []string{"", "http://example.org", "example.org/path", "a b", "*.*", "**", "*.1.2.3.4", "*example.org", "ex*mple.org", "example.org:0", "example.org:65536",
		"example.org:+80", "user@example.org", "127.1", "0x7f.1", "2130706433", "fe80::1%eth0", "a..b", ".a", strings.Repeat("a", 64) + ".test", "a\x00b", "*."} {
		if _, err := parseHosts([]string{bad}); err == nil {
			t.Errorf("%q was taken for a host", bad)
		}
	}
	var none hostList
	if none.permits("example.org", 443) {
		t.Error("an empty list permits")
	}
}

// FuzzRefusal holds the classification against Go's own predicates and against other forms of the same address.
func FuzzRefusal(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "::1", "169.254.169.254", "64:ff9b::7f00:1", "::ffff:10.0.0.1", "2002:7f00:1::", "fe80::1%x", "1.1.1.1", "2606:4700::1111"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return
		}
		public := refusal(a) == ""
		plain := a.Unmap()
		if public && (plain.IsLoopback() || plain.IsPrivate() || plain.IsLinkLocalUnicast() || plain.IsMulticast() || plain.IsUnspecified() || !plain.IsGlobalUnicast() || a.Zone() != "") {
			t.Errorf("%s passes as public", a)
		}
		if plain.Is4() {
			b := plain.As4()
			mapped := netip.AddrFrom16(plain.As16())
			far := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: b[0], b[1], b[2], b[3]})
			if (refusal(mapped) == "") != public || (refusal(far) == "") != public {
				t.Errorf("%s is judged in another way when it is mapped or translated", a)
			}
		}
	})
}

// FuzzHost holds that a host that is accepted means one thing to everybody.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"example.org", "EXAMPLE.org.", "127.1", "0x7f000001", "2130706433", "[::1]", "::1", "a\x00b.test", "bücher.de", "example.org%00.evil", "１２７.0.0.1", "a。b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, addr, ok := cleanHost(s)
		if !ok {
			return
		}
		again, addr2, ok := cleanHost(host)
		if !ok || again != host || addr2 != addr {
			t.Errorf("%q is cleaned to %q, and that to %q", s, host, again)
		}
		h, port, ok := splitTarget(joinTarget(host, 443))
		if !ok || h != host || port != 443 {
			t.Errorf("%q does not survive being joined and split: %q", host, h)
		}
		if !addr.IsValid() && strings.Trim(host[strings.LastIndexByte(host, '.')+1:], "0123456789") == "" {
			t.Errorf("%q ends in a number and is no address", host)
		}
	})
}
