package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/sandbox"
)

// newSandbox makes the sandbox of a home. gateway may be nil: commands get no network then.
func newSandbox(home string, current func() config.Config, gateway sandbox.Gateway, log *slog.Logger) *sandbox.Sandbox {
	self, err := os.Executable()
	if err != nil {
		self = "" // without it there is no network
	}
	return sandbox.New(sandbox.Options{
		Home: home, Files: filepath.Join(current().Workspace.Path, "files"),
		Settings: func() sandbox.Settings { return sandboxSettings(current().Sandbox) },
		Gateway:  gateway, Log: log, Self: self,
	})
}

// sandboxSettings are the settings of config.toml as the sandbox takes them.
func sandboxSettings(c config.Sandbox) sandbox.Settings {
	const mb = 1 << 20
	return sandbox.Settings{
		Engine: c.Engine, DockerHost: c.DockerHost, Runtime: c.Runtime,
		Memory: int64(c.Memory) * mb, CPUs: c.CPUs, PIDs: c.Processes, Disk: int64(c.Disk) * mb, Output: int64(c.Output) * mb,
		Timeout: c.Timeout, Idle: c.Idle, MinFree: max(1, int64(c.MinFree)*mb), // 0 in the file is no bound, not the default
	}
}

// sandboxCommand is "ash sandbox": looking after what commands run in. It speaks to the engine itself, so it
// works beside a running server and without one.
func sandboxCommand(home func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Look after the sandbox commands run in: build, status, shell, prune",
		Long: `Look after the sandbox that commands run in: Docker (or Podman), or bubblewrap on
Linux where there is no Docker. Without one, commands are off.

These work whether or not a server runs.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(sandboxBuildCommand(home), sandboxStatusCommand(home), sandboxShellCommand(home), sandboxPruneCommand(home))
	return cmd
}

// withSandbox runs fn with the sandbox of a home.
func withSandbox(cmd *cobra.Command, home func() (string, error), fn func(ctx context.Context, s *sandbox.Sandbox, c config.Config) error) (err error) {
	dir, err := home()
	if err != nil {
		return err
	}
	snapshot, err := config.Load(config.Options{Home: dir, Environ: os.Environ()})
	if err != nil {
		return err
	}
	c := snapshot.Config()
	s := newSandbox(dir, func() config.Config { return c }, nil, nil)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), closeTimeout)
		defer cancel()
		if closeErr := s.Close(ctx); err == nil {
			err = closeErr
		}
	}()
	return fn(cmd.Context(), s, c)
}

func sandboxBuildCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the image that commands run in",
		Long: `Build the image that commands run in: Debian slim with python3, git, curl, jq and
ripgrep, from a Dockerfile inside Ash. It takes a minute or two and the network.
Bubblewrap needs none of this.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSandbox(cmd, home, func(ctx context.Context, s *sandbox.Sandbox, _ config.Config) error {
				return s.Build(ctx, func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) })
			})
		},
	}
}

func sandboxStatusCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what commands run in, its limits, and what runs now",
		Long: `Say what commands run in, which limits hold, and which sandboxes run now. Exits with 3
when no command can run.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSandbox(cmd, home, func(ctx context.Context, s *sandbox.Sandbox, _ config.Config) error {
				st := s.Status(ctx)
				if err := printSandbox(cmd.OutOrStdout(), st, time.Now()); err != nil || st.Ready {
					return err
				}
				return agent.Errorf(agent.CodeUnavailable, "%s", st.Problem)
			})
		},
	}
}

func printSandbox(out io.Writer, st sandbox.Status, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	engine := strings.TrimSpace(st.Name + " " + st.Version)
	if engine == "" {
		engine = "none"
	}
	fmt.Fprintf(w, "engine\t%s\n", engine)
	for _, row := range [][2]string{{"runtime", st.Runtime}, {"cgroup", st.Cgroup}, {"runs as", st.User}} {
		if row[1] != "" && st.Engine != sandbox.EngineOff {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	if st.Image.Tag != "" {
		image := st.Image.Tag + ", not built: ash sandbox build"
		if st.Image.Built {
			image = fmt.Sprintf("%s, %.0f MB, built %s UTC", st.Image.Tag, float64(st.Image.Size)/1e6, st.Image.Created.Format(time.DateTime))
		}
		fmt.Fprintf(w, "image\t%s\n", image)
	}
	for _, l := range st.Limits {
		held := "held by " + l.By
		if l.By == "" {
			held = "not held"
		}
		fmt.Fprintf(w, "%s\t%s (%s)\n", l.Name, l.Value, held)
	}
	for _, note := range st.Notes {
		fmt.Fprintf(w, "note\t%s\n", note)
	}
	if len(st.Containers) == 0 && st.Ready {
		fmt.Fprintf(w, "running\tnothing\n")
	}
	for _, c := range st.Containers {
		fmt.Fprintf(w, "running\t%s, for conversation %s, %s, since %s\n", c.ID, c.Thread, c.Use, now.Sub(c.Created).Round(time.Second))
	}
	return w.Flush()
}

func sandboxPruneCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "prune",
		Short: "Remove leftovers: dead containers, images of other versions",
		Long: `Remove containers, control groups and files that a process of this home left behind, and
images of other versions of Ash. What a running server uses stays.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSandbox(cmd, home, func(ctx context.Context, s *sandbox.Sandbox, _ config.Config) error {
				if err := s.Prune(ctx); err != nil {
					return err
				}
				return say(cmd, "Nothing is left behind.\n")
			})
		},
	}
}

func sandboxShellCommand(home func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "shell [FOLDER]",
		Short: "Open a shell where commands run",
		Long: `Open a shell in a fresh sandbox, as commands have it: the same programs, limits and
rights, no network. FOLDER (default: the files folder of the workspace) is at /work.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSandbox(cmd, home, func(ctx context.Context, s *sandbox.Sandbox, c config.Config) error {
				root := filepath.Join(c.Workspace.Path, "files")
				if len(args) == 1 {
					root = args[0]
				} else if err := os.MkdirAll(root, 0o700); err != nil {
					return agent.Wrap(agent.CodeUnavailable, err, "Ash cannot make the folder %s.", root)
				}
				root, err := filepath.Abs(root)
				if err != nil {
					return err
				}
				t, done := personTerminal()
				defer done()
				exit, err := s.Shell(ctx, root, t)
				if err == nil && exit != 0 {
					err = fmt.Errorf("the shell ended with %d", exit)
				}
				return err
			})
		},
	}
}

// personTerminal is the terminal this process was started from, if it is one.
func personTerminal() (t sandbox.Terminal, done func()) {
	t = sandbox.Terminal{In: os.Stdin, Out: os.Stdout, Name: os.Getenv("TERM")}
	in, out := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	if !term.IsTerminal(in) || !term.IsTerminal(out) {
		return t, func() {}
	}
	t.Size = func() (columns, rows int) {
		columns, rows, err := term.GetSize(out)
		if err != nil {
			return 80, 24
		}
		return columns, rows
	}
	t.Raw = func() (func(), error) {
		state, err := term.MakeRaw(in)
		return func() { _ = term.Restore(in, state) }, err
	}
	t.Resized, done = watchSize()
	return t, done
}
