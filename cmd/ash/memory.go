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
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/memory/archive"
	"ash/handlers"
)

const (
	memoryPage = 200     // facts asked for at once
	maxAdded   = 1 << 20 // bytes of standard input that are looked at
	listWidth  = 72      // characters of a fact in a table
)

// memoryCommand is "ash memory": what Ash remembers.
func memoryCommand(home func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "What Ash remembers: list, add, show, edit, forget, export, import, reindex, stats",
		Long: `What Ash remembers, as on the Memory page. It works with a running Ash and without one.

A memory is named by its id, or by as much of its beginning as no other has: the first column of ash memory list.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		memoryListCommand(home), memoryAddCommand(home), memoryShowCommand(home), memoryEditCommand(home), memoryForgetCommand(home),
		memoryExportCommand(home), memoryImportCommand(home), memoryReindexCommand(home), memoryStatsCommand(home),
	)
	return cmd
}

// memoryLink runs fn on the server of a home, or on one of its own. Without make a home has to be there.
func memoryLink(ctx context.Context, home func() (string, error), makes bool, fn func(l *link, dir string) error) (err error) {
	dir, err := home()
	if err != nil {
		return err
	}
	if _, err := os.Stat(databasePath(dir)); !makes && errors.Is(err, os.ErrNotExist) {
		return agent.Wrap(agent.CodeNotFound, err, "Nothing is remembered in %s yet: there is no database. It is made when Ash first runs.", dir)
	}
	l, err := connect(ctx, dir, modelFlags{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	return fn(l, dir)
}

func memoryListCommand(home func() (string, error)) *cobra.Command {
	var (
		kind, status, entity string
		limit                int
		asJSON               bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is remembered, the latest said first",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usageError{errors.New("--limit is a number from 0 (all) on")}
			}
			if status == "all" {
				status = ""
			}
			query := url.Values{"kind": {kind}, "status": {status}, "entity": {entity}}
			return memoryLink(cmd.Context(), home, false, func(l *link, _ string) error {
				return l.listMemories(cmd.Context(), query, limit, factPrinter(cmd.OutOrStdout(), asJSON))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&kind, "kind", "", "only this kind: core, fact or pattern")
	f.StringVar(&status, "status", "current", "current, superseded, retired or all")
	f.StringVar(&entity, "entity", "", "only what is about this person, place, project or thing")
	f.IntVar(&limit, "limit", 50, "how many at most; 0 is all")
	f.BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

// listMemories hands pages of facts to show until the limit; more says that there are further ones.
func (c *client) listMemories(ctx context.Context, query url.Values, limit int, show func(page []handlers.ControlFact, last, more bool) error) error {
	for shown := 0; ; {
		want := memoryPage
		if limit > 0 {
			want = min(want, limit-shown)
		}
		query.Set("limit", strconv.Itoa(want))
		var page handlers.ControlFacts
		if err := c.call(ctx, http.MethodGet, "/memories?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		shown += len(page.Facts)
		last := page.Next == "" || limit > 0 && shown >= limit
		if err := show(page.Facts, last, page.Next != ""); err != nil || last {
			return err
		}
		query.Set("after", page.Next)
	}
}

// factPrinter prints pages of facts: as a table, or one object a line.
func factPrinter(out io.Writer, asJSON bool) func([]handlers.ControlFact, bool, bool) error {
	if asJSON {
		w := bufio.NewWriter(out)
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return func(page []handlers.ControlFact, _, _ bool) error {
			for _, f := range page {
				if err := enc.Encode(f.Fact); err != nil {
					return err
				}
			}
			return w.Flush()
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	none := true
	return func(page []handlers.ControlFact, last, more bool) error {
		for _, f := range page {
			none = false
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Short, f.Said.Local().Format(time.DateOnly), kindWord(f.Fact), oneLine(f.Text, listWidth))
		}
		if !last {
			return nil
		}
		if err := w.Flush(); err != nil {
			return err
		}
		var err error
		switch {
		case none:
			_, err = fmt.Fprintln(out, "Nothing of that is remembered.")
		case more:
			_, err = fmt.Fprintln(out, "There are more: --limit 0 shows all.")
		}
		return err
	}
}

// kindWord is what a table says of a fact's kind and status.
func kindWord(f archive.Fact) string {
	word := string(f.Kind)
	if f.Status != agent.FactCurrent {
		word += ", " + string(f.Status)
	}
	if f.Pinned {
		word += ", pinned"
	}
	if f.Fact().Labels.Untrusted() {
		word += ", from others"
	}
	return word
}

// oneLine shows a text on one line of at most n characters.
func oneLine(text string, n int) string {
	line := []rune(strings.Join(strings.Fields(shown(text)), " "))
	if len(line) > n {
		line = append(line[:n-1], '…')
	}
	return string(line)
}

func memoryAddCommand(home func() (string, error)) *cobra.Command {
	var (
		kind  string
		about []string
	)
	cmd := &cobra.Command{
		Use:   "add TEXT|-",
		Short: "Have something remembered, in your own words",
		Long: `Have one statement remembered, in your own words; "-" reads it from standard input. What you had forgotten
before is remembered again when you say so here.`,
		Example: `  ash memory add "Anna plays chess on Mondays" --about Anna
  ash memory add --kind core "Answer in German"`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := wording(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return memoryLink(cmd.Context(), home, true, func(l *link, _ string) error {
				var kept handlers.ControlKept
				in := handlers.ControlNewFact{Text: text, Kind: agent.FactKind(kind), About: about}
				if err := l.call(cmd.Context(), http.MethodPost, "/memories", in, &kept); err != nil {
					return err
				}
				word := "Remembered"
				if kept.Known {
					word = "Remembered already"
				}
				return say(cmd, "%s: %s  %s\n", word, kept.Fact.Short, oneLine(kept.Fact.Text, listWidth))
			})
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "fact", "core (who you are and how you want things: in every prompt), fact or pattern")
	cmd.Flags().StringArrayVar(&about, "about", nil, "a person, place, project or thing it is about; may be given several times")
	return cmd
}

// wording reads the text of a memory from the command line, or from standard input for "-".
func wording(args []string, stdin io.Reader) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(stdin, maxAdded+1))
		if err != nil {
			return "", agent.Wrap(agent.CodeUnavailable, err, "Standard input cannot be read.")
		}
		text = string(b)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", agent.Errorf(agent.CodeInvalid, "There is nothing to remember in that.")
	case !utf8.ValidString(text):
		return "", agent.Errorf(agent.CodeInvalid, "This text is damaged (not UTF-8).")
	case len(text) > agent.MaxFact:
		return "", agent.Errorf(agent.CodeInvalid, "A memory has at most %d bytes; this one has %s. Keep the rest as a note.", agent.MaxFact, atLeast(len(text)))
	}
	return text, nil
}

func atLeast(n int) string {
	if n > maxAdded {
		return "more than " + strconv.Itoa(maxAdded)
	}
	return strconv.Itoa(n)
}

func memoryEditCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "edit ID TEXT|-",
		Short: "Correct a memory: the wording before it becomes history",
		Args:  usageArgs(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := wording(args[1:], cmd.InOrStdin())
			if err != nil {
				return err
			}
			return memoryLink(cmd.Context(), home, false, func(l *link, _ string) error {
				var kept handlers.ControlKept
				if err := l.call(cmd.Context(), http.MethodPut, "/memories/"+url.PathEscape(args[0]), handlers.ControlNewFact{Text: text}, &kept); err != nil {
					return err
				}
				return say(cmd, "Corrected: %s  %s\n", kept.Fact.Short, oneLine(kept.Fact.Text, listWidth))
			})
		},
	}
}

func memoryShowCommand(home func() (string, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a memory: where it came from, what it is about, its history",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return memoryLink(cmd.Context(), home, false, func(l *link, _ string) error {
				var d handlers.ControlDetail
				if err := l.call(cmd.Context(), http.MethodGet, "/memories/"+url.PathEscape(args[0]), nil, &d); err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), d)
				}
				return printMemory(cmd.OutOrStdout(), d)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printMemory shows a fact with all that is known of it.
func printMemory(out io.Writer, d handlers.ControlDetail) error {
	f := d.Fact
	if _, err := fmt.Fprintf(out, "%s\n\n", shown(f.Text)); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, shown(value))
		}
	}
	var names, strangers []string
	for _, e := range f.Entities {
		names = append(names, e.Name+" ("+string(e.Kind)+")")
	}
	for _, l := range f.Labels {
		if l.Kind == agent.LabelUntrusted {
			strangers = append(strangers, l.Source)
		}
	}
	line("id", string(f.ID))
	line("kind", kindWord(f.Fact))
	line("about", strings.Join(names, ", "))
	line("said", moment(f.Said))
	line("true from", moment(f.From))
	line("true until", moment(f.Until))
	line("expires", moment(f.Expires))
	line("source", sourceLine(f.Source, d.Title))
	line("quote", f.Source.Quote)
	line("from others", strings.Join(strangers, ", "))
	line("sure", fmt.Sprintf("%.0f %%", 100*f.Confidence))
	line("important", fmt.Sprintf("%.0f %%", 100*f.Importance))
	line("kept", moment(f.Created))
	line("used in", fmt.Sprintf("%d replies", d.Used))
	if err := w.Flush(); err != nil || len(d.Chain) < 2 {
		return err
	}
	if _, err := fmt.Fprintf(out, "\nHistory, the oldest first:\n"); err != nil {
		return err
	}
	for _, x := range d.Chain {
		mark := " "
		if x.ID == f.ID {
			mark = "*"
		}
		if _, err := fmt.Fprintf(out, "%s %s  %s  %s  %s\n", mark, x.Short, x.Said.Local().Format(time.DateOnly), x.Status, oneLine(x.Text, listWidth)); err != nil {
			return err
		}
	}
	return nil
}

// sourceLine says for people where a fact came from.
func sourceLine(s archive.Source, title string) string {
	words := map[agent.SourceKind]string{
		agent.SourceMessage: "a conversation", agent.SourcePerson: "entered by hand", agent.SourceNote: "the note " + s.Note,
		agent.SourceImport: "an import", agent.SourceMemories: "put together from other memories",
	}[s.Kind]
	if title != "" {
		words += " “" + title + "”"
	}
	if s.Via != "" {
		words += ", by " + s.Via
	}
	if s.Message != "" {
		words += ", message " + string(s.Message)
	}
	return words
}

// moment is a time for people, "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2 January 2006, 15:04")
}

func memoryStatsCommand(home func() (string, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Say how much is remembered and how much room it takes",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return memoryLink(cmd.Context(), home, false, func(l *link, dir string) error {
				var s handlers.ControlMemoryStats
				if err := l.call(cmd.Context(), http.MethodGet, "/memory/stats", nil, &s); err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), s)
				}
				return printStats(cmd.OutOrStdout(), s, filepath.Base(databasePath(dir)))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}

func printStats(out io.Writer, s handlers.ControlMemoryStats, database string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	mega := func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
	fmt.Fprintf(w, "current\t%d\t(%d core, %d facts, %d patterns; %d pinned, %d from others)\n", s.Current, s.Core, s.Facts, s.Patterns, s.Pinned, s.Untrusted)
	fmt.Fprintf(w, "history\t%d\t(%d superseded, %d retired)\n", s.Superseded+s.Retired, s.Superseded, s.Retired)
	fmt.Fprintf(w, "entities\t%d\t\n", s.Entities)
	fmt.Fprintf(w, "conversations\t%d\tsummed up\n", s.Episodes)
	fmt.Fprintf(w, "notes\t%d\t\n", s.Notes)
	fmt.Fprintf(w, "proposals\t%d\twaiting\n", s.Proposals)
	fmt.Fprintf(w, "forgotten\t%d\t\n", s.Tombstones)
	fmt.Fprintf(w, "%s\t%s\ttexts of facts %s\n", database, mega(s.Database), mega(int64(s.TextBytes)))
	fmt.Fprintf(w, "index\t%s\t(%d facts, %d messages, %d episodes, %d passages of notes)\n", mega(s.Index),
		s.Items[agent.MemoryFact], s.Items[agent.MemoryMessage], s.Items[agent.MemoryEpisode], s.Items[agent.MemoryNote])
	meanings := "no embedder"
	if s.Embedder != "" {
		meanings = fmt.Sprintf("(%d, %d to come; %s)", s.Embedded, s.Pending, shown(s.Embedder))
	}
	if s.EmbedProblem != "" {
		meanings += " " + shown(s.EmbedProblem)
	}
	fmt.Fprintf(w, "vectors\t%s\t%s\n", mega(s.Vectors), meanings)
	return w.Flush()
}
