package guard

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// draw makes values of known shapes.
type draw struct{ *rand.Rand }

func newDraw(seed uint64) draw { return draw{rand.New(rand.NewPCG(seed, 7))} }

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	hexes  = "0123456789abcdef"
	alnums = lowers + uppers + digits
	b64url = alnums + "-_"
)

func (d draw) of(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[d.IntN(len(set))]
	}
	return string(b)
}

func (d draw) pick(of ...string) string { return of[d.IntN(len(of))] }

// vendorKeys are formats as their vendors document them.
func (d draw) vendorKeys() map[string]string {
	seg := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return map[string]string{
		"anthropic":  "sk-ant-api03-" + d.of(b64url, 93) + "AA",
		"openai":     "sk-" + d.of(alnums, 20) + "T3BlbkFJ" + d.of(alnums, 20),
		"openai-p":   "sk-proj-" + d.of(b64url, 74) + "T3BlbkFJ" + d.of(b64url, 73) + "A",
		"openai-s":   "sk-svcacct-" + d.of(alnums, 60),
		"openrouter": "sk-or-v1-" + d.of(hexes, 64),
		"ghp":        "ghp_" + d.of(alnums, 36), "gho": "gho_" + d.of(alnums, 36), "ghs": "ghs_" + d.of(alnums, 36),
		"github_pat": "github_pat_" + d.of(alnums, 22) + "_" + d.of(alnums, 59),
		"aws":        "AKIA" + d.of(uppers+"234567", 16), "asia": "ASIA" + d.of(uppers+"234567", 16),
		"gcp": "AIza" + d.of(b64url, 34) + "Q", "gcp-oauth": "GOCSPX-" + d.of(b64url, 27) + "x", "ya29": "ya29." + d.of(b64url, 120) + "x",
		"slack":   fmt.Sprintf("xoxb-%s-%s-%s", d.of("123456789", 12), d.of("123456789", 12), d.of(alnums, 24)),
		"slack-p": fmt.Sprintf("xoxp-%s-%s-%s-%s", d.of("123456789", 12), d.of("123456789", 12), d.of("123456789", 12), d.of(hexes, 32)),
		"xapp":    fmt.Sprintf("xapp-1-A%s-%s-%s", d.of(uppers+digits, 10), d.of("123456789", 13), d.of(hexes, 64)),
		"hook":    "https://hooks.slack.com/services/T" + d.of(uppers+digits, 10) + "/B" + d.of(uppers+digits, 10) + "/" + d.of(alnums, 24),
		"stripe":  "sk_live_" + d.of(alnums, 24), "stripe-r": "rk_live_" + d.of(alnums, 99), "stripe-t": "sk_test_" + d.of(alnums, 24), "whsec": "whsec_" + d.of(alnums, 32),
		"twilio": "SK" + d.of(hexes, 32), "sendgrid": "SG." + d.of(b64url, 22) + "." + d.of(b64url, 42) + "x",
		"npm": "npm_" + d.of(alnums, 36), "pypi": "pypi-AgEIcHlwaS5vcmc" + d.of(b64url, 80) + "x", "gitlab": "glpat-" + d.of(alnums, 20), "gitlab-t": "glptt-" + d.of(hexes, 40),
		"hf": "hf_" + d.of(lowers+uppers, 34), "groq": "gsk_" + d.of(alnums, 52), "xai": "xai-" + d.of(alnums, 80), "pplx": "pplx-" + d.of(alnums, 48), "replicate": "r8_" + d.of(alnums, 37),
		"jwt": seg(`{"alg":"HS256","typ":"JWT"}`) + "." + seg(`{"sub":"`+d.of(digits, 10)+`","name":"x"}`) + "." + d.of(b64url, 42) + "x",
		"age": "AGE-SECRET-KEY-1" + d.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58), "do": "dop_v1_" + d.of(hexes, 64), "shopify": "shpat_" + d.of(hexes, 32),
		"pem":      "-----BEGIN RSA PRIVATE KEY-----\n" + d.of(alnums+"+/", 64) + "\n" + d.of(alnums+"+/", 64) + "\n" + d.of(alnums+"+/", 40) + "==\n-----END RSA PRIVATE KEY-----",
		"ssh":      "-----BEGIN OPENSSH PRIVATE KEY-----\n" + d.of(alnums+"+/", 70) + "\n" + d.of(alnums+"+/", 70) + "\n-----END OPENSSH PRIVATE KEY-----",
		"pem-json": `-----BEGIN PRIVATE KEY-----\n` + d.of(alnums+"+/", 64) + `\n` + d.of(alnums+"+/", 64) + `\n-----END PRIVATE KEY-----`,
		"telegram": d.of("123456789", 10) + ":AA" + d.of(b64url, 32) + "x", "discord": "M" + d.of(alnums, 23) + "." + d.of(alnums, 6) + "." + d.of(alnums, 38), "linear": "lin_api_" + d.of(alnums, 40),
		"notion": "ntn_" + d.of(digits, 11) + d.of(alnums, 35), "figma": "figd_" + d.of(alnums, 40), "databricks": "dapi" + d.of(hexes, 32), "vault": "hvs." + d.of(b64url, 94) + "x",
		"tailscale": "tskey-auth-" + d.of(alnums, 17) + "-" + d.of(alnums, 32), "docker": "dckr_pat_" + d.of(alnums, 27), "supabase": "sbp_" + d.of(hexes, 40), "atlassian": "ATATT3xFfGF0" + d.of(b64url, 170) + "=" + d.of(uppers, 8),
	}
}

// frames are places where a key may stand.
var frames = []string{"%s", "here it is: %s", "`%s`", "KEY=%s\n", `{"k": "%s"}`, "Authorization: Bearer %s", "curl -H 'x-key: %s' https://api.example.org", "(%s)", "use %s, then go on.", `export A=\"%s\"`, "log: got %s; retry", "| %s |", "https://example.org/?k=%s&x=1", `x\n%s\ny`, "<b>%s</b>"}

func TestVendorKeys(t *testing.T) {
	g := New(Options{})
	all, missed := 0, map[string]int{}
	for seed := range uint64(20) {
		d := newDraw(seed)
		for name, key := range d.vendorKeys() {
			frame := frames[d.IntN(len(frames))]
			if strings.Contains(key, "://") || strings.Contains(key, "\n") {
				frame = "%s"
			}
			text := fmt.Sprintf(frame, key)
			all++
			if got := g.Redact(text); leftOver(got, key) {
				missed[name]++
				if missed[name] == 1 {
					t.Logf("%s: %q -> %q", name, text, got)
				}
			}
		}
	}
	report(t, "vendor keys", all, missed, 0.99)
}

// leftOver reports whether a readable part of a key is still there.
func leftOver(got, key string) bool {
	body := key[len(key)/3:]
	return strings.Contains(got, body) || strings.Contains(got, key[len(key)-min(len(key), 12):])
}

func report(t *testing.T, what string, all int, missed map[string]int, least float64) {
	t.Helper()
	n := 0
	for _, m := range missed {
		n += m
	}
	share := 1 - float64(n)/float64(all)
	t.Logf("%s: %.2f %% of %d", what, share*100, all)
	if share < least {
		t.Errorf("%s: %.2f %% of %d found, want %.0f %%; missed: %v", what, share*100, all, least*100, missed)
	}
}

func TestAssignments(t *testing.T) {
	g := New(Options{})
	names := []string{"api_key", "API_KEY", "apiKey", "OPENAI_KEY", "secret", "SECRET_KEY", "client_secret", "clientSecret", "auth_token", "AUTH_TOKEN", "accessToken", "password", "DB_PASSWORD", "db_passwd", "smtp_pass", "token", "private_key", "encryption_key",
		"service.key", "MY_SERVICE_KEY", "jwt_secret", "SIGNING_KEY", "webhookSecret", "x-api-key", "aws_secret_access_key", "key", "bot_token", "master_key", "stripe_api_key", "license_key"}
	forms := []string{`%s = "%s"`, `%s: "%s"`, `"%s": "%s"`, `%s='%s'`, `%s=%s`, `export %s=%s`, `const %s = "%s";`, `%s := "%s"`, `"%s" => "%s",`, `os.environ["%s"] = "%s"`, "%s: %s", `--%s=%s`, `{"%s":"%s"}`, "\t%s = '%s',", `set %s "%s"`}
	forms = forms[:len(forms)-1]
	all, missed := 0, map[string]int{}
	for seed := range uint64(30) {
		d := newDraw(100 + seed)
		for _, n := range names {
			v := []string{d.of(alnums, 24+d.IntN(20)), d.of(hexes, 32), d.of(lowers+digits, 20), d.of(alnums+"+/", 40), d.of(b64url, 43) + "x"}[d.IntN(5)]
			form := d.pick(forms...)
			text := fmt.Sprintf("# settings\n"+form+"\nnext = 1\n", n, v)
			all++
			if got := g.Redact(text); strings.Contains(got, v) {
				missed[n+" "+form]++
			}
		}
	}
	report(t, `name = "key"`, all, missed, 0.95)
}

// said are ways to tell a secret; %s is the value.
var said = map[string][]string{
	"password": {"my password is %s", "pw: %s", "the wifi password is %s", "password for the guest wifi: %s", "My Netflix password is %s, keep it safe", "remember that my email password is %s please", "pass: %s", "login is bob@example.org and the password is %s",
		"I changed my password to %s", "use %s as the password", "%s is my password", "can you store this: password = %s", "here's the password: %s", "user: bob\npassword: %s", "user bob password %s", "the router's password is %s", "new password: %s", "the admin password for the NAS is still %s",
		"das Passwort ist %s", "mein Passwort lautet %s", "das WLAN-Passwort ist %s", "Passwort: %s", "Kennwort für den Server: %s", "mon mot de passe est %s", "le mot de passe du wifi est %s", "mi contraseña es %s", "la contraseña del wifi es %s", "la clave es %s", "minha senha é %s", "a senha do wifi é %s",
		"la mia password è %s", "la password del wifi è %s", "мой пароль %s", "пароль от почты: %s", "пароль: %s", "moje hasło to %s", "hasło do wifi: %s", "mijn wachtwoord is %s", "het wachtwoord van de wifi is %s", "wifi şifresi: %s", "şifrem %s", "mitt lösenord är %s", "密码是%s", "我的WiFi密码：%s", "パスワードは%sです", "비밀번호는 %s 입니다",
		"My laptop's password is \"%s\".", "just so you know the db password is %s ok?", "please log in with user admin and password %s"},
	"pin": {"my pin is %s", "the PIN of my card is %s", "card PIN: %s", "my phone's PIN is %s", "die PIN meiner Karte ist %s", "mein PIN lautet %s", "le code pin de ma carte est %s", "el PIN de mi tarjeta es %s", "o PIN do cartão é %s", "il PIN della carta è %s", "пин-код карты %s", "PIN do karty: %s", "the alarm code is %s", "the door code is %s", "der Türcode ist %s",
		"garage code: %s", "my sim pin is %s", "%s is the pin", "暗証番号は%sです", "kart pinim %s"},
	"key": {"my openai key is %s, keep it safe", "my weather API key is %s", "here is my api key: %s", "the token is %s", "API key: %s", "my GitHub token: %s", "mein API-Schlüssel ist %s", "der API-Key lautet %s", "ma clé API est %s", "mi clave de API es %s", "мой ключ API: %s", "la mia chiave API è %s", "use this token: %s", "the secret is %s", "my secret key for the shop is %s", "APIキーは%sです", "我的密钥是%s"},
}

func TestChatPhrasing(t *testing.T) {
	g := New(Options{})
	all, missed := 0, map[string]int{}
	for seed := range uint64(8) {
		d := newDraw(300 + seed)
		for kind, forms := range said {
			for _, form := range forms {
				var v string
				switch kind {
				case "password":
					v = d.pick("hunter2", "hunter2!", "Sommer2024!", "tr0ub4dor&3", "Blumen-Topf-77", "P@ssw0rd123", d.of(alnums, 12), d.of(lowers+digits, 9)+"7", "MyDog_Rex99", "xK9#mPq2", "qwertz123", "iLoveCats22")
				case "pin":
					v = d.pick("4921", "0815", "8841", "739201", "2580")
				case "key":
					v = d.pick(d.of(hexes, 32), d.of(alnums, 24)+"4", d.of(lowers+digits, 20)+"3", d.of(alnums, 40))
				}
				text := fmt.Sprintf(form, v)
				all++
				if got := g.Redact(text); strings.Contains(got, v) {
					missed[form]++
				}
			}
		}
	}
	report(t, "chat phrasing", all, missed, 0.8)
}

// ordinary texts must stay as they are.
var ordinary = []string{
	"The key is to stay calm.", "What's the password policy at work?", "I forgot my password again.", "My password is too weak, what makes a good one?", "The password is incorrect.", "The password is case-sensitive.", "Is the token limit 4096 or 8192?",
	"The context window is 200000 tokens.", "max_tokens: 4096", "Please pin this thread.", "Pin 13 on the board is an output.", "The PIN has 4 digits.", "My pin is broken.", "The error code is 404.", "Exit code: 127", "the zip code is 90210", "The secret is simplicity.", "The secret is practice, practice, practice.",
	"The key difference is that maps are unordered.", "Key: a short summary", "key = value", "token = response.token", "password = getPassword()", "const key = map[k1];", `fmt.Println("password: ", p)`, "password: string", "password: str = Field(...)", `<input type="password" name="password">`,
	`"type": "password"`, `"required": ["password", "username"]`, "if key == other.key { return }", "for key, value := range m {", "api_key = os.environ['OPENAI_API_KEY']", "apiKey: process.env.OPENAI_API_KEY", "token=${TOKEN}", "password=$DB_PASSWORD", "secret: !Ref MySecret", "export API_KEY=<your key>", "API_KEY=your-api-key-here",
	"OPENAI_API_KEY=sk-...", "sk-ant-xxxxxxxxxxxxxxxxxxxxxxxx", "commit 6137d01a3b7c8d9e0f1a2b3c4d5e6f7a8b9c0d1e", "request 550e8400-e29b-41d4-a716-446655440000 failed", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "md5 d41d8cd98f00b204e9800998ecf8427e",
	"github.com/zricethezav/gitleaks/v8 v8.30.1 h1:4nTxVrUq0A1Q2V1yUfzEJLkAqNwoUvCWb7bpPrQ1AnM=", "call me at +49 170 1234567", "the invoice number is 2024-000417", "order 114-3941689-8772232", "ISBN 978-3-16-148410-0", "meet at 10:30, room 4.12", "https://example.org/watch?v=dQw4w9WgXcQ&t=42s",
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "The token bucket refills at 10 per second.", "Das Passwort ist falsch.", "Das Passwort muss 12 Zeichen lang sein.", "Mein Passwort ist abgelaufen.", "Der Schlüssel liegt unter der Matte.",
	"La clave es la paciencia.", "La clé est sous le paillasson.", "Ключ к успеху - терпение.", "Пароль неверный.", "密码是必填项。", "パスワードを忘れました。", "How do I reset my password?", "Where is the secret key stored?", "the card is 85 mm wide", "My card number is long", "The code is clean.", "the code is 200 lines long", "It took 25 minutes.",
	"passed: 12, failed: 0", "Author: Jane Doe", "authors: [a, b]", "Keyboard: US", "monkey: banana", "primary key: id", "public_key = \"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\"", "cache-key: v1-linux-a1b2c3d4e5f6a7b8", "pass the salt", "bypass = true", "user@example.org", "My password manager is Bitwarden 2024.", "The API key page is https://example.org/keys",
	"func (g *Guard) FindSecrets(text string) []Secret", "import { createHash } from 'crypto'", "x := base64.StdEncoding.EncodeToString(b)", "the password length is 12", "password must be at least 8 characters", "Password: ", "Password:\n", "password: required", "Token expired at 2024-05-01T10:00:00Z", "secretName: my-app-tls", "tokenizer: gpt2",
	"next_page_token: CAUQAA", "The 2FA code arrives by SMS.", "Is the key to this song C# minor?", "I use a passphrase of 6 words.", "Your session has 3 tokens: access, refresh and id.", "Schlüssel: links oben im Schrank", "my pin code area is downtown", "the pass is closed in winter", "Pass: 80 of 100 points", "The card is Visa.", "git show 8f3a2b1c", "uuid=123e4567-e89b-12d3-a456-426614174000",
	"My keys are at home, call 555-0100.", "version v1.2.3-rc.1+build.5", "The train pass is 49 euros.", "my gym pass is 30 days", "The login is slow today.", "login: see the wiki", "secret santa is on 12.12.", "the recovery is going well", "passwords are stored with bcrypt", "The secret ingredient is MSG.", "ipv6 2001:db8::ff00:42:8329",
}

func TestOrdinaryTextStays(t *testing.T) {
	g := New(Options{})
	for _, text := range ordinary {
		if got := g.Redact(text); got != text {
			t.Errorf("%q -> %q", text, got)
		}
	}
}

// vaultOf is a set of values that changes.
type vaultOf struct{ values []string }

func (v *vaultOf) Values() []string { return v.values }

func TestExactValues(t *testing.T) {
	v := &vaultOf{}
	g := New(Options{Secrets: v})
	secret := "blau/Wal & Café?7"
	text := func(s string) string { return "before " + s + " after" }
	if got := g.Redact(text(secret)); got != text(secret) {
		t.Fatalf("redacted before it was known: %q", got)
	}
	v.values = []string{secret, "4711", "ab", `quo"te\d value`}
	for name, form := range map[string]string{
		"plain": secret, "query": url.QueryEscape(secret), "path": url.PathEscape(secret), "base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"short": "4711", "two bytes": "ab", "json": `quo\"te\\d value`,
	} {
		want := text(mark(ruleExact))
		if got := g.Redact(text(form)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for pad := range 6 { // within a longer text, in base64
		in := strings.Repeat("x", pad) + secret + strings.Repeat("y", 5)
		enc := base64.StdEncoding.EncodeToString([]byte(in))
		got := g.Redact(enc)
		clear, _ := base64.StdEncoding.DecodeString(got[:strings.Index(got+"[", "[")/4*4])
		if !strings.Contains(got, mark(ruleExact)) || strings.Contains(string(clear), "Wal") {
			t.Errorf("pad %d: %q -> %q", pad, enc, got)
		}
	}
	if got := g.Redact("abc about 47110"); got != "abc about 47110 "[:15] && got != "abc about "+mark(ruleExact)+"0" {
		t.Errorf("short values within words: %q", got)
	}
	v.values = nil
	if got := g.Redact(text(secret)); got != text(secret) {
		t.Errorf("still redacted when it is gone: %q", got)
	}
}

func TestMarksAreOpaque(t *testing.T) {
	v := &vaultOf{values: []string{"hunter2hunter2"}}
	g := New(Options{Secrets: v})
	for _, text := range []string{"password = [secret: password]", "my key is [secret: anthropic-key], keep it safe", `{"token":"[secret: github-token]"}`} {
		if got := g.Redact(text); got != text {
			t.Errorf("%q -> %q", text, got)
		}
	}
	if got := g.Redact("[secret: hunter2hunter2]"); strings.Contains(got, "hunter2") {
		t.Errorf("a forged mark hides a secret: %q", got)
	}
}

func TestFindSecretsSpans(t *testing.T) {
	g := New(Options{})
	text := "my pw is hunter2! and the key: sk-ant-api03-" + newDraw(1).of(b64url, 93) + "AA\nDB_PASSWORD=zweiundvierzig42\n"
	got := g.FindSecrets(text)
	var rules []string
	for _, s := range got {
		rules = append(rules, s.Rule+" "+text[s.Start:min(s.End, s.Start+8)])
	}
	if want := "[password hunter2! anthropic-key sk-ant-a password zweiundv]"; fmt.Sprint(rules) != want {
		t.Errorf("%v", rules)
	}
	if apply(text, got) != g.Redact(text) {
		t.Error("the spans are not what Redact replaces")
	}
}

func TestRuleNames(t *testing.T) {
	for _, name := range []string{"generic-api-key", "aws-access-token", "1password-secret-key", ruleExact} {
		if !knownRule(name) {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range []string{"", "\n", "api-key", "generic-api", "jwt\njwt-base64"} {
		if knownRule(name) {
			t.Errorf("%q is no rule", name)
		}
	}
	for _, v := range vendors {
		if !knownRule(v.rule) || len(v.rule) > maxRuleName {
			t.Errorf("%s", v.rule)
		}
	}
}

func FuzzRedact(f *testing.F) {
	d := newDraw(5)
	for _, k := range d.vendorKeys() {
		f.Add("x " + k + " y")
	}
	for _, forms := range said {
		for _, form := range forms {
			f.Add(fmt.Sprintf(form, "hunter2!"))
		}
	}
	for _, s := range ordinary {
		f.Add(s)
	}
	f.Add("password: [secret: pin]: hunter2 a=\xff\xfe密码是hunter2")
	g := New(Options{Secrets: &vaultOf{values: []string{"geheim77", "x y", "4711"}}})
	f.Fuzz(func(t *testing.T, text string) {
		got := g.Redact(text)
		if again := g.Redact(got); again != got {
			t.Fatalf("not idempotent: %q -> %q -> %q", text, got, again)
		}
		last := 0
		for _, s := range g.FindSecrets(text) {
			if s.Start < last || s.End <= s.Start || s.End > len(text) || !knownRule(s.Rule) {
				t.Fatalf("span %+v after %d in %q", s, last, text)
			}
			last = s.End
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("%q -> %q", text, got)
		}
	})
}

// What was looked through is not looked through again, until there is another value to look for; what held a secret always is.
func TestCleared(t *testing.T) {
	v := &vaultOf{}
	g := New(Options{Secrets: v})
	text := strings.Repeat("The word on the door of the shed is Lindenblatt-88-Kamin. ", 3)
	for range 2 {
		if got := g.Redact(text); got != text {
			t.Fatalf("%q", got)
		}
	}
	if !g.cleared.has(text, g.values()) {
		t.Error("it is looked through again")
	}
	v.values = []string{"Lindenblatt-88-Kamin"}
	for range 2 {
		if got := g.Redact(text); strings.Contains(got, "Lindenblatt") {
			t.Errorf("a new value is not found: %q", got)
		}
	}
	v.values = nil
	if got := g.Redact(text); got != text {
		t.Errorf("%q", got)
	}
	for i := range 3 * maxClean {
		g.Redact(strings.Repeat("x", minClean) + strconv.Itoa(i))
		g.Redact(text)
	}
	if n := len(g.cleared.fresh) + len(g.cleared.older); n > 2*maxClean || !g.cleared.has(text, g.values()) {
		t.Errorf("%d texts are kept; the one that is often asked for: %v", n, g.cleared.has(text, g.values()))
	}
}

func BenchmarkRedactChatTurn(b *testing.B) {
	g := New(Options{Secrets: &vaultOf{values: []string{"geheim77-abc", "0123456789abcdef0123"}}})
	text := "Could you plan the trip to Lisbon? We arrive on the 14th at 10:30, two adults and a child, and would like to stay near the river. The budget is about 1200 euros; last year's hotel was fine but loud."
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		g.scour(text, g.values())
	}
}

func BenchmarkRedactToolResult(b *testing.B) {
	g := New(Options{})
	text := strings.Repeat("2026-05-01T10:00:00Z info request id=550e8400-e29b-41d4-a716-446655440000 path=/v1/things/42 status=200 took=12ms token bucket ok\n", 800)[:100<<10]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		g.scour(text, g.values())
	}
}
