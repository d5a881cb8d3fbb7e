package static_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ash/static"
)

func get(t *testing.T, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	static.Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestServe(t *testing.T) {
	css := static.URL("app.css")
	tests := []struct {
		name, method, path, accept string
		status                     int
		encoding, media            string
	}{
		{"plain", "GET", css, "", 200, "", "text/css; charset=utf-8"},
		{"brotli", "GET", css, "gzip, deflate, br", 200, "br", "text/css; charset=utf-8"},
		{"gzip", "GET", css, "gzip", 200, "gzip", "text/css; charset=utf-8"},
		{"brotli refused", "GET", css, "br;q=0, gzip;q=0.5", 200, "gzip", "text/css; charset=utf-8"},
		{"nonsense", "GET", css, "br;q=x", 200, "", "text/css; charset=utf-8"},
		{"font", "GET", static.URL("geist.woff2"), "br", 200, "", "font/woff2"},
		{"script", "GET", static.URL("app.js"), "", 200, "", "text/javascript; charset=utf-8"},
		{"head", "HEAD", css, "gzip", 200, "gzip", "text/css; charset=utf-8"},
		{"unknown", "GET", "/static/nothing.css", "", 404, "", ""},
		{"name without hash", "GET", "/static/app.css", "", 404, "", ""},
		{"compressed file by name", "GET", css + ".gz", "", 404, "", ""},
		{"outside", "GET", "/static/../static.go", "", 404, "", ""},
		{"folder", "GET", "/static/", "", 404, "", ""},
		{"post", "POST", css, "", 405, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := get(t, tt.method, tt.path, "Accept-Encoding", tt.accept)
			if r.StatusCode != tt.status {
				t.Fatalf("status %d, want %d", r.StatusCode, tt.status)
			}
			if tt.status != http.StatusOK {
				return
			}
			h := r.Header
			if h.Get("Content-Encoding") != tt.encoding || h.Get("Content-Type") != tt.media {
				t.Errorf("%q as %q, want %q as %q", h.Get("Content-Type"), h.Get("Content-Encoding"), tt.media, tt.encoding)
			}
			if !strings.Contains(h.Get("Cache-Control"), "immutable") || !strings.Contains(h.Get("Cache-Control"), "max-age=31536000") {
				t.Errorf("cached for %q", h.Get("Cache-Control"))
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.method == "HEAD" && len(body) > 0 || tt.method == "GET" && h.Get("Content-Length") != strconv.Itoa(len(body)) {
				t.Errorf("%d bytes, announced %s", len(body), h.Get("Content-Length"))
			}
		})
	}
}

func TestNotModified(t *testing.T) {
	css := static.URL("app.css")
	plain := get(t, "GET", css).Header.Get("ETag")
	packed := get(t, "GET", css, "Accept-Encoding", "gzip").Header.Get("ETag")
	if plain == "" || plain == packed {
		t.Fatalf("tags %q and %q: two representations need two", plain, packed)
	}
	if r := get(t, "GET", css, "If-None-Match", `"x", W/`+plain); r.StatusCode != http.StatusNotModified {
		t.Errorf("status %d for a known tag", r.StatusCode)
	}
	if r := get(t, "GET", css, "If-None-Match", packed); r.StatusCode != http.StatusOK {
		t.Errorf("status %d for the tag of another representation", r.StatusCode)
	}
}

// TestEveryFormHoldsTheSame: what the build made is served as it is, whatever a browser takes.
func TestEveryFormHoldsTheSame(t *testing.T) {
	files, err := filepath.Glob("dist/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		if ext := filepath.Ext(file); ext == ".gz" || ext == ".br" {
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		path := static.Prefix + filepath.Base(file)
		plain, err := io.ReadAll(get(t, "GET", path).Body)
		if err != nil || !bytes.Equal(plain, want) {
			t.Errorf("%s: %d bytes of %d (%v)", path, len(plain), len(want), err)
		}
		packed := get(t, "GET", path, "Accept-Encoding", "gzip")
		if packed.Header.Get("Content-Encoding") == "" {
			continue
		}
		z, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s as gzip: %d bytes of %d (%v)", path, len(got), len(want), err)
		}
	}
}

// TestWeight: the first load of chat, as the look demands.
func TestWeight(t *testing.T) {
	size := func(accept string, names ...string) (sum int64) {
		for _, n := range names {
			bytes, err := strconv.ParseInt(get(t, "HEAD", static.URL(n), "Accept-Encoding", accept).Header.Get("Content-Length"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += bytes
		}
		return sum
	}
	const limit = 60_000
	if n := size("gzip", "app.css", "app.js", "htmx.js"); n == 0 || n > limit {
		t.Errorf("scripts and style weigh %d bytes, at most %d", n, limit)
	}
	if n := size("", "geist.woff2", "geist-mono.woff2"); n == 0 || n > limit {
		t.Errorf("fonts weigh %d bytes, at most %d", n, limit)
	}
}

// TestContrast: text reaches WCAG AA (4.5:1) on every ground it stands on, in both themes.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("src/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark := tokens(string(css), ":root {"), tokens(string(css), `[data-theme="dark"] {`)
	system := tokens(string(css), ":root:not([data-theme]) {")
	pairs := map[string][]string{
		"text":        {"canvas", "surface", "raised", "code", "accent-soft", "ok-soft", "danger-soft"},
		"muted":       {"canvas", "surface", "raised", "code"},
		"accent-text": {"canvas", "surface", "raised", "accent-soft"},
		"on-accent":   {"accent", "accent-hover"},
		"danger":      {"canvas", "surface", "raised", "danger-soft"},
		"ok":          {"canvas", "surface", "raised", "ok-soft"},
	}
	for name, theme := range map[string]map[string]string{"light": light, "dark": dark} {
		for text, grounds := range pairs {
			for _, ground := range grounds {
				if c := contrast(theme[text], theme[ground]); c < 4.5 {
					t.Errorf("%s: %s on %s is %.2f:1", name, text, ground, c)
				}
			}
		}
	}
	if len(dark) == 0 || len(system) != len(dark) {
		t.Fatalf("%d dark tokens, %d by system", len(dark), len(system))
	}
	for k, v := range dark {
		if system[k] != v {
			t.Errorf("%s is %s by choice and %s by system", k, v, system[k])
		}
	}
}

// TestColoursLiveInTokens: no other style sheet has a colour of its own.
func TestColoursLiveInTokens(t *testing.T) {
	raw := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\b(rgb|hsl|oklch)a?\(`)
	entries, err := os.ReadDir("src/css")
	if err != nil || len(entries) == 0 {
		t.Fatal("no style sheets", err)
	}
	for _, e := range entries {
		css, err := os.ReadFile("src/css/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range raw.FindAllString(string(css), -1) {
			if !strings.HasPrefix(m, "#m-") {
				t.Errorf("%s has the colour %s", e.Name(), m)
			}
		}
	}
}

func tokens(css, selector string) map[string]string {
	_, rest, _ := strings.Cut(css, selector)
	block, _, _ := strings.Cut(rest, "}")
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// contrast is the ratio of WCAG 2.2, 1.4.3.
func contrast(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (math.Max(la, lb) + .05) / (math.Min(la, lb) + .05)
}

func luminance(hex string) float64 {
	if len(hex) != 7 {
		return math.NaN()
	}
	var sum float64
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			return math.NaN()
		}
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
