package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ash/agent/config"
	"ash/store"
)

func upgradeCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "upgrade",
		Short: "Bring a home to this version: migrate, and check what else is due",
		Long: `Bring the home to this version of Ash: the database is migrated after a snapshot of
it was taken, and everything else that an older version may have left is checked.
A server must not be running on the home. Serving does the same by itself; this command
does it ahead of time and says what was done.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			dir, err := home()
			if err != nil {
				return err
			}
			lock, err := lockHome(dir)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, lock.release()) }()
			return upgrade(cmd, dir)
		},
	}
}

func upgrade(cmd *cobra.Command, dir string) error {
	out := cmd.OutOrStdout()
	if _, err := config.Load(config.Options{Home: dir, Environ: os.Environ()}); err != nil {
		return err
	}
	fmt.Fprintln(out, "config.toml   every key is known to this version")
	db, err := store.Open(cmd.Context(), store.Options{Path: databasePath(dir)})
	if err != nil {
		return err
	}
	checkErr := db.CheckIntegrity(cmd.Context())
	if err := errors.Join(checkErr, db.Close()); err != nil {
		return err
	}
	fmt.Fprintln(out, "ash.db        at this version's schema, and sound")
	fmt.Fprintln(out, "Nothing else is due.")
	return nil
}
