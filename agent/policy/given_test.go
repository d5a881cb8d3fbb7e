package policy

import (
	"net/url"
	"strings"
	"testing"

	"ash/agent"
)

func TestGives(t *testing.T) {
	for text, want := range map[string]bool{
		"https://example.org/a?b=c":                         true,
		"see https://example.org/a?b=c.":                    true,
		"(https://example.org/a?b=c)":                       true,
		"[x](https://example.org/a?b=c)":                    true,
		"<https://example.org/a?b=c>":                       true,
		`"https://example.org/a?b=c"`:                       true,
		"**https://example.org/a?b=c**":                     true,
		"HTTPS://EXAMPLE.org/a?b=c#top":                     true,
		"https://example.org/a?b=c#x\nmore":                 true,
		"x https://other.example https://example.org/a?b=c": true,
		"https://example.org/a?b=cd":                        false,
		"https://example.org/a?b=c&d=e":                     false,
		"https://example.org/a?b=":                          false,
		"https://example.org/A?b=c":                         false,
		"http://example.org/a?b=c":                          false,
		"https://example.org:443/a?b=c":                     false,
		"https://x.example.org/a?b=c":                       false,
		"https://example.org.evil.example/a?b=c":            false,
		"xhttps://example.org/a?b=c":                        false,
		"https://u@example.org/a?b=c":                       false,
		"https://example.org/a%3Fb=c":                       false,
		"https://example.org/a?b=c%20":                      false,
		"https://example.org/x/../a?b=c":                    false,
		"":                                                  false,
	} {
		target, ok := readURL("https://example.org/a?b=c")
		if got := gives(text, target); !ok || got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"go to example.org/a, please": true, "example.org/a": true, "Example.org/a": true, "(example.org/a)": true,
		"example.org": false, "example.org/ab": false, "x.example.org/a": false, "me@example.org/a": false, "file/example.org/a": false, "my-example.org/a": false,
	} {
		target, _ := readURL("https://example.org/a")
		if got := saysHost(text, target); got != want {
			t.Errorf("said %q: got %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"", "example.org", "ftp://example.org/", "https://", "https:///x", "https://u:p@example.org/", "https://example.org/a b", "https://example.org\\@evil.example/", "https://exa\nmple.org/", "https://example.org/\u202ea", "javascript:alert(1)", "https://[::1/"} {
		if u, ok := readURL(bad); ok {
			t.Errorf("%q is read as %v", bad, u)
		}
	}
}

// FuzzGiven holds that a URL counts as given only when what is asked for stands in the text letter by letter: whatever is different to
// a server is not the same.
func FuzzGiven(f *testing.F) {
	f.Add("see https://example.org/a?b=c.", "https://example.org/a?b=c")
	f.Add("https://example.org/a", "https://example.org/a?x=secret")
	f.Add("HTTP://X.example/#a", "http://x.example/#b")
	f.Add("example.org/news)", "https://example.org/news")
	f.Fuzz(func(t *testing.T, text, ask string) {
		s := agent.Situation{Path: []agent.Message{{Role: agent.RoleUser, Author: "p", Parts: []agent.Part{agent.Text{Text: text}}}, {Role: agent.RoleAssistant}}}
		if !given(s, ask) {
			return
		}
		u, err := url.Parse(ask)
		if err != nil || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
			t.Fatalf("%q counts as given", ask)
		}
		rest, _, _ := strings.Cut(ask[strings.Index(ask, "://")+3:], "#")
		path := strings.TrimPrefix(rest, rest[:strings.IndexAny(rest+"/", "/?")])
		if !strings.Contains(text, strings.TrimSuffix(path, "/")) || !strings.Contains(strings.ToLower(text), strings.ToLower(u.Host)) {
			t.Fatalf("%q does not stand in %q", ask, text)
		}
		if given(s, strings.TrimSuffix(ask, "#"+u.Fragment)+"x") && !strings.Contains(text, "x") {
			t.Fatalf("%q with more to it counts as given by %q", ask, text)
		}
	})
}
