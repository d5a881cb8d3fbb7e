package web

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

// TestMaskedAddresses: a value in the query of an address is gone before any handler sees it, however it was written there; other queries arrive byte for byte.
func TestMaskedAddresses(t *testing.T) {
	const value = "correct/horse+battery staple"
	mask := func(text string) string { return strings.ReplaceAll(text, value, "[secret]") }
	every := ""
	for _, b := range []byte(value) {
		every += "%" + strings.ToUpper(string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))
	}
	seen := func(mask func(string) string, target string) (raw, uri string, query url.Values) {
		t.Helper()
		r := httptest.NewRequest("GET", target, nil)
		err := masked(mask)(func(c echo.Context) error {
			raw, uri, query = c.Request().URL.RawQuery, c.Request().RequestURI, c.Request().URL.Query()
			return nil
		})(echo.New().NewContext(r, httptest.NewRecorder()))
		if err != nil {
			t.Fatal(err)
		}
		return raw, uri, query
	}
	for name, q := range map[string]string{
		"escaped": "q=" + url.QueryEscape(value), "as a path": "q=" + strings.ReplaceAll(url.PathEscape(value), "+", "%2B"), "every byte": "q=" + every, "small letters": "q=" + strings.ToLower(every),
		"among words": "a=1&q=is+" + url.QueryEscape(value) + "+it&b=2", "twice": "q=x&q=" + every + "&q=" + every,
	} {
		raw, uri, query := seen(mask, "/search?"+q)
		whole, err := url.QueryUnescape(raw)
		if err != nil || strings.Contains(whole, value) || !strings.Contains(whole, "[secret]") || uri != "/search?"+raw {
			t.Errorf("%s: %q, %q, %v", name, raw, uri, err)
		}
		for _, v := range query["q"] {
			if strings.Contains(v, value) {
				t.Errorf("%s: the handler is given %q", name, v)
			}
		}
	}
	if _, _, query := seen(mask, "/search?a=1&q="+every+"&b=2"); query.Get("a") != "1" || query.Get("b") != "2" {
		t.Errorf("the rest is %v", query)
	}
	for _, q := range []string{"", "q=nothing", "b=2&a=1&a=%41", "q=%zz;x", "token=AbC-_~.%2B", "q=" + url.QueryEscape(value[:len(value)-1])} {
		if raw, _, _ := seen(mask, "/search?"+q); raw != q {
			t.Errorf("%q arrives as %q", q, raw)
		}
	}
	if raw, _, _ := seen(nil, "/search?q="+every); raw != "q="+every {
		t.Errorf("where nothing is known, %q", raw)
	}
}
