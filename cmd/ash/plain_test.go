package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// plain is a browser without JavaScript, as a person uses it: it follows links and redirects, and sends forms as they stand on the page.
type plain struct {
	*phone
	at   string // path of the page that is shown
	page *goquery.Selection
	code int
}

func without(p *phone) *plain { return &plain{phone: p} }

// open opens an address, and follows where it leads.
func (p *plain) open(path string) *plain {
	p.t.Helper()
	res, text := p.ask(http.MethodGet, path, nil)
	return p.follow(path, res, text)
}

func (p *plain) follow(path string, res *http.Response, text string) *plain {
	p.t.Helper()
	for hops := 0; res.StatusCode == http.StatusSeeOther; hops++ {
		if hops == 5 {
			p.t.Fatalf("%s leads around in circles", path)
		}
		to, err := url.Parse(res.Header.Get("Location"))
		must(p.t, err)
		path = to.RequestURI()
		res, text = p.ask(http.MethodGet, path, nil)
	}
	root, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false)) // what stands in noscript is there
	must(p.t, err)
	p.at, p.code, p.page = path, res.StatusCode, goquery.NewDocumentFromNode(root).Selection
	return p
}

// press presses a button of a form on the page; typed are the fields that the person fills in.
func (p *plain) press(button string, typed map[string]string) *plain {
	p.t.Helper()
	b := p.page.Find(button)
	if b.Length() != 1 {
		p.t.Fatalf("%s: %d buttons %s (status %d)\n%s", p.at, b.Length(), button, p.code, p.text())
	}
	form, fields := b.Closest("form"), url.Values{}
	form.Find("input, textarea, select").Each(func(_ int, f *goquery.Selection) {
		kind, name := f.AttrOr("type", ""), f.AttrOr("name", "")
		_, checked := f.Attr("checked")
		if name == "" || (kind == "checkbox" || kind == "radio") && !checked {
			return
		}
		fields.Add(name, f.AttrOr("value", f.Find("option[selected]").AttrOr("value", "")))
	})
	for name, value := range typed {
		if form.Find(`[name="`+name+`"]`).Length() == 0 {
			p.t.Fatalf("%s: the form of %s has no field %s", p.at, button, name)
		}
		fields.Set(name, value)
	}
	if name, ok := b.Attr("name"); ok {
		fields.Set(name, b.AttrOr("value", ""))
	}
	if _, enclosed := form.Attr("enctype"); enclosed || !strings.EqualFold(form.AttrOr("method", ""), "post") {
		p.t.Fatalf("%s: the form of %s is of another kind", p.at, button)
	}
	to := form.AttrOr("action", "")
	res, text := p.ask(http.MethodPost, to, fields)
	return p.follow(to, res, text)
}

func (p *plain) text() string {
	return strings.Join(strings.Fields(p.page.Find("main").Text()), " ")
}

func (p *plain) shows(words ...string) {
	p.t.Helper()
	for _, w := range words {
		if !strings.Contains(p.text(), w) {
			p.t.Errorf("%s (%d) does not say %q:\n%s", p.at, p.code, w, p.text())
		}
	}
}

// TestDoorsWithoutJavaScript goes through the doors with plain links and forms alone: opening, signing in, pairing, signing out, tokens, and what
// is asked about twice.
func TestDoorsWithoutJavaScript(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	settings(t, home, "[doors]\nnames = [\"ash.example.org\"]\n")
	server := serving(t, home)
	here, phone := without(newHere(t, server)), without(newPhone(t, server))
	const passphrase = "four tall ships at noon"

	here.open("/settings/doors").press(`form[action="/settings/doors/open"] button`, map[string]string{"new": "short"})
	here.shows("Your network")
	if here.code != http.StatusUnprocessableEntity || here.page.Find("[role=alert]").Length() == 0 {
		t.Errorf("a short passphrase is answered %d", here.code)
	}
	here.press(`form[action="/settings/doors/open"] button`, map[string]string{"new": passphrase})
	if here.open("/settings/doors").shows("Change the passphrase"); here.code != http.StatusOK {
		t.Errorf("after opening: %d", here.code)
	}

	// Signing in.
	phone.open("/settings/appearance")
	if !strings.HasPrefix(phone.at, "/sign-in?back=") {
		t.Fatalf("a stranger is led to %s", phone.at)
	}
	phone.press(".door-form button", map[string]string{"passphrase": "not it at all"})
	if phone.shows("not the passphrase"); phone.code != http.StatusUnauthorized {
		t.Errorf("a wrong passphrase is answered %d", phone.code)
	}
	phone.press(".door-form button", map[string]string{"passphrase": passphrase})
	if phone.at != "/settings/appearance" || phone.code != http.StatusOK {
		t.Fatalf("signed in, the phone is at %s (%d)\n%s", phone.at, phone.code, phone.text())
	}
	here.open("/settings/doors").press("#devices .device button", nil)
	here.shows("No other device is signed in")
	if phone.open("/chat"); !strings.HasPrefix(phone.at, "/sign-in") {
		t.Errorf("signed out, the phone is at %s", phone.at)
	}

	pairsPlainly(t, here, phone)
	revokesPlainly(t, here, server, home)

	// Signing out all asks first: on its own page, and no leaves all as it was.
	tablet := without(newPhone(t, server))
	tablet.open("/sign-in").press(".door-form button", map[string]string{"passphrase": passphrase})
	here.open("/settings/doors").press(`form[action="/settings/doors/sign-out-all"] button`, nil)
	here.shows("Sign out every device?")
	if !phone.inside() || !tablet.inside() {
		t.Error("signed out before the person said yes")
	}
	here.press("main button", nil)
	if here.shows("No other device is signed in"); phone.inside() || tablet.inside() {
		t.Error("still signed in")
	}
}

// pairsPlainly lets the phone in by the code that is typed.
func pairsPlainly(t *testing.T, here, phone *plain) {
	t.Helper()
	here.open("/settings/doors").press(`form[action="/settings/doors/pair"] button`, nil)
	code := here.page.Find("#pairing .check").Text()
	phone.open("/pair").press(".door-form button", map[string]string{"code": "XXXX-XXXX"})
	if phone.shows("That code does not work"); phone.code != http.StatusUnauthorized {
		t.Errorf("a wrong code is answered %d", phone.code)
	}
	phone.press(".door-form button", map[string]string{"code": strings.ToLower(code), "name": "Old phone"})
	check := phone.page.Find("#pairing .check").Text()
	if phone.at != "/pair/wait" || !regexp.MustCompile(`^\d\d \d\d$`).MatchString(check) {
		t.Fatalf("the phone is at %s and shows %q\n%s", phone.at, check, phone.text())
	}
	phone.press("#pairing button", nil) // too early
	if phone.page.Find("#pairing .check").Text() != check || phone.inside() {
		t.Errorf("before the other screen said yes, the phone is at %s", phone.at)
	}
	far, _ := here.page.Find("#pairing noscript a").Attr("href")
	if here.open(far).shows("Let Old phone in?"); here.page.Find("#pairing .check").Text() != check {
		t.Errorf("the screens show %q and %q", check, here.page.Find("#pairing .check").Text())
	}
	here.press(`#pairing button[value="yes"]`, nil)
	phone.open("/pair/wait").press("#pairing button", nil)
	if phone.at != "/chat" || !phone.inside() {
		t.Fatalf("paired, the phone is at %s\n%s", phone.at, phone.text())
	}
	if here.open("/settings/doors"); !strings.Contains(here.page.Find("#devices").Text(), "Old phone") {
		t.Errorf("the list has\n%s", here.page.Find("#devices").Text())
	}
}

// revokesPlainly makes a token and takes it back, and deletes a snapshot.
func revokesPlainly(t *testing.T, here *plain, server *process, home string) {
	t.Helper()
	here.open("/settings/tokens").press(`form[action="/settings/tokens"] button`, map[string]string{"name": "notes app", "scope": "read"})
	secret := here.page.Find("#made-secret").Text()
	works := func() int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/api/v1/threads", nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(secret))
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		must(t, res.Body.Close())
		return res.StatusCode
	}
	if status := works(); status != http.StatusOK {
		t.Fatalf("a new token %q is answered %d\n%s", secret, status, here.text())
	}
	here.open("/settings/tokens").press(`form[action$="/revoke"] button`, nil)
	here.shows("Revoke notes app?")
	if back, _ := here.page.Find("main a").Attr("href"); back != "/settings/tokens" || works() != http.StatusOK {
		t.Errorf("before the person said yes: no leads to %q, the token is answered %d", back, works())
	}
	if here.press("main button", nil); here.at != "/settings/tokens" || works() != http.StatusUnauthorized {
		t.Errorf("revoked: the page is %s, the token is answered %d", here.at, works())
	}

	backups := filepath.Join(home, "backups")
	must(t, os.MkdirAll(backups, 0o700))
	var names []string
	for _, name := range []string{"ash-20260801T101010.000Z-schema-5-before-6.db", "ash-20260901T101010.000Z-schema-6-before-7.db"} {
		names = append(names, filepath.Join(backups, name))
		must(t, os.WriteFile(names[len(names)-1], []byte("old"), 0o600))
	}
	here.open("/settings/data").press(`form[action="/settings/data/snapshots"] button`, nil)
	here.shows("Delete 1 snapshot for good?")
	if _, err := os.Stat(names[0]); err != nil {
		t.Errorf("deleted before the person said yes: %v", err)
	}
	here.press("main button", nil)
	_, gone := os.Stat(names[0])
	_, kept := os.Stat(names[1])
	if here.at != "/settings/data" || !os.IsNotExist(gone) || kept != nil {
		t.Errorf("at %s: %v, %v", here.at, gone, kept)
	}
}
