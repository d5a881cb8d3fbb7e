// Command ash is a private assistant in one binary: it serves the web app,
// talks in the terminal, and looks after its own home.
//
// This package is the only place that knows everyone: one file per command,
// and the wiring in app.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/attachment"
	"ash/agent/config"
)

// Exit codes, the same for every command.
const (
	exitOK          = 0
	exitFailed      = 1   // it did not work; the message says why
	exitUsage       = 2   // the command line is wrong
	exitUnavailable = 3   // the model or the server does not answer
	exitWaiting     = 4   // it waits for a decision of the person
	exitWarnings    = 5   // it was looked at, and there is something to see to
	exitInterrupted = 130 // Ctrl-C
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == pdfCommand { // a process of its own for one PDF: see pdfReader
		os.Exit(attachment.Helper(os.Stdin, os.Stdout))
	}
	time.AfterFunc(startingTime, roomy())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if quiet := (quietError{}); errors.As(err, &quiet) {
		return quiet.code
	}
	var usage usageError
	var known *agent.Error
	switch {
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, "ash:", err)
		fmt.Fprintln(stderr, "Try: ash --help")
		return exitUsage
	case errors.As(err, &known):
		fmt.Fprintln(stderr, "ash:", known.Public)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "ash: stopped")
	default:
		fmt.Fprintln(stderr, "ash:", err)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	if waits := (waitsError{}); errors.As(err, &waits) {
		return exitWaiting
	}
	if c := agent.CodeOf(err); c == agent.CodeUnavailable || c == agent.CodeExhausted {
		return exitUnavailable
	}
	return exitFailed
}

// quietError ends a command with an exit code; what there is to say was said.
type quietError struct{ code int }

func (quietError) Error() string { return "see above" }

// usageError is a mistake on the command line.
type usageError struct{ error }

func rootCommand() *cobra.Command {
	var home string
	root := &cobra.Command{
		Use:   "ash",
		Short: "A private assistant that lives on your machine",
		Long: `Ash is a private assistant that lives on your machine: used from the browser,
it remembers you, keeps what you say on your own disk, and answers through the
model you choose.

  ash serve      open it in the browser
  ash chat       talk in the terminal`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&home, "home", "", "where Ash keeps everything (default $ASH_HOME, else ~/.ash)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	where := func() (string, error) { return config.Home(home, os.LookupEnv) }
	root.AddCommand(
		serveCommand(where),
		chatCommand(where),
		stopCommand(where),
		configCommand(where),
		dbCommand(where),
		dataCommand(where),
		importCommand(where),
		recallCommand(where),
		memoryCommand(where),
		tokenCommand(where),
		doorsCommand(where),
		pairCommand(where),
		vaultCommand(where),
		doctorCommand(untouchedHome(&home)),
		auditCommand(where),
		serviceCommand(where),
		guardCommand(),
		sandboxCommand(where),
		relayCommand(),
		upgradeCommand(where),
		versionCommand(),
	)
	return root
}
