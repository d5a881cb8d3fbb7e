package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/llm"
	"ash/agent/vault"
	"ash/handlers"
)

// keeper does deeds with the vault of a home: through the server that runs there, or on the vault itself. Either way they are the same.
type keeper struct {
	home   string
	server *client    // nil: none runs
	vault  *ringVault // without a server: locked, and open for as long as the command takes
}

// keeper finds the vault. The caller closes it.
func (s *safe) keeper(ctx context.Context) (*keeper, error) {
	home, err := s.home()
	if err != nil {
		return nil, err
	}
	if c, err := dial(ctx, filepath.Join(home, socketName)); err == nil {
		return &keeper{home: home, server: c}, nil
	}
	v, err := openVault(home)
	if err != nil {
		return nil, err
	}
	return &keeper{home: home, vault: newRingVault(v, s.ring, func() (config.Vault, error) {
		now, err := config.Load(config.Options{Home: home, Environ: os.Environ()})
		if err != nil {
			return config.Vault{}, err
		}
		return now.Config().Vault, nil
	})}, nil
}

func (k *keeper) close() error {
	if k.server != nil {
		k.server.close()
		return nil
	}
	return k.vault.Close()
}

// do does one deed. r may be nil; the caller wipes it, and what is hidden in the answer.
func (k *keeper) do(ctx context.Context, deed string, r *handlers.VaultRequest) (out handlers.VaultAnswer, err error) {
	if r == nil {
		r = new(handlers.VaultRequest)
	}
	if k.server != nil {
		return out, k.server.hidden(ctx, "/vault/"+url.PathEscape(deed), r, &out)
	}
	out, err = handlers.DoVault(ctx, k.vault, deed, r)
	if len(out.Kept)+len(out.Gone) > 0 {
		o := config.Options{Home: k.home, Environ: os.Environ()}
		if problem := followSecrets(ctx, func() (*config.Snapshot, error) { return config.Load(o) }, func(ctx context.Context, all []config.Change) error {
			_, err := config.Edit(ctx, o, "", all)
			return err
		}, out.Kept, out.Gone); problem != nil {
			out.Problem = agent.PublicOf(problem)
		}
	}
	return out, err
}

// hidden posts a request whose bytes are overwritten afterwards, and reads an answer likewise.
func (c *client) hidden(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	defer vault.Wipe(body)
	res, err := c.send(ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	var answer bytes.Buffer
	_, err = answer.ReadFrom(res.Body)
	defer func() { vault.Wipe(answer.Bytes()) }()
	if err == nil {
		err = json.Unmarshal(answer.Bytes(), out)
	}
	if err != nil {
		return agent.Errorf(agent.CodeInternal, "The running Ash answered with something this one does not understand. Are both the same version?")
	}
	return nil
}

// secretsKept has the settings of a running Ash follow its vault.
func (a *app) secretsKept(ctx context.Context, kept, gone []string) error {
	return followSecrets(ctx, func() (*config.Snapshot, error) { return a.config.Current(), nil }, func(ctx context.Context, all []config.Change) error {
		_, err := a.config.Edit(ctx, "", all)
		return err
	}, kept, gone)
}

// followSecrets has the settings refer to secrets that are there, and no more to those that are gone.
func followSecrets(ctx context.Context, read func() (*config.Snapshot, error), edit func(context.Context, []config.Change) error, kept, gone []string) error {
	now, err := read()
	if err != nil {
		return err
	}
	var all []config.Change
	for _, name := range kept {
		all = append(all, now.Config().SecretKept(name, knownVendor)...)
	}
	for _, name := range gone {
		all = append(all, now.Config().SecretGone(name)...)
	}
	if len(all) == 0 {
		return nil
	}
	if err := edit(ctx, all); err != nil {
		return agent.Wrap(agent.CodeOf(err), err, "The settings do not follow: set %s by hand. %s", all[0].Key, agent.PublicOf(err))
	}
	return nil
}

func knownVendor(provider string) bool {
	_, known := llm.VendorOf(provider)
	return known
}

// usualHosts returns where a secret of that name goes when nobody says otherwise: to the address of the provider it is named after, or to
// the search it is for; nil for others.
func usualHosts(c config.Config, name string) []string {
	provider, ok := strings.CutPrefix(name, "provider/")
	if name == "tool/brave" {
		return []string{braveHost}
	}
	if _, there := c.Providers[provider]; !ok || !there && !knownVendor(provider) {
		return nil
	}
	s := oneProvider(c, provider)
	if s.BaseURL == "" {
		v, _ := llm.VendorOf(s.Kind)
		s.BaseURL = v.BaseURL
	}
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Host == "" {
		return nil
	}
	return []string{strings.ToLower(u.Host)}
}

// with runs fn on the vault, locked or not, and closes it.
func (s *safe) with(cmd *cobra.Command, fn func(k *keeper) error) (err error) {
	k, err := s.keeper(cmd.Context())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	return fn(k)
}

// unlocked runs fn on the unlocked vault. The passphrase is asked for unless a server has it unlocked already; one that had not, has it then.
func (s *safe) unlocked(cmd *cobra.Command, fn func(k *keeper) error) error {
	return s.with(cmd, func(k *keeper) error {
		state, err := k.do(cmd.Context(), "status", nil)
		if err != nil {
			return err
		}
		if !state.Status.Unlocked {
			if state, err = s.unlock(cmd, k, "unlock", state.Status); err != nil {
				return err
			}
			if k.server != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "The vault of the running Ash is unlocked. Lock it with: ash vault lock")
			}
		}
		vaultNotes(cmd, state)
		return fn(k)
	})
}

// vaultNotes tells what is wrong with the vault without being in the way.
func vaultNotes(cmd *cobra.Command, a handlers.VaultAnswer) {
	all := a.Status.Notes
	if a.Problem != "" {
		all = append(slices.Clone(all), a.Problem)
	}
	for _, note := range all {
		fmt.Fprintln(cmd.ErrOrStderr(), "Note:", note)
	}
}

// unlock asks for the passphrase and does a deed that wants nothing else, unless none could as the vault stands.
func (s *safe) unlock(cmd *cobra.Command, k *keeper, deed string, state vault.Status) (handlers.VaultAnswer, error) {
	if !state.Exists || state.Problem != "" {
		return k.do(cmd.Context(), deed, nil) // says why not
	}
	return s.mend(cmd, k, deed)
}

// mend is unlock for what sets a vault right that cannot be unlocked as it stands.
func (s *safe) mend(cmd *cobra.Command, k *keeper, deed string) (out handlers.VaultAnswer, err error) {
	pass, err := s.passphrase(cmd)
	if err != nil {
		return out, err
	}
	r := &handlers.VaultRequest{Passphrase: pass}
	defer r.Wipe()
	return k.do(cmd.Context(), deed, r)
}
