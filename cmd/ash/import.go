package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/memory/archive"
	"ash/handlers"
)

func importCommand(home func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Take in conversations that were held elsewhere",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(importMessagesCommand(home))
	return cmd
}

func importMessagesCommand(home func() (string, error)) *cobra.Command {
	var mine bool
	cmd := &cobra.Command{
		Use:   "messages FILE|DIR|-",
		Short: "Import messages: lines of JSON, or what ChatGPT and Claude export",
		Long: `Import messages from lines {"thread","id","speaker","time","text"}, "-" for standard input. The time is RFC 3339 or
as it was said; the order is that of the lines. What was imported before, by thread and id, is left as it is, so an
import can be repeated. The whole archive is checked first: with a line that cannot be read nothing is imported.

The archives that ChatGPT and Claude export are taken, too: the zip, the folder it unpacks to, or its conversations.json. They are
told by what is in them. Of a conversation with variants the path that was shown last is taken; instructions, tool calls and
reasoning are left out, and so are pictures and files. What was left out is said.

What others said is marked as theirs: Ash does not take it for your word. Give your own name in Settings first if
you are one of the speakers. What you yourself wrote to ChatGPT or Claude is marked so as well, since much of it was
pasted; --mine says that it is your own word.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			dir, err := home()
			if err != nil {
				return err
			}
			if args[0] != "-" {
				foreign, err := archive.OpenForeign(args[0])
				if err != nil {
					return err
				}
				if foreign != nil {
					return errors.Join(importForeign(cmd, dir, foreign, mine), foreign.Close())
				}
			}
			if mine {
				return usageError{errors.New("--mine is for archives of ChatGPT and Claude; lines name their speakers")}
			}
			f, err := archiveFile(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			if _, err := archive.Check(archive.Lines(f)); err != nil {
				return err
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return agent.Wrap(agent.CodeUnavailable, err, "%s cannot be read a second time.", args[0])
			}
			return importAll(cmd, dir, archive.Lines(f))
		},
	}
	cmd.Flags().BoolVar(&mine, "mine", false, "what you wrote to ChatGPT or Claude counts as your own word")
	return cmd
}

// importForeign imports an archive of ChatGPT or Claude, after it was read to its end.
func importForeign(cmd *cobra.Command, dir string, foreign *archive.Foreign, mine bool) error {
	var left archive.Left
	if _, err := archive.Check(foreign.Messages(mine, &left)); err != nil {
		return err
	}
	if err := say(cmd, "An archive of %s.\n", foreign.From); err != nil {
		return err
	}
	if err := importAll(cmd, dir, foreign.Messages(mine, &archive.Left{})); err != nil {
		return err
	}
	return printLeft(cmd, left)
}

// importAll stores messages that were checked.
func importAll(cmd *cobra.Command, dir string, messages iter.Seq2[archive.Message, error]) (err error) {
	l, err := connect(cmd.Context(), dir, modelFlags{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	done, err := archive.Import(cmd.Context(), l.client, messages)
	if err != nil {
		if done.Added > 0 {
			err = errors.Join(err, fmt.Errorf("%d messages were imported before that; run it again for the rest", done.Added))
		}
		return err
	}
	if err := l.imported(cmd.Context()); err != nil {
		return err
	}
	return say(cmd, "%d messages imported, %d were there already.\n", done.Added, done.Messages-done.Added)
}

// printLeft says what of an archive was left out.
func printLeft(cmd *cobra.Command, left archive.Left) error {
	for _, x := range []struct {
		n    int
		what string
	}{
		{left.Branches, "of variants that were not shown last"},
		{left.Hidden, "that were never shown: instructions, tool calls, results, reasoning"},
		{left.Empty, "without text"},
		{left.Files, "pictures and files"},
		{len(left.Unreadable) + left.More, "that cannot be read"},
	} {
		if x.n == 0 {
			continue
		}
		if err := say(cmd, "Left out: %d %s.\n", x.n, x.what); err != nil {
			return err
		}
	}
	for _, name := range left.Unreadable {
		if err := say(cmd, "  %s\n", shown(name)); err != nil {
			return err
		}
	}
	return nil
}

// archiveFile opens an archive. Standard input is kept in a file that nobody else can read and that is gone when it is closed,
// because an archive is read twice.
func archiveFile(name string, stdin io.Reader) (*os.File, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, agent.Wrap(agent.CodeNotFound, err, "%s cannot be opened: %v", name, errors.Unwrap(err))
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, errors.Join(agent.Errorf(agent.CodeInvalid, "%s is no ordinary file. Give - for standard input.", name), f.Close())
		}
		return f, nil
	}
	f, err := os.CreateTemp("", "ash-import-*") // made with mode 0600
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err == nil {
		_, err = io.Copy(f, stdin)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		err = agent.Wrap(agent.CodeUnavailable, err, "Standard input could not be kept in a temporary file.")
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return nil, err
	}
	return f, nil
}

// ImportMessages implements archive.Keeper over the socket.
func (c *client) ImportMessages(ctx context.Context, list []archive.Message) (int, error) {
	var out handlers.ControlImported
	err := c.call(ctx, http.MethodPost, "/import", handlers.ControlImport{Messages: list}, &out)
	return out.Added, err
}

// imported has what was imported indexed.
func (c *client) imported(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/import", handlers.ControlImport{Last: true}, nil)
}
