package llm

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"ash/agent"
)

// KeyPlace says where a key comes from.
type KeyPlace string

// The places, in the order they are looked in.
const (
	KeyNone        KeyPlace = ""            // there is none
	KeyPasted      KeyPlace = "pasted"      // typed into the page; in memory until Ash ends
	KeyVault       KeyPlace = "vault"       // a secret of the vault that the settings name
	KeyFile        KeyPlace = "file"        // a file named in the settings
	KeyEnvironment KeyPlace = "environment" // an environment variable
)

// KeyOrigin tells a person where a provider's key comes from, never the key.
type KeyOrigin struct {
	Place   KeyPlace
	Name    string // the secret's name, the file's path or the variable's name
	Locked  bool   // it lies in the vault, which is locked: nobody knows whether all is well
	Problem string // why the place that should hold a key cannot be used; "" when all is well
}

// maxKey bounds a key, in bytes; the longest real ones are tokens of about 2 KB.
const maxKey = 8 << 10

// Keys finds the keys of providers: pasted ones first, then the secret of the vault that the settings name, then the file they name, then the
// environment. A place that the settings name and that fails is a problem; the next is not tried, for it may hold the key of another account.
// It never logs a key. Use NewKeys; safe for use by many goroutines.
type Keys struct {
	env    func(string) (string, bool)
	mu     sync.RWMutex
	pasted map[string]string
	vault  Vault
}

// NewKeys makes a Keys that reads the environment with env; nil is os.LookupEnv.
func NewKeys(env func(string) (string, bool)) *Keys {
	if env == nil {
		env = os.LookupEnv
	}
	return &Keys{env: env, pasted: make(map[string]string)}
}

// Paste keeps a key for the provider of that name in memory until Ash ends; "" forgets it. Errors:
// CodeInvalid for something that cannot be a key.
func (k *Keys) Paste(provider, key string) error {
	key = strings.TrimSpace(key)
	if err := CheckKey(key); key != "" && err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if key == "" {
		delete(k.pasted, provider)
		return nil
	}
	k.pasted[provider] = key
	return nil
}

// Origin says where the key of a provider would come from now. It uses nothing.
func (k *Keys) Origin(s Settings) KeyOrigin {
	vault, pasted := k.known(s.Name)
	switch {
	case pasted != "":
		return KeyOrigin{Place: KeyPasted}
	case s.KeySecret != "":
		return vaultOrigin(vault, s)
	}
	_, origin := k.find(s)
	return origin
}

// key returns the key for a request, "" when none is needed: the one lent for it before any of Ash's own. Errors are *Fault.
func (k *Keys) key(ctx context.Context, s Settings) (string, error) {
	if l, ok := agent.LentTo(ctx); ok {
		return lentKey(l, s)
	}
	vault, pasted := k.known(s.Name)
	switch {
	case pasted != "":
		return pasted, nil
	case s.KeySecret != "":
		return fromVault(ctx, vault, s)
	}
	key, origin := k.find(s)
	if origin.Problem != "" {
		return "", NewFault(FaultNoKey, origin.Problem, nil)
	}
	if key == "" && s.Vendor().NeedKey {
		return "", NewFault(FaultNoKey, "looked for "+strings.Join(keyVariables(s), " and "), nil)
	}
	return key, nil
}

// lentKey returns a key that was brought for this request, which no other provider gets; nor are Ash's own used in its place.
func lentKey(l agent.Lent, s Settings) (string, error) {
	if l.Provider != s.Name {
		return "", NewFault(FaultNoKey, "the key that came with the request is for "+l.Provider, nil)
	}
	return l.Key(), nil
}

// CheckKey refuses with CodeInvalid what cannot be a key. The error does not repeat it.
func CheckKey(key string) error {
	if err := checkKey(key); err != nil {
		return agent.Wrap(agent.CodeInvalid, err, "That does not look like a key: %v.", err)
	}
	return nil
}

func (k *Keys) known(provider string) (v Vault, pasted string) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.vault, k.pasted[provider]
}

// find looks in the file that the settings name, and in the environment.
func (k *Keys) find(s Settings) (string, KeyOrigin) {
	if s.KeyFile != "" {
		key, err := readKeyFile(s.KeyFile)
		o := KeyOrigin{Place: KeyFile, Name: s.KeyFile}
		if err != nil {
			o.Problem = err.Error()
		}
		return key, o
	}
	for _, name := range keyVariables(s) {
		value, ok := k.env(name)
		if value = strings.TrimSpace(value); !ok || value == "" {
			continue
		}
		o := KeyOrigin{Place: KeyEnvironment, Name: name}
		if err := checkKey(value); err != nil {
			o.Problem = fmt.Sprintf("%s: %v", name, err)
			value = ""
		}
		return value, o
	}
	return "", KeyOrigin{}
}

// keyVariables names the environment variables that may hold the key: the one in the settings, or the usual ones of the vendor
// whose host the address names, so that no vendor is sent another's key.
func keyVariables(s Settings) []string {
	if s.KeyEnv != "" {
		return []string{s.KeyEnv}
	}
	return s.Vendor().KeyEnv
}

// readKeyFile reads a key from a file only its owner can read. Errors are sentences for the person and name the path, never the content.
func readKeyFile(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("the key file %s cannot be found: there is no home directory", path)
		}
		path = filepath.Join(home, rest)
	}
	// Stat before opening: opening a pipe would wait for its writer.
	if info, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the key file %s cannot be read: %s", path, reason(err))
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("the key file %s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the key file %s cannot be read: %s", path, reason(err))
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("the key file %s cannot be read: %s", path, reason(err))
	}
	if err := privateFile(info); err != nil {
		return "", fmt.Errorf("the key file %s %w", path, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", fmt.Errorf("the key file %s cannot be read: %s", path, reason(err))
	}
	key := strings.TrimSpace(string(b))
	if err := checkKey(key); err != nil {
		return "", fmt.Errorf("the key file %s does not hold a key: %w", path, err)
	}
	return key, nil
}

func reason(err error) string {
	switch {
	case os.IsNotExist(err):
		return "there is no such file"
	case os.IsPermission(err):
		return "permission denied"
	}
	return "the disk reports an error"
}

// checkKey refuses what could not stand in a header. The error never repeats the key.
func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("it is empty")
	case len(key) > maxKey:
		return fmt.Errorf("it is longer than %d bytes", maxKey)
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] >= 0x7f {
			return fmt.Errorf("it holds white space or characters keys do not have")
		}
	}
	return nil
}
