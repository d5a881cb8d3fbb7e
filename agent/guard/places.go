package guard

import (
	"strings"
)

// findPlaces finds secrets that are known by where they stand: PEM blocks, credentials in URLs, web hooks.
func findPlaces(spans []span, text string, c cues) []span {
	if c.pem {
		spans = pemBlocks(spans, text)
	}
	if c.atSign {
		spans = urlPasswords(spans, text)
	}
	if len(c.runs) > 0 {
		spans = webhooks(spans, text, "slack-webhook", "hooks.slack.com/")
		spans = webhooks(spans, text, "discord-webhook", "discord.com/api/webhooks/")
	}
	return spans
}

// pemBlocks finds private keys, cut ones too: what follows the opening line as long as it looks like base64, headers
// and line ends (written out as \n as well).
func pemBlocks(spans []span, text string) []span {
	const open, dashes = "-----BEGIN ", "-----"
	for at := 0; ; {
		i := strings.Index(text[at:], open)
		if i < 0 {
			return spans
		}
		start := at + i
		at = start + len(open)
		label := strings.Index(text[at:min(len(text), at+80)], dashes)
		if label < 0 || !strings.Contains(text[at:at+label], "PRIVATE KEY") {
			continue
		}
		name := text[at : at+label]
		body := at + label + len(dashes)
		end := body
		limit := len(text)
		if j := strings.Index(text[body:], open); j >= 0 {
			limit = body + j
		}
		if j := strings.Index(text[body:limit], "-----END "+name+dashes); j >= 0 {
			end = body + j + len("-----END ") + len(name) + len(dashes)
			if !solid(text[body : body+j]) {
				continue // an empty or elided example
			}
		} else {
			for end < limit && (slashed.has(text[end]) || strings.IndexByte("\r\n\\ :,", text[end]) >= 0) {
				end++
			}
			if !solid(text[body:end]) {
				continue
			}
		}
		spans = append(spans, span{start, end, rulePEM, rankPlace})
		at = end
	}
}

// solid reports whether the body of a PEM block holds key material.
func solid(body string) bool {
	n := 0
	for i := range len(body) {
		if classOf(body[i])&(isLetter|isDigit) != 0 {
			n++
		}
	}
	return n >= 40 && !strings.Contains(body, "...") && entropy(body) > 3
}

// urlPasswords finds the password in scheme://user:password@host.
func urlPasswords(spans []span, text string) []span {
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return spans
		}
		at += i + 3
		end := at
		for end < len(text) && end-at < 512 && strings.IndexByte(" \t\r\n/\"'<>`", text[end]) < 0 {
			end++
		}
		host := strings.LastIndexByte(text[at:end], '@')
		if host < 0 {
			continue
		}
		user, password, ok := strings.Cut(text[at:at+host], ":")
		if !ok || password == "" || placeholder(password) || strings.ContainsAny(password, "{}$<>[]*") || plainWord(password) && strings.EqualFold(user, password) {
			continue
		}
		switch strings.ToLower(password) {
		case "password", "pass", "passwd", "pwd", "secret", "pw":
			continue
		}
		spans = append(spans, span{at + len(user) + 1, at + host, ruleURL, rankPlace})
	}
}

// webhooks finds URLs whose path is the secret.
func webhooks(spans []span, text, rule, host string) []span {
	for at := 0; ; {
		i := strings.Index(text[at:], host)
		if i < 0 {
			return spans
		}
		start := at + i + len(host)
		end := start
		for end < len(text) && slashed.has(text[end]) {
			end++
		}
		if end-start >= 30 && random(text[start:end]) {
			spans = append(spans, span{start, end, rule, rankPlace})
		}
		at = end
	}
}
