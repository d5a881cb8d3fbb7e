package egress

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"ash/agent"
)

// maxHost is the most bytes of a host name (RFC 1035, without the trailing dot).
const maxHost = 253

// cleanHost returns host as it is compared and looked up: a plain IP address, or an ASCII name in lower case
// without trailing dot. Whatever a resolver might read in another way than this package is no host:
// "127.1", "0x7f000001", "2130706433", addresses with a zone, names with blanks or control characters.
func cleanHost(host string) (name string, addr netip.Addr, ok bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String(), a.Unmap(), a.Zone() == ""
	}
	if !isASCII(host) {
		var err error
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return "", netip.Addr{}, false
		}
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || len(host) > maxHost {
		return "", netip.Addr{}, false
	}
	var last string
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || !isWord(label) {
			return "", netip.Addr{}, false
		}
		last = label
	}
	if isNumber(last) {
		return "", netip.Addr{}, false
	}
	return host, netip.Addr{}, true
}

// isWord reports whether label has only the characters of host names, the underscore of some services included.
func isWord(label string) bool {
	for _, c := range []byte(label) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// isNumber reports whether a name that ends in label is an IPv4 address to some parsers (WHATWG URL, inet_aton).
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// splitTarget takes "host:port" apart.
func splitTarget(address string) (host string, port uint16, ok bool) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return "", 0, false
	}
	host = address[:i]
	switch {
	case strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]"):
		host = host[1 : len(host)-1]
		if !strings.Contains(host, ":") {
			return "", 0, false
		}
	case strings.ContainsAny(host, ":[]"):
		return "", 0, false
	}
	port, ok = parsePort(address[i+1:])
	return host, port, ok
}

// parsePort reads a port as digits alone.
func parsePort(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, false
	}
	return uint16(n), true
}

// joinTarget is the reverse of splitTarget, for a clean host.
func joinTarget(host string, port uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

// pattern is one entry of a list of hosts.
type pattern struct {
	host string // clean; "" for any
	sub  bool   // the names below host, not host itself
	port uint16 // 0 for 80 and 443
}

// hostList is what a passage may reach.
type hostList []pattern

// parseHosts reads "example.org", "*.example.org", "*" (any public host), each with ":port" or without, which is 80 and 443.
func parseHosts(hosts []string) (hostList, error) {
	var list hostList
	for _, h := range hosts {
		p, ok := parsePattern(strings.TrimSpace(h))
		if !ok {
			return nil, agent.Errorf(agent.CodeInvalid,
				"%q is not a host. Write it as example.org, *.example.org, example.org:8443 or * for any public host.", agent.Clip(h, 128))
		}
		list = append(list, p)
	}
	return list, nil
}

func parsePattern(h string) (p pattern, ok bool) {
	host, port, withPort := splitTarget(h)
	switch {
	case withPort:
		p.port = port
	case strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]"):
		host = h[1 : len(h)-1]
	default:
		host = h
	}
	if host == "*" {
		return p, true
	}
	host, p.sub = strings.CutPrefix(host, "*.")
	var addr netip.Addr
	p.host, addr, ok = cleanHost(host)
	return p, ok && !(p.sub && addr.IsValid())
}

// permits reports whether a clean host may be reached at port.
func (l hostList) permits(host string, port uint16) bool {
	for _, p := range l {
		switch {
		case p.port == 0 && port != 80 && port != 443, p.port != 0 && p.port != port:
		case p.host == "", !p.sub && host == p.host, p.sub && strings.HasSuffix(host, "."+p.host):
			return true
		}
	}
	return false
}

// String lists the hosts for the person.
func (l hostList) String() string {
	if len(l) == 0 {
		return "none"
	}
	var names []string
	for _, p := range l {
		name := p.host
		switch {
		case p.host == "":
			name = "*"
		case p.sub:
			name = "*." + p.host
		}
		if p.port != 0 {
			name = joinTarget(name, p.port)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
