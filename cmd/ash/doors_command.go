package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/access"
	"ash/handlers"
)

// doorsCommand is "ash doors": the owner's passphrase and the devices that are signed in.
func doorsCommand(home func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doors",
		Short: "Who may come in from elsewhere: passphrase, devices, reset",
		Long: `Who may come in from elsewhere than this machine: a passphrase, and the devices that are
signed in. At the machine itself the passphrase is never needed: it can be set anew, and everything
can be reset. It works with a running Ash and without one.

To let a phone in, run: ash pair`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(doorsStatusCommand(home), doorsPassphraseCommand(home), doorsSignOutCommand(home), doorsResetCommand(home))
	return cmd
}

// doorsLink runs fn on the server of a home, or on one of its own.
func doorsLink(ctx context.Context, home func() (string, error), fn func(l *link) error) (err error) {
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

func doorsStatusCommand(home func() (string, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say where Ash is reached, whether a passphrase is set, and who is signed in",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return doorsLink(cmd.Context(), home, func(l *link) error {
				var s handlers.ControlDoorState
				if err := l.call(cmd.Context(), http.MethodGet, "/doors", nil, &s); err != nil {
					return err
				}
				if asJSON {
					e := json.NewEncoder(cmd.OutOrStdout())
					e.SetIndent("", "  ")
					return e.Encode(s)
				}
				return say(cmd, "%s", doorStatus(s, l.own()))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// doorStatus is what the terminal shows of the doors. What devices call themselves is a stranger's word.
func doorStatus(s handlers.ControlDoorState, own bool) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(what, is string) { fmt.Fprintf(w, "%s\t%s\n", what, is) }
	switch {
	case own:
		line("server", "not running; start it with: ash serve")
	default:
		line("this machine", cmp.Or(s.Here, "(no pages are served)"))
		line("other devices", cmp.Or(strings.Join(s.Addresses, "  "), "do not reach Ash; open it with: ash serve --lan, or in Settings → Doors"))
	}
	line("passphrase", map[bool]string{true: "set", false: "none; set one with: ash doors passphrase"}[s.Passphrase])
	if len(s.Devices) == 0 {
		line("devices", "none is signed in")
	}
	_ = w.Flush() // into memory
	if len(s.Devices) > 0 {
		b.WriteString("\n")
		fmt.Fprintln(w, "DEVICE\tBROWSER\tCAME IN BY\tLAST SEEN\tFROM\tENDS\tID")
		for _, d := range s.Devices {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", shown(d.Name), shown(d.Kind), cameIn(d.How), d.Seen.Local().Format("2006-01-02 15:04"),
				cmp.Or(d.Address, "-"), d.Expires.Local().Format(time.DateOnly), d.ID)
		}
		_ = w.Flush() // into memory
	}
	return b.String()
}

func cameIn(h access.How) string {
	if h == access.ByPairing {
		return "pairing"
	}
	return "passphrase"
}

func doorsPassphraseCommand(home func() (string, error)) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "passphrase",
		Short: "Set or change the passphrase that devices sign in with",
		Long: `Set or change the passphrase that devices sign in with. At the machine itself the old one is not
asked for. Devices that came in by the old one are signed out; those that were paired stay. It is
not the passphrase of the vault.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := newDoorPassphrase(cmd, file)
			if err != nil {
				return err
			}
			defer clear(text)
			return doorsLink(cmd.Context(), home, func(l *link) error {
				if err := l.call(cmd.Context(), http.MethodPost, "/doors/passphrase", handlers.ControlPassphrase{Passphrase: string(text)}, nil); err != nil {
					return err
				}
				return say(cmd, "The passphrase is set. Devices that came in by an earlier one have to sign in again.\n")
			})
		},
	}
	cmd.Flags().StringVar(&file, "passphrase-file", "", "read the passphrase from the first line of this file")
	return cmd
}

// newDoorPassphrase reads one from file, or asks for it twice. The caller wipes it.
func newDoorPassphrase(cmd *cobra.Command, file string) ([]byte, error) {
	if file != "" {
		return firstLine(file, true)
	}
	ask := (&safe{}).ask
	first, err := ask(cmd, "New passphrase for the doors")
	if err != nil {
		return nil, err
	}
	if err := access.CheckPassphrase(first); err != nil {
		clear(first)
		return nil, err
	}
	second, err := ask(cmd, "New passphrase, again")
	defer clear(second)
	if err == nil && !bytes.Equal(first, second) {
		err = agent.Errorf(agent.CodeInvalid, "The two are not the same. Nothing was changed.")
	}
	if err != nil {
		clear(first)
		return nil, err
	}
	return first, nil
}

func doorsSignOutCommand(home func() (string, error)) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "sign-out DEVICE | --all",
		Short: "Sign out a device, by name or id, or all of them",
		Args: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) || len(args) > 1 {
				return usageError{errors.New("name one device, or give --all")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in := handlers.ControlSignOut{All: all}
			if !all {
				in.Device = args[0]
			}
			return doorsLink(cmd.Context(), home, func(l *link) error {
				var out handlers.ControlSignedOut
				if err := l.call(cmd.Context(), http.MethodPost, "/doors/sign-out", in, &out); err != nil {
					return err
				}
				if !all {
					return say(cmd, "%s is signed out.\n", shown(strings.Join(out.Names, ", ")))
				}
				return say(cmd, "Signed out: %d. Nobody is signed in any more, and every pairing under way is over.\n", out.Count)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all devices, and every pairing under way")
	return cmd
}

func doorsResetCommand(home func() (string, error)) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Begin anew: no passphrase, no devices, no waiting",
		Long: `Begin anew: the passphrase is forgotten, every device is signed out, pairings end, and nobody has
to wait for earlier attempts. Conversations, memories and settings stay. Until a passphrase is set or a device
is paired, Ash opens no door to the network.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				a := newAnswers(cmd.InOrStdin())
				fmt.Fprint(cmd.ErrOrStderr(), "This signs out every device and forgets the passphrase. Go on? [y/N] › ")
				if !a.yes(cmd.Context()) {
					return agent.Errorf(agent.CodeDenied, "Nothing was changed. To go on without being asked, give --yes.")
				}
			}
			return doorsLink(cmd.Context(), home, func(l *link) error {
				if err := l.call(cmd.Context(), http.MethodPost, "/doors/reset", struct{}{}, nil); err != nil {
					return err
				}
				return say(cmd, "The doors are reset: no passphrase, no devices. Whoever has to sign in cannot until you set a passphrase: ash doors passphrase\n")
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}
