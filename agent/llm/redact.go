package llm

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"ash/agent"
)

// keyShaped matches what vendors' keys look like, and bearer headers. Servers like to
// repeat a wrong key in their complaint.
var keyShaped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(bearer\s+\S+|\b(?:sk|pk|rk|gsk|xai|csk|key|tok)[-_][A-Za-z0-9_*.\-]{6,}|\bAIza[0-9A-Za-z_\-]{10,}|\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_.\-]+|\bAKIA[0-9A-Z]{12,}|\b[A-Za-z0-9_\-]{32,}\b)`)
})

// maxDetail bounds what of a server's words is kept, in bytes.
const maxDetail = 300

// excerpt makes a server's words fit to be shown: one line, bounded, valid UTF-8, nothing that looks like a key.
func excerpt(s string) string {
	s = agent.Clip(s, 4*maxDetail)
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	s = keyShaped().ReplaceAllString(strings.Join(strings.Fields(s), " "), "[redacted]")
	if len(s) > maxDetail {
		return agent.Clip(s, maxDetail) + "…"
	}
	return s
}
