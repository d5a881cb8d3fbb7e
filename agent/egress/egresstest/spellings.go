package egresstest

import (
	"net"
	"os"
	"strings"
)

// Spellings are hosts, as they may stand in a URL, that lead or might lead to this machine, its networks or a cloud machine's metadata
// service: more than a hundred, and one more for each of this machine's own addresses.
func Spellings() []string {
	all := strings.Fields(spelled)
	all = append(all,
		"127.0.0.1\t", " 127.0.0.1", "127.0.0.1\x00.public.test", "127.0.0.1\n", "127.0.0.1%00.public.test", "127.0.0.1%0d%0a.public.test", "lo\u00adcalhost", "local\u200bhost", "\u2060localhost",
		"127\uff0e0\uff0e0\uff0e1", "127\u30020\u30020\u30021", "127\uff610\uff610\uff611")
	if name, err := os.Hostname(); err == nil {
		all = append(all, name)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return all
	}
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if v4 := n.IP.To4(); v4 != nil {
			all = append(all, v4.String(), "[::ffff:"+v4.String()+"]")
		} else if !n.IP.IsLinkLocalUnicast() {
			all = append(all, "["+n.IP.String()+"]")
		}
	}
	return all
}

const spelled = `
127.0.0.1 127.0.0.1. 127.0.0.1.. 127.1 127.0.1 127.0.0.01 127.000.000.001 0127.0.0.1 127.0.0.1.0 127.127.127.127 127.255.255.254
2130706433 02130706433 017700000001 0177.0.0.1 0177.0.0.01 0177.1 0x7f000001 0X7F000001 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0x7f.1 0x7f000001. 0x0000000007f000001 4294967296 425510250497 1.0x7f000001
0 00 0x0 0.0.0.0 0.0.0.0. 0.0 0.1.2.3 000.000.000.000
[::1] [::] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [::0.0.0.1] [0::1] [::1]. [::1].public.test
[::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:127.0.0.1] [0:0:0:0:0:ffff:127.0.0.1] [0:0:0:0:0:ffff:7f00:0001] [::ffff:0.0.0.0] [::ffff:10.0.0.1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe]
[::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [::ffff:0:7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:7f00:1::1] [2002:a9fe:a9fe::1] [2002:a00:1::1]
[2001:0:7f00:1::] [2001:0:4136:e378:8000:63bf:80ff:fffe] [100::1] [5f00::1]
[::1%25lo] [::1%251] [::1%lo] [fe80::1%25lo] [fe80::1%25eth0] [fe80::1] [::ffff:127.0.0.1%25lo] [fec0::1] [fc00::1] [fd12:3456:789a::1] [fd7a:115c:a1e0::1] [fd00:ec2::254] [fd20:ce::254] [ff02::1] [ff0e::1]
localhost LOCALHOST localhost. localhost.. LoCaLhOsT. localhost.localdomain ip6-localhost ip6-loopback foo.localhost local%68ost %6cocalhost
public.test@127.0.0.1 public.test:80@127.0.0.1 public.test%40@127.0.0.1 public.test%2f@127.0.0.1 public.test%23@127.0.0.1 a:b@[::1] 127.0.0.1\@public.test public.test\@127.0.0.1 public.test&@127.0.0.1 @127.0.0.1
127%2e0%2e0%2e1 %31%32%37.0.0.1 127.0.0%2e1 127.0.0.1%2f.public.test %5b::1%5d 127%E3%80%820%E3%80%820%E3%80%821
１２７.0.0.1 １２７.０.０.１ ①②⑦.⓪.⓪.① 𝟏𝟐𝟕.𝟎.𝟎.𝟏 𝟙𝟚𝟟.0.0.1 ١٢٧.٠.٠.١ १२७.०.०.१ ¹²⁷.⁰.⁰.¹ ２１３０７０６４３３ ０ｘ７ｆ０００００１ ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ᴸᴼᶜᴬᴸᴴᴼˢᵀ xn--localhost- localhoſt
10.0.0.1 10.255.255.254 10.1 167772161 012.0.0.1 0xa.0.0.1 172.16.0.1 172.31.255.254 192.168.0.1 192.168.1 192.168.257 3232235777 0xc0a80101 100.64.0.1 100.100.100.200 100.127.255.254
169.254.169.254 169.254.169.254. 2852039166 0xa9fea9fe 0251.0376.0251.0376 0xa9.0xfe.0xa9.0xfe 169.254.43518 169.16689662 169.254.170.2 168.63.129.16 192.0.0.192
192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 192.88.99.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 4294967295 0xffffffff
`

// Lies are names and what the name server says of them: private addresses in every disguise, alone and among public ones.
// The names of Twice change their answer.
func Lies() map[string][]string {
	return map[string][]string{
		"four.lie.test": {"127.0.0.1"}, "six.lie.test": {"::1"}, "any.lie.test": {"0.0.0.0"}, "any6.lie.test": {"::"}, "lan.lie.test": {"192.168.1.1"}, "meta.lie.test": {"169.254.169.254"},
		"cgnat.lie.test": {"100.64.0.1"}, "linklocal.lie.test": {"169.254.1.1"}, "multicast.lie.test": {"224.0.0.1"}, "broadcast.lie.test": {"255.255.255.255"},
		"mapped.lie.test": {"::ffff:127.0.0.1"}, "compatible.lie.test": {"::127.0.0.1"}, "nat64.lie.test": {"64:ff9b::7f00:1"}, "sixtofour.lie.test": {"2002:7f00:1::1"}, "teredo.lie.test": {"2001:0:7f00:1::"}, "ula.lie.test": {"fd00::1"},
		"both.lie.test": {"1.1.1.1 127.0.0.1"}, "last.lie.test": {"1.1.1.1 8.8.8.8 9.9.9.9 127.0.0.1"}, "eyeballs.lie.test": {"1.1.1.1 ::1"}, "eyeballs6.lie.test": {"2606:4700::1111 127.0.0.1"}, "two.lie.test": {"127.0.0.1 ::1"},
		"alias.lie.test": {"four.lie.test"}, "alias2.lie.test": {"alias.lie.test"}, "alias3.lie.test": {"alias2.lie.test"}, "tolocalhost.lie.test": {"localhost"}, "numeric.lie.test": {"2130706433"},
		"127.0.0.1.nip.lie.test": {"127.0.0.1"}, "7f000001.nip.lie.test": {"127.0.0.1"}, "xn--nxasmq6b.lie.test": {"127.0.0.1"}, "_under.lie.test": {"127.0.0.1"}, "localhost": {"127.0.0.1"},
		"foo.localhost": {"127.0.0.1"}, "localhost.localdomain": {"127.0.0.1"},
	}
}

// Stranger stands for a public address in tests: a Guarded is told to let it through. Nobody answers there (RFC 5737).
const Stranger = "192.0.2.77"

// Twice are names whose first answer is a stranger's address, and the next this machine's.
func Twice() map[string][]string {
	return map[string][]string{
		"rebind.twice.test":    {Stranger, "127.0.0.1"},
		"rebind6.twice.test":   {Stranger, "::1"},
		"late.twice.test":      {Stranger, Stranger, Stranger, "127.0.0.1"},
		"alias.twice.test":     {Stranger, "four.lie.test"},
		"toany.twice.test":     {Stranger, "0.0.0.0"},
		"eyeballs.twice.test":  {Stranger + " ::1", "127.0.0.1"},
		"alternate.twice.test": {"127.0.0.1", Stranger, "127.0.0.1"},
	}
}
