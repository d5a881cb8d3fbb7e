package main

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// ownAddress returns an address of this machine that is not a loopback one.
func ownAddress(t *testing.T) netip.Addr {
	t.Helper()
	all, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr()
		}
	}
	const missing = "this needs a network interface with an IPv4 address besides loopback: ip link add ash0 type dummy && ip address add 198.18.0.1/32 dev ash0 && ip link set ash0 up"
	if strings.Contains(os.Getenv("ASH_TEST_REQUIRE"), "network") {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return netip.Addr{}
}

// TestNetworkFollowsWhoCouldSignIn has the settings ask for a door all along: it is open exactly while there is a passphrase.
func TestNetworkFollowsWhoCouldSignIn(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	settings(t, home, "[doors]\nlan = \""+ownAddress(t).String()+"\"\n")
	p := serving(t, home)
	at := net.JoinHostPort(ownAddress(t).String(), p.url[strings.LastIndexByte(p.url, ':')+1:])
	reached := func() bool {
		c, err := net.DialTimeout("tcp", at, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	if reached() {
		t.Fatal("the network reaches an Ash that nobody could sign in to")
	}
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "four words nobody expects"), "--home", home).is(t, 0)
	p.until("the network reaches it", reached)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get("http://" + at + "/chat")
	must(t, err)
	must(t, res.Body.Close())
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/sign-in?back=%2Fchat" {
		t.Errorf("a stranger is answered %s, %s", res.Status, res.Header.Get("Location"))
	}
	if got := p.get("/settings/doors"); !strings.Contains(got, "http://"+at) {
		t.Error("the page does not say where the network reaches it")
	}
	ash(t, "yes\n", "doors", "reset", "--yes", "--home", home).is(t, 0)
	p.until("the door is closed again", func() bool { return !reached() })
}

func TestLANNeedsSomebodyWhoCouldSignIn(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ash(t, "", "serve", "--home", home, "--listen", "127.0.0.1:0", "--lan").complains(t, exitFailed, "passphrase", "Settings")
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "four words nobody expects"), "--home", home).is(t, 0)
	p := serving(t, home, "--lan")
	p.url, _, _ = strings.Cut(p.url, "\n")
	if got := p.get("/settings/doors"); !strings.Contains(got, "--lan") {
		t.Error("the page does not say what opened the door")
	}
}

func TestAddressesByUse(t *testing.T) {
	t.Parallel()
	order := []string{"10.0.0.7", "192.168.1.5", "100.64.0.1", "fd00::2"}
	for i := 1; i < len(order); i++ {
		if byUse(netip.MustParseAddr(order[i-1]), netip.MustParseAddr(order[i])) >= 0 {
			t.Errorf("%s does not come before %s", order[i-1], order[i])
		}
	}
}
