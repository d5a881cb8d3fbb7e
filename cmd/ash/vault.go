package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/vault"
	"ash/handlers"
)

// vaultCommand is "ash vault": keys and passwords, encrypted. home finds the home of Ash.
func vaultCommand(home func() (string, error)) *cobra.Command {
	s := &safe{home: home, ring: newKeyring()}
	cmd := &cobra.Command{
		Use:   "vault",
		Short: "Keep keys and passwords, encrypted: add, list, rotate, recover",
		Long: `Keep keys and passwords, encrypted with a passphrase.

A secret is bound to the hosts it may go to and the parts of Ash that may use it. Adding
works while the vault is locked; everything else asks for the passphrase. It is read from
the terminal, from --passphrase-file, or from the systemd credential "ash-vault".

While Ash runs, the commands work on its vault: unlock and lock there hold until Ash ends,
and what is unlocked already asks for no passphrase.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&s.passFile, "passphrase-file", "", "read the passphrase from the first line of this file")
	cmd.AddCommand(
		vaultStatusCommand(s), vaultCreateCommand(s), vaultUnlockCommand(s), vaultLockCommand(s), vaultAddCommand(s), vaultListCommand(s),
		vaultRotateCommand(s), vaultConfirmCommand(s), vaultRevertCommand(s), vaultBindCommand(s), vaultDeleteCommand(s),
		vaultImportCommand(s), vaultExportCommand(s),
		vaultPassphraseCommand(s), vaultPhraseCommand(s), vaultRecoverCommand(s), vaultIdentityCommand(s),
		vaultAcceptCommand(s), vaultRepairCommand(s), vaultLogCommand(s), vaultKeyringCommand(s),
	)
	return cmd
}

// safe is how the commands find the vault and its passphrase.
type safe struct {
	home     func() (string, error)
	passFile string
	ring     keyring // of the desktop
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
func (a *app) openVault(c config.Vault) (err error) {
	a.vault, err = vault.Open(vaultPath(a.home), vault.Options{Idle: vaultIdle(c), Anchor: vaultMark(a.home), Log: vaultLog(a.home), Logger: a.log})
	if err != nil {
		return err
	}
	a.secrets = newRingVault(a.vault, a.ring, func() (config.Vault, error) { return a.config.Current().Config().Vault, nil })
	return nil
}

// openVault opens the vault of a home for one command. It is locked, and stays unlocked for as long as the command takes.
func openVault(home string) (*vault.Vault, error) {
	return vault.Open(vaultPath(home), vault.Options{
		Idle: -1, Anchor: vaultMark(home), Log: vaultLog(home),
	})
}

func vaultStatusCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether there is a vault and whether it is well",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, running, err := s.state(cmd.Context())
			if err != nil {
				return err
			}
			if !state.Exists && state.Problem == "" {
				return say(cmd, "There is no vault yet. Make one with: ash vault create\n")
			}
			if state.Problem != "" {
				return agent.Errorf(agent.CodeDenied, "%s", state.Problem)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "vault\t%s\n", state.Dir)
			if running {
				fmt.Fprintf(w, "state\t%s\n", lockedState(state))
			}
			fmt.Fprintf(w, "recovery phrase\t%s\n", map[bool]string{true: "made", false: "none: ash vault phrase"}[state.Recovery])
			if state.Incoming > 0 {
				fmt.Fprintf(w, "added while locked\t%d: taken in at the next unlock\n", state.Incoming)
			}
			fmt.Fprintf(w, "changes\t%d\n", state.Serial)
			for _, note := range state.Notes {
				fmt.Fprintf(w, "note\t%s\n", note)
			}
			return w.Flush()
		},
	}
}

// state asks the running Ash how its vault is, or looks without one: then it is locked, and nothing is taken hold of.
func (s *safe) state(ctx context.Context) (state vault.Status, running bool, err error) {
	home, err := s.home()
	if err != nil {
		return state, false, err
	}
	c, err := dial(ctx, filepath.Join(home, socketName))
	if err != nil {
		return vault.Inspect(ctx, vaultPath(home), vaultMark(home)), false, nil
	}
	defer c.close()
	k := &keeper{home: home, server: c}
	a, err := k.do(ctx, "status", nil)
	return a.Status, true, err
}

func lockedState(s vault.Status) string {
	switch {
	case !s.Unlocked:
		return "locked: ash vault unlock"
	case s.LocksAt.IsZero():
		return "unlocked; it does not lock by itself"
	}
	return "unlocked; locks by itself at " + s.LocksAt.Local().Format("15:04 on "+time.DateOnly) + " unless it is used"
}

func vaultCreateCommand(s *safe) *cobra.Command {
	var anew bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make the vault",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd, func(k *keeper) error {
				if anew {
					if _, err := k.do(cmd.Context(), "abandon", nil); err != nil {
						return err
					}
				}
				state, err := k.do(cmd.Context(), "status", nil)
				if err != nil {
					return err
				}
				return s.create(cmd, k, state.Status)
			})
		},
	}
	cmd.Flags().BoolVar(&anew, "anew", false, "make another in place of one whose folder is gone for good")
	return cmd
}

// create makes the vault with a new passphrase.
func (s *safe) create(cmd *cobra.Command, k *keeper, state vault.Status) error {
	if state.Exists {
		if state.Problem != "" {
			return agent.Errorf(agent.CodeDenied, "%s", state.Problem)
		}
		return agent.Errorf(agent.CodeConflict, "There is a vault already: %s", state.Dir)
	}
	pass, err := s.newPassphrase(cmd, s.passFile)
	if err != nil {
		return err
	}
	r := &handlers.VaultRequest{Passphrase: pass}
	defer r.Wipe()
	done, err := k.do(cmd.Context(), "create", r)
	if err != nil {
		return err
	}
	vaultNotes(cmd, done)
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), "The vault is made. Without the passphrase nobody can open it: make a recovery phrase with: ash vault phrase")
	return err
}

func vaultUnlockCommand(s *safe) *cobra.Command {
	var verify bool
	cmd := &cobra.Command{
		Use:   "unlock",
		Short: "Unlock the vault of the running Ash; without one, try the passphrase",
		Long: `Unlock the vault of the running Ash: what waits for it goes on. Where no Ash runs, this
only tries the passphrase, takes in what was added while the vault was locked, and
removes what a crash may have left; it is locked again when the command ends.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd, func(k *keeper) error {
				state, err := k.do(cmd.Context(), "status", nil)
				if err == nil && !state.Status.Unlocked {
					state, err = s.unlock(cmd, k, "unlock", state.Status)
				}
				if err != nil {
					return err
				}
				vaultNotes(cmd, state)
				switch now := state.Status; {
				case verify:
					return verifySecrets(cmd, k, now.Secrets)
				case k.server != nil:
					return say(cmd, "The vault is %s. %d secrets, %d of them with a value that waits for your word.\n", lockedState(now), now.Secrets, now.Waiting)
				default:
					return say(cmd, "It opens: %d secrets, %d of them with a value that waits for your word.\n", now.Secrets, now.Waiting)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "read every secret and say which are damaged")
	return cmd
}

func verifySecrets(cmd *cobra.Command, k *keeper, all int) error {
	a, err := k.do(cmd.Context(), "verify", nil)
	if err != nil {
		return err
	}
	for _, problem := range a.Damaged {
		fmt.Fprintln(cmd.ErrOrStderr(), problem)
	}
	if len(a.Damaged) > 0 {
		return agent.Errorf(agent.CodeDenied, "%d of %d secrets cannot be read.", len(a.Damaged), all)
	}
	return say(cmd, "All %d secrets can be read.\n", all)
}

func vaultLockCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "lock",
		Short: "Lock the vault of the running Ash",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, running, err := s.state(cmd.Context())
			switch {
			case err != nil:
				return err
			case !running:
				return say(cmd, "No Ash runs, so the vault is locked.\n")
			case !state.Unlocked:
				return say(cmd, "The vault is locked already.\n")
			}
			return s.with(cmd, func(k *keeper) error {
				if _, err := k.do(cmd.Context(), "lock", nil); err != nil {
					return err
				}
				return say(cmd, "The vault is locked.\n")
			})
		},
	}
}

// bound are the flags that say where a secret may go and who may use it.
type bound struct{ hosts, users []string }

func (b *bound) flags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&b.hosts, "host", nil, "it may go to this host only, e.g. api.example.com (may be given more than once; none: the host of the provider it is named after, else it never leaves Ash)")
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
			if err := vault.CheckName(args[0]); err != nil {
				return err
			}
			return s.with(cmd, func(k *keeper) error {
				if !cmd.Flags().Changed("host") {
					b.hosts = k.usualHosts(args[0])
				}
				return s.add(cmd, k, &handlers.VaultRequest{Name: args[0], Hosts: b.hosts, Users: b.users}, extra)
			})
		},
	}
	b.flags(cmd)
	cmd.Flags().BoolVar(&extra, "own-passphrase", false, "ask for a passphrase of its own, needed at each use")
	return cmd
}

// add asks for the value of a secret and keeps it, in a vault that is made if there is none.
func (s *safe) add(cmd *cobra.Command, k *keeper, r *handlers.VaultRequest, extra bool) error {
	defer r.Wipe()
	state, err := k.do(cmd.Context(), "status", nil)
	if err != nil {
		return err
	}
	if !state.Status.Exists {
		if err := s.create(cmd, k, state.Status); err != nil {
			return err
		}
	}
	if r.Value, err = s.value(cmd, r.Name); err != nil {
		return err
	}
	if extra {
		if r.Extra, err = s.twice(cmd, "Passphrase of its own for "+r.Name); err != nil {
			return err
		}
	}
	done, err := k.do(cmd.Context(), "put", r)
	if err != nil {
		return err
	}
	vaultNotes(cmd, done)
	if len(r.Hosts) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "It is bound to no host, so it never leaves Ash. To let it go somewhere: ash vault bind", r.Name, "--host HOST")
	}
	return say(cmd, "%s\n", added(r.Name, done.Later))
}

// usualHosts is the function of that name with the settings of the home; nil where they cannot be read.
func (k *keeper) usualHosts(name string) []string {
	now, err := config.Load(config.Options{Home: k.home, Environ: os.Environ()})
	if err != nil {
		return nil
	}
	return usualHosts(now.Config(), name)
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
			return s.unlocked(cmd, func(k *keeper) error {
				all, err := k.do(cmd.Context(), "list", nil)
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "NAME\tHOSTS\tUSED BY\tSINCE\tNOTE")
				for _, i := range all.Secrets {
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
