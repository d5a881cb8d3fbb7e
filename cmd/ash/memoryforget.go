package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/memory"
	"ash/handlers"
)

func memoryForgetCommand(home func() (string, error)) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use:   "forget ID",
		Short: "Forget a memory for good, after showing all that says it",
		Long: `Forget a memory for good. All that says it is shown first: its history, the messages it came from and others that
repeat it, summaries, proposals. What goes with it is hidden from everything at once, can be taken back on the
Memory page for a while, and is then overwritten.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if yes && dry {
				return usageError{errors.New("--dry-run changes nothing, and --yes does without asking: give one of them")}
			}
			path := "/memories/" + url.PathEscape(args[0])
			return memoryLink(cmd.Context(), home, false, func(l *link, _ string) error {
				var t handlers.ControlTraces
				if err := l.call(cmd.Context(), http.MethodGet, path+"/traces", nil, &t); err != nil {
					return err
				}
				if err := printTraces(cmd.OutOrStdout(), t); err != nil || dry {
					return err
				}
				if !yes {
					wanted, err := sure(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), "Forget this? [y/N] › ")
					if err != nil {
						return err
					}
					if !wanted {
						return say(cmd, "Nothing was forgotten.\n")
					}
				}
				var done handlers.ControlForgotten
				path := "/memories/" + string(t.Fact.ID)
				if err := l.call(cmd.Context(), http.MethodPost, path+"/forget", handlers.ControlForget{Plan: t.Plan}, &done); err != nil {
					return err
				}
				return say(cmd, "Forgotten: %s, %s. It can be taken back on the Memory page until %s.\n",
					counted(done.Facts, "memory", "memories"), counted(done.Messages, "message", "messages"), done.Due.Local().Format("15:04 on 2 January"))
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would go, and change nothing")
	return cmd
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sure asks a question that is answered with y. The end of input is a no.
func sure(ctx context.Context, in io.Reader, notes io.Writer, question string) (bool, error) {
	fmt.Fprint(notes, question)
	line := make(chan string, 1)
	go func() { // reading cannot be broken off; the process ends soon
		text, _ := bufio.NewReader(in).ReadString('\n') // an end without a line is no answer
		line <- text
	}()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case text := <-line:
		answer := strings.ToLower(strings.TrimSpace(text))
		return answer == "y" || answer == "yes", nil
	}
}

// printTraces shows what holds a memory, what goes with it first.
func printTraces(out io.Writer, t handlers.ControlTraces) error {
	names := map[memory.TraceKind]string{
		memory.TraceFact: "memory", memory.TraceMessage: "message", memory.TraceThread: "conversation", memory.TraceEpisode: "summary of a conversation",
		memory.TraceSummary: "summary", memory.TraceTitle: "title", memory.TraceProposal: "proposal", memory.TraceVersion: "earlier version of a file",
		memory.TraceSnapshot: "copy of the database", memory.TraceFile: "file",
	}
	groups := []struct {
		title string
		holds func(handlers.ControlTrace) bool
	}{
		{"This goes:", func(x handlers.ControlTrace) bool { return x.Ticked }},
		{"This stays, unless you choose it on the Memory page:", func(x handlers.ControlTrace) bool { return !x.Ticked && !x.Manual }},
		{"This stays; it is yours to change:", func(x handlers.ControlTrace) bool { return x.Manual }},
	}
	for _, g := range groups {
		first := true
		for _, x := range t.Traces {
			if !g.holds(x) {
				continue
			}
			if first {
				if _, err := fmt.Fprintln(out, g.title); err != nil {
					return err
				}
				first = false
			}
			where := names[x.Kind]
			if !x.Time.IsZero() {
				where += ", " + x.Time.Local().Format("2 January 2006")
			}
			if x.Title != "" {
				where += ", in “" + oneLine(x.Title, 40) + "”"
			}
			text := x.Text
			if text == "" {
				text = x.Ref
			}
			if _, err := fmt.Fprintf(out, "  %s\n      (%s)\n", oneLine(text, 200), shown(where)); err != nil {
				return err
			}
		}
	}
	if t.More {
		_, err := fmt.Fprintln(out, "There are more messages that may repeat it than were looked at.")
		return err
	}
	return nil
}

func memoryReindexCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "reindex",
		Short: "Make the index that recall reads anew",
		Long: `Make the index that recall reads anew: the words of facts, messages, episodes and notes, and their meanings where there
is an embedding model. It is always safe; recall works meanwhile.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return memoryLink(cmd.Context(), home, false, func(l *link, _ string) error {
				last, err := l.reindex(cmd.Context(), progress(cmd.ErrOrStderr()))
				if err != nil {
					return err
				}
				if last.Note != "" {
					if err := say(cmd, "%s\n", shown(last.Note)); err != nil {
						return err
					}
				}
				return say(cmd, "The index is new.\n")
			})
		},
	}
}

// reindex has the index made anew and returns the last that was told.
func (c *client) reindex(ctx context.Context, tell func(handlers.ControlProgress)) (p handlers.ControlProgress, err error) {
	res, err := c.do(ctx, http.MethodPost, "/memory/reindex", struct{}{})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	for lines := json.NewDecoder(res.Body); ; {
		p = handlers.ControlProgress{}
		if err := lines.Decode(&p); err != nil {
			if ctx.Err() != nil {
				return p, ctx.Err()
			}
			return p, agent.Wrap(agent.CodeUnavailable, err, "Ash ended before the index was whole. It is completed by itself when Ash next recalls.")
		}
		switch {
		case p.Error != nil:
			return p, &agent.Error{Code: p.Error.Code, Public: p.Error.Error}
		case p.Finished:
			return p, nil
		}
		tell(p)
	}
}

// progress writes one line for each stage, another at most every second, and one when it is done.
func progress(notes io.Writer) func(handlers.ControlProgress) {
	var (
		told time.Time
		last handlers.ControlProgress
	)
	return func(p handlers.ControlProgress) {
		if p == last || p.Stage == last.Stage && p.Done != p.Of && time.Since(told) < time.Second {
			return
		}
		last, told = p, time.Now()
		if p.Of == 0 {
			fmt.Fprintf(notes, "%s …\n", p.Stage)
			return
		}
		fmt.Fprintf(notes, "%s: %d of %d\n", p.Stage, p.Done, p.Of)
	}
}
