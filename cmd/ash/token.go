package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/memory/recall"
	"ash/handlers"
)

// tokenCommand is "ash token": the tokens of programs that use the API.
func tokenCommand(home func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Tokens for programs that use the API: new, list, revoke",
		Long: `Tokens for programs that use the API (docs/api.md). A token is shown once, when it is made; Ash keeps
only its hash. It works with a running Ash and without one.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(tokenNewCommand(home), tokenListCommand(home), tokenRevokeCommand(home))
	return cmd
}

// tokenLink runs fn on the server of a home, or on one of its own.
func tokenLink(ctx context.Context, home func() (string, error), fn func(l *link) error) (err error) {
	dir, err := home()
	if err != nil {
		return err
	}
	l, err := connect(ctx, dir, modelFlags{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	return fn(l)
}

func tokenNewCommand(home func() (string, error)) *cobra.Command {
	var (
		scopes  []string
		expires string
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "new NAME --scope SCOPE[,SCOPE]",
		Short: "Make a token, and show it this once",
		Long: `Make a token, and show it this once. The token alone goes to standard output.

Scopes: memory reads and changes memory, read only reads, chat writes messages and reads their answers,
admin does everything.`,
		Example: `  ash token new notes-app --scope memory
  ash token new dashboard --scope read --expires 90d
  TOKEN=$(ash token new script --scope memory)`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(scopes) == 0 {
				return usageError{errors.New("say with --scope what the token is for: " + scopeNames())}
			}
			in := handlers.ControlNewToken{Name: args[0], Scopes: scopes}
			var err error
			if in.Expires, err = expiry(expires, time.Now()); err != nil {
				return err
			}
			return tokenLink(cmd.Context(), home, func(l *link) error {
				var made handlers.ControlToken
				if err := l.call(cmd.Context(), http.MethodPost, "/tokens", in, &made); err != nil {
					return err
				}
				if asJSON {
					return printTokenJSON(cmd.OutOrStdout(), made)
				}
				if err := say(cmd, "%s\n", made.Secret); err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "Keep it now: it is not shown again. Scopes: %s; expires: %s.\n", scopeList(made.Scopes), tokenDay(made.Expires))
				return nil
			})
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "what it is for: "+scopeNames()+"; several with commas")
	cmd.Flags().StringVar(&expires, "expires", "", "when it ends: a time from now like 90d, 12h or 2w, or a day like 2027-01-31 (default never)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, with the token in it")
	return cmd
}

// expiry reads when a token ends. A day is its end.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" || text == "never" {
		return time.Time{}, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return at.AddDate(0, 0, 1), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	units := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	n, err := strconv.Atoi(text[:len(text)-1])
	unit, known := units[text[len(text)-1]]
	if err != nil || !known || n < 1 || n > 100_000 {
		return time.Time{}, usageError{fmt.Errorf("--expires %q is no time: write it like 90d, 12h, 2w or 2027-01-31", text)}
	}
	return now.Add(time.Duration(n) * unit), nil
}

func tokenListCommand(home func() (string, error)) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, with when they were last used",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tokenLink(cmd.Context(), home, func(l *link) error {
				var list, kept []handlers.ControlToken
				if err := l.call(cmd.Context(), http.MethodGet, "/tokens", nil, &list); err != nil {
					return err
				}
				for _, t := range list {
					if all || t.Revoked.IsZero() {
						kept = append(kept, t)
					}
				}
				if asJSON {
					return printTokenJSON(cmd.OutOrStdout(), append([]handlers.ControlToken{}, kept...))
				}
				return printTokens(cmd.OutOrStdout(), kept, time.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "those that are revoked, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func printTokens(out io.Writer, list []handlers.ControlToken, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "There are no tokens. Make one with: ash token new NAME --scope memory")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSCOPES\tTOKEN\tMADE\tLAST USED\tEXPIRES\tID")
	for _, t := range list {
		expires := tokenDay(t.Expires)
		switch {
		case !t.Revoked.IsZero():
			expires = "revoked " + tokenDay(t.Revoked)
		case !t.Expires.IsZero() && !now.Before(t.Expires):
			expires = "expired " + tokenDay(t.Expires)
		}
		used := "never"
		if !t.Used.IsZero() {
			used = t.Used.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\t%s\t%s\n", shown(t.Name), scopeList(t.Scopes), t.Hint, tokenDay(t.Created), used, expires, t.ID)
	}
	return w.Flush()
}

func tokenRevokeCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End a token for good, at once",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tokenLink(cmd.Context(), home, func(l *link) error {
				var gone handlers.ControlToken
				if err := l.call(cmd.Context(), http.MethodPost, "/tokens/revoke", handlers.ControlRevoke{Token: args[0]}, &gone); err != nil {
					return err
				}
				return say(cmd, "The token %s is revoked: it opens nothing any more.\n", shown(gone.Name))
			})
		},
	}
}

func scopeNames() string { return scopeList(access.Scopes()) }

func scopeList(list []access.Scope) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ",")
}

func tokenDay(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format(time.DateOnly)
}

func printTokenJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// newAPI makes the API of programs. It shares its tokens with the command line.
func (a *app) newAPI(tokens *access.Tokens) *handlers.API {
	return handlers.NewAPI(handlers.APIParts{
		Owner: a.owner.ID, Version: versionString(), Tokens: tokens, Facts: a.store, Entities: a.store,
		Recall: apiSearch{a.mind}, Book: a.mind.book, Forgetter: a.mind.book, Requests: a.store,
		Engine: a.engine, Conversations: a.store, Feed: a.feed, Watch: tokens,
		Redact: a.hands.guard.Redact, Now: time.Now, Log: a.log,
	})
}

// apiSearch is the search of the API.
type apiSearch struct{ mind *mind }

func (s apiSearch) Recall(ctx context.Context, query string, k int) ([]agent.Recollection, error) {
	return s.mind.ask(ctx, recall.Query{Text: query, Limit: k})
}
