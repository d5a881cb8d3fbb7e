package guard

import (
	"slices"
	"strings"
)

// findAssigned finds values given to a name that says it holds a secret: name = "key", NAME=key, name: key, "name": "key".
func findAssigned(spans []span, text string, c cues) []span {
	read := 0 // up to here a long value was looked at in vain
	for _, i := range c.signs {
		if i < read {
			continue
		}
		name, start := nameBefore(text, i)
		if name == "" {
			continue
		}
		kind, strength := nameKind(name)
		if strength == 0 {
			continue
		}
		v, ok := valueAfter(text, i)
		if !ok {
			continue
		}
		v.line = start == 0 || text[start-1] == '\n'
		v.sign = text[i]
		if v.secret(text, strength) {
			spans = append(spans, span{v.start, v.end, kind, rankAssigned})
		} else if v.end-v.start > 100 {
			read = v.end
		}
	}
	return spans
}

// maxName bounds the name of what is assigned, in bytes.
const maxName = 64

// nameBefore returns the identifier that ends before the sign at i, in lower case, and where it starts.
func nameBefore(text string, i int) (string, int) {
	end := i
	for end > 0 && end > i-4 && strings.IndexByte(" \t\"'`]:?\\", text[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && end-start < maxName {
		b := text[start-1]
		if classOf(b)&(isLetter|isDigit) == 0 && b != '_' && b != '-' && b != '.' {
			break
		}
		start--
	}
	if end == start {
		return "", 0
	}
	return strings.ToLower(text[start:end]), start
}

// Strengths of a name.
const (
	weakly   = iota + 1 // key, auth: the value must look drawn by chance
	strongly            // token, secret, api_key
	surely              // password: the value may be a word
)

// harmlessNames are parts of names that hold no secret though a part of them says so.
var harmlessNames = [...]string{
	"public", "pubkey", "keyword", "keyboard", "monkey", "turkey", "hockey", "donkey", "whiskey", "primary", "foreign", "partition", "sortkey", "sort_key", "sort-key", "keyframe", "keycode", "key_id", "keyid", "key-id", "kid",
	"tokens", "tokenizer", "tokenize", "token_type", "tokentype", "token_count", "max_token", "maxtoken", "token_id", "tokenid", "token_limit", "eos_token", "bos_token", "pad_token", "unk_token", "mask_token", "sep_token", "cls_token",
	"passwordfield", "password_field", "password_reset", "reset_password", "forgot", "passwordhash", "password_hash", "hashed", "secretname", "secret_name", "secretref", "secretkeyref", "secret_arn", "_file", "-file", "_path", "-path", "_url", "uri", "author", "authority",
	"authors", "authorized", "oauth_url", "token_endpoint", "cache_key", "cachekey", "cache-key", "idempotency", "objectkey", "object_key", "s3_key", "shortcut", "hotkey", "keypath", "key_path", "keystore", "compass", "bypass", "passed", "passing", "passenger", "passport", "passive",
	"accesskeyid", "access_key_id", "access-key-id", "key_type", "keytype", "keyname", "key_name", "key-name", "passwordlabel", "placeholder", "passwordinput", "min_password", "max_password", "password_length", "signature", "checksum", "integrity", "commit", "sha256", "digest", "etag",
	"csrf", "next_page", "nextpage", "pagetoken", "page_token", "continuation", "synctoken", "sync_token", "cursor", "passwordless", "keyof", "keyed", "apikeyname", "key_prefix", "keyprefix", "secretary", "translation", "i18n", "label", "message", "error", "hint", "title", "help", "aria",
}

// nameParts are what every name of a secret has one of; it rules most names out.
var nameParts = [...]string{"pass", "pw", "key", "secret", "token", "auth", "cred", "pin", "psk", "otp", "seed", "salt", "sid", "session", "cookie", "jwt", "pat", "bearer", "kennwort", "contrase", "senha", "mot", "wachtwoord", "haslo"}

// nameKind says what a name in lower case holds, and how surely; 0 for no secret.
func nameKind(name string) (rule string, strength int) {
	if !slices.ContainsFunc(nameParts[:], func(p string) bool { return strings.Contains(name, p) }) || harmless(name) {
		return "", 0
	}
	if i := strings.LastIndexAny(name, "."); i >= 0 && i < len(name)-1 {
		name = name[i+1:]
	}
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(name, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("password", "passwd", "passphrase", "passwort", "kennwort", "contrasena", "contraseña", "senha", "motdepasse", "mot_de_passe", "wachtwoord", "haslo", "passcode"), ends(name, "pwd", "pass", "pw"):
		return rulePassword, surely
	case has("api_key", "apikey", "api-key", "secret", "private_key", "privatekey", "private-key", "access_key", "accesskey", "access-key", "auth_token", "authtoken", "auth-token", "access_token", "accesstoken", "access-token", "client_secret",
		"token", "credential", "signing_key", "signingkey", "encryption_key", "encryptionkey", "master_key", "masterkey", "license_key", "accountkey", "account_key", "sharedaccesskey", "service_key", "deploy_key", "webhook_secret", "bearer", "apitoken", "api_token", "authkey", "auth_key"):
		return ruleKey, strongly
	case name == "authorization", name == "proxy-authorization", strings.HasPrefix(name, "x-") && has("auth", "key"):
		return ruleKey, strongly
	case ends(name, "key", "auth", "creds", "cookie", "session", "sid", "salt", "pat", "jwt", "pin", "psk", "otp", "seed"):
		return ruleKey, weakly
	}
	return "", 0
}

// ends reports whether name ends with one of the words as a word of its own.
func ends(name string, parts ...string) bool {
	for _, p := range parts {
		if rest, ok := strings.CutSuffix(name, p); ok {
			if rest == "" || classOf(rest[len(rest)-1])&isLetter == 0 || p == "key" || p == "pwd" {
				return true
			}
		}
	}
	return false
}

// strongName reports whether what a gitleaks rule matched names a secret that may be a hash or a UUID.
func strongName(match string) bool {
	lower := strings.ToLower(match)
	i := strings.IndexAny(lower, "=:,>")
	if i < 0 {
		return false
	}
	_, strength := nameKind(strings.Trim(lower[:i], " \t\"'`\n\r"))
	return strength >= strongly
}

// plainName reports whether what the catch-all rule matched is a harmless name.
func plainName(match string) bool {
	lower := strings.ToLower(match)
	if i := strings.IndexAny(lower, "=:,>"); i > 0 {
		lower = lower[:i]
	}
	return harmless(lower)
}

func harmless(name string) bool {
	for _, h := range harmlessNames {
		if strings.Contains(name, h) {
			return true
		}
	}
	return false
}

// value is what stands after a sign.
type value struct {
	start, end int
	quote      byte // 0 for none
	closed     bool // the quote ends on the same line
	line       bool // the name begins a line
	sign       byte
}

// maxValue bounds a value, in bytes.
const maxValue = 300

// valueAfter returns the value after the sign at i.
func valueAfter(text string, i int) (value, bool) {
	at := i + 1
	for at < len(text) && at < i+4 && (text[at] == '=' || text[at] == '>' || text[at] == ':') {
		at++
	}
	if at < len(text) && at > i+1 && text[at-1] == '=' && text[i] == '=' { // a comparison
		return value{}, false
	}
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	var v value
	if at+1 < len(text) && text[at] == '\\' && (text[at+1] == '"' || text[at+1] == '\'') {
		at++
	}
	if at < len(text) && strings.IndexByte("\"'`", text[at]) >= 0 {
		v.quote = text[at]
		at++
	}
	for _, scheme := range [...]string{"Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token ", "ApiKey ", "Bot "} {
		if strings.HasPrefix(text[at:], scheme) {
			at += len(scheme)
			break
		}
	}
	v.start = at
	for at < len(text) && at-v.start < maxValue {
		b := text[at]
		if b == '\n' || b == '\r' {
			break
		}
		if v.quote != 0 && b == v.quote {
			v.closed = true
			break
		}
		if v.quote == 0 && strings.IndexByte(" \t,;\"'`)}]<&|", b) >= 0 {
			break
		}
		if b == '\\' && at+1 < len(text) && strings.IndexByte("nrt\"'", text[at+1]) >= 0 {
			break
		}
		at++
	}
	v.end = at
	return v, v.end > v.start && (v.quote == 0 || v.closed || at < len(text) && text[at] == '\\')
}

// secret reports whether the value is one, given how surely its name says so.
func (v value) secret(text string, strength int) bool {
	s := text[v.start:v.end]
	if v.end < len(text) && v.quote == 0 && (text[v.end] == '(' || text[v.end] == '[') || placeholder(s) || strings.HasPrefix(s, markOpen) {
		return false
	}
	if strings.ContainsAny(s, " \t") {
		return false
	}
	lower := strings.ToLower(s)
	if stopValues()[lower] || strings.HasPrefix(s, "$") || strings.HasPrefix(s, "%") || strings.HasPrefix(s, "#{") || strings.Contains(s, "://") {
		return false
	}
	digits := countDigits(s)
	mixed := digits > 0 && digits < len(s)
	switch strength {
	case surely:
		return v.password(s, digits)
	case strongly:
		if v.quote == 0 && codeLike(s) {
			return false
		}
		if wordy(s) || queryLike(s) {
			return false
		}
		return len(s) >= 8 && (mixed && (len(s) >= 12 || !codeLike(s)) || random(s) || len(s) >= 20 && !codeLike(s) && entropy(s) > 3.4)
	}
	return len(s) >= 16 && mixed && !codeLike(s) && !queryLike(s) && entropy(s) > 3 && (!hashLike(s) || len(s) != 36)
}

// queryLike reports whether s assigns something itself, as a query does; the padding of base64 does not.
func queryLike(s string) bool {
	return strings.IndexByte(strings.TrimRight(s, "="), '=') > 0 || len(s) < 32 && strings.Count(s, "%") >= 2
}

// password reports whether s, the value of something called a password, is one: words are only when quoted, or in a file of settings.
func (v value) password(s string, digits int) bool {
	if len(s) < 4 || len(s) > 128 {
		return false
	}
	if v.quote == 0 && codeLike(s) && !(v.line && v.sign == '=' && strings.IndexByte(s, '-') > 0) {
		return false
	}
	symbols := strings.ContainsAny(s, "!@#$%^&*?+~=")
	switch {
	case digits == len(s):
		return len(s) >= 4 && (v.quote != 0 || len(s) >= 6)
	case digits > 0, symbols && len(s) >= 5:
		return !codeLike(s) || digits > 0 || v.quote != 0 && !strings.ContainsAny(s, "()[]{}<>$")
	case plainWord(s):
		return v.quote != 0 && v.sign == '=' && len(s) >= 6 || len(s) >= 16 && v.quote != 0
	}
	return v.quote != 0 && !codeLike(s) && len(s) >= 8
}
