package web

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ash/web/webtest"
)

func TestFormsNeedTheTokenOfTheirSession(t *testing.T) {
	base := serve(t)
	b, other := webtest.Open(t, base), webtest.Open(t, base)
	b.Get("/page").Is(200)
	other.Get("/page").Is(200)
	b.Post("/page", nil).Is(200)
	b.With("X-Csrf-Token", b.Token()).Do("POST", "/page", "", nil).Is(200)
	b.Upload("/upload", "file", "a.txt", []byte("hello")).Is(200).Says("5 bytes")

	b.Post("/page", url.Values{"_csrf": {other.Token()}}).Is(403).Says("another session")
	b.Post("/page", url.Values{"_csrf": {""}}).Is(403)
	b.Do("POST", "/page", "", nil).Is(403)
	b.Do("POST", "/page?_csrf="+b.Token(), "", nil).Is(403)
	stranger := webtest.Open(t, base)
	p := stranger.Do("POST", "/page", "application/x-www-form-urlencoded", strings.NewReader("_csrf="))
	if p.Is(403); p.Header.Get("Set-Cookie") != "" {
		t.Error("a refused change began a session")
	}
	for _, c := range (&http.Response{Header: webtest.Open(t, base).Get("/page").Header}).Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
			t.Errorf("cookie %v", c)
		}
	}
}

func TestSessionIsKeptAndRenewed(t *testing.T) {
	s := newServer(t, t.TempDir())
	base := webtest.Serve(t, s)
	b := webtest.Open(t, base)
	b.Get("/page").Is(200)
	first := b.Token()
	if p := b.Get("/page"); p.Header.Get("Set-Cookie") != "" {
		t.Error("the cookie was sent again at once")
	}
	s.sessions.now = func() time.Time { return time.Now().Add(sessionRenew + time.Hour) }
	if p := b.Get("/page"); p.Header.Get("Set-Cookie") == "" {
		t.Error("an old session was not renewed")
	}
	if b.Token() != first {
		t.Error("renewing changed the token that open tabs hold")
	}
	fresh := webtest.Open(t, base).With("Sec-Fetch-Site", "cross-site").With("Sec-Fetch-Mode", "navigate").With("Sec-Fetch-Dest", "document")
	if p := fresh.Get("/page").Is(200).Has(`meta[http-equiv=refresh]`); p.Header.Get("Set-Cookie") != "" {
		t.Error("a link on another site began a session, which replaces the one of open tabs")
	}
}

func TestDamagedCookieBeginsAnew(t *testing.T) {
	base := serve(t)
	p := webtest.Open(t, base).Get("/page")
	name, _, _ := strings.Cut(p.Header.Get("Set-Cookie"), "=")
	for _, v := range []string{"", "x", strings.Repeat("A", 5000), "MTIzfGFiY3w="} {
		webtest.Open(t, base).With("Cookie", name+"="+v).Get("/page").Is(200)
	}
}

func TestSessionKey(t *testing.T) {
	home := t.TempDir()
	a, err := newJar(home, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, keyFile)
	info, err := os.Stat(path)
	if err != nil || info.Size() != keySize {
		t.Fatalf("key: %v, %v", info, err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("key has mode %v", info.Mode())
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	b, err := newJar(home, nil)
	if err != nil || a.name != b.name {
		t.Errorf("the key changed: %v", err)
	}
	if c, err := newJar(t.TempDir(), nil); err != nil || c.name == a.name {
		t.Errorf("two homes share a cookie name: %v", err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newJar(home, nil); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged key: %v", err)
	}
	odd := t.TempDir()
	if err := os.Mkdir(filepath.Join(odd, keyFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := newJar(odd, nil); err == nil || !strings.Contains(err.Error(), "not an ordinary file") {
		t.Errorf("a folder as the key: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := newJar(home, nil); err == nil || !strings.Contains(err.Error(), "read by others") {
		t.Errorf("open key: %v", err)
	}
}
