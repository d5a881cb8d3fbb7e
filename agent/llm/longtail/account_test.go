package longtail

import (
	"crypto/sha1" //nolint:gosec // the AWS tools name their files so
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

const someKeys = "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n"

const ssoSettings = "[default]\nregion = us-east-1\nsso_session = work\nsso_account_id = 123456789012\nsso_role_name = dev\n" +
	"[sso-session work]\nsso_region = us-east-1\nsso_start_url = https://example.awsapps.com/start\n"

// TestSigningIn: what is missing, and what the person reads. No request is made.
func TestSigningIn(t *testing.T) {
	tests := map[string]struct {
		settings string
		env      map[string]string
		kind     llm.FaultKind
		says     string
	}{
		"nothing set up":      {"[default]\nregion = us-east-1\n", nil, llm.FaultNoKey, "aws sso login"},
		"no region":           {"[default]\n" + someKeys, nil, llm.FaultRequest, "AWS_REGION"},
		"no such profile":     {"", map[string]string{"AWS_PROFILE": "nope"}, llm.FaultNoKey, "no AWS profile named “nope”"},
		"a damaged file":      {"[default\nregion", nil, llm.FaultRequest, "AWS_REGION"},
		"never signed in":     {ssoSettings, nil, llm.FaultAuth, "aws sso login"},
		"a process fails":     {"[default]\nregion = us-east-1\ncredential_process = echo secretsecret && false\n", nil, llm.FaultNoKey, "AWS_PROFILE"},
		"a process says what": {"[default]\nregion = us-east-1\ncredential_process = echo secretsecret\n", nil, llm.FaultNoKey, "AWS_PROFILE"},
		"half a pair of keys": {"[default]\nregion = us-east-1\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n", nil, llm.FaultNoKey, "aws"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			awsHome(t, tt.settings)
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			s := llmtest.Start(t, format{})
			r := collect(t, connect(t, s.URL), info(sonnet), hello())
			f := llm.FaultOf(r.err)
			if f == nil || f.Kind != tt.kind {
				t.Fatalf("got %v, want %s", r.err, tt.kind)
			}
			e := llm.Wrap(f, info(sonnet).Ref)
			if !strings.Contains(e.Public, tt.says) {
				t.Errorf("the person reads: %s", e.Public)
			}
			if strings.Contains(e.Error(), "secretsecret") {
				t.Errorf("the log reads what a credential process printed: %v", e)
			}
			if n := len(s.Requests()); n != 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestExpiredSession(t *testing.T) {
	home := awsHome(t, ssoSettings)
	sum := sha1.Sum([]byte("work")) //nolint:gosec // see above
	cache := filepath.Join(home, ".aws", "sso", "cache")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	token := `{"accessToken":"tok","expiresAt":"2024-01-01T00:00:00Z","region":"us-east-1","startUrl":"https://example.awsapps.com/start"}`
	if err := os.WriteFile(filepath.Join(cache, hex.EncodeToString(sum[:])+".json"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	f := llm.FaultOf(collect(t, connect(t, "http://127.0.0.1:1"), info(sonnet), hello()).err)
	if f == nil || f.Kind != llm.FaultAuth || !strings.Contains(f.Public(), "expired") || strings.Contains(f.Public(), "It said") {
		t.Errorf("got %v", f)
	}
}

// TestMending: what was wrong is read anew, without a restart; what was right is read once.
func TestMending(t *testing.T) {
	awsHome(t, "[default]\nregion = us-east-1\n")
	s := llmtest.Start(t, format{}, llmtest.Reply{Text: []string{"ok"}, Repeat: true})
	c := connect(t, s.URL)
	if r := collect(t, c, info(sonnet), hello()); r.err == nil {
		t.Fatal("no credentials, no complaint")
	}
	writeSettings(t, "[default]\nregion = us-east-1\n"+someKeys)
	if r := collect(t, c, info(sonnet), hello()); r.err != nil {
		t.Fatalf("after signing in: %v", r.err)
	}
	writeSettings(t, "")
	if r := collect(t, c, info(sonnet), hello()); r.err != nil {
		t.Errorf("good settings are read again: %v", r.err)
	}
}

// TestRefusedKeysAreReadAnew: keys that AWS refuses may have been replaced by the next call.
func TestRefusedKeysAreReadAnew(t *testing.T) {
	signedIn(t)
	var seen []string
	url := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), "/")
		seen = append(seen, key)
		refuse(w, 403, "UnrecognizedClientException", "invalid")
	}))
	c := connect(t, url)
	collect(t, c, info(sonnet), hello())
	writeSettings(t, "[default]\nregion = us-east-1\n"+strings.ReplaceAll(someKeys, "AKIAIOSFODNN7EXAMPLE", "AKIANEW"))
	collect(t, c, info(sonnet), hello())
	if strings.Join(seen, " ") != "AKIAIOSFODNN7EXAMPLE AKIANEW" {
		t.Errorf("keys used: %q", seen)
	}
}

// TestTheSignInIsUsed: an API key in the environment, meant for another provider, does not take its place.
func TestTheSignInIsUsed(t *testing.T) {
	signedIn(t)
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "ABSKsomething")
	s := llmtest.Start(t, format{}, llmtest.Text("ok"))
	if r := collect(t, connect(t, s.URL), info(sonnet), hello()); r.err != nil {
		t.Error(r.err)
	}
}

// TestNewReadsNothing: AWS settings that cannot be read are no trouble until they are needed.
func TestNewReadsNothing(t *testing.T) {
	awsHome(t, "")
	t.Setenv("AWS_PROFILE", "nope")
	connect(t, "") // fails the test if it fails
}

func TestListRefused(t *testing.T) {
	signedIn(t)
	url := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, 403, "AccessDeniedException", "User is not authorized to perform: bedrock:ListInferenceProfiles")
	}))
	_, err := connect(t, url).Models(t.Context())
	if f := llm.FaultOf(err); f == nil || f.Kind != llm.FaultDenied || !strings.Contains(f.Public(), "by its name") {
		t.Errorf("got %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for base, want := range map[string]struct{ region, control string }{
		"": {"", "https://bedrock.eu-west-1.amazonaws.com"},
		"https://bedrock-runtime.us-west-2.amazonaws.com":          {"us-west-2", "https://bedrock.us-west-2.amazonaws.com"},
		"https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com": {"us-gov-west-1", "https://bedrock-fips.us-gov-west-1.amazonaws.com"},
		"https://bedrock-runtime.cn-north-1.amazonaws.com.cn":      {"cn-north-1", "https://bedrock.cn-north-1.amazonaws.com.cn"},
		"http://127.0.0.1:9":           {"", "http://127.0.0.1:9"},
		"https://gateway.example/":     {"", "https://gateway.example/"},
		"https://bedrock.evil.example": {"", "https://bedrock.evil.example"},
	} {
		if got := regionOf(base); got != want.region {
			t.Errorf("region of %q: %q", base, got)
		}
		if got := controlPlane(base, "eu-west-1"); got != want.control {
			t.Errorf("control plane of %q: %q", base, got)
		}
	}
	if got := controlPlane("", "cn-north-1"); got != "https://bedrock.cn-north-1.amazonaws.com.cn" {
		t.Error(got)
	}
}
