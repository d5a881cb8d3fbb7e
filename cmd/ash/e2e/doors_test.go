package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"rsc.io/qr/coding"
)

const doorsPassphrase = "four tall ships at noon"

// openToTheNetwork goes the way a person goes for the first time: one passphrase, and the code for the phone is there. It returns the address
// of this machine in its network. Where it has none, the test is skipped.
func openToTheNetwork(t *testing.T, desk *tab) string {
	t.Helper()
	desk.goTo("/settings/doors")
	desk.until(`document.querySelector("#reach-title + .door-state").innerText.includes("Only this machine reaches Ash")`)
	desk.write("#first", doorsPassphrase)
	desk.click(`.door-open .btn.go`)
	desk.until(`document.querySelector("#pairing .qr") || document.querySelector(".door-state .bad")`)
	if desk.holds(`document.querySelector(".door-state .bad")`) {
		t.Skip("this needs an address of a home network (RFC 1918 or 4193): ip link add ash0 type dummy && ip address add 192.168.213.1/24 dev ash0 && ip link set ash0 up")
	}
	return eval[string](desk, `document.querySelector(".addresses code").innerText`)
}

// onNetwork opens a tab of a new person at an address of the network. A browser says there that plain HTTP gets no isolation.
func onNetwork(t *testing.T, lan, path string, complaints ...string) *tab {
	t.Helper()
	b := newPerson(t).visit(phone, lan, path)
	b.expect(append(complaints, "Cross-Origin-Opener-Policy header has been ignored")...)
	return b
}

// readQR reads a code as a camera does: from its squares. It knows what a screen shows: no damage, the lowest correction.
func readQR(t *testing.T, b *tab) string {
	t.Helper()
	type picture struct {
		Box  string
		Path string
	}
	p := eval[picture](b, `(s => ({ Box: s.getAttribute("viewBox"), Path: s.querySelector("path").getAttribute("d") }))(document.querySelector("#pairing .qr"))`)
	var x, y, side, high int
	if _, err := fmt.Sscanf(p.Box, "%d %d %d %d", &x, &y, &side, &high); err != nil {
		t.Fatal(err)
	}
	size := side + 2*x
	black := make([][]bool, size)
	for i := range black {
		black[i] = make([]bool, size)
	}
	for run := range strings.SplitSeq(strings.TrimSuffix(p.Path, "z"), "z") {
		var n, back int
		if _, err := fmt.Sscanf(run, "M%d %dh%dv1h-%d", &x, &y, &n, &back); err != nil {
			t.Fatalf("%q: %v", run, err)
		}
		for i := range n {
			black[y][x+i] = true
		}
	}
	for mask := range coding.Mask(8) {
		if text := decodeQR(t, black, mask); strings.HasPrefix(text, "http") {
			return text
		}
	}
	t.Fatal("no camera would read this code")
	return ""
}

// decodeQR reads the bytes of a code that has one segment of bytes (ISO/IEC 18004, 7.4).
func decodeQR(t *testing.T, black [][]bool, mask coding.Mask) string {
	t.Helper()
	version := coding.Version((len(black) - 17) / 4)
	plan, err := coding.NewPlan(version, coding.L, mask)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, plan.DataBytes)
	for y, row := range plan.Pixel {
		for x, pix := range row {
			if pix.Role() == coding.Data && black[y][x] != (pix&coding.Invert != 0) {
				data[pix.Offset()/8] |= 0x80 >> (pix.Offset() % 8)
			}
		}
	}
	bit := func(from, n int) (v int) {
		for i := from; i < from+n; i++ {
			v = v<<1 | int(data[i/8]>>(7-i%8)&1)
		}
		return v
	}
	width := 8
	if version >= 10 {
		width = 16
	}
	n := bit(4, width)
	if bit(0, 4) != 4 || 4+width+8*n > 8*len(data) {
		return ""
	}
	var text strings.Builder
	for i := range n {
		text.WriteByte(byte(bit(4+width+8*i, 8)))
	}
	return text.String()
}

// TestPhoneByQR pairs a phone by the picture on the screen, uses it, and signs it out from the desk.
func TestPhoneByQR(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	m.says("Hello on the sofa.")
	server := serveModel(t, m)
	desk := visit(t, desktop, server.url, "/settings/doors")
	lan := openToTheNetwork(t, desk)
	link := readQR(t, desk)
	path, ok := strings.CutPrefix(link, lan)
	if !ok || !strings.HasPrefix(path, "/pair/") {
		t.Fatalf("the code leads to %s, want a page at %s", link, lan)
	}

	mine := onNetwork(t, lan, path)
	mine.until(`document.querySelector("#name").value === "Chrome on Linux" || document.querySelector("#name").value.includes("Chrom")`)
	mine.rewrite("#name", "Sofa phone")
	mine.click(`.door-form .btn.go`)
	mine.until(`location.pathname === "/pair/wait" && document.querySelector("#pairing .check").innerText.length > 3`)
	check := eval[string](mine, `document.querySelector("#pairing .check").innerText`)
	desk.until(`document.querySelector("#pairing h3")?.innerText === "Let Sofa phone in?"`)
	if shown := eval[string](desk, `document.querySelector("#pairing .check").innerText`); shown != check {
		t.Errorf("the screens show %q and %q", shown, check)
	}
	desk.click(`#pairing button[value="yes"]`)
	mine.until(`location.pathname === "/chat" && document.querySelector(".tabs")`)
	desk.until(`document.querySelector("#devices .device h3")?.innerText.includes("Sofa phone") && document.querySelector("#pairing .ok")`)

	mine.goTo("/chat/new")
	mine.send("Good evening")
	mine.until(newThread)
	mine.answered("Hello on the sofa.")
	mine.until(online)

	// The used code is worth nothing to anybody else.
	late := onNetwork(t, lan, path)
	late.expect("status of 401", "status 401")
	late.click(`.door-form .btn.go`)
	late.until(`document.querySelector(".state.bad")?.innerText.includes("does not work")`)

	mine.expect("status of 401", "status 401")
	began := time.Now()
	desk.click(`#devices .device button`)
	mine.until(`location.pathname === "/sign-in" && document.querySelector(".lead").innerText.includes("signed out")`)
	t.Logf("the page knew %v after the press", time.Since(began).Round(time.Millisecond))
	if said := eval[string](mine, `document.body.innerText`); strings.Contains(said, "sofa") {
		t.Errorf("a page that is signed out shows %q", said)
	}
	mine.goTo("/chat")
	mine.until(`location.pathname === "/sign-in" && location.search === "?back=%2Fchat"`)
	desk.until(`document.querySelector("#devices").innerText.includes("No other device")`)
}

// TestSignIn types the passphrase on a phone: wrong ones cost time, the right one leads to where the phone wanted to go.
func TestSignIn(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	server := serve(t, nil)
	desk := visit(t, desktop, server.url, "/settings/doors")
	lan := openToTheNetwork(t, desk)
	mine := onNetwork(t, lan, "/settings/appearance")
	mine.expect("status of 401", "status 401", "status of 429", "status 429")
	mine.until(`location.pathname === "/sign-in" && document.querySelector("#passphrase")`)
	for range 3 {
		mine.write("#passphrase", "not it at all")
		mine.click(`.door-form .btn.go`)
		mine.until(`document.querySelector(".state.bad")?.innerText.includes("not the passphrase") && !document.querySelector("#passphrase").value`)
		mine.run(chromedp.Evaluate(`document.querySelector(".state.bad").remove()`, nil))
	}
	mine.write("#passphrase", doorsPassphrase)
	mine.click(`.door-form .btn.go`)
	mine.until(`location.pathname === "/settings/appearance" && document.querySelector(".themes")`)

	// Somebody else goes on guessing, and is not looked at any more: not with the right one either.
	other := onNetwork(t, lan, "/sign-in")
	other.expect("status of 401", "status 401", "status of 429", "status 429")
	waits := `document.querySelector(".state.bad")?.innerText.includes("not looked at")`
	long := waits + ` && Number(document.querySelector(".state.bad").innerText.match(/in (\d+) seconds/)?.[1]) >= 6`
	for range 60 {
		other.until(`document.querySelector("#passphrase") && document.readyState === "complete"`)
		other.write("#passphrase", "a guess")
		other.click(`.door-form .btn.go`)
		other.until(`document.querySelector(".state.bad") && document.querySelector("#passphrase").value === ""`)
		if other.holds(long) {
			break
		}
		other.run(chromedp.Evaluate(`document.querySelector(".state.bad").remove()`, nil))
	}
	other.until(long)
	other.write("#passphrase", doorsPassphrase)
	other.click(`.door-form .btn.go`)
	other.until(`location.pathname === "/sign-in" && ` + waits + ` && document.querySelector("#passphrase").value === ""`)
	mine.goTo("/chat")
	mine.until(`location.pathname === "/chat"`) // who is in stays in
}
