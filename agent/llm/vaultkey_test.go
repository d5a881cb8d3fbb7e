package llm_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/openai"
)

// safe is a vault with one secret for one host.
type safe struct {
	host, value string
	refusal     error // of every use
	uses        []llm.SecretUse
	given       []byte
}

func (s *safe) Check(_ context.Context, u llm.SecretUse) error {
	switch {
	case s.refusal != nil:
		return s.refusal
	case u.Host != s.host:
		return agent.Errorf(agent.CodeDenied, "The secret may not go to %s.", u.Host)
	}
	return nil
}

func (s *safe) Use(ctx context.Context, u llm.SecretUse) ([]byte, error) {
	s.uses = append(s.uses, u)
	if err := s.Check(ctx, u); err != nil {
		return nil, err
	}
	s.given = []byte(s.value)
	return s.given, nil
}

// kept makes providers "a", "b", … at servers; those that secrets names take their keys from v.
func kept(t *testing.T, v llm.Vault, log *bytes.Buffer, secrets string, servers ...*llmtest.Server) *llm.Providers {
	t.Helper()
	keys := llm.NewKeys(func(name string) (string, bool) { return "of-the-environment", name == "OPENAI_API_KEY" })
	keys.UseVault(v)
	o := llm.Options{
		Dialects: map[string]llm.Dialect{"openai": openai.New}, Keys: keys, Retry: llm.Retry{Tries: 1},
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for i, s := range servers {
		name := string(rune('a' + i))
		set := llm.Settings{Name: name, Kind: "openai", BaseURL: s.URL + "/v1"}
		if strings.Contains(secrets, name) {
			set.KeySecret = "provider/" + name
		}
		o.Providers = append(o.Providers, set)
		o.Order = append(o.Order, agent.ModelRef{Provider: name, Name: "m"})
	}
	p, err := llm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// said asks the default model and returns the text and the error of its answer.
func said(t *testing.T, p *llm.Providers) (text string, err error) {
	t.Helper()
	m, _, err := p.Pick(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range m.Stream(t.Context(), agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "hi"}}}}}) {
		if err != nil {
			return text, err
		}
		if d.Kind == agent.DeltaText {
			text += d.Text
		}
	}
	return text, nil
}

func hostOf(s *llmtest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

func TestKeyFromTheVault(t *testing.T) {
	var log bytes.Buffer
	s := llmtest.OpenAI(t, llmtest.Text("hello"), llmtest.Text("again"))
	v := &safe{host: hostOf(s), value: "k-from-the-vault\n"}
	p := kept(t, v, &log, "a", s)
	if o := p.Status()[0].Key; o.Place != llm.KeyVault || o.Name != "provider/a" || o.Locked || o.Problem != "" || len(v.uses) > 0 {
		t.Errorf("origin %+v after %d uses", o, len(v.uses))
	}
	if text, err := said(t, p); err != nil || text != "hello" {
		t.Fatalf("%q, %v", text, err)
	}
	if got := s.Chats()[0].Header.Get("Authorization"); got != "Bearer k-from-the-vault" {
		t.Errorf("the server got %q", got)
	}
	if want := (llm.SecretUse{Secret: "provider/a", User: "provider/a", Host: hostOf(s), For: "model call to a/m"}); len(v.uses) != 1 || v.uses[0] != want {
		t.Errorf("used for %+v", v.uses)
	}
	if len(bytes.Trim(v.given, "\x00")) > 0 {
		t.Errorf("not wiped: %q", v.given)
	}
	if err := p.Keys().Paste("a", "pasted-key"); err != nil {
		t.Fatal(err)
	}
	if _, err := said(t, p); err != nil || len(v.uses) != 1 || s.Chats()[1].Header.Get("Authorization") != "Bearer pasted-key" {
		t.Errorf("a pasted key does not come first: %v", err)
	}
}

func TestKeyTheVaultKeeps(t *testing.T) {
	for name, tc := range map[string]struct {
		refusal error
		host    string
		kind    llm.FaultKind
		code    agent.Code
		words   string
	}{
		"locked":     {agent.Errorf(agent.CodeLocked, "Locked."), "", llm.FaultLocked, agent.CodeLocked, "Unlock it"},
		"not there":  {agent.Errorf(agent.CodeNotFound, "There is no secret provider/a."), "", llm.FaultNoKey, agent.CodeDenied, "There is no secret provider/a."},
		"other host": {nil, "api.example.com", llm.FaultKept, agent.CodeDenied, "may not go to 127.0.0.1"},
		"no log":     {agent.Errorf(agent.CodeUnavailable, "The log cannot be written."), "", llm.FaultNoKey, agent.CodeDenied, "cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := llmtest.OpenAI(t, llmtest.Text("no"))
			v := &safe{host: tc.host, refusal: tc.refusal, value: "k-from-the-vault"}
			if v.host == "" {
				v.host = hostOf(s)
			}
			_, err := said(t, kept(t, v, &log, "a", s))
			if f := llm.FaultOf(err); f == nil || f.Kind != tc.kind || agent.CodeOf(err) != tc.code || !strings.Contains(agent.PublicOf(err), tc.words) {
				t.Errorf("got %v", err)
			}
			if len(s.Chats()) > 0 {
				t.Error("the server was asked")
			}
			if strings.Contains(log.String(), v.value) {
				t.Error("the log holds the key")
			}
		})
	}
}

// A key in the environment, or another model, is not taken in the place of one that is locked.
func TestLockedKeyEndsTheChain(t *testing.T) {
	locked := &safe{refusal: agent.Errorf(agent.CodeLocked, "Locked.")}
	var log bytes.Buffer
	next := llmtest.OpenAI(t, llmtest.Text("of another account"))
	first := llmtest.OpenAI(t, llmtest.Text("no"))
	_, err := said(t, kept(t, locked, &log, "a", first, next))
	if agent.CodeOf(err) != agent.CodeLocked || len(first.Chats())+len(next.Chats()) > 0 {
		t.Errorf("%v, with %d and %d calls", err, len(first.Chats()), len(next.Chats()))
	}
	down := llmtest.OpenAI(t, llmtest.Reply{Repeat: true, Fault: llmtest.Fault{Status: 503, Media: "application/json", Raw: `{"error":{"message":"down"}}`}})
	_, err = said(t, kept(t, locked, &log, "b", down, first, next))
	if agent.CodeOf(err) != agent.CodeLocked || len(first.Chats())+len(next.Chats()) > 0 || !strings.Contains(agent.PublicOf(err), "b/m could stand in") || !strings.Contains(agent.PublicOf(err), "overloaded") {
		t.Errorf("%v, with %d and %d calls", err, len(first.Chats()), len(next.Chats()))
	}
}

// What the server repeats of the key is taken out though the vault no longer gives it.
func TestKeyOfTheVaultIsNeverRepeated(t *testing.T) {
	var log bytes.Buffer
	s := llmtest.OpenAI(t, llmtest.Reply{Repeat: true, Fault: llmtest.Fault{Status: 400, Media: "application/json", Raw: `{"error":{"message":"opensesame7 is not good"}}`}})
	v := &safe{host: hostOf(s), value: "opensesame7"}
	_, err := said(t, kept(t, v, &log, "a", s))
	if err == nil || strings.Contains(err.Error()+agent.PublicOf(err)+log.String(), v.value) || len(v.uses) != 1 {
		t.Errorf("%d uses, error %v, log %s", len(v.uses), err, log.String())
	}
}

func TestKeyOfTheVaultNeedsAnAddressNobodyReadsOnTheWay(t *testing.T) {
	keys := llm.NewKeys(nil)
	keys.UseVault(&safe{})
	for url, stays := range map[string]bool{
		"https://api.example.com/v1": false, "http://api.example.com/v1": true, "http://8.8.8.8/v1": true, "http://[2001:4860:4860::8888]/v1": true,
		"http://127.0.0.1:1234/v1": false, "http://localhost:1234": false, "http://192.168.1.5:8000/v1": false, "http://[::1]:8000": false,
		"http://100.100.1.2:8000/v1": false, "http://gpu.lan/v1": false, "http://evil.lan.example.com/v1": true, "http://box:8000": false,
	} {
		o := keys.Origin(llm.Settings{Name: "a", Kind: "openai", BaseURL: url, KeySecret: "provider/a"})
		if got := strings.Contains(o.Problem, "http://, which"); got != stays {
			t.Errorf("%s: %+v", url, o)
		}
	}
}
