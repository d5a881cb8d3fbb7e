package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/vault"
)

// vaultCommand is "ash vault": keys and passwords, encrypted. home finds the home of Ash.
func vaultCommand(home func() (string, error)) *cobra.Command {
	s := &safe{home: home}
	cmd := &cobra.Command{
		Use:   "vault",
		Short: "Keep keys and passwords, encrypted: add, list, rotate, recover",
		Long: `Keep keys and passwords, encrypted with a passphrase.

A secret is bound to the hosts it may go to and the parts of Ash that may use it. Adding
works while the vault is locked; everything else asks for the passphrase. It is read from
the terminal, from --passphrase-file, or from the systemd credential "ash-vault".`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&s.passFile, "passphrase-file", "", "read the passphrase from the first line of this file")
	cmd.AddCommand(
		vaultStatusCommand(s), vaultCreateCommand(s), vaultUnlockCommand(s), vaultAddCommand(s), vaultListCommand(s),
		vaultRotateCommand(s), vaultConfirmCommand(s), vaultRevertCommand(s), vaultBindCommand(s), vaultDeleteCommand(s),
		vaultImportCommand(s), vaultExportCommand(s),
		vaultPassphraseCommand(s), vaultPhraseCommand(s), vaultRecoverCommand(s), vaultIdentityCommand(s),
		vaultAcceptCommand(s), vaultRepairCommand(s),
	)
	return cmd
}

// safe is how the commands find the vault and its passphrase.
type safe struct {
	home     func() (string, error)
	passFile string
}

// vaultPath is where a home has its vault.
func vaultPath(home string) string { return filepath.Join(home, "vault") }

// vaultMark is what notices an earlier copy of a home's vault.
func vaultMark(home string) vault.FileMark {
	return vault.FileMark{Path: filepath.Join(home, "vault.mark")}
}

// vaultLog is the access log of a home's vault.
func vaultLog(home string) *vault.FileLog {
	return &vault.FileLog{Path: filepath.Join(home, "logs", "vault.jsonl")}
}

// openVault opens the vault of a running Ash. It is locked.
func (a *app) openVault(c config.Vault) (*vault.Vault, error) {
	return vault.Open(vaultPath(a.home), vault.Options{Idle: vaultIdle(c), Anchor: vaultMark(a.home), Log: vaultLog(a.home), Logger: a.log})
}

// openVault opens the vault of a home for one command. It is locked, and stays unlocked for as long as the command takes.
func openVault(home string) (*vault.Vault, error) {
	return vault.Open(vaultPath(home), vault.Options{
		Idle: -1, Anchor: vaultMark(home), Log: vaultLog(home),
	})
}

// with runs fn on the locked vault and closes it.
func (s *safe) with(fn func(v *vault.Vault) error) (err error) {
	home, err := s.home()
	if err != nil {
		return err
	}
	v, err := openVault(home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return fn(v)
}

// unlocked runs fn on the vault after asking for the passphrase.
func (s *safe) unlocked(cmd *cobra.Command, fn func(v *vault.Vault) error) error {
	return s.with(func(v *vault.Vault) error {
		if err := s.unlock(cmd, v, v.Unlock); err != nil {
			return err
		}
		for _, note := range v.Status(cmd.Context()).Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "Note:", note)
		}
		return fn(v)
	})
}

// unlock asks for the passphrase and unlocks with it, unless none could unlock the vault as it stands.
func (s *safe) unlock(cmd *cobra.Command, v *vault.Vault, by func(context.Context, []byte) error) error {
	if state := v.Status(cmd.Context()); !state.Exists || state.Problem != "" {
		return by(cmd.Context(), nil) // says why not
	}
	return s.mend(cmd, by)
}

// mend asks for the passphrase for what sets a vault right that cannot be unlocked as it stands.
func (s *safe) mend(cmd *cobra.Command, by func(context.Context, []byte) error) error {
	pass, err := s.passphrase(cmd)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	return by(cmd.Context(), pass)
}

func vaultStatusCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether there is a vault and whether it is well",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := s.home()
			if err != nil {
				return err
			}
			state := vault.Inspect(cmd.Context(), vaultPath(home), vaultMark(home))
			if !state.Exists {
				return say(cmd, "There is no vault yet. Make one with: ash vault create\n")
			}
			if state.Problem != "" {
				return agent.Errorf(agent.CodeDenied, "%s", state.Problem)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "vault\t%s\n", state.Dir)
			fmt.Fprintf(w, "recovery phrase\t%s\n", map[bool]string{true: "made", false: "none: ash vault phrase"}[state.Recovery])
			if state.Incoming > 0 {
				fmt.Fprintf(w, "added while locked\t%d: taken in at the next unlock\n", state.Incoming)
			}
			fmt.Fprintf(w, "changes\t%d\n", state.Serial)
			return w.Flush()
		},
	}
}

func vaultCreateCommand(s *safe) *cobra.Command {
	var anew bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make the vault",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(func(v *vault.Vault) error {
				if anew {
					if err := v.Abandon(cmd.Context()); err != nil {
						return err
					}
				}
				return s.create(cmd, v)
			})
		},
	}
	cmd.Flags().BoolVar(&anew, "anew", false, "make another in place of one whose folder is gone for good")
	return cmd
}

// create makes the vault with a new passphrase.
func (s *safe) create(cmd *cobra.Command, v *vault.Vault) error {
	if state := v.Status(cmd.Context()); state.Exists {
		if state.Problem != "" {
			return agent.Errorf(agent.CodeDenied, "%s", state.Problem)
		}
		return agent.Errorf(agent.CodeConflict, "There is a vault already: %s", state.Dir)
	}
	pass, err := s.newPassphrase(cmd, s.passFile)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	if err := v.Create(cmd.Context(), pass); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), "The vault is made. Without the passphrase nobody can open it: make a recovery phrase with: ash vault phrase")
	return err
}

func vaultUnlockCommand(s *safe) *cobra.Command {
	var verify bool
	cmd := &cobra.Command{
		Use:   "unlock",
		Short: "Try the passphrase, and take in what was added while locked",
		Long: `Try the passphrase, take in what was added while the vault was locked, and remove what a
crash may have left. The vault is locked again when the command ends.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.unlocked(cmd, func(v *vault.Vault) error {
				state := v.Status(cmd.Context())
				if !verify {
					return say(cmd, "It opens: %d secrets, %d of them with a value that waits for your word.\n", state.Secrets, state.Waiting)
				}
				wrong, err := v.Verify(cmd.Context())
				if err != nil {
					return err
				}
				for _, problem := range wrong {
					fmt.Fprintln(cmd.ErrOrStderr(), agent.PublicOf(problem))
				}
				if len(wrong) > 0 {
					return agent.Errorf(agent.CodeDenied, "%d of %d secrets cannot be read.", len(wrong), state.Secrets)
				}
				return say(cmd, "All %d secrets can be read.\n", state.Secrets)
			})
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "read every secret and say which are damaged")
	return cmd
}

// bound are the flags that say where a secret may go and who may use it.
type bound struct{ hosts, users []string }

func (b *bound) flags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&b.hosts, "host", nil, "it may go to this host only, e.g. api.example.com (may be given more than once; none: it never leaves Ash)")
	cmd.Flags().StringSliceVar(&b.users, "user", nil, "this part of Ash may use it, e.g. tool/webfetch (default: what its name says)")
}

func vaultAddCommand(s *safe) *cobra.Command {
	var b bound
	var extra bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a secret; works while the vault is locked",
		Long: `Add a secret. The value is asked for, or read from standard input; it is never an
argument, which other programs could see. The vault is made if there is none.`,
		Example: `  ash vault add provider/anthropic --host api.anthropic.com
  ash vault add tool/brave --host api.search.brave.com < key.txt`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(func(v *vault.Vault) error {
				if err := vault.CheckName(args[0]); err != nil {
					return err
				}
				if !v.Status(cmd.Context()).Exists {
					if err := s.create(cmd, v); err != nil {
						return err
					}
				}
				value, err := s.value(cmd, args[0])
				if err != nil {
					return err
				}
				defer vault.Wipe(value)
				secret := vault.Secret{Name: args[0], Value: value, Hosts: b.hosts, Users: b.users}
				if extra {
					if secret.Extra, err = s.twice(cmd, "Passphrase of its own for "+args[0]); err != nil {
						return err
					}
					defer vault.Wipe(secret.Extra)
				}
				later, err := v.Put(cmd.Context(), secret)
				if err != nil {
					return err
				}
				return say(cmd, "%s\n", added(args[0], later))
			})
		},
	}
	b.flags(cmd)
	cmd.Flags().BoolVar(&extra, "own-passphrase", false, "ask for a passphrase of its own, needed at each use")
	return cmd
}

func added(name string, later bool) string {
	if later {
		return name + " is kept, encrypted. It is taken in when the vault is next unlocked; should there be one of that name, it waits for: ash vault confirm " + name
	}
	return name + " is kept, encrypted."
}

func vaultListCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the secrets: names, hosts, users, never values",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.unlocked(cmd, func(v *vault.Vault) error {
				all, err := v.List()
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "NAME\tHOSTS\tUSED BY\tSINCE\tNOTE")
				for _, i := range all {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, orNone(i.Hosts), orNone(i.Users), i.Added.Format(time.DateOnly), standing(i))
				}
				return w.Flush()
			})
		},
	}
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "(stays inside Ash)"
	}
	return strings.Join(list, " ")
}

// standing says what a secret waits for.
func standing(i vault.Info) string {
	var notes []string
	if i.Extra {
		notes = append(notes, "passphrase of its own")
	}
	if i.Former {
		notes = append(notes, "former value kept: confirm or revert")
	}
	if i.Waiting {
		notes = append(notes, "new value of "+i.WaitDate.Format(time.DateOnly)+" waits: confirm or revert")
	}
	return strings.Join(notes, "; ")
}
