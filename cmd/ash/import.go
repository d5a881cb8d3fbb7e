package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	return &cobra.Command{
		Use:   "messages FILE.jsonl|-",
		Short: "Import messages: lines of JSON, one message each",
		Long: `Import messages from lines {"thread","id","speaker","time","text"}, "-" for standard input. The time is RFC 3339 or
as it was said; the order is that of the lines. What was imported before, by thread and id, is left as it is, so an
import can be repeated. The whole archive is checked first: with a line that cannot be read nothing is imported.

What others said is marked as theirs: Ash does not take it for your word. Give your own name in Settings first if
you are one of the speakers.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			dir, err := home()
			if err != nil {
				return err
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
			l, err := connect(cmd.Context(), dir, modelFlags{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.close()) }()
			done, err := archive.Import(cmd.Context(), l.client, archive.Lines(f))
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
		},
	}
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
