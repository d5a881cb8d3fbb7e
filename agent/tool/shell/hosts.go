package shell

import (
	"net/netip"
	"slices"
	"strings"

	"ash/agent"
)

// hostsOf reads the hosts a command wants to reach: lower case, sorted, each once. CodeInvalid says how to write them.
func hostsOf(network []string) ([]string, error) {
	if len(network) > maxHosts {
		return nil, agent.Errorf(agent.CodeInvalid, "network names more than %d hosts. Name those that are needed, or * for any public one.", maxHosts)
	}
	var out []string
	for _, h := range network {
		h = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(h), "."))
		if h == "" {
			continue
		}
		if h == "*" {
			return []string{"*"}, nil
		}
		if !isHost(h) {
			return nil, agent.Errorf(agent.CodeInvalid, "%q in network is no host. Write the bare name, such as pypi.org: without https://, port, path or pattern.", agent.Clip(h, 100))
		}
		out = append(out, h)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// isHost reports whether h is a host name in ASCII or an address.
func isHost(h string) bool {
	if _, err := netip.ParseAddr(h); err == nil {
		return true
	}
	if len(h) > 253 || !strings.Contains(h, ".") {
		return false
	}
	for label := range strings.SplitSeq(h, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return !(r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
		}) {
			return false
		}
	}
	return true
}
