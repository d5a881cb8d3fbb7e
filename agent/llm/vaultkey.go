package llm

import (
	"context"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"ash/agent"
)

// Vault is where keys lie encrypted. Its place is package vault. Errors are *agent.Error: CodeLocked while it is locked, CodeNotFound
// for a secret that it does not have, CodeDenied when the secret is not for that user or host.
type Vault interface {
	// Use returns the value of a secret for one request. It is the caller's, who wipes it.
	Use(ctx context.Context, u SecretUse) ([]byte, error)
	// Check returns the error that Use would return now. It uses nothing.
	Check(ctx context.Context, u SecretUse) error
}

// SecretUse is what a key of the vault is wanted for.
type SecretUse struct {
	Secret string // its name
	User   string // "provider/NAME"
	Host   string // of the address the request goes to, with its port if it names one
	For    string // for the access log; never content
}

// UseVault has keys that the settings place in the vault taken from v. It is called before the first request.
func (k *Keys) UseVault(v Vault) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.vault = v
}

// secretUse places a request of a provider. s is complete.
func secretUse(ctx context.Context, s Settings) (SecretUse, *Fault) {
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Host == "" {
		return SecretUse{}, vaultFault(agent.Errorf(agent.CodeDenied, "The provider %s has no address, so its key does not leave the vault. Set its base URL in Settings → Models.", s.Name))
	}
	if u.Scheme != "https" && !nearby(u.Hostname()) {
		return SecretUse{}, vaultFault(agent.Errorf(agent.CodeDenied, "The address of %s is http://, which anybody on the way could read, so its key does not leave the vault. Change it to https:// in Settings → Models.", s.Name))
	}
	use := SecretUse{Secret: s.KeySecret, User: "provider/" + s.Name, Host: strings.ToLower(u.Host), For: "model call"}
	if w := wornBy(ctx); w != nil && w.model != "" {
		use.For += " to " + w.model
	}
	return use, nil
}

// nearby reports whether a host is this machine or one of the same network, where certificates are rare.
func nearby(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || tailnet(a)
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if !strings.Contains(name, ".") {
		return true // resolved on the network one is in
	}
	for _, end := range []string{".local", ".lan", ".internal", ".home.arpa", ".ts.net", ".localhost"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// tailnet reports whether an address is of the shared range that overlay networks use (RFC 6598).
func tailnet(a netip.Addr) bool {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10).Contains(a)
}

func vaultOrigin(v Vault, s Settings) KeyOrigin {
	o := KeyOrigin{Place: KeyVault, Name: s.KeySecret}
	if v == nil {
		o.Problem = noVault
		return o
	}
	use, fault := secretUse(context.Background(), s)
	if fault != nil {
		o.Problem = fault.Public()
		return o
	}
	err := v.Check(context.Background(), use)
	switch agent.CodeOf(err) {
	case "":
	case agent.CodeLocked:
		o.Locked = true
	default:
		o.Problem = agent.PublicOf(err)
	}
	return o
}

const noVault = "The settings say that the key lies in the vault, but there is none here."

// fromVault takes a key out of the vault. The bytes are wiped here; the string cannot be, and is let go with the request.
func fromVault(ctx context.Context, v Vault, s Settings) (string, error) {
	if v == nil {
		return "", vaultFault(agent.Errorf(agent.CodeNotFound, noVault))
	}
	use, fault := secretUse(ctx, s)
	if fault != nil {
		return "", fault
	}
	value, err := v.Use(ctx, use)
	if err != nil {
		return "", vaultFault(err)
	}
	defer clear(value)
	key := strings.TrimSpace(string(value))
	if err := checkKey(key); err != nil {
		return "", vaultFault(agent.Wrap(agent.CodeInvalid, err, "The secret %s of the vault is not a key: %v. Give it a new value with: ash vault rotate %s", s.KeySecret, err, s.KeySecret))
	}
	return key, nil
}

// vaultFault says what a refusal of the vault means for a call.
func vaultFault(err error) *Fault {
	kind := FaultNoKey
	switch agent.CodeOf(err) {
	case agent.CodeLocked:
		return NewFault(FaultLocked, "", err)
	case agent.CodeDenied:
		kind = FaultKept
	}
	f := NewFault(kind, "", err)
	f.Advice = agent.PublicOf(err)
	return f
}

// worn is the key that the requests of one call bear: it is taken out of what the server says, whatever it looks like, also when the vault is
// locked by then. It ends with the call.
type worn struct {
	model string
	key   atomic.Pointer[string]
}

type wornKey struct{}

// wear has the key of the requests made with the context that is returned noted. model may be "".
func wear(ctx context.Context, model string) (context.Context, *worn) {
	w := &worn{model: model}
	return context.WithValue(ctx, wornKey{}, w), w
}

func wornBy(ctx context.Context) *worn {
	w, _ := ctx.Value(wornKey{}).(*worn)
	return w
}

// note remembers the key of a request.
func (w *worn) note(key string) {
	if w != nil && key != "" {
		w.key.Store(&key)
	}
}

// secret returns the key that was noted, "" for none.
func (w *worn) secret() string {
	if key := w.key.Load(); key != nil {
		return *key
	}
	return ""
}
