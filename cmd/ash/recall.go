package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/memory/archive"
	"ash/agent/memory/recall"
	"ash/handlers"
	"ash/store"
)

// maxQueryLine bounds a line of ash recall --jsonl, in bytes.
const maxQueryLine = 1 << 20

// remembering implements handlers.ControlMemory over the store and the engine of recall.
type remembering struct {
	*recall.Engine
	store *store.Store
}

var _ handlers.ControlMemory = remembering{}

// ImportMessages implements archive.Keeper.
func (r remembering) ImportMessages(ctx context.Context, list []archive.Message) (int, error) {
	return r.store.ImportMessages(ctx, list)
}

// newRemembering makes the memory that the command line reaches.
func (a *app) newRemembering() remembering {
	return remembering{a.mind.recall, a.store}
}

// recall asks memory.
func (c *client) recall(ctx context.Context, q handlers.ControlQuery) (hits []agent.Recollection, err error) {
	var out handlers.ControlHits
	err = c.call(ctx, http.MethodPost, "/recall", q, &out)
	return out.Hits, err
}

func recallCommand(home func() (string, error)) *cobra.Command {
	var (
		lines bool
		limit int
	)
	cmd := &cobra.Command{
		Use:   "recall [WORDS...]",
		Short: "Ask what Ash remembers, without asking a model",
		Long: `Ask what Ash remembers: facts, what was said, episodes and notes, best first. No model
is asked and nothing leaves the machine.

With --jsonl, lines {"query","k"} are read from standard input, and each is answered with one line
{"hits":[{"id","kind","text","score","time","thread","why"}]}. The id and thread of an imported message are
those it had in its archive.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if lines == (len(args) > 0) {
				return usageError{errors.New("give the words to look for, or --jsonl and questions on standard input")}
			}
			dir, err := home()
			if err != nil {
				return err
			}
			l, err := connect(cmd.Context(), dir, modelFlags{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.close()) }()
			if lines {
				return recallLines(cmd.Context(), l, cmd.InOrStdin(), cmd.OutOrStdout(), limit)
			}
			hits, err := l.recall(cmd.Context(), handlers.ControlQuery{Query: strings.Join(args, " "), Limit: limit})
			if err != nil {
				return err
			}
			return printHits(cmd.OutOrStdout(), hits)
		},
	}
	cmd.Flags().BoolVar(&lines, "jsonl", false, "read questions as lines of JSON, and answer each with one")
	cmd.Flags().IntVarP(&limit, "limit", "k", recall.DefaultLimit, fmt.Sprintf("how many hits, at most %d", recall.MaxLimit))
	return cmd
}

// hitJSON is a hit of ash recall --jsonl.
type hitJSON struct {
	ID     string           `json:"id"`
	Kind   agent.MemoryKind `json:"kind"`
	Text   string           `json:"text"`
	Score  float64          `json:"score"`
	Time   string           `json:"time"`
	Thread string           `json:"thread"` // an imported one by its name there
	Why    []string         `json:"why"`
}

func toHit(r agent.Recollection) hitJSON {
	h := hitJSON{ID: r.Ref, Kind: r.Kind, Text: r.Text, Score: r.Score, Time: r.Said, Thread: string(r.Thread), Why: r.Why}
	if r.External != "" {
		h.ID, h.Thread = r.External, r.Archive
	}
	if h.Time == "" && !r.Time.IsZero() {
		h.Time = r.Time.Format(time.RFC3339)
	}
	if h.Why == nil {
		h.Why = []string{}
	}
	return h
}

// recallLines answers questions until there are no more. A line that is no question ends it with an error that names the line;
// all before it are answered.
func recallLines(ctx context.Context, l *link, in io.Reader, out io.Writer, limit int) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 64<<10), maxQueryLine)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for n := 1; scan.Scan(); n++ {
		line := bytes.TrimSpace(scan.Bytes())
		if len(line) == 0 {
			continue
		}
		var q handlers.ControlQuery
		if err := json.Unmarshal(line, &q); err != nil {
			return agent.Wrap(agent.CodeInvalid, err, `Line %d is not {"query","k"}: %v`, n, err)
		}
		if q.Limit <= 0 {
			q.Limit = limit
		}
		found, err := l.recall(ctx, q)
		if err != nil {
			return err
		}
		hits := make([]hitJSON, len(found))
		for i, r := range found {
			hits[i] = toHit(r)
		}
		if err := enc.Encode(map[string][]hitJSON{"hits": hits}); err != nil {
			return err
		}
		if err := w.Flush(); err != nil { // who asks may wait for the answer before asking on
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return agent.Wrap(agent.CodeInvalid, err, "The questions cannot be read: a line has at most %d MB.", maxQueryLine>>20)
	}
	return nil
}

// printHits shows hits to a person.
func printHits(out io.Writer, hits []agent.Recollection) error {
	if len(hits) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is remembered of that.")
		return err
	}
	for _, h := range hits {
		text := strings.Join(strings.Fields(shown(h.Text)), " ")
		if _, err := fmt.Fprintf(out, "%s\n    %s\n    (%s)\n", shown(h.Source), text, shown(strings.Join(h.Why, "; "))); err != nil {
			return err
		}
	}
	return nil
}
