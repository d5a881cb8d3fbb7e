package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/audit"
	"ash/handlers"
)

// auditCommand is "ash audit". home finds the home of Ash.
func auditCommand(home func() (string, error)) *cobra.Command {
	var fix, yes, flaws, asJSON bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Look whether Ash is safe: open doors, secrets in plain text, planted instructions",
		Long: `Look whether Ash is safe: open doors, sign-in, permissions, uses of the vault out of pattern,
secrets in plain text in files, conversations and memory, instructions that somebody planted, standing
permissions that allow too much, old parts. No secret is shown, only where it is.

A running Ash is asked, and looks itself. The report is kept for the Safety page; no model ever sees it.
Nothing leaves this machine, except with --flaws: the public database osv.dev is then told which public
parts (Go modules) this Ash is made of, and answers which of them have known flaws.

--fix sets right what is safe to set right: it closes files to others and removes temporary files; what
takes something away for good (old copies, tokens, devices, permissions) it asks about, one by one.

Exit codes: 0 nothing but notes, 5 there is something to see to, 1 something is open or in plain text.`,
		Example: `  ash audit
  ash audit --fix
  ash audit --flaws          look up known flaws on the network, too
  ash audit --json | jq '.findings[] | select(.severity == "high")'`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if yes && !fix {
				return usageError{errors.New("--yes needs --fix")}
			}
			return tokenLink(cmd.Context(), home, func(l *link) error {
				var r audit.Report
				if err := l.call(cmd.Context(), http.MethodPost, "/audit", handlers.ControlAuditLook{Flaws: flaws}, &r); err != nil {
					return err
				}
				if fix {
					out := cmd.OutOrStdout()
					if asJSON {
						out = cmd.ErrOrStderr() // the report alone goes to standard output
					}
					mender := auditMender{link: l, out: out, answers: bufio.NewReader(cmd.InOrStdin()), yes: yes}
					if err := mender.all(cmd.Context(), &r); err != nil {
						return err
					}
				}
				if err := tellAudit(cmd.OutOrStdout(), r, asJSON); err != nil {
					return err
				}
				return auditVerdict(r)
			})
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "set right what is safe to set right")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --fix: do not ask")
	cmd.Flags().BoolVar(&flaws, "flaws", false, "look up the known flaws of what Ash is made of, at osv.dev on the network")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the report as JSON")
	return cmd
}

// auditVerdict is the exit code of a report. A check that could not look counts as something to see to.
func auditVerdict(r audit.Report) error {
	switch worst := r.Worst(); {
	case worst.Rank() <= audit.High.Rank():
		return quietError{exitFailed}
	case worst != audit.Info, r.Failed() > 0:
		return quietError{exitWarnings}
	}
	return nil
}

func tellAudit(out io.Writer, r audit.Report, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-9s %s\n", strings.ToUpper(string(f.Severity)), shown(f.Text))
		for _, place := range append([]string{f.Place}, f.More...) {
			if place != "" {
				fmt.Fprintf(&b, "          at %s\n", shown(place))
			}
		}
		switch {
		case !f.Fixed.IsZero():
			fmt.Fprintf(&b, "          done: %s\n", shown(f.Fix.Words))
		case f.Remedy != "":
			fmt.Fprintf(&b, "        → %s\n", shown(f.Remedy))
		}
		if f.Fix != nil && f.Fixed.IsZero() {
			fmt.Fprintf(&b, "          ash audit --fix: %s\n", shown(f.Fix.Words))
		}
	}
	for _, c := range r.Checks {
		if c.Failed != "" {
			fmt.Fprintf(&b, "NOT SEEN  %s: %s\n", c.Check, shown(c.Failed))
		}
	}
	b.WriteString("\n" + auditWords(r) + "\n")
	_, err := io.WriteString(out, b.String())
	return err
}

func auditWords(r audit.Report) string {
	var parts []string
	for _, s := range audit.Severities() {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("Nothing was found (%d looks).", len(r.Checks))
	}
	return strings.Join(parts, ", ") + "."
}

// auditMender does what findings offer.
type auditMender struct {
	link    *link
	out     io.Writer
	answers *bufio.Reader
	yes     bool
}

func (m auditMender) all(ctx context.Context, r *audit.Report) error {
	for i, f := range r.Findings {
		if f.Fix == nil || !f.Fixed.IsZero() {
			continue
		}
		if f.Fix.Ask && !m.yes {
			fmt.Fprintf(m.out, "%s\n  %s? [y/n] › ", shown(f.Text), shown(f.Fix.Words))
			line, err := m.answers.ReadString('\n')
			if !isYes(line) {
				if err != nil {
					fmt.Fprintln(m.out)
				}
				continue
			}
		}
		var done audit.Finding
		if err := m.link.call(ctx, http.MethodPost, "/audit/fix", handlers.ControlFix{Report: r.ID, Finding: f.ID}, &done); err != nil {
			if ctx.Err() != nil {
				return err
			}
			fmt.Fprintf(m.out, "not done: %s: %s\n", shown(f.Fix.Words), shown(agent.PublicOf(err)))
			continue
		}
		r.Findings[i] = done
	}
	return nil
}
