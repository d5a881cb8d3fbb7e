package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// trusting starts a Chromium that takes an authority, as a person who followed /trust has it: in the store of certificates that it has on Linux, so that
// its own verification looks at names, addresses, constraints and times. Without certutil it is told to take everything below that one key.
func trusting(t *testing.T, der []byte) context.Context {
	t.Helper()
	home := t.TempDir()
	options := []chromedp.ExecAllocatorOption{chromedp.Env("HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, ".local", "share"))}
	if certutil, err := exec.LookPath("certutil"); err == nil {
		db := filepath.Join(home, ".pki", "nssdb")
		if err := os.MkdirAll(db, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(home, "ash.crt")
		if err := os.WriteFile(file, der, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"-N", "--empty-password"}, {"-A", "-n", "Ash", "-t", "C,,", "-i", file}} {
			if out, err := exec.CommandContext(t.Context(), certutil, append([]string{"-d", "sql:" + db}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("certutil %v: %v\n%s", args, err, out)
			}
		}
	} else {
		const missing = "certutil is not there, so the browser takes the authority's key instead of verifying: apt-get install libnss3-tools"
		if slices.Contains(strings.Split(os.Getenv("ASH_TEST_REQUIRE"), ","), "certutil") {
			t.Fatal(missing)
		}
		t.Log(missing)
		ca, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		pin := sha256.Sum256(ca.RawSubjectPublicKeyInfo)
		options = append(options, chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(pin[:])))
	}
	own, shut, err := openBrowser(rig.chromium, filepath.Join(home, "profile"), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shut)
	return own
}

// TestHTTPS has a person switch HTTPS on, get the certificate onto another device, trust it there, and use Ash from it.
func TestHTTPS(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	m := newModel(t)
	m.says("Nobody listens in.")
	server := serveModel(t, m)
	desk := visit(t, desktop, server.url, "/settings/doors")
	desk.expect("status of 422", "status 422")
	plain := openToTheNetwork(t, desk)
	desk.goTo("/settings/doors")
	desk.write("#https-pass", "short") // the vault is made on the way, and says what it wants
	desk.click(`#https button`)
	desk.until(`document.querySelector("#https .state.bad")`)
	desk.write("#https-pass", passphrase)
	desk.click(`#https button`)
	desk.until(`document.querySelector(".addresses code")?.innerText.startsWith("https://")`)
	lan := eval[string](desk, `document.querySelector(".addresses code").innerText`)
	if strings.TrimPrefix(lan, "https") != strings.TrimPrefix(plain, "http") {
		t.Errorf("HTTPS is at %s, and plain HTTP was at %s", lan, plain)
	}

	der := bytes.Clone(getsCertificate(t, plain))
	fingerprint := eval[string](desk, `document.querySelector("#https .break").textContent`)
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(ca.Raw); !strings.HasPrefix(strings.ToLower(strings.ReplaceAll(fingerprint, ":", "")), hexOf(sum[:4])) {
		t.Errorf("the desk shows %s, the device got %x", fingerprint, sum)
	}

	// Who does not trust it is warned, and is shown nothing.
	refused := newPerson(t).visit(phone, plain, "/trust")
	refused.expect("Cross-Origin-Opener-Policy header has been ignored", "ERR_CERT_AUTHORITY_INVALID", "to another host")
	if err := refused.try(chromedp.Navigate(lan + "/healthz")); err == nil || !strings.Contains(err.Error(), "ERR_CERT_AUTHORITY_INVALID") {
		t.Errorf("a browser that does not trust the authority says %v", err)
	}

	own := trusting(t, der)
	mine := personIn(own, t).visit(phone, lan, "/chat/new")
	mine.until(`location.protocol === "https:" && location.pathname === "/sign-in" && document.querySelector("#passphrase")`)
	mine.write("#passphrase", doorsPassphrase)
	mine.click(`.door-form .btn.go`)
	mine.until(`location.pathname === "/chat/new" && isSecureContext`)
	mine.send("Does anybody?")
	mine.until(newThread)
	mine.answered("Nobody listens in.")
	mine.until(online)
	wellKept(t, mine)
	if hsts := eval[string](mine, `fetch(location.href).then((a) => a.headers.get("Strict-Transport-Security") ?? "none")`); hsts != "none" {
		t.Errorf("the browser is told %q of a certificate that it may have to get anew", hsts)
	}

	// An address typed without https:// finds its way, and the picture for the phone leads there at once.
	other := personIn(own, t).visit(phone, lan, "/sign-in")
	other.expect("to another host: "+plain, "Cross-Origin-Opener-Policy header has been ignored")
	other.run(chromedp.Navigate(plain + "/chat"))
	other.until(`location.href.startsWith(` + quote(lan) + `) && location.pathname === "/sign-in"`)
	desk.click(`form[action="/settings/doors/pair"] button`)
	desk.until(`document.querySelector("#pairing .qr")`)
	link := readQR(t, desk)
	path, ok := strings.CutPrefix(link, lan)
	if !ok || !strings.HasPrefix(path, "/pair/") {
		t.Fatalf("the code leads to %s, want a page at %s", link, lan)
	}
	other.goTo(path)
	other.click(`.door-form .btn.go`)
	desk.click(`#pairing button[value="yes"]`)
	other.until(`location.pathname === "/chat" && document.querySelector(".tabs")`)
	wellKept(t, other)
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, x := range b {
		s.WriteByte(digits[x>>4])
		s.WriteByte(digits[x&15])
	}
	return s.String()
}

// getsCertificate opens /trust as a device that trusts nothing yet, without TLS, and takes the file that it offers.
func getsCertificate(t *testing.T, plain string) []byte {
	t.Helper()
	dir := t.TempDir()
	p := newPerson(t)
	if err := browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir).WithBrowserContextID(p.profile).Do(inBrowser()); err != nil {
		t.Fatal(err)
	}
	b := p.visit(phone, plain, "/trust")
	b.expect("Cross-Origin-Opener-Policy header has been ignored", "insecure connection")
	b.until(`document.querySelectorAll(".doorway details").length === 6`)
	if open := eval[string](b, `document.querySelector(".doorway a:not([download])").href`); open != "https"+strings.TrimPrefix(plain, "http")+"/" {
		t.Errorf("the page leads on to %s", open)
	}
	b.click(`a[download]`)
	file := filepath.Join(dir, "ash.crt")
	var der []byte
	eventually(t, "the certificate arrives", func() bool {
		var err error
		der, err = os.ReadFile(file)
		return err == nil && len(der) > 0
	})
	return der
}

// wellKept looks at the cookies that a browser holds.
func wellKept(t *testing.T, b *tab) {
	t.Helper()
	var cookies []*network.Cookie
	b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		cookies, err = network.GetCookies().Do(ctx)
		return err
	}))
	here, err := url.Parse(b.base)
	if err != nil || len(cookies) == 0 {
		t.Fatalf("%d cookies of %v: %v", len(cookies), here, err)
	}
	devices := 0
	for _, c := range cookies {
		if !c.Secure || !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict || !strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("the cookie %s: secure %v, http only %v, %s", c.Name, c.Secure, c.HTTPOnly, c.SameSite)
		}
		if strings.HasSuffix(c.Name, "-device") {
			devices++
		}
	}
	if devices != 1 {
		t.Errorf("%d cookies of a device", devices)
	}
}
