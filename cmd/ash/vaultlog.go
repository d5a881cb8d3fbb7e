package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ash/agent/vault"
)

func vaultLogCommand(s *safe) *cobra.Command {
	var count int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show who used or changed what in the vault, the newest last",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := s.home()
			if err != nil {
				return err
			}
			all, err := vaultLog(home).Recent(min(max(count, 1), 10_000))
			if err != nil {
				return err
			}
			if asJSON {
				to := json.NewEncoder(cmd.OutOrStdout())
				for _, a := range all {
					if err := to.Encode(a); err != nil {
						return err
					}
				}
				return nil
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "WHEN\tWHAT\tSECRET\tUSED BY\tHOST\tFOR\tOUTCOME")
			for _, a := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.At.Local().Format("2006-01-02 15:04:05"), a.Action, shown(a.Name), shown(a.User), shown(a.Host), shown(a.For), accessOutcome(a))
			}
			return w.Flush()
		},
	}
	cmd.Flags().IntVarP(&count, "lines", "n", 50, "how many lines, at most")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, an object a line")
	return cmd
}

func accessOutcome(a vault.Access) string {
	if a.Allowed {
		return "allowed"
	}
	return "refused: " + string(a.Why)
}
