package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/service"
)

// serviceCommand is "ash service": Ash starts when the person signs in. home finds the home of Ash.
func serviceCommand(home func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have Ash start by itself: install, remove, status",
		Long: `Have Ash start when you sign in, and again when it breaks: a systemd user unit on Linux, a launchd
agent on macOS. It runs as you, with no more rights than you have.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(serviceInstallCommand(home), serviceRemoveCommand(), serviceStatusCommand())
	return cmd
}

// steward is how a service is kept on this machine.
type steward struct {
	path  string // of the file
	make  func(service.Options) (string, error)
	tool  string     // that starts and stops it
	start [][]string // what to run after the file was written
	stop  [][]string // what to run before it is removed
	gone  [][]string // what to run after
	state []string
}

// newSteward finds out how. CodeUnavailable where there is no way.
func newSteward() (steward, error) {
	switch runtime.GOOS {
	case "linux":
		dir, err := os.UserConfigDir()
		if err != nil {
			return steward{}, agent.Wrap(agent.CodeInvalid, err, "Ash does not know where your settings are: set HOME or XDG_CONFIG_HOME.")
		}
		return steward{
			path: service.UnitPath(dir), make: service.Unit, tool: "systemctl",
			start: [][]string{{"--user", "daemon-reload"}, {"--user", "enable", service.UnitName}, {"--user", "restart", service.UnitName}},
			stop:  [][]string{{"--user", "disable", "--now", service.UnitName}},
			gone:  [][]string{{"--user", "daemon-reload"}},
			state: []string{"--user", "--no-pager", "status", service.UnitName},
		}, nil
	case "darwin":
		dir := personHome()
		if dir == "" {
			return steward{}, agent.Errorf(agent.CodeInvalid, "Ash does not know where your home folder is: set HOME.")
		}
		path, domain := service.AgentPath(dir), fmt.Sprintf("gui/%d", os.Getuid())
		return steward{
			path: path, make: service.Plist, tool: "launchctl",
			start: [][]string{{"bootstrap", domain, path}},
			stop:  [][]string{{"bootout", domain + "/" + service.AgentName}},
			state: []string{"print", domain + "/" + service.AgentName},
		}, nil
	}
	return steward{}, agent.Errorf(agent.CodeUnavailable, "On this system Ash cannot install itself as a service. Have your system run: ash serve")
}

func serviceInstallCommand(home func() (string, error)) *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Start Ash now and whenever you sign in",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := newSteward()
			if err != nil {
				return err
			}
			dir, err := home()
			if err != nil {
				return err
			}
			text, err := s.text(dir)
			if err != nil {
				return err
			}
			if printOnly {
				return say(cmd, "%s", text)
			}
			return s.install(cmd, dir, text)
		},
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "only show what would be written")
	return cmd
}

// text is the file for this program and a home.
func (s steward) text(home string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", agent.Wrap(agent.CodeInternal, err, "Ash does not know where its own program lies.")
	}
	return s.make(service.Options{Program: self, Home: home, Log: filepath.Join(home, "logs", "serve.log")})
}

// install writes the file, if it is not there as it should be, and has it take effect. To do it again changes nothing.
func (s steward) install(cmd *cobra.Command, home, text string) error {
	if err := os.MkdirAll(filepath.Join(home, "logs"), 0o700); err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The folder for logs cannot be made in %s.", home)
	}
	was, err := os.ReadFile(s.path)
	switch {
	case err == nil && string(was) == text:
		if err := say(cmd, "%s is there already.\n", s.path); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return agent.Wrap(agent.CodeDenied, err, "%s cannot be read.", s.path)
	default:
		if err := writeService(s.path, text); err != nil {
			return err
		}
		if err := say(cmd, "Wrote %s:\n\n%s\n", s.path, text); err != nil {
			return err
		}
	}
	if missing := s.missing(); missing != "" {
		return say(cmd, "%s To start it, run:\n%s", missing, s.commands(s.start))
	}
	if runtime.GOOS == "darwin" {
		_ = s.run(cmd.Context(), s.stop) // one that runs is not bootstrapped a second time; none is no error
	}
	if err := s.run(cmd.Context(), s.start); err != nil {
		return err
	}
	advice := "Ash runs, and starts whenever you sign in.\n"
	if runtime.GOOS == "linux" {
		advice += "To have it run while you are not signed in, too: loginctl enable-linger\nWhat it says: journalctl --user -u " + service.UnitName + "\n"
	}
	return say(cmd, "%s", advice)
}

// writeService replaces the file as a whole.
func writeService(path, text string) (err error) {
	defer func() {
		if err != nil {
			err = agent.Wrap(agent.CodeDenied, err, "%s cannot be written. What would stand in it: ash service install --print", path)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // systemd's own folder, as others make it
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ash-service-*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

func serviceRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove",
		Short: "Stop it, and start it no more",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := newSteward()
			if err != nil {
				return err
			}
			if _, err := os.Lstat(s.path); errors.Is(err, fs.ErrNotExist) {
				return say(cmd, "There is no service: %s does not exist.\n", s.path)
			}
			missing := s.missing()
			if missing == "" {
				if err := s.run(cmd.Context(), s.stop); err != nil {
					fmt.Fprintln(cmd.ErrOrStderr(), "Note:", agent.PublicOf(err)) // it may not have been running
				}
			}
			if err := os.Remove(s.path); err != nil {
				return agent.Wrap(agent.CodeDenied, err, "%s cannot be removed.", s.path)
			}
			if missing != "" {
				return say(cmd, "Removed %s. %s An Ash that it started still runs.\n", s.path, missing)
			}
			if err := s.run(cmd.Context(), s.gone); err != nil {
				return err
			}
			return say(cmd, "Removed %s. The home stays as it is.\n", s.path)
		},
	}
}

func serviceStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether there is a service, and whether it runs",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := newSteward()
			if err != nil {
				return err
			}
			if _, err := os.Lstat(s.path); errors.Is(err, fs.ErrNotExist) {
				return say(cmd, "There is no service. Make one with: ash service install\n")
			}
			if err := say(cmd, "%s\n", s.path); err != nil {
				return err
			}
			if missing := s.missing(); missing != "" {
				return say(cmd, "%s Whether it runs is not known.\n", missing)
			}
			out, err := exec.CommandContext(cmd.Context(), s.tool, s.state...).CombinedOutput() //nolint:gosec // a fixed command
			if sayErr := say(cmd, "%s", shownLines(out)); sayErr != nil {
				return sayErr
			}
			if err != nil {
				return quietError{exitUnavailable}
			}
			return nil
		},
	}
}

// shownLines makes what another program said safe for a terminal.
func shownLines(out []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(bytes.TrimRight(out, "\n")) {
		b.WriteString(shown(string(bytes.TrimRight(line, "\n"))) + "\n")
	}
	return b.String()
}

// missing says why the service manager cannot be spoken to; "" when it can.
func (s steward) missing() string {
	if _, err := exec.LookPath(s.tool); err != nil {
		return s.tool + " is not here."
	}
	if s.tool == "systemctl" && os.Getenv("XDG_RUNTIME_DIR") == "" && os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		return "Your session has no systemd to speak to."
	}
	return ""
}

func (s steward) commands(list [][]string) string {
	var b strings.Builder
	for _, args := range list {
		b.WriteString("  " + s.tool)
		for _, a := range args {
			b.WriteString(" " + shellWord(a))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// run runs the commands one after the other, each for a minute at most.
func (s steward) run(ctx context.Context, list [][]string) error {
	for _, args := range list {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		out, err := exec.CommandContext(ctx, s.tool, args...).CombinedOutput() //nolint:gosec // a fixed command
		cancel()
		if err != nil {
			said := strings.TrimSpace(shownLines(out))
			return agent.Wrap(agent.CodeUnavailable, err, "%s %s did not work: %s", s.tool, strings.Join(args, " "), agent.Clip(said, 300))
		}
	}
	return nil
}
