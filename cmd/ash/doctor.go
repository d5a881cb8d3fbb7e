package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/doctor"
	"ash/agent/guard"
	"ash/handlers"
)

// doctorCommand is "ash doctor". home says where the home of Ash is without touching it.
func doctorCommand(home func() (string, error)) *cobra.Command {
	var full, offline, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether everything is well, and say what to do where it is not",
		Long: `Look whether everything is well: settings, permissions, disk, database, vault, models and
their keys, sandbox, address, clock. It only looks: nothing is changed or repaired, and no key is shown.

A running Ash is asked, and looks itself; without one this command looks beside it, and takes
nothing that Ash would need to start.

Exit codes: 0 all is well, 5 there are warnings, 1 something does not work.`,
		Example: `  ash doctor
  ash doctor --full          read the whole database, and ask every model for a word
  ash doctor --json | jq '.findings[] | select(.severity == "problem")'`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := home()
			if err != nil {
				return err
			}
			look := lookAt{Full: full, Offline: offline}
			each := tellFindings(cmd.OutOrStdout())
			if asJSON {
				each = nil
			}
			report := examine(cmd.Context(), dir, look, each)
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if asJSON {
				err = printDoctorJSON(cmd.OutOrStdout(), report)
			} else {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), summary(report))
			}
			return errors.Join(err, verdict(report.Worst()))
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "read the whole database and its indexes, and ask the models for a word (which may cost a little)")
	cmd.Flags().BoolVar(&offline, "offline", false, "ask no server on the network")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the report as JSON")
	return cmd
}

// lookAt says how far a look goes.
type lookAt = handlers.ControlLook

// verdict is the exit code of a report.
func verdict(worst doctor.Severity) error {
	switch worst {
	case doctor.Problem:
		return quietError{exitFailed}
	case doctor.Warning:
		return quietError{exitWarnings}
	}
	return nil
}

// examine has the running Ash of a home look, or looks beside it. each hears of the findings in order.
func examine(ctx context.Context, home string, look lookAt, each func(doctor.Finding)) doctor.Report {
	state := runningState(ctx, home)
	if state.Answers && state.Version == state.Mine {
		if report, err := askDoctor(ctx, home, look); err == nil {
			for _, f := range report.Findings {
				if each != nil {
					each(f)
				}
			}
			return report
		}
	}
	e := besideEyes(home, state)
	defer e.close()
	d := e.doctor(look, guard.New(guard.Options{}).Redact)
	report := d.Run(ctx, nil)
	for _, f := range report.Findings {
		if each != nil {
			each(f)
		}
	}
	return report
}

// askDoctor has the running Ash look.
func askDoctor(ctx context.Context, home string, look lookAt) (r doctor.Report, err error) {
	c, err := dial(ctx, filepath.Join(home, socketName))
	if err != nil {
		return r, err
	}
	defer c.close()
	patience := 2 * time.Minute
	if look.Full {
		patience = 15 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r, c.call(ctx, http.MethodPost, "/doctor", look, &r)
}

// answerSoon is how long a running Ash may take to say that it is there.
const answerSoon = 3 * time.Second

// runningState finds out whether an Ash runs on a home, by its socket alone: trying its lock could keep one from starting.
func runningState(ctx context.Context, home string) doctor.ServerState {
	st := doctor.ServerState{Mine: versionString()}
	ctx, cancel := context.WithTimeout(ctx, answerSoon)
	defer cancel()
	socket := filepath.Join(home, socketName)
	if !listens(ctx, socket) {
		return st
	}
	st.Running, st.Who = true, whoHas(filepath.Join(home, "ash.lock"))
	c, err := dial(ctx, socket)
	if err != nil {
		return st
	}
	defer c.close()
	if s, err := c.status(ctx); err == nil {
		st.Answers, st.Version = true, s.Version
	}
	return st
}

// tellFindings writes findings as they stand in the report.
func tellFindings(out io.Writer) func(doctor.Finding) {
	return func(f doctor.Finding) { _, _ = io.WriteString(out, findingText(f)) }
}

// marks are the signs of the severities.
var marks = map[doctor.Severity]string{doctor.OK: "  ok    ", doctor.Note: "  note  ", doctor.Warning: "  WARN  ", doctor.Problem: "  WRONG "}

func findingText(f doctor.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", marks[f.Severity], shown(f.Check), shown(f.Text))
	for _, d := range f.Details {
		fmt.Fprintf(&b, "           %s\n", shown(d))
	}
	if f.Fix != "" {
		fmt.Fprintf(&b, "         → %s\n", shown(f.Fix))
	}
	if f.Command != "" {
		fmt.Fprintf(&b, "           $ %s\n", shown(f.Command))
	}
	return b.String()
}

func summary(r doctor.Report) string {
	problems, warnings := r.Count(doctor.Problem), r.Count(doctor.Warning)
	switch {
	case problems == 0 && warnings == 0:
		worth := ""
		if n := r.Count(doctor.Note); n > 0 {
			worth = fmt.Sprintf(", %d worth knowing", n)
		}
		return fmt.Sprintf("\nAll is well (%d looks%s).", len(r.Findings), worth)
	case problems == 0:
		return fmt.Sprintf("\nAsh works; %d of %d looks found something to see to.", warnings, len(r.Findings))
	}
	return fmt.Sprintf("\n%d of %d looks found something that does not work; %d more something to see to.", problems, len(r.Findings), warnings)
}

func printDoctorJSON(out io.Writer, r doctor.Report) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// untouchedHome says where the home is without making or closing it.
func untouchedHome(flag *string) func() (string, error) {
	return func() (string, error) { return config.HomePath(*flag, os.LookupEnv) }
}

// problemsOf are the lines of what is wrong with the settings.
func problemsOf(err error) []string {
	var list config.Problems
	if !errors.As(err, &list) {
		return []string{agent.PublicOf(err)}
	}
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = p.String()
	}
	return out
}
