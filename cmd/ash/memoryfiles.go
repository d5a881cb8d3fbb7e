package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/memory/archive"
	"ash/handlers"
)

func memoryExportCommand(home func() (string, error)) *cobra.Command {
	var others bool
	cmd := &cobra.Command{
		Use:   "export DIR|FILE.zip",
		Short: "Write all that is remembered into a folder or a zip",
		Long: `Write all that is remembered into a new folder, or into one zip: pages to read (begin with index.md), your notes as they are, and data that
ash memory import takes back without loss. Nothing is overwritten. The same memory gives the same bytes.

What was forgotten is not in it. Marks of it are, so that it stays forgotten in a home that takes the archive in; with their key, one who
guesses could tell a right guess. Keep the archive as you would keep Ash's home. For an archive that others get to see, --for-others leaves the
key out. Conversations are not in it: ash db backup copies everything.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkTarget(args[0]); err != nil {
				return err
			}
			return memoryLink(cmd.Context(), home, false, func(l *link, _ string) error {
				counts, err := l.exportMemory(cmd.Context(), args[0], others)
				if err != nil {
					return err
				}
				return say(cmd, "%s: %s, %s, %s.\n", args[0], counted(counts.Facts, "memory", "memories"),
					counted(counts.Episodes, "conversation summed up", "conversations summed up"), counted(counts.Notes, "note", "notes"))
			})
		},
	}
	cmd.Flags().BoolVar(&others, "for-others", false, "leave out what could tell of forgotten things to one who guesses")
	return cmd
}

func isZip(name string) bool { return strings.EqualFold(filepath.Ext(name), ".zip") }

// checkTarget refuses what is there already.
func checkTarget(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if parent, err := os.Stat(filepath.Dir(name)); err != nil || !parent.IsDir() {
			return agent.Errorf(agent.CodeNotFound, "There is no folder %s to put the archive into.", filepath.Dir(name))
		}
		return nil
	case err != nil:
		return agent.Wrap(agent.CodeUnavailable, err, "%s cannot be looked at: %v.", name, errors.Unwrap(err))
	case info.IsDir() && !isZip(name):
		if list, err := os.ReadDir(name); err == nil && len(list) == 0 {
			return nil
		}
		return agent.Errorf(agent.CodeConflict, "%s is there and not empty. Name another folder; nothing is overwritten.", name)
	}
	return agent.Errorf(agent.CodeConflict, "%s is there already. Name another; nothing is overwritten.", name)
}

// exportMemory writes an archive to a name that is free. It has that name when it is whole.
func (c *client) exportMemory(ctx context.Context, name string, others bool) (counts archive.Counts, err error) {
	path := "/memory/export"
	if others {
		path += "?others=1"
	}
	res, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	f, err := os.CreateTemp(filepath.Dir(name), archivePrefix+"*") // made with mode 0600
	if err != nil {
		return counts, agent.Wrap(agent.CodeUnavailable, err, "Nothing can be written in %s: %v.", filepath.Dir(name), errors.Unwrap(err))
	}
	keep := false
	defer func() {
		if !keep {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	n, err := io.Copy(f, res.Body)
	if err == nil && n != res.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		if ctx.Err() != nil {
			return counts, ctx.Err()
		}
		return counts, agent.Wrap(agent.CodeUnavailable, err, "The archive could not be written: %v.", err)
	}
	a, err := archive.Open(f.Name()) // what is there can be taken back
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	counts = a.Memory.Counts()
	if !isZip(name) {
		return counts, unpackTo(a, name)
	}
	if err := os.Link(f.Name(), name); err == nil {
		return counts, nil
	}
	if err := checkTarget(name); err != nil {
		return counts, err
	}
	keep = true
	return counts, os.Rename(f.Name(), name)
}

// unpackTo unpacks an archive into a folder that is new or empty.
func unpackTo(a *archive.Archive, name string) error {
	temp, err := os.MkdirTemp(filepath.Dir(name), archivePrefix+"*") // made with mode 0700
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "Nothing can be written in %s: %v.", filepath.Dir(name), errors.Unwrap(err))
	}
	if err := a.Unpack(temp); err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder gives way
		return errors.Join(agent.Wrap(agent.CodeConflict, err, "%s is there already. Name another; nothing is overwritten.", name), os.RemoveAll(temp))
	}
	if err := os.Rename(temp, name); err != nil {
		return errors.Join(agent.Wrap(agent.CodeUnavailable, err, "%s cannot be written: %v.", name, errors.Unwrap(err)), os.RemoveAll(temp))
	}
	return nil
}

func memoryImportCommand(home func() (string, error)) *cobra.Command {
	var dry, stranger bool
	cmd := &cobra.Command{
		Use:   "import DIR|FILE.zip",
		Short: "Take back what ash memory export wrote",
		Long: `Take in an archive that ash memory export wrote: memories with their history, sources and labels, people and things, summaries of
conversations, runs, proposals, notes, and what keeps forgotten things forgotten. The whole archive is checked first; one that is damaged is refused
and nothing is changed. What is there stays, doing it twice changes nothing, and what was forgotten here since does not come back.

What counts as yours in the archive counts as yours here: it is you who says, by this command, that the archive is your own. Ash can tell that it is
whole, not who made it. Take in one that somebody gave you with --stranger: then all of it is treated as a stranger's word.

Conversations from elsewhere are taken in by ash import messages.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			a, err := archive.Open(args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, a.Close()) }()
			in := handlers.ControlIntake{Name: filepath.Base(filepath.Clean(args[0])), Stranger: stranger, Dry: dry}
			return memoryLink(cmd.Context(), home, true, func(l *link, dir string) error {
				taken, err := l.importMemory(cmd.Context(), dir, a, in)
				if err != nil {
					return err
				}
				return printTaken(cmd.OutOrStdout(), taken, dry)
			})
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would come, and change nothing")
	cmd.Flags().BoolVar(&stranger, "stranger", false, "the archive is not your own: nothing in it counts as your word")
	return cmd
}

// importMemory hands an archive to the server, in a file in the home that is gone afterwards.
func (c *client) importMemory(ctx context.Context, home string, a *archive.Archive, in handlers.ControlIntake) (taken archive.Taken, err error) {
	f, err := os.CreateTemp(home, archivePrefix+"*") // made with mode 0600
	if err != nil {
		return taken, agent.Wrap(agent.CodeUnavailable, err, "Nothing can be written in %s: %v.", home, errors.Unwrap(err))
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	err = archive.Write(f, &a.Memory, a.Note)
	if err := errors.Join(err, f.Close()); err != nil {
		return taken, unwritten(err)
	}
	in.File = filepath.Base(f.Name())
	return taken, c.call(ctx, http.MethodPost, "/memory/import", in, &taken)
}

// printTaken says what became of an archive.
func printTaken(out io.Writer, t archive.Taken, dry bool) error {
	head := "Taken in"
	if dry {
		head = "Would be taken in"
	}
	lines := []string{fmt.Sprintf("%s: %s, %s, %s, %s, %s.", head, counted(t.Facts, "new memory", "new memories"),
		counted(t.Changed, "newer state", "newer states"), counted(t.Episodes, "conversation summed up", "conversations summed up"),
		counted(t.Proposals, "proposal", "proposals"), counted(t.Notes, "note", "notes"))}
	add := func(n int, one, many, what string) {
		if n > 0 {
			lines = append(lines, counted(n, one, many)+" "+what)
		}
	}
	add(t.Known, "memory", "memories", "there already.")
	add(t.Merged, "memory", "memories", "that said the same as what was there: kept as its history.")
	add(t.NotesKnown, "note", "notes", "there already.")
	add(t.Forgotten, "thing", "things", "left out: forgotten here.")
	add(t.Tombstones, "forgotten thing", "forgotten things", "kept from being learned here, too.")
	add(t.Keyless, "of them", "of them", "only where the key is: the archive was made for others.")
	add(t.ToldAgain, "thing", "things", "forgotten there and remembered here: kept. Forget it here, too, if you want that.")
	for _, x := range []struct {
		title string
		list  []string
	}{
		{"Written beside a different note of that name", t.NotesBeside}, {"Left out, as it holds what was forgotten here", t.NotesForgotten}, {"Left out", t.NotesRefused},
	} {
		for _, name := range x.list {
			lines = append(lines, x.title+": "+shown(name))
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
