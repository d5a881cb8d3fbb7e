package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/handlers"
)

// haltTimeout bounds how long ash stop waits for a server that hangs.
const haltTimeout = 20 * time.Second

func stopCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop everything Ash does right now",
		Long: `Stop every answer, tool, command and helper of the running Ash at once. The server
goes on; what was said so far is stored. Approvals and questions that wait go on
waiting, and messages that were queued are kept unanswered.

Exit codes: 0 everything stands still, 1 something does not let go.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := home()
			if err != nil {
				return err
			}
			ctx, done := context.WithTimeout(cmd.Context(), haltTimeout)
			defer done()
			c, err := dial(ctx, filepath.Join(dir, socketName))
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
				return say(cmd, "Ash does not run on %s: there is nothing to stop.\n", dir)
			}
			if err != nil {
				return err
			}
			defer c.close()
			h, err := c.halt(ctx)
			if err != nil {
				return err
			}
			if err := say(cmd, "%s\n", halted(h)); err != nil {
				return err
			}
			return heldUp(h)
		},
	}
}

// halted says what was stopped.
func halted(h handlers.ControlHalted) string {
	if len(h.Threads) == 0 {
		return "No answer was being written."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Stopped %d:", len(h.Threads))
	for _, t := range h.Threads {
		title := t.Title
		if title == "" {
			title = "a conversation without a title"
		}
		fmt.Fprintf(&b, "\n  %s", shown(title))
	}
	return b.String()
}

// heldUp is the error for what goes on all the same.
func heldUp(h handlers.ControlHalted) error {
	var problems []string
	if len(h.Holding) > 0 {
		problems = append(problems, fmt.Sprintf("This was told to stop and does not let go: %s. What it still does is not stored; ending Ash ends it.", shown(strings.Join(h.Holding, ", "))))
	}
	if h.Problem != "" {
		problems = append(problems, h.Problem)
	}
	if len(problems) == 0 {
		return nil
	}
	return &agent.Error{Code: agent.CodeInternal, Public: strings.Join(problems, " ")}
}
