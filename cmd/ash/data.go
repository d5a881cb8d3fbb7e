package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/inventory"
	"ash/store"
	"ash/views/components"
)

// inventoryOf is what lies in a home by its settings.
func inventoryOf(home string, c config.Config) inventory.Home {
	return inventory.Home{Path: home, Workspace: c.Workspace.Path, Notes: c.Memory.Notes}
}

// dataPage implements handlers.DataKeeper.
type dataPage struct{ app *app }

func (d dataPage) home() inventory.Home {
	return inventoryOf(d.app.home, d.app.config.Current().Config())
}

func (d dataPage) Measure(ctx context.Context) (inventory.Report, error) {
	return d.home().Measure(ctx)
}
func (d dataPage) Snapshots() ([]inventory.Snapshot, error) { return d.home().Snapshots() }
func (d dataPage) DeleteSnapshots(names []string) error     { return d.home().DeleteSnapshots(names) }

// Archive implements handlers.DataKeeper.
func (d dataPage) Archive(ctx context.Context) (func(ctx context.Context, w io.Writer, at time.Time) error, io.Closer, error) {
	db, err := d.home().Snapshot(ctx, d.app.store)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, w io.Writer, at time.Time) error { return d.home().Export(ctx, w, db, at) }, db, nil
}

// Delete implements handlers.DataKeeper: from here on everything goes, at the latest when Ash starts the next time.
func (d dataPage) Delete(ctx context.Context) error {
	if err := d.home().Condemn(time.Now()); err != nil {
		return err
	}
	d.forgetKeyring(ctx)
	d.app.log.Warn("everything is deleted, as the person asked; Ash ends")
	d.app.leave()
	return nil
}

// keyringPatience is how long the desktop's keyring may take while the person waits for the last page.
const keyringPatience = 3 * time.Second

// forgetKeyring takes the passphrase of the vault out of the desktop's keyring. It opens nothing any more, so that it does not
// hold up the rest when it cannot be taken out.
func (d dataPage) forgetKeyring(ctx context.Context) {
	if !d.app.config.Current().Config().Vault.Keyring {
		return
	}
	ctx, done := context.WithTimeout(ctx, keyringPatience)
	defer done()
	if err := d.app.ring.remove(ctx, d.app.vault.Status(ctx).ID); err != nil {
		d.app.log.Warn("the passphrase of the vault stays in the desktop's keyring, under the name ash; remove it there", "error", err)
	}
}

// leave ends a server as a signal would. Without one it does nothing.
func (a *app) leave() {
	if a.quit != nil {
		a.quit()
	}
}

// vanish deletes everything that was decided to go, when nothing in the home is open any more.
func (a *app) vanish() error {
	if a.lock == nil || !inventory.Condemned(a.home) {
		return nil
	}
	return errors.Join(inventory.Finish(a.home), os.Remove(filepath.Join(a.home, "ash.lock")))
}

// dataCommand is "ash data": what lies in the home, and taking it away.
func dataCommand(home func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "What lies in the home: sizes, export, delete",
		Long: `What lies in the home: how large it is, everything of it as one archive, and an end of all of it.
Sizes and export work with a running Ash and without one.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(dataStatusCommand(home), dataExportCommand(home), dataDeleteCommand(home))
	return cmd
}

// withInventory runs fn on what lies in a home.
func withInventory(find func() (string, error), fn func(h inventory.Home) error) error {
	home, err := find()
	if err != nil {
		return err
	}
	s, err := config.Load(config.Options{Home: home, Environ: os.Environ()})
	if err != nil {
		return err
	}
	return fn(inventoryOf(home, s.Config()))
}

func dataStatusCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what lies where, and how large it is",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withInventory(home, func(h inventory.Home) error {
				r, err := h.Measure(cmd.Context())
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				for _, p := range r.Parts {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Kind, components.Bytes(p.Bytes), components.Plural(p.Files, "file", "files"), shown(entryNames(p.Where)))
				}
				fmt.Fprintf(w, "all\t%s\t\t%s\n", components.Bytes(r.Bytes), h.Path)
				for _, name := range r.Foreign {
					fmt.Fprintf(w, "not Ash's\t\t\t%s\n", shown(name))
				}
				return w.Flush()
			})
		},
	}
}

func entryNames(list []inventory.Entry) string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name
	}
	return strings.Join(names, ", ")
}

func dataExportCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "export FILE|-",
		Short: "Write everything as one archive",
		Long: `Write everything as one archive (tar, gzip): conversations, memory, notes, files, settings, and the vault as it
lies there, encrypted. Unpacked it is a home again. It holds no session key, no API tokens, no signed-in devices. It is not
encrypted, except for the vault: keep it where only you can read it. - writes to standard output.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withInventory(home, func(h inventory.Home) (err error) {
				db, err := h.Snapshot(cmd.Context(), databaseCopy(databasePath(h.Path)))
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, db.Close()) }()
				if args[0] == "-" {
					return h.Export(cmd.Context(), cmd.OutOrStdout(), db, time.Now())
				}
				return exportTo(cmd, h, db, args[0])
			})
		},
	}
}

// exportTo writes an archive into a file that does not exist. One that fails leaves nothing.
func exportTo(cmd *cobra.Command, h inventory.Home, db *inventory.Copy, name string) (err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return agent.Wrap(agent.CodeConflict, err, "%s cannot be made: %v. Nothing is overwritten; name another file.", name, errors.Unwrap(err))
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	if err := h.Export(cmd.Context(), f, db, time.Now()); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return say(cmd, "%s\n", name)
}

// databaseCopy copies the database at a path, whether a server has it or not.
type databaseCopy string

func (d databaseCopy) CopyForExport(ctx context.Context, dest string) error {
	return store.CopyForExport(ctx, store.Options{Path: string(d), Logger: slog.New(slog.DiscardHandler)}, dest)
}

func dataDeleteCommand(home func() (string, error)) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete --everything",
		Short: "Delete all that Ash keeps in its home, for good",
		Long: `Delete all that Ash keeps in its home, for good: conversations, memory, notes, files, the vault, settings.
What is not Ash's stays, and so do folders that the settings put elsewhere. A server must not be running on the home.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				return usageError{errors.New("say --everything if you mean it; there is no way back but an export: ash data export FILE")}
			}
			return withInventory(home, func(h inventory.Home) error {
				lock, err := lockHome(h.Path)
				if err != nil {
					return err
				}
				err = h.Condemn(time.Now())
				if err == nil {
					err = errors.Join(inventory.Finish(h.Path), os.Remove(filepath.Join(h.Path, "ash.lock")))
				}
				if err := errors.Join(err, lock.release()); err != nil {
					return err
				}
				return say(cmd, "Everything of Ash in %s is deleted.\n", h.Path)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "everything", false, "yes, all of it")
	return cmd
}
