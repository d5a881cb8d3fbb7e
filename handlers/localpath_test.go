package handlers_test

import (
	"strings"
	"testing"

	"ash/handlers"
)

func TestLocalPath(t *testing.T) {
	for path, want := range map[string]string{
		"/chat":                         "/chat",
		"/search?q=a+b":                 "/search?q=a+b",
		"/signed":                       "/signed",
		"/sign-in":                      "/",
		"/sign-in?back=/chat":           "/",
		"/pair/x":                       "/",
		"/pairs":                        "/pairs",
		"":                              "/",
		"chat":                          "/",
		"//evil.example":                "/",
		"/\\evil.example":               "/",
		"https://evil.example":          "/",
		"/\tevil":                       "/",
		"/chat\r\nSet-Cookie: a=b":      "/",
		"javascript:alert(1)":           "/",
		"/" + strings.Repeat("a", 3000): "/",
	} {
		if got := handlers.LocalPath(path); got != want {
			t.Errorf("%.40q leads to %.40q, want %q", path, got, want)
		}
	}
}

func FuzzLocalPath(f *testing.F) {
	f.Add("//evil.example")
	f.Add("/chat?x=1#y")
	f.Fuzz(func(t *testing.T, path string) {
		got := handlers.LocalPath(path)
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t ") {
			t.Errorf("%q leads to %q", path, got)
		}
	})
}
