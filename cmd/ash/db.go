package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/store"
)

// dbCommand is "ash db": looking after the database while no server uses it. home finds the home of Ash.
func dbCommand(home func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "db",
		Short: "Look after the database: status, migrate, rollback, backup",
		Long: `Look after the database of a home: what its schema is, bring it forward, take it
back, copy it. A server must not be running on the home; stop it first.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(dbStatusCommand(home), dbMigrateCommand(home), dbRollbackCommand(home), dbBackupCommand(home))
	return cmd
}

// withDatabase runs fn on the database of a home while no server can use it.
func withDatabase(home func() (string, error), fn func(o store.Options) error) (err error) {
	dir, err := home()
	if err != nil {
		return err
	}
	o := store.Options{Path: databasePath(dir)}
	if _, err := os.Stat(o.Path); errors.Is(err, os.ErrNotExist) {
		return agent.Wrap(agent.CodeNotFound, err, "There is no database in %s yet. It is made when Ash first runs.", dir)
	}
	lock, err := lockHome(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	return fn(o)
}

func dbStatusCommand(home func() (string, error)) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say which schema the database has and which snapshots there are",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(home, func(o store.Options) error {
				if err := printStatus(cmd.Context(), cmd.OutOrStdout(), o); err != nil || !check {
					return err
				}
				if err := store.Check(cmd.Context(), o); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "Checked: the database is sound.")
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "read the whole database and look for damage")
	return cmd
}

func printStatus(ctx context.Context, out io.Writer, o store.Options) error {
	schema, err := store.Status(ctx, o)
	if err != nil {
		return err
	}
	info, err := os.Stat(o.Path)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "database\t%s (%.1f MB)\n", o.Path, float64(info.Size())/1e6)
	fmt.Fprintf(w, "schema\tversion %d of %d\n", schema.Version, schema.Known)
	for _, step := range schema.Steps {
		when := "not applied: ash db migrate"
		if !step.Applied.IsZero() {
			when = "applied " + step.Applied.Format(time.DateTime) + " UTC"
		}
		fmt.Fprintf(w, "  %04d %s\t%s\n", step.Version, step.Name, when)
	}
	copies, err := filepath.Glob(filepath.Join(filepath.Dir(o.Path), "backups", "*.db"))
	if err != nil {
		return err
	}
	for _, path := range copies {
		fmt.Fprintf(w, "copy\t%s\n", path)
	}
	return w.Flush()
}

func dbMigrateCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to this version's schema, after a snapshot",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(home, func(o store.Options) error {
				change, err := store.Migrate(cmd.Context(), o)
				if err == nil && change.From == change.To {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "Nothing to do: the schema is at version %d.\n", change.To)
					return err
				}
				return printChange(cmd.OutOrStdout(), change, err)
			})
		},
	}
}

func dbRollbackCommand(home func() (string, error)) *cobra.Command {
	var (
		steps int
		yes   bool
	)
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Take the newest steps of the schema back, after a snapshot",
		Long: `Take the newest steps of the schema back, for an older version of Ash. A snapshot is
taken first: what only the newer schema can hold is lost from the database itself.
Taking back every step empties it, and needs --yes.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(home, func(o store.Options) error {
				schema, err := store.Status(cmd.Context(), o)
				if err != nil {
					return err
				}
				if steps == schema.Version && !yes {
					return usageError{fmt.Errorf("taking back all %d steps empties the database; say --yes if you mean it", steps)}
				}
				change, err := store.Rollback(cmd.Context(), o, steps)
				return printChange(cmd.OutOrStdout(), change, err)
			})
		},
	}
	cmd.Flags().IntVar(&steps, "steps", 1, "how many steps")
	cmd.Flags().BoolVar(&yes, "yes", false, "also when it empties the database")
	return cmd
}

// printChange tells what was done, also of a change that failed halfway.
func printChange(out io.Writer, c store.Change, err error) error {
	if c.Snapshot != "" {
		if _, printErr := fmt.Fprintf(out, "Snapshot: %s\n", c.Snapshot); printErr != nil {
			return errors.Join(err, printErr)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "The schema went from version %d to %d.\n", c.From, c.To)
	return err
}

func dbBackupCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "backup [FILE]",
		Short: "Copy the database",
		Long: `Copy the database to FILE, or into the backups folder of the home. Nothing is
overwritten. The copy is a whole database: to restore it, put it in place of ash.db
while Ash does not run.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(home, func(o store.Options) error {
				dest, err := backupName(o, args)
				if err != nil {
					return err
				}
				if err := store.Backup(cmd.Context(), o, dest); err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), dest)
				return err
			})
		},
	}
}

func backupName(o store.Options, args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	folder := filepath.Join(filepath.Dir(o.Path), "backups")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", agent.Wrap(agent.CodeUnavailable, err, "Ash cannot make the folder %s.", folder)
	}
	return filepath.Join(folder, "ash-"+time.Now().UTC().Format("20060102T150405.000Z")+".db"), nil
}
