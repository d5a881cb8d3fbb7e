package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"ash/agent/config"
	"ash/handlers"
)

// keyringKey is the setting.
const keyringKey = "vault.keyring"

// keyring is the switch of a running Ash, also for its pages.
func (a *app) keyring() handlers.ControlKeyring {
	return a.secrets.keyringSwitch(func(ctx context.Context, c config.Change) error {
		_, err := a.config.Edit(ctx, "", []config.Change{c})
		return err
	})
}

// keyring is the switch of a vault that no server has.
func (k *keeper) keyring() handlers.ControlKeyring {
	return k.vault.keyringSwitch(func(ctx context.Context, c config.Change) error {
		_, err := config.Edit(ctx, config.Options{Home: k.home, Environ: os.Environ()}, "", []config.Change{c})
		return err
	})
}

func vaultKeyringCommand(s *safe) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keyring",
		Short: "Have the keyring of the desktop unlock the vault when Ash starts: on, off",
		Long: `Have the keyring of the desktop keep the passphrase, so that a restart of Ash does not lock the vault. Whoever
is signed in to the desktop, and every program there, can then open it.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "on", Short: "Keep the passphrase in the keyring", Args: usageArgs(cobra.NoArgs),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return s.with(cmd, func(k *keeper) error {
					pass, err := s.passphrase(cmd)
					if err != nil {
						return err
					}
					r := &handlers.VaultRequest{Passphrase: pass}
					defer r.Wipe()
					if err := k.switchKeyring(cmd.Context(), true, r); err != nil {
						return err
					}
					return say(cmd, "The keyring keeps the passphrase. Ash unlocks the vault with it when it starts.\n")
				})
			},
		},
		&cobra.Command{
			Use: "off", Short: "Take the passphrase out of the keyring", Args: usageArgs(cobra.NoArgs),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return s.with(cmd, func(k *keeper) error {
					if err := k.switchKeyring(cmd.Context(), false, new(handlers.VaultRequest)); err != nil {
						return err
					}
					return say(cmd, "The keyring no longer keeps the passphrase.\n")
				})
			},
		},
	)
	return cmd
}

func (k *keeper) switchKeyring(ctx context.Context, on bool, r *handlers.VaultRequest) error {
	deed := map[bool]string{true: "on", false: "off"}[on]
	switch {
	case k.server != nil:
		return k.server.hidden(ctx, "/vault/keyring/"+deed, r, new(handlers.VaultAnswer))
	case on:
		return k.keyring().On(ctx, r.Passphrase)
	}
	return k.keyring().Off(ctx)
}
