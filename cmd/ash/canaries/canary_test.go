//go:build linux

package canaries

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
)

// canary is a secret of the vault.
type canary struct {
	n     int
	name  string // in the vault
	value string
	forms []form
}

// form is one way in which a value must not be met.
type form struct{ name, text string }

const (
	hexes  = "0123456789abcdef"
	alnums = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

func draw(r *rand.Rand, set string, n int) string {
	runes := []rune(set)
	out := make([]rune, n)
	for i := range out {
		out[i] = runes[r.IntN(len(runes))]
	}
	return string(out)
}

// newCanary makes the nth value: each shape has its turn. No shape is one that a pattern knows, so only the vault's word helps.
func newCanary(r *rand.Rand, n int) *canary {
	c := &canary{n: n, name: fmt.Sprintf("plugin/canary/c%d", n)}
	word := func() string {
		return draw(r, "bcdfghklmnprstvz", 1) + draw(r, "aeiou", 1) + draw(r, "bcdfghklmnprstvz", 1) + draw(r, "aeiou", 1) + draw(r, "lmnrst", 1)
	}
	switch n % 8 {
	case 0:
		c.value = draw(r, hexes, 40)
	case 1:
		c.value = base64.StdEncoding.EncodeToString([]byte(draw(r, alnums, 31)))
	case 2:
		c.value = strings.Join([]string{word(), word(), word(), word(), word()}, " ")
	case 3:
		c.value = draw(r, "äöüßéèçñåøλπжш密碼鍵匙", 9) + word() + draw(r, "äöüßλπ", 4)
	case 4:
		c.value = draw(r, alnums, 36) + "\n" + draw(r, alnums, 36) + "\n" + draw(r, alnums, 20)
	case 5:
		c.value = draw(r, alnums, 5) + "/+&=?#%" + draw(r, alnums, 6) + ";:@!$'\"<>" + draw(r, alnums, 5)
	case 6:
		c.value = draw(r, alnums, 12)
	case 7:
		c.value = word() + "-" + word() + "_" + draw(r, "0123456789", 6) + "." + draw(r, alnums, 30)
	}
	quoted, err := json.Marshal(c.value)
	if err != nil {
		panic(err) // strings always encode
	}
	c.forms = []form{
		{"plain", c.value}, {"JSON", string(quoted[1 : len(quoted)-1])}, {"HTML", html.EscapeString(c.value)}, {"query", url.QueryEscape(c.value)}, {"path", url.PathEscape(c.value)},
		{"hex", hex.EncodeToString([]byte(c.value))}, {"HEX", strings.ToUpper(hex.EncodeToString([]byte(c.value)))},
	}
	for pad := range 3 {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			c.forms = append(c.forms, form{fmt.Sprintf("base64+%d", pad), inner(enc, c.value, pad)})
		}
	}
	for i, line := range strings.Split(c.value, "\n") {
		if len(line) >= 16 && line != c.value {
			c.forms = append(c.forms, form{fmt.Sprintf("line %d", i+1), line})
		}
	}
	return c
}

// inner is the middle of the base64 of a text with v behind pad other bytes: what depends on v alone.
func inner(enc *base64.Encoding, v string, pad int) string {
	s := enc.EncodeToString([]byte(strings.Repeat("x", pad) + v + "yy"))
	return s[4*((pad+2)/3) : len(s)-8]
}

// written is the value as somebody might put it into a text: each time in another way.
func (c *canary) written(way int) string {
	switch way % 6 {
	case 1:
		return base64.StdEncoding.EncodeToString([]byte("user:" + c.value))
	case 2:
		return url.QueryEscape(c.value)
	case 3:
		return hex.EncodeToString([]byte(c.value))
	case 4:
		return base64.URLEncoding.EncodeToString([]byte(c.value + " and more"))
	}
	return c.value
}

var (
	markup = regexp.MustCompile(`<[^>]*>`)
	frames = regexp.MustCompile(`(?m)^(data|event|id|retry|)(:.*)?$`)
	blank  = regexp.MustCompile(`\s+`)
)

// joined is a stream of events as a reader sees it: without frames, markup and white space, so that what was cut into pieces is together again.
func joined(stream string) string {
	data := frames.ReplaceAllStringFunc(stream, func(line string) string {
		text, ok := strings.CutPrefix(line, "data:")
		if !ok {
			return ""
		}
		return text
	})
	return blank.ReplaceAllString(html.UnescapeString(markup.ReplaceAllString(data, "")), "")
}

// in returns the forms of the canary that stand in text.
func (c *canary) in(text string) (found []string) {
	for _, f := range c.forms {
		if strings.Contains(text, f.text) {
			found = append(found, f.name)
		}
	}
	return found
}

// inJoined is in for what joined returns.
func (c *canary) inJoined(text string) (found []string) {
	for _, f := range c.forms {
		if strings.Contains(text, blank.ReplaceAllString(f.text, "")) {
			found = append(found, f.name)
		}
	}
	return found
}
