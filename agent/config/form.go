package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The shapes a text may have to have.
const (
	formAddress = "address" // host:port
	formURL     = "url"     // of a model server
	formEnv     = "env"     // name of an environment variable
	formPath    = "path"
	formSecret  = "secret" // name of a secret of the vault: provider/openai
	formRef     = "ref"    // provider/name
	formHost    = "host"   // name or address of a machine, without port
	formLAN     = "lan"    // off, on, an address, or an address and a port
)

// checkForm says what is wrong with s. What may turn out to be a key pasted in
// the wrong place is not repeated.
func checkForm(form, s string) error {
	switch form {
	case formAddress:
		return checkAddress(s)
	case formURL:
		return checkURL(s)
	case formEnv:
		bad := func(r rune) bool { return !('A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_') }
		if s == "" || strings.IndexFunc(s, bad) >= 0 || '0' <= s[0] && s[0] <= '9' {
			return errors.New("that is not the name of a variable (a key itself does not belong in this file)")
		}
	case formSecret:
		if !isSecretName(s) {
			return errors.New("that is not the name of a secret (a value itself does not belong in this file)")
		}
	case formPath:
		if strings.TrimSpace(s) == "" {
			return errors.New("the path is empty")
		}
	case formRef:
		_, err := parseRef(s)
		return err
	case formHost:
		return checkHost(s)
	case formLAN:
		return checkLAN(s)
	}
	return nil
}

// checkHost takes what stands in a Host header before the port, in lower case.
func checkHost(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	bad := func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_')
	}
	if s == "" || len(s) > 253 || strings.IndexFunc(s, bad) >= 0 || s[0] == '.' || strings.Contains(s, "..") {
		return fmt.Errorf("%s is not the name of a machine (small letters, without http:// and without a port)", shown(s))
	}
	return nil
}

func checkLAN(s string) error {
	if s == LANOff || s == LANOn {
		return nil
	}
	ip, err := netip.ParseAddr(s)
	if err != nil {
		ap, portErr := netip.ParseAddrPort(s)
		if portErr != nil || ap.Port() == 0 {
			return fmt.Errorf("%s is neither on nor off nor an address of this machine such as 192.168.1.5", shown(s))
		}
		ip = ap.Addr()
	}
	if ip.Unmap().IsLoopback() || ip.IsMulticast() {
		return fmt.Errorf("%s is no address that other devices reach", shown(s))
	}
	return nil
}

// isSecretName reports whether s has the shape of a secret's name; the vault says which there are.
func isSecretName(s string) bool {
	words := strings.Split(s, "/")
	odd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	return len(words) >= 2 && len(words) <= 3 && len(s) <= 200 && !slices.ContainsFunc(words, func(w string) bool { return w == "" || strings.IndexFunc(w, odd) >= 0 })
}

func checkAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%s is not host:port", shown(s))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%s is not a port from 0 to 65535", shown(port))
	}
	if strings.ContainsAny(host, " /@?#") {
		return fmt.Errorf("%s is not the name or address of a host", shown(host))
	}
	return nil
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("that is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the URL does not begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("the URL names no host")
	case u.User != nil:
		return errors.New("the URL holds a user or password; a key belongs in the vault (key_secret)")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the URL holds a part after ? or #, which requests would lose")
	}
	return nil
}

// allowed says in words what may be written.
func (f *field) allowed() string {
	what := f.allowedOne()
	if f.Type == TypeList {
		return "a list of " + what
	}
	return what
}

func (f *field) allowedOne() string {
	if len(f.Choices) > 0 {
		quoted := make([]string, len(f.Choices))
		for i, c := range f.Choices {
			quoted[i] = quote(c)
		}
		last := len(quoted) - 1
		return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
	}
	switch f.form {
	case formAddress:
		return `host:port such as "127.0.0.1:8080"`
	case formURL:
		return `a URL such as "http://127.0.0.1:1234/v1"`
	case formEnv:
		return `a name in capitals such as "OPENAI_API_KEY"`
	case formSecret:
		return `the name of a secret such as "provider/openai"`
	case formPath:
		return "a path"
	case formRef:
		return `"provider/model"`
	case formHost:
		return `a name such as "ash.example.org"`
	case formLAN:
		return `"off", "on" or an address such as "192.168.1.5"`
	}
	switch f.Type {
	case TypeInteger:
		return "a whole number" + f.bounds()
	case TypeNumber:
		return "a number" + f.bounds()
	case TypeDollars:
		return "an amount in dollars such as 0.25," + f.bounds()
	case TypeDuration:
		return `a duration such as "90s" or "5m",` + f.bounds()
	case TypeBoolean:
		return "true or false"
	}
	return "a text"
}

func (f *field) bounds() string {
	return " from " + f.min + " to " + f.max
}
