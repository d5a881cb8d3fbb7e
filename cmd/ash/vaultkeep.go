package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/vault"
	"ash/handlers"
)

func vaultRotateCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate NAME",
		Short: "Give a secret a new value; the former is kept until you confirm",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.unlocked(cmd, func(k *keeper) error {
				info, err := k.find(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				r := &handlers.VaultRequest{Name: args[0]}
				defer r.Wipe()
				if r.Value, err = s.value(cmd, args[0]); err != nil {
					return err
				}
				if info.Extra {
					if r.Extra, err = s.twice(cmd, "Passphrase of its own for "+args[0]); err != nil {
						return err
					}
				}
				if _, err := k.do(cmd.Context(), "rotate", r); err != nil {
					return err
				}
				return say(cmd, "%s has a new value. When it works: ash vault confirm %s. If not: ash vault revert %s\n", args[0], args[0], args[0])
			})
		},
	}
}

func (k *keeper) find(ctx context.Context, name string) (vault.Info, error) {
	all, err := k.do(ctx, "list", nil)
	if err != nil {
		return vault.Info{}, err
	}
	for _, i := range all.Secrets {
		if i.Name == name {
			return i, nil
		}
	}
	return vault.Info{}, agent.Errorf(agent.CodeNotFound, "There is no such secret in the vault. See: ash vault list")
}

// vaultDeed is a command that does one thing to one secret of the unlocked vault.
func vaultDeed(s *safe, deed, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: deed + " NAME", Short: short, Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.unlocked(cmd, func(k *keeper) error {
				out, err := k.do(cmd.Context(), deed, &handlers.VaultRequest{Name: args[0]})
				if err != nil {
					return err
				}
				vaultNotes(cmd, out)
				return say(cmd, "%s: %s\n", args[0], done)
			})
		},
	}
}

func vaultConfirmCommand(s *safe) *cobra.Command {
	return vaultDeed(s, "confirm", "Settle on a secret's new value and drop the former", "settled.")
}

func vaultRevertCommand(s *safe) *cobra.Command {
	return vaultDeed(s, "revert", "Go back to a secret's former value", "the former value is used again.")
}

func vaultDeleteCommand(s *safe) *cobra.Command {
	return vaultDeed(s, "delete", "Delete a secret with all its values", "deleted.")
}

func vaultBindCommand(s *safe) *cobra.Command {
	var b bound
	cmd := &cobra.Command{
		Use:   "bind NAME",
		Short: "Say anew which hosts a secret may go to and who may use it",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.unlocked(cmd, func(k *keeper) error {
				info, err := k.find(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if !cmd.Flags().Changed("host") {
					b.hosts = info.Hosts
				}
				if !cmd.Flags().Changed("user") {
					b.users = info.Users
				}
				_, err = k.do(cmd.Context(), "bind", &handlers.VaultRequest{Name: args[0], Hosts: b.hosts, Users: b.users})
				return err
			})
		},
	}
	b.flags(cmd)
	return cmd
}

func vaultImportCommand(s *safe) *cobra.Command {
	var as []string
	var passFile string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Add the keys of a .env file, or the secrets of an export",
		Long: `Add the keys of a .env file, or the secrets of an export. Of a .env file the usual keys of
model providers are known; say what others are with --as KEY=NAME@HOST. Names that are
there already stay as they are. The file itself is not changed: delete it when you are done.`,
		Example: `  ash vault import .env --as BRAVE_API_KEY=tool/brave@api.search.brave.com`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := readWhole(args[0])
			if err != nil {
				return err
			}
			defer vault.Wipe(data)
			if bytes.HasPrefix(data, []byte("age-encryption.org/")) {
				return s.importExport(cmd, data, passFile)
			}
			places, err := envNames(as)
			if err != nil {
				return err
			}
			return s.with(cmd, func(k *keeper) error {
				state, err := k.do(cmd.Context(), "status", nil)
				if err == nil && !state.Status.Exists {
					err = s.create(cmd, k, state.Status)
				}
				if err != nil {
					return err
				}
				done, err := k.do(cmd.Context(), "import-env", &handlers.VaultRequest{Data: data, Places: places})
				vaultNotes(cmd, done)
				return errors.Join(tellImported(cmd, done.Imported), err)
			})
		},
	}
	cmd.Flags().StringVar(&passFile, "export-passphrase-file", "", "read the passphrase of the export from the first line of this file")
	cmd.Flags().StringArrayVar(&as, "as", nil, "KEY=NAME@HOST: keep this key of a .env file under that name, for that host (several with commas; none: KEY=NAME)")
	return cmd
}

func (s *safe) importExport(cmd *cobra.Command, data []byte, passFile string) error {
	return s.unlocked(cmd, func(k *keeper) error {
		pass, err := s.exportPassphrase(cmd, passFile)
		if err != nil {
			return err
		}
		defer vault.Wipe(pass)
		done, err := k.do(cmd.Context(), "import", &handlers.VaultRequest{Data: data, New: pass})
		vaultNotes(cmd, done)
		return errors.Join(tellImported(cmd, done.Imported), err)
	})
}

func (s *safe) exportPassphrase(cmd *cobra.Command, file string) ([]byte, error) {
	if file != "" {
		return firstLine(file, true)
	}
	return s.ask(cmd, "Passphrase of the export")
}

func tellImported(cmd *cobra.Command, done vault.Imported) error {
	for _, line := range []struct {
		what string
		list []string
	}{
		{"added", done.Added},
		{"kept for the next unlock", done.Later},
		{"there already, left as they are", done.There},
		{"skipped (give them a name with --as)", done.Skipped},
	} {
		if len(line.list) == 0 {
			continue
		}
		if err := say(cmd, "%s: %s\n", line.what, strings.Join(line.list, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// readWhole reads a file of bounded size; what is in it is a secret.
func readWhole(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, agent.Wrap(agent.CodeNotFound, err, "%s cannot be read. Check the path and who may read it.", path)
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost
	const limit = 64 << 20
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s cannot be read.", path)
	}
	if len(data) > limit {
		vault.Wipe(data)
		return nil, agent.Errorf(agent.CodeInvalid, "%s is larger than anything the vault takes.", path)
	}
	return data, nil
}

// envNames says under which names the keys of a .env file are kept: those of known providers, and what the person says.
func envNames(as []string) (map[string]handlers.VaultPlace, error) {
	known := make(map[string]handlers.VaultPlace)
	for _, v := range llm.Vendors() {
		u, err := url.Parse(v.BaseURL)
		if err != nil || u.Host == "" {
			continue
		}
		for _, key := range v.KeyEnv {
			if _, first := known[key]; !first {
				known[key] = handlers.VaultPlace{Name: "provider/" + v.Kind, Hosts: []string{u.Host}}
			}
		}
	}
	for _, a := range as {
		key, rest, ok := strings.Cut(a, "=")
		name, hosts, bound := strings.Cut(rest, "@")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("--as wants KEY=NAME@HOST, as in BRAVE_API_KEY=tool/brave@api.search.brave.com")}
		}
		if err := vault.CheckName(name); err != nil {
			return nil, err
		}
		secret := handlers.VaultPlace{Name: name}
		if bound {
			secret.Hosts = strings.Split(hosts, ",")
		}
		for _, h := range secret.Hosts {
			if err := vault.CheckHost(h); err != nil {
				return nil, err
			}
		}
		known[key] = secret
	}
	return known, nil
}

func vaultExportCommand(s *safe) *cobra.Command {
	var passFile string
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write all secrets into one file, encrypted with a passphrase of its own",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd, func(k *keeper) error {
				return s.export(cmd, k, args[0], passFile)
			})
		},
	}
	cmd.Flags().StringVar(&passFile, "export-passphrase-file", "", "read the passphrase of the export from the first line of this file")
	return cmd
}

// export asks for the passphrase of the vault even where that is unlocked.
func (s *safe) export(cmd *cobra.Command, k *keeper, path, passFile string) error {
	if _, err := os.Lstat(path); err == nil {
		return agent.Errorf(agent.CodeConflict, "%s exists already. Give another name.", path)
	}
	r := new(handlers.VaultRequest)
	defer r.Wipe()
	state, err := k.do(cmd.Context(), "status", nil)
	if err == nil && state.Status.Exists && state.Status.Problem == "" {
		r.Passphrase, err = s.passphrase(cmd)
	}
	if err == nil {
		r.New, err = s.newPassphrase(cmd, passFile)
	}
	if err != nil {
		return err
	}
	out, err := k.do(cmd.Context(), "export", r)
	if err != nil {
		return err
	}
	return writeExport(path, out.Export)
}

// writeExport never overwrites, and leaves no half of a file.
func writeExport(path string, sealed []byte) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return agent.Errorf(agent.CodeConflict, "%s exists already. Give another name.", path)
	}
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "%s cannot be written.", path)
	}
	_, err = f.Write(sealed)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(agent.Wrap(agent.CodeUnavailable, err, "%s cannot be written.", path), os.Remove(path))
	}
	return nil
}
