package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ash/agent/config"
)

// configCommand is "ash config": reading and editing the settings from the terminal. home finds the home of Ash.
// A server that runs notices an edit by itself.
func configCommand(home func() (string, error)) *cobra.Command {
	options := func() (config.Options, error) {
		dir, err := home()
		return config.Options{Home: dir, Environ: os.Environ()}, err
	}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and change the settings",
		Long: `Show and change the settings.

They stand in config.toml in the home of Ash. A variable named after a key
(ASH_LOG_LEVEL for log.level) goes before the file, and a flag before both.
Keys of providers are never in there, only where to find them.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		configInitCommand(options),
		configShowCommand(options),
		configGetCommand(options),
		configSetCommand(options),
		configUnsetCommand(options),
		configPathCommand(options),
		configKeysCommand(),
	)
	return cmd
}

// findOptions says where the layers of the settings are.
type findOptions func() (config.Options, error)

// usageArgs makes a wrong number of arguments a mistake on the command line.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

func configInitCommand(find findOptions) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a config.toml that explains every setting",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := find()
			if err != nil {
				return err
			}
			if err := config.Init(cmd.Context(), o, force); err != nil {
				return err
			}
			return say(cmd, "Wrote %s. Everything in it is switched off, so nothing has changed yet.\n", o.Path())
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace the file that is there")
	return cmd
}

func configShowCommand(find findOptions) *cobra.Command {
	var changed, asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show every setting, its value and where that comes from",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadConfig(find)
			if err != nil {
				return err
			}
			settings := s.Settings()
			if changed {
				settings = notDefault(settings)
			}
			if asJSON {
				return writeSettingsJSON(cmd.OutOrStdout(), settings)
			}
			return writeSettings(cmd.OutOrStdout(), settings)
		},
	}
	cmd.Flags().BoolVar(&changed, "changed", false, "only what is not the default")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object, for scripts")
	return cmd
}

func loadConfig(find findOptions) (*config.Snapshot, error) {
	o, err := find()
	if err != nil {
		return nil, err
	}
	return config.Load(o)
}

func notDefault(all []config.Setting) []config.Setting {
	var changed []config.Setting
	for _, s := range all {
		if s.Origin.Layer != config.LayerDefault {
			changed = append(changed, s)
		}
	}
	return changed
}

func writeSettings(w io.Writer, settings []config.Setting) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tVALUE\tFROM")
	for _, s := range settings {
		value := s.Value
		if value == "" && s.Key.Default == "" && s.Origin.Layer == config.LayerDefault {
			value = "(" + s.Key.Unset + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, value, s.Origin)
	}
	return table.Flush()
}

// writeSettingsJSON writes {"key": {"value": …, "layer": …, "from": …}}.
func writeSettingsJSON(w io.Writer, settings []config.Setting) error {
	type entry struct {
		Value string       `json:"value"`
		Layer config.Layer `json:"layer"`
		From  string       `json:"from"`
	}
	all := make(map[string]entry, len(settings))
	for _, s := range settings {
		all[s.Name] = entry{s.Value, s.Origin.Layer, s.Origin.String()}
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(all)
}

func configGetCommand(find findOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "get KEY",
		Short:   "Print the value of one setting",
		Example: "  ash config get models.order",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := loadConfig(find)
			if err != nil {
				return err
			}
			setting, err := s.Setting(args[0])
			if err != nil {
				return err
			}
			return say(cmd, "%s\n", setting.Value)
		},
	}
}

func configSetCommand(find findOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "set KEY VALUE...",
		Short: "Change one setting in config.toml, in place",
		Long: `Change one setting in config.toml. Comments, order and formatting stay.
Several values make a list. A provider or catalog entry that is not there yet is made.`,
		Example: `  ash config set log.level debug
  ash config set models.order anthropic/claude-sonnet-4-5 ollama/qwen3:8b
  ash config set providers.lmstudio.base_url http://127.0.0.1:1234/v1
  ash config set catalog.lmstudio/qwen3-30b.context_window 131072`,
		Args: usageArgs(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editConfig(cmd, find, config.Change{Key: args[0], Value: strings.Join(args[1:], ",")})
		},
	}
}

func configUnsetCommand(find findOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "unset KEY",
		Short: "Take one setting, provider or catalog entry out of config.toml",
		Example: `  ash config unset log.level
  ash config unset providers.lmstudio`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editConfig(cmd, find, config.Change{Key: args[0], Remove: true})
		},
	}
}

// editConfig makes one change and says when it takes effect, if that is not at once.
func editConfig(cmd *cobra.Command, find findOptions, change config.Change) error {
	o, err := find()
	if err != nil {
		return err
	}
	now, err := config.Edit(cmd.Context(), o, "", []config.Change{change})
	if err != nil {
		return err
	}
	setting, err := now.Setting(change.Key)
	if err != nil || !setting.Key.Restart {
		return nil //nolint:nilerr // what was removed as a whole is not there to ask about
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "A server that runs takes notice of %s when it is started anew.\n", setting.Name)
	return err
}

func configPathCommand(find findOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print where config.toml is, or would be",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := find()
			if err != nil {
				return err
			}
			return say(cmd, "%s\n", o.Path())
		},
	}
}

func configKeysCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "Explain every setting there is",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, k := range config.Keys() {
				if err := writeKey(cmd, k); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func writeKey(cmd *cobra.Command, k config.Key) error {
	holds := "default " + k.Default
	if k.Default == "" {
		holds = "not set: " + k.Unset
	}
	if k.Env != "" {
		holds += "; variable " + k.Env
	}
	return say(cmd, "%s  (%s)\n    %s\n    Allowed: %s; %s.\n", k.Name, k.Type, k.Doc, k.Allowed, holds)
}

// say writes to the command's standard output.
func say(cmd *cobra.Command, format string, args ...any) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	return err
}
