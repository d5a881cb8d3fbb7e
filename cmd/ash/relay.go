package main

import (
	"os"

	"github.com/spf13/cobra"

	"ash/agent/sandbox"
)

// relayCommand is "ash relay", which runs inside a sandbox with network and carries its connections to Ash's filter.
func relayCommand() *cobra.Command {
	return &cobra.Command{
		Use:                sandbox.RelayCommand + " SOCKET PROGRAM [ARGUMENT...]",
		Short:              "Carry the connections of a sandbox to Ash's filter",
		Hidden:             true,
		DisableFlagParsing: true, // everything after SOCKET is the program's
		Run: func(cmd *cobra.Command, args []string) {
			os.Exit(sandbox.Relay(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
}
