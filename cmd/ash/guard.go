package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/guard"
)

// guardCommand is "ash guard": the scanner and the redaction by themselves, line by line. It needs no home and no server.
func guardCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Look for planted instructions and for secrets in text",
		Long: `Look for planted instructions and for secrets in text, as Ash does with
everything it reads and keeps. Nothing is stored or sent.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		guardLinesCommand("scan", "Say which texts hold instructions for the assistant", `Read lines {"id", "channel", "text"}, where channel is "tool", "message" or
"memory", and write a line {"id", "flag", "score", "rules"} for each.`, scanLine),
		guardLinesCommand("redact", "Take secrets out of texts", `Read lines {"id", "text"} and write a line {"id", "text", "secrets"} for each,
with the rule and the byte offsets of every secret in the text that was read.`, redactLine),
	)
	return cmd
}

// lineWork makes the answer to one line.
type lineWork func(ctx context.Context, g *guard.Guard, line []byte) (any, error)

func guardLinesCommand(use, short, long string, work lineWork) *cobra.Command {
	var jsonl bool
	cmd := &cobra.Command{
		Use:     use + " --jsonl",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  ash guard %s --jsonl < texts.jsonl", use),
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !jsonl {
				return usageError{errors.New("say --jsonl: it reads and writes JSON lines")}
			}
			return eachLine(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), work)
		},
	}
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, "read and write JSON, one object a line")
	return cmd
}

// maxGuardLine bounds a line, in bytes.
const maxGuardLine = 64 << 20

// eachLine answers every line as soon as it is read; a broken one ends the work with an error that names it. Empty lines are passed over.
func eachLine(ctx context.Context, in io.Reader, out io.Writer, work lineWork) error {
	g := guard.New(guard.Options{})
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxGuardLine)
	answers := json.NewEncoder(out)
	answers.SetEscapeHTML(false)
	n := 0
	for lines.Scan() {
		n++
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(lines.Bytes()) == 0 {
			continue
		}
		answer, err := work(ctx, g, lines.Bytes())
		if err != nil {
			return agent.Wrap(agent.CodeInvalid, err, "Line %d: %v", n, err)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return agent.Wrap(agent.CodeInvalid, err, "Line %d is longer than %d MB.", n+1, maxGuardLine>>20)
	} else if err != nil {
		return err
	}
	return nil
}

// textLine is a line of input. Pointers tell what is missing from what is empty.
type textLine struct {
	ID      json.RawMessage `json:"id"`
	Channel guard.Channel   `json:"channel"`
	Text    *string         `json:"text"`
}

func parseLine(line []byte) (textLine, error) {
	var t textLine
	if err := json.Unmarshal(line, &t); err != nil {
		return t, fmt.Errorf("this is no JSON object with \"id\" and \"text\": %w", err)
	}
	if len(t.ID) == 0 {
		return t, errors.New("\"id\" is missing")
	}
	if t.Text == nil {
		return t, errors.New("\"text\" is missing")
	}
	return t, nil
}

// scanned is a line of output of scan.
type scanned struct {
	ID    json.RawMessage `json:"id"`
	Flag  bool            `json:"flag"`
	Score float64         `json:"score"`
	Rules []string        `json:"rules"`
}

func scanLine(ctx context.Context, g *guard.Guard, line []byte) (any, error) {
	t, err := parseLine(line)
	if err != nil {
		return nil, err
	}
	switch t.Channel {
	case guard.Tool, guard.Message, guard.Memory:
	default:
		return nil, fmt.Errorf("\"channel\" is %q; it must be \"tool\", \"message\" or \"memory\"", t.Channel)
	}
	r := g.Scan(ctx, t.Channel, *t.Text)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := scanned{ID: t.ID, Flag: r.Flagged, Score: r.Score, Rules: []string{}}
	seen := map[string]bool{}
	for _, f := range r.Findings {
		if !seen[f.Rule] {
			seen[f.Rule] = true
			out.Rules = append(out.Rules, f.Rule)
		}
	}
	return out, nil
}

// redacted is a line of output of redact.
type redacted struct {
	ID      json.RawMessage `json:"id"`
	Text    string          `json:"text"`
	Secrets []redactedSpan  `json:"secrets"`
}

type redactedSpan struct {
	Rule  string `json:"rule"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

func redactLine(_ context.Context, g *guard.Guard, line []byte) (any, error) {
	t, err := parseLine(line)
	if err != nil {
		return nil, err
	}
	out := redacted{ID: t.ID, Text: g.Redact(*t.Text), Secrets: []redactedSpan{}}
	for _, s := range g.FindSecrets(*t.Text) {
		out.Secrets = append(out.Secrets, redactedSpan(s))
	}
	return out, nil
}
