package vault

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"ash/agent"
)

// Bounds of what a secret may be; more is CodeInvalid or CodeExhausted.
const (
	MaxValue  = 64 << 10 // bytes of a value
	MaxNames  = 4096     // secrets in a vault
	MaxHosts  = 32       // hosts of a secret
	MaxUsers  = 16       // users of a secret
	maxWord   = 63       // bytes of one segment of a name
	maxHost   = 253      // bytes of a host name (RFC 1035)
	maxWaited = 1024     // secrets added while locked and not yet taken in
)

// namespaces says how many segments follow each namespace.
func namespaces() map[string]int {
	return map[string]int{
		"provider": 1, // provider/anthropic: the key of a model provider
		"tool":     1, // tool/brave
		"door":     1, // door/ca: what the doors of Ash need
		"plugin":   2, // plugin/<name>/<key>
		"channel":  2, // channel/<name>/<key>
	}
}

// CheckName refuses what is no name of a secret with CodeInvalid. A name is a
// namespace and one or two words: provider/anthropic, tool/brave, door/ca,
// plugin/<name>/<key>, channel/<name>/<key>. A word is at most 63 bytes of a-z, 0-9, "-", "_" and ".",
// and begins and ends with a letter or digit.
func CheckName(name string) error {
	words := strings.Split(name, "/")
	want, ok := namespaces()[words[0]]
	if !ok {
		return agent.Errorf(agent.CodeInvalid, "The name of a secret begins with provider/, tool/, plugin/, channel/ or door/, as in provider/anthropic.")
	}
	if len(words) != want+1 {
		return agent.Errorf(agent.CodeInvalid, "A name in %s/ has %d words after it, as in %s.", words[0], want, example(words[0], want))
	}
	for _, w := range words[1:] {
		if !isWord(w) {
			return agent.Errorf(agent.CodeInvalid, "The words of a secret's name are made of a-z, 0-9, dot, dash and underscore, begin and end with a letter or digit, and have at most %d of them.", maxWord)
		}
	}
	return nil
}

func example(space string, words int) string {
	return space + strings.Repeat("/name", words)
}

func isWord(w string) bool {
	if w == "" || len(w) > maxWord || !plain(w[0]) || !plain(w[len(w)-1]) {
		return false
	}
	for _, c := range []byte(w) {
		if !plain(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func plain(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// DefaultUser returns who uses a secret of that name when nothing else is said: the
// thing it is named after. plugin/github/token is for plugin/github.
func DefaultUser(name string) string {
	if name == "tool/brave" {
		return "tool/websearch" // the tool is named after what it does, its secret after who wants it
	}
	words := strings.SplitN(name, "/", 3)
	return strings.Join(words[:min(2, len(words))], "/")
}

// CheckUser refuses what cannot be a part of Ash that uses secrets: one to three words with
// "/" between them, such as provider/anthropic, tool/webfetch or doors.
func CheckUser(user string) error {
	words := strings.Split(user, "/")
	if len(words) > 3 || slices.ContainsFunc(words, func(w string) bool { return !isWord(w) }) {
		return agent.Errorf(agent.CodeInvalid, "A part of Ash that uses a secret is named as in provider/anthropic or tool/webfetch.")
	}
	return nil
}

// CheckHost refuses what cannot be bound to with CodeInvalid. It wants the form that names are compared in: lower case,
// ASCII, no trailing dot: "api.example.com", "api.example.com:8443" (without a port: any), "*.example.com" (whatever
// is below it, not itself), "127.0.0.1:8080", "[::1]:8080".
func CheckHost(host string) error {
	name, port, ok := splitHost(strings.TrimPrefix(host, "*."))
	wild := strings.HasPrefix(host, "*.")
	switch {
	case !ok, port != "" && !isPort(port):
	case isAddress(name):
		ok = !wild
	case wild:
		ok = strings.Contains(name, ".") && isHostName(name) // never a whole top-level domain
	default:
		ok = isHostName(name)
	}
	if !ok || port != "" && !isPort(port) {
		return agent.Errorf(agent.CodeInvalid, "A secret is bound to hosts such as api.example.com, api.example.com:8443 or *.example.com, in lower case and without https:// and path.")
	}
	return nil
}

// splitHost takes a port off, "" when there is none. Addresses of IPv6 stand in brackets.
func splitHost(host string) (name, port string, ok bool) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		name, rest, ok := strings.Cut(inner, "]")
		if !ok || !strings.Contains(name, ":") {
			return "", "", false
		}
		if rest == "" {
			return name, "", true
		}
		port, ok := strings.CutPrefix(rest, ":")
		return name, port, ok && port != ""
	}
	name, port, found := strings.Cut(host, ":")
	return name, port, name != "" && (!found || port != "")
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

// isAddress reports whether name is an IP address in its one canonical spelling.
func isAddress(name string) bool {
	a, err := netip.ParseAddr(name)
	return err == nil && a.Zone() == "" && !a.Is4In6() && a.String() == name
}

func isHostName(name string) bool {
	if name == "" || len(name) > maxHost {
		return false
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x") // an address to some parsers
}

// goesTo reports whether a secret bound to bound may go to host ("name" or "name:port", as a request would be
// sent). A secret that is bound to nothing stays inside Ash: it goes only to "".
func goesTo(bound []string, host string) bool {
	if host == "" {
		return len(bound) == 0
	}
	host = strings.ToLower(host)
	name, port, ok := splitHost(host)
	if !ok || CheckHost(host) != nil || strings.HasPrefix(host, "*") {
		return false
	}
	return slices.ContainsFunc(bound, func(b string) bool {
		below, wild := strings.CutPrefix(b, "*.")
		to, only, ok := splitHost(below)
		if !ok || only != "" && only != port {
			return false
		}
		return !wild && to == name || wild && strings.HasSuffix(name, "."+to)
	})
}

// binding returns hosts and users checked, sorted and without doubles; without users it is the one the name says.
func binding(name string, hosts, users []string) (h, u []string, err error) {
	if len(users) == 0 {
		users = []string{DefaultUser(name)}
	}
	h, u = sorted(hosts), sorted(users)
	if len(h) > MaxHosts || len(u) > MaxUsers {
		return nil, nil, agent.Errorf(agent.CodeInvalid, "A secret can be bound to at most %d hosts and %d parts of Ash.", MaxHosts, MaxUsers)
	}
	for _, host := range h {
		if err := CheckHost(host); err != nil {
			return nil, nil, err
		}
	}
	for _, user := range u {
		if err := CheckUser(user); err != nil {
			return nil, nil, err
		}
	}
	return h, u, nil
}

// sorted returns a sorted copy without doubles, never nil.
func sorted(list []string) []string {
	s := append([]string{}, list...)
	slices.Sort(s)
	return slices.Compact(s)
}
