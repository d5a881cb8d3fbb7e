package policy

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"ash/agent"
)

// given reports whether a URL was given verbatim by the person or by an earlier result, rather than composed
// by the model. Nothing is made equal but what no server sees: the fragment, the case of scheme and host.
func given(s agent.Situation, text string) bool {
	target, ok := readURL(text)
	if !ok {
		return false
	}
	for i, m := range s.Path {
		if m.Role == agent.RoleUser && m.Author != "" {
			for _, p := range m.Parts {
				if t, ok := p.(agent.Text); ok && !t.Labels.Untrusted() && (gives(t.Text, target) || saysHost(t.Text, target)) {
					return true
				}
			}
		}
		for _, c := range before(s, i) {
			if givenBy(c, target) {
				return true
			}
		}
	}
	return false
}

// givenBy reports whether the result of a call gives a URL. What commands, changes and helpers bring back may be the
// model's own words, and so may a file that a stranger's words went into: those do not count.
func givenBy(c agent.ToolCall, target plainURL) bool {
	if c.Question && c.Decision != nil {
		return gives(c.Decision.Answer, target) // the person's own words
	}
	if c.Effect == nil || c.State != agent.CallFinished {
		return false
	}
	switch c.Effect.Kind {
	case agent.EffectFetch:
	case agent.EffectSend:
		if c.Name != toolSearch {
			return false
		}
	case agent.EffectRead:
		if c.Labels.Untrusted() || len(c.Findings) > 0 {
			return false
		}
	default:
		return false
	}
	if echoes(c, target) {
		return false
	}
	for _, p := range c.Result {
		if t, ok := p.(agent.Text); ok && (c.Effect.Kind != agent.EffectRead || !t.Labels.Untrusted()) && gives(t.Text, target) {
			return true
		}
	}
	return false
}

// echoes reports whether a result may repeat the URL only because the model had put it into the arguments: "nothing matches …".
func echoes(c agent.ToolCall, target plainURL) bool {
	if c.Effect.Kind == agent.EffectFetch {
		return false // it went there: what stands on the page is the page's
	}
	var arguments any
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return true
	}
	return slices.ContainsFunc(stringsIn(arguments, nil), func(s string) bool {
		return gives(s, target) || (c.Effect.Kind == agent.EffectRead && strings.Contains(strings.ToLower(s), target.host))
	})
}

// stringsIn returns the strings of a JSON value.
func stringsIn(v any, to []string) []string {
	switch v := v.(type) {
	case string:
		to = append(to, v)
	case []any:
		for _, x := range v {
			to = stringsIn(x, to)
		}
	case map[string]any:
		for _, x := range v {
			to = stringsIn(x, to)
		}
	}
	return to
}

// plainURL is an absolute URL as it is compared.
type plainURL struct {
	scheme, host, rest string // rest begins with "/"
}

// maxURL bounds a URL, in bytes.
const maxURL = 8 << 10

// readURL takes a URL apart without decoding anything. URLs with a user, or characters no URL has, are refused.
func readURL(text string) (plainURL, bool) {
	if len(text) > maxURL || strings.ContainsFunc(text, endsURL) {
		return plainURL{}, false
	}
	scheme, rest, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if !ok || (scheme != "http" && scheme != "https") {
		return plainURL{}, false
	}
	rest, _, _ = strings.Cut(rest, "#")
	host := rest
	if i := strings.IndexAny(rest, "/?\\"); i >= 0 {
		host, rest = rest[:i], rest[i:]
	} else {
		rest = "/"
	}
	if strings.HasPrefix(rest, "?") {
		rest = "/" + rest
	}
	if host == "" || strings.ContainsAny(host, "@") || strings.ContainsRune(rest, '\\') {
		return plainURL{}, false
	}
	if _, err := url.Parse(text); err != nil {
		return plainURL{}, false
	}
	return plainURL{scheme: scheme, host: strings.ToLower(host), rest: rest}, true
}

// endsURL reports characters that do not stand in a URL as it is written in text.
func endsURL(r rune) bool {
	return r <= ' ' || r == 0x7f || r == '"' || r == '<' || r == '>' || r == '`' || r == '|' || r == '{' || r == '}' || r == '^' ||
		r == unicode.ReplacementChar || (r > unicode.MaxASCII && (unicode.IsSpace(r) || !unicode.IsGraphic(r)))
}

// gives reports whether text contains the URL as a whole.
func gives(text string, target plainURL) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], "://")
		if i < 0 {
			return false
		}
		i += from
		from = i + len("://")
		start := i - len(target.scheme)
		if start < 0 || !strings.EqualFold(text[start:i], target.scheme) || continues(text[:start]) {
			continue
		}
		host := text[from:min(from+len(target.host), len(text))]
		if strings.EqualFold(host, target.host) && written(text[start:], target) {
			return true
		}
	}
}

// continues reports whether text ends within a word that what follows would belong to.
func continues(text string) bool {
	if text == "" {
		return false
	}
	c := text[len(text)-1]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
}

// written reports whether the URL that text begins with is target, with or without the punctuation at its end.
func written(text string, target plainURL) bool {
	text = text[:min(len(text), maxURL+utf8Max)]
	if i := strings.IndexFunc(text, endsURL); i >= 0 {
		text = text[:i]
	}
	for {
		if u, ok := readURL(text); ok && u == target {
			return true
		}
		cut := strings.TrimRight(text, ".,;:!?'*_~")
		if cut == text {
			if cut = closing(text); cut == text {
				return false
			}
		}
		text = cut
	}
}

const utf8Max = 4

// closing cuts a bracket that text did not open, and what comes after it: "[a](https://example.org/)" and "(see https://example.org/a)".
func closing(text string) string {
	for _, pair := range [...]string{"()", "[]"} {
		depth := 0
		for i := range len(text) {
			switch text[i] {
			case pair[0]:
				depth++
			case pair[1]:
				if depth--; depth < 0 {
					return text[:i]
				}
			}
		}
	}
	return text
}

// saysHost reports whether the person named a URL as people do, without its scheme: "example.org/news".
func saysHost(text string, target plainURL) bool {
	if !isHost(target.host) || target.host == "localhost" {
		return false
	}
	lower := strings.ToLower(text) // only to find the place: what may differ in length is caught below
	if len(lower) != len(text) {
		return false
	}
	for from := 0; ; {
		i := strings.Index(lower[from:], target.host)
		if i < 0 {
			return false
		}
		i += from
		from = i + len(target.host)
		if before := text[:i]; continues(before) || strings.HasSuffix(before, "@") || strings.HasSuffix(before, "/") || strings.HasSuffix(before, "_") {
			continue
		}
		if written(target.scheme+"://"+text[i:], target) {
			return true
		}
	}
}
