package guard

import (
	"encoding/base64"
	"math"
	"strings"
)

// charset is a set of bytes that the rest of a key is made of.
type charset uint8

// The charsets.
const (
	alnum    charset = iota // letters and digits
	dashed                  // and - _
	dotted                  // and .
	slashed                 // base64: and + / =
	hexed                   // hexadecimal digits
	capitals                // A–Z and digits
)

func (c charset) has(b byte) bool {
	class := classOf(b)
	switch c {
	case hexed:
		return class == isDigit || 'a' <= b|0x20 && b|0x20 <= 'f'
	case capitals:
		return class == isDigit || 'A' <= b && b <= 'Z'
	case alnum:
		return class&(isLetter|isDigit) != 0
	case dashed:
		return class&(isLetter|isDigit) != 0 || b == '-' || b == '_'
	case dotted:
		return class&(isLetter|isDigit) != 0 || b == '-' || b == '_' || b == '.'
	case slashed:
		return class&(isLetter|isDigit) != 0 || b == '-' || b == '_' || b == '+' || b == '/' || b == '='
	}
	return false
}

// vendor is a key format: prefix, then with from least to most bytes of rest.
type vendor struct {
	rule   string
	prefix string
	rest   charset
	least  int
	most   int // 0 is no bound
}

// vendors are the formats of well-known keys, as their vendors document or issue them (2026). Longer prefixes
// first where one begins with the other. Bounds are wider than today's lengths: vendors change them.
var vendors = [...]vendor{
	{"ash-token", "ash_", alnum, 59, 59}, // our own, of package access
	{"anthropic-key", "sk-ant-", dashed, 20, 0},
	{"openrouter-key", "sk-or-", dashed, 24, 0},
	{"langfuse-key", "sk-lf-", dashed, 20, 0},
	{"openai-key", "sk-proj-", dashed, 20, 0},
	{"openai-key", "sk-svcacct-", dashed, 20, 0},
	{"openai-key", "sk-admin-", dashed, 20, 0},
	{"openai-key", "sk-None-", dashed, 20, 0},
	{"openai-key", "sk-", alnum, 30, 0}, // also DeepSeek, Moonshot and others that took the form over
	{"github-token", "github_pat_", dashed, 36, 0},
	{"github-token", "ghp_", alnum, 30, 0}, {"github-token", "gho_", alnum, 30, 0},
	{"github-token", "ghu_", alnum, 30, 0}, {"github-token", "ghs_", alnum, 30, 0}, {"github-token", "ghr_", alnum, 30, 0},
	{"gitlab-token", "glpat-", dotted, 18, 0}, {"gitlab-token", "glptt-", dashed, 18, 0}, {"gitlab-token", "gldt-", dashed, 18, 0},
	{"gitlab-token", "glrt-", dotted, 18, 0}, {"gitlab-token", "glcbt-", dashed, 18, 0}, {"gitlab-token", "glsoat-", dashed, 18, 0},
	{"gitlab-token", "glft-", dashed, 18, 0}, {"gitlab-token", "glimt-", dashed, 18, 0}, {"gitlab-token", "glagent-", dashed, 18, 0},
	{"gitlab-token", "gloas-", dashed, 18, 0}, {"gitlab-token", "glffct-", dashed, 18, 0},
	{"aws-key", "AKIA", capitals, 16, 16}, {"aws-key", "ASIA", capitals, 16, 16}, {"aws-key", "ABIA", capitals, 16, 16},
	{"aws-key", "ACCA", capitals, 16, 16}, {"aws-bedrock-key", "ABSK", slashed, 80, 0},
	{"gcp-key", "AIza", dashed, 30, 0}, {"gcp-oauth-token", "ya29.", dotted, 20, 0}, {"gcp-oauth-secret", "GOCSPX-", dashed, 20, 0},
	{"gcp-key", "AQ.Ab", dashed, 30, 0}, {"gcp-refresh-token", "1//0", dashed, 35, 0},
	{"slack-token", "xoxb-", dashed, 16, 0}, {"slack-token", "xoxp-", dashed, 16, 0}, {"slack-token", "xoxa-", dashed, 16, 0},
	{"slack-token", "xoxr-", dashed, 16, 0}, {"slack-token", "xoxs-", dashed, 16, 0}, {"slack-token", "xoxo-", dashed, 16, 0},
	{"slack-token", "xoxc-", dashed, 16, 0}, {"slack-token", "xoxd-", slashed, 16, 0}, {"slack-token", "xoxe-", dashed, 16, 0},
	{"slack-token", "xoxe.xox", dashed, 16, 0}, {"slack-token", "xapp-", dashed, 16, 0},
	{"stripe-key", "sk_live_", alnum, 10, 0}, {"stripe-key", "sk_test_", alnum, 10, 0}, {"stripe-key", "rk_live_", alnum, 10, 0},
	{"stripe-key", "rk_test_", alnum, 10, 0}, {"stripe-key", "sk_prod_", alnum, 10, 0}, {"stripe-webhook-secret", "whsec_", slashed, 20, 0},
	{"square-token", "sq0atp-", dashed, 20, 0}, {"square-token", "sq0csp-", dashed, 20, 0}, {"square-token", "EAAA", dashed, 56, 64},
	{"facebook-token", "EAA", alnum, 90, 0}, {"paystack-key", "sk_", hexed, 40, 48},
	{"twilio-key", "SK", hexed, 32, 32}, {"sendgrid-key", "SG.", dotted, 40, 0}, {"mailgun-key", "key-", hexed, 32, 32},
	{"brevo-key", "xkeysib-", dashed, 40, 0}, {"brevo-key", "xsmtpsib-", dashed, 40, 0}, {"resend-key", "re_", dashed, 30, 40},
	{"postman-key", "PMAK-", dashed, 40, 0}, {"npm-token", "npm_", alnum, 30, 0}, {"pypi-token", "pypi-", dashed, 40, 0},
	{"rubygems-key", "rubygems_", hexed, 40, 0}, {"crates-token", "cio", alnum, 32, 32}, {"docker-token", "dckr_pat_", dashed, 20, 0},
	{"docker-token", "dckr_oat_", dashed, 20, 0}, {"nuget-key", "oy2", alnum, 43, 43}, {"clojars-token", "CLOJARS_", alnum, 50, 0},
	{"huggingface-token", "hf_", alnum, 28, 0}, {"huggingface-token", "api_org_", alnum, 28, 0}, {"groq-key", "gsk_", alnum, 40, 0},
	{"xai-key", "xai-", alnum, 40, 0}, {"perplexity-key", "pplx-", alnum, 32, 0}, {"replicate-token", "r8_", alnum, 30, 0},
	{"tavily-key", "tvly-", dashed, 20, 0}, {"nvidia-key", "nvapi-", dashed, 40, 0}, {"fireworks-key", "fw_", alnum, 20, 40},
	{"langsmith-key", "lsv2_", dashed, 36, 0}, {"cerebras-key", "csk-", alnum, 40, 0}, {"jina-key", "jina_", dashed, 40, 0},
	{"firecrawl-key", "fc-", hexed, 32, 32}, {"elevenlabs-key", "sk_", hexed, 48, 48}, {"voyage-key", "pa-", dashed, 43, 43},
	{"brave-search-key", "BSA", dashed, 24, 32}, {"pinecone-key", "pcsk_", dashed, 40, 0}, {"e2b-key", "e2b_", hexed, 40, 0},
	{"azure-devops-token", "AZDO", alnum, 40, 0},
	{"digitalocean-token", "dop_v1_", hexed, 60, 0}, {"digitalocean-token", "doo_v1_", hexed, 60, 0}, {"digitalocean-token", "dor_v1_", hexed, 60, 0},
	{"heroku-key", "HRKU-", dashed, 36, 0}, {"fly-token", "fo1_", dashed, 40, 0}, {"fly-token", "fm1r_", slashed, 80, 0},
	{"fly-token", "fm2_", slashed, 80, 0}, {"render-key", "rnd_", alnum, 28, 0}, {"netlify-token", "nfp_", alnum, 36, 0},
	{"vercel-token", "vercel_blob_rw_", dashed, 20, 0}, {"vercel-token", "vcp_", alnum, 40, 0}, {"supabase-key", "sbp_", hexed, 40, 0}, {"supabase-key", "sb_secret_", dashed, 20, 0},
	{"planetscale-token", "pscale_tkn_", dotted, 30, 0}, {"planetscale-token", "pscale_pw_", dotted, 30, 0}, {"planetscale-token", "pscale_oauth_", dotted, 30, 0},
	{"databricks-token", "dapi", hexed, 32, 34}, {"cloudflare-key", "v1.0-", dashed, 100, 0}, {"tailscale-key", "tskey-", dashed, 16, 0},
	{"shopify-token", "shpat_", hexed, 32, 0}, {"shopify-token", "shpca_", hexed, 32, 0}, {"shopify-token", "shppa_", hexed, 32, 0}, {"shopify-token", "shpss_", hexed, 32, 0},
	{"atlassian-token", "ATATT3", slashed, 60, 0}, {"atlassian-token", "ATCTT3", slashed, 60, 0}, {"bitbucket-token", "ATBB", alnum, 28, 0},
	{"linear-key", "lin_api_", alnum, 36, 0}, {"linear-key", "lin_oauth_", alnum, 36, 0}, {"notion-token", "ntn_", alnum, 36, 0}, {"notion-token", "secret_", alnum, 40, 0},
	{"figma-token", "figd_", dashed, 36, 0}, {"airtable-token", "pat", dotted, 79, 79}, {"asana-token", "1/", dotted, 48, 0},
	{"dropbox-token", "sl.", dashed, 100, 0}, {"newrelic-key", "NRAK-", alnum, 24, 0}, {"grafana-token", "glsa_", dashed, 36, 0}, {"grafana-token", "glc_", slashed, 32, 0},
	{"sentry-token", "sntrys_", slashed, 40, 0}, {"sentry-token", "sntryu_", hexed, 60, 0}, {"posthog-key", "phx_", alnum, 36, 0}, {"doppler-token", "dp.", dotted, 40, 0},
	{"pulumi-token", "pul-", hexed, 40, 0}, {"terraform-token", "atlasv1.", dashed, 55, 0}, {"vault-token", "hvs.", dashed, 20, 0}, {"vault-token", "hvb.", dashed, 60, 0},
	{"onepassword-token", "ops_eyJ", slashed, 100, 0}, {"onepassword-key", "A3-", dashed, 30, 0}, {"age-key", "AGE-SECRET-KEY-1", capitals, 50, 0}, {"age-key", "AGE-SECRET-KEY-PQ-1", capitals, 50, 0},
	{"adobe-secret", "p8e-", alnum, 30, 0}, {"alibaba-key", "LTAI", alnum, 17, 24}, {"shippo-token", "shippo_live_", hexed, 36, 0}, {"easypost-key", "EZAK", alnum, 54, 0},
	{"flutterwave-key", "FLWSECK", dashed, 32, 0}, {"readme-key", "rdme_", alnum, 60, 0}, {"prefect-key", "pnu_", alnum, 36, 0}, {"ngrok-key", "ak_", alnum, 27, 27},
}

// findVendors looks for the formats within runs.
func findVendors(spans []span, text string, runs []run) []span {
	for _, r := range runs {
		spans = vendorKeys(spans, text, r)
		spans = jwtIn(spans, text, r)
		spans = botTokens(spans, text, r)
	}
	return spans
}

// vendorKeys tries the formats wherever a word begins in the run.
func vendorKeys(spans []span, text string, r run) []span {
	for at := r.start; at+minRun <= r.end; at++ {
		if at > r.start && classOf(text[at-1])&(isLetter|isDigit) != 0 && !escapeBefore(text, at) {
			continue
		}
		if classOf(text[at])&(isLetter|isDigit) == 0 {
			continue
		}
		for i := range vendors {
			v := &vendors[i]
			if text[at] != v.prefix[0] || !strings.HasPrefix(text[at:r.end], v.prefix) {
				continue
			}
			end, ok := v.match(text, at)
			if ok {
				spans = append(spans, span{at, end, v.rule, rankVendor})
			}
			if ok || end-at > 256 { // what was read in vain is not read again from its middle
				at = end
				break
			}
		}
	}
	return spans
}

// escapeBefore reports whether the letter before at belongs to an escape such as \n in a quoted string.
func escapeBefore(text string, at int) bool {
	return at >= 2 && text[at-2] == '\\' && strings.IndexByte("ntr", text[at-1]) >= 0
}

// match returns where the key that starts at ends, and whether it is one.
func (v *vendor) match(text string, at int) (end int, ok bool) {
	end = at + len(v.prefix)
	for end < len(text) && v.rest.has(text[end]) {
		end++
	}
	for v.rest != slashed && end > at && strings.IndexByte("-_.", text[end-1]) >= 0 {
		end--
	}
	n := end - at - len(v.prefix)
	if n < v.least || (v.most > 0 && n > v.most) {
		return end, false
	}
	if end < len(text) && (v.rest == alnum || v.rest == hexed || v.rest == capitals) && classOf(text[end])&(isLetter|isDigit) != 0 {
		return end, false
	}
	body := text[at+len(v.prefix) : end]
	if v.rest == capitals {
		return end, !placeholder(body) && entropy(body) >= 2.6
	}
	return end, random(body)
}

// random reports whether s, the free part of a key, could have been drawn by chance: no filler such as xxxx or YOUR_KEY.
func random(s string) bool {
	if placeholder(s) {
		return false
	}
	digits, upper, lower := 0, 0, 0
	for i := range len(s) {
		switch b := s[i]; {
		case '0' <= b && b <= '9':
			digits++
		case 'A' <= b && b <= 'Z':
			upper++
		case 'a' <= b && b <= 'z':
			lower++
		}
	}
	if digits == 0 && (upper < 2 || lower < 2) {
		return false
	}
	return entropy(s) >= 2.6
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	e := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			e -= p * math.Log2(p)
		}
	}
	return e
}

// jwtIn finds JSON web tokens: three base64url parts, the first a JSON object.
func jwtIn(spans []span, text string, r run) []span {
	stop := 0 // where the token characters around at end
	for at := r.start; ; {
		i := strings.Index(text[at:r.end], "eyJ")
		if i < 0 {
			return spans
		}
		start := at + i
		at = start + 3
		if start > r.start && classOf(text[start-1])&(isLetter|isDigit) != 0 && !escapeBefore(text, start) {
			continue
		}
		for stop = max(stop, start); stop < len(text) && dotted.has(text[stop]); stop++ {
		}
		head, rest, two := strings.Cut(text[start:stop], ".")
		if !two || strings.IndexByte(rest, '.') < 0 || stop-start < 40 {
			continue
		}
		if raw, err := base64.RawURLEncoding.DecodeString(head); err == nil && len(raw) > 1 && raw[0] == '{' {
			spans = append(spans, span{start, start + len(strings.TrimRight(text[start:stop], ".-_")), ruleJWT, rankVendor})
			at = min(stop, r.end)
		}
	}
}

// botTokens finds the tokens of Telegram and Discord bots, which have a shape but no prefix.
func botTokens(spans []span, text string, r run) []span {
	if r.start > 0 && text[r.start-1] == '\\' {
		r.start++ // the n of \n
	}
	s := text[r.start:r.end]
	if r.start > 8 && text[r.start-1] == ':' && len(s) >= 35 && strings.HasPrefix(s, "AA") {
		id := r.start - 1
		for id > 0 && classOf(text[id-1]) == isDigit {
			id--
		}
		if n := r.start - 1 - id; n >= 8 && n <= 12 && random(s[:35]) {
			spans = append(spans, span{id, r.start + len(strings.TrimRight(s, "./=+~")), "telegram-bot-token", rankVendor})
		}
	}
	if i := strings.LastIndexAny(s, "=/"); i >= 0 {
		r.start += i + 1
		s = s[i+1:]
	}
	parts := strings.SplitN(s, ".", 4)
	if len(parts) == 3 && len(parts[0]) >= 23 && len(parts[0]) <= 28 && len(parts[1]) == 6 && len(parts[2]) >= 27 && strings.IndexByte("MNO", s[0]) >= 0 && random(s) {
		spans = append(spans, span{r.start, r.end, "discord-token", rankVendor})
	}
	return spans
}
